//! Listening on several addresses: a door for all of them, and a thread for each connection that came through it.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use sixbench_packet::LocalAddress;
use socket2::{Domain, Protocol, Socket, Type};

use crate::channel::Channel;
use crate::door::{Door, Inside};
use crate::greeting::{self, Begun};
use crate::key::Key;
use crate::queues::{self, QUEUES};
use crate::tcp;
use crate::visitors::{Visit, Visitors};
use crate::{Error, Result};

/// Connections that the kernel completes for a socket before they are accepted; it caps this at `net.core.somaxconn`
/// (4,096 unless set). Half-open ones beyond it get SYN cookies (`net.ipv4.tcp_syncookies`). Where a flood fills all
/// queues, a longer one lets no more connections in: clients only wait longer in it, and may give up before their turn.
const BACKLOG: i32 = 512;

/// The addresses at which a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addresses {
    /// Addresses of control and of data connections.
    pub addresses: Vec<LocalAddress>,
    /// True if the first address alone is enough: the user has named none.
    pub first_will_do: bool,
    /// 0 lets the kernel choose.
    pub port: u16,
}

impl Addresses {
    /// True if another machine could reach one of them.
    pub fn are_beyond_loopback(&self) -> bool {
        self.addresses.iter().any(|address| !address.ip().is_loopback())
    }
}

/// The sockets of a server.
pub struct Listening {
    listeners: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
}

/// Listens on all addresses, with the same port.
///
/// # Errors
/// `System` where one of them cannot be had.
pub fn listen(wanted: &Addresses) -> Result<Listening> {
    let mut listening = Listening { listeners: Vec::new(), addresses: Vec::new() };
    for (index, &address) in wanted.addresses.iter().enumerate() {
        let port = listening.addresses.first().map_or(wanted.port, SocketAddr::port);
        let local = address.at(port);
        match open_group(local) {
            Ok((local, listeners)) => {
                listening.addresses.push(local);
                listening.listeners.extend(listeners);
            }
            Err(error) if wanted.first_will_do && index > 0 && error.kind() == io::ErrorKind::AddrNotAvailable => {}
            Err(error) => {
                let helps = match error.kind() {
                    io::ErrorKind::AddrInUse => "; another server may use that port: give another one with --port",
                    io::ErrorKind::AddrNotAvailable => "; give addresses of this machine to listen on",
                    _ => "",
                };
                let doing = format!("listening on {local}");
                return Err(Error::system(doing, io::Error::new(error.kind(), format!("{error}{helps}"))));
            }
        }
    }
    Ok(listening)
}

/// The sockets of an address, and where they listen.
fn open_group(local: SocketAddr) -> io::Result<(SocketAddr, Vec<TcpListener>)> {
    // A group takes in every socket of the same user that wants to be in it. So one that is not finds out that there is
    // no other server, and the port.
    let local = open(local, false)?.local_addr()?;
    let first = open(local, true)?;
    queues::share_by_network(&first, local.ip())?;
    let mut group = vec![first];
    while group.len() < QUEUES {
        group.push(open(local, true)?);
    }
    Ok((local, group))
}

fn open(local: SocketAddr, in_group: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(local), Type::STREAM, Some(Protocol::TCP))?;
    if local.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(in_group)?;
    socket.bind(&local.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Serves a client, on a thread of its own. It returns when the client has gone.
pub type Serve = dyn Fn(Channel, &mut Visit) + Send + Sync;

impl Listening {
    /// Addresses and ports.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Serves until the first client has gone with `one_off`, else for ever. A client that does not prove to know the
    /// key never comes to `serve`.
    ///
    /// # Errors
    /// `System` where there can be no threads.
    pub fn serve(self, key: Option<Key>, max_clients: usize, one_off: bool, serve: Arc<Serve>) -> Result<()> {
        let visitors = Visitors::new(max_clients);
        let watched = Arc::clone(&visitors);
        start("visitors", move || watched.watch())?;
        let (gone, first_gone) = mpsc::channel();
        let house = Arc::new(House { visitors, serve, gone });
        let door = Door::new(self.listeners, key, house).map_err(|e| Error::system("opening the server's door", e))?;
        start("door", move || door.attend())?;
        wait(&first_gone, one_off);
        Ok(())
    }
}

fn wait(gone: &Receiver<()>, one_off: bool) {
    while gone.recv().is_ok() && !one_off {}
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(|e| Error::system("starting a thread of the server", e))
}

/// The part of the server behind the door.
struct House {
    visitors: Arc<Visitors>,
    serve: Arc<Serve>,
    gone: Sender<()>,
}

impl Inside for House {
    fn is_crowded(&self) -> bool {
        self.visitors.are_many()
    }

    fn admit(&self, stream: TcpStream, from: IpAddr, begun: Begun) {
        // A failure here is this connection's: it is closed.
        let Ok(for_the_watch) = tcp::prepare(&stream).and_then(|()| stream.try_clone()) else { return };
        let mut visit = self.visitors.enter(for_the_watch, from);
        let (serve, gone) = (Arc::clone(&self.serve), self.gone.clone());
        let _ = start("client", move || {
            receive(stream, begun, &*serve, &mut visit);
            if visit.is_client() {
                drop(visit);
                let _ = gone.send(());
            }
        });
    }
}

fn receive(mut stream: TcpStream, begun: Begun, serve: &Serve, visit: &mut Visit) {
    // A client that has gone meanwhile is not served.
    let Ok(ciphers) = greeting::welcome(&mut stream, begun) else { return };
    let Ok(channel) = Channel::new(stream, ciphers) else { return };
    serve(channel, visit);
}
