//! The conversation on standard input and output: hands requests out.

use std::io;
use std::process::{self, ExitCode};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::json;
use sixbench_measure::{core_loop, cpu};
use sixbench_plane::{Translators, Tunnels};

use crate::answers::Answers;
use crate::awake::Awake;
use crate::capture::Captures;
use crate::conversation::{self, Asker, Reply};
use crate::device::Device;
use crate::drops::Watch as Drops;
use crate::emulation::Emulation;
use crate::error::{Code, Error, Outcome, to_value};
use crate::exec::Commands;
use crate::lending::Lent;
use crate::lines::Lines;
use crate::packet_send::Senders;
use crate::perf::Perf;
use crate::probes::Probes;
use crate::protocol::{Hello, MAX_REQUEST_BYTES, Request};
use crate::services::Services;
use crate::sessions::{MAX_SESSIONS, Programs, Sessions};
use crate::silence::Silence;
use crate::timers::Watch as Timers;
use crate::vlans::Vlans;
use crate::{bring_up, counters, hello, path_mtu, place, sysctl, tracking, translators, tunnels, workloads};

/// Answers requests from standard input until it closes. Then the interfaces that were lent go home.
pub fn serve(name: String, lent: Option<Lent>, longest_silence: Option<Duration>) -> ExitCode {
    let answers = match Answers::on_stdout() {
        Ok(answers) => answers,
        Err(error) => return crate::complain(&format!("opening standard output: {error}"), 1),
    };
    let node = Arc::new(Node {
        name,
        answers,
        commands: Arc::default(),
        lent,
        vlans: Mutex::default(),
        awake: Mutex::default(),
        sessions: Sessions::new(workloads::find, Programs::Any, MAX_SESSIONS),
    });
    let tunnels = Arc::<Mutex<Tunnels>>::default();
    let mut conversation = Conversation {
        node: Arc::clone(&node),
        is_greeted: false,
        captures: Captures::default(),
        senders: Senders::default(),
        drops: Drops::default(),
        timers: Timers::default(),
        perf: Perf::default(),
        translators: Arc::default(),
        emulation: Emulation::default(),
        device: Device::default(),
        services: Services::new(Arc::clone(&tunnels)),
        probes: Probes::default(),
        tunnels,
    };
    let silence = longest_silence.map(|longest| {
        let node = Arc::clone(&node);
        Silence::watch(longest, move || {
            crate::complain(&format!("no line arrived for {} s: the connection was cut", longest.as_secs()), 1);
            node.end(1)
        })
    });
    let mut lines = Lines::new(io::stdin().lock(), MAX_REQUEST_BYTES);
    loop {
        let line = lines.next();
        if let Some(silence) = &silence {
            silence.broken();
        }
        match line {
            Ok(Some(line)) => {
                if conversation::take(&node, &line, |request| conversation.reply(request)).is_err() {
                    node.end(1)
                }
            }
            Ok(None) => node.end(0),
            Err(error) => {
                crate::complain(&format!("reading requests: {error}"), 1);
                node.end(1)
            }
        }
    }
}

/// The state that every thread of the node may use.
struct Node {
    name: String,
    answers: Answers,
    commands: Arc<Commands>,
    lent: Option<Lent>,
    /// The VLANs of interfaces that it was lent.
    vlans: Mutex<Vlans>,
    awake: Mutex<Awake>,
    sessions: Sessions,
}

/// The state that only the thread that reads requests uses.
struct Conversation {
    node: Arc<Node>,
    is_greeted: bool,
    captures: Captures,
    senders: Senders,
    drops: Drops,
    timers: Timers,
    perf: Perf,
    /// The tunnels, also those of the tunnel broker and of its clients.
    tunnels: Arc<Mutex<Tunnels>>,
    /// The translators, also one that is being brought up.
    translators: Arc<Mutex<Translators>>,
    emulation: Emulation,
    device: Device,
    services: Services,
    probes: Probes,
}

impl Conversation {
    fn reply(&mut self, request: Request) -> Result<Reply, Error> {
        let value = match request {
            Request::Hello(hello) => self.greet(&hello)?,
            _ if !self.is_greeted => {
                return Err(Error::new(Code::NotGreeted, format!("{} arrived before hello", request.op())));
            }
            Request::Exec(request) => return self.node.commands.accept(request).map(Reply::Later),
            Request::Sysctl(request) => sysctl::apply(&request)?,
            Request::Counters {} => counters::read(self.emulation.waiting()?)?,
            Request::ConnectionTracking(request) => tracking::answer(&request)?,
            Request::ForgetPathMtu {} => path_mtu::forget()?,
            Request::Cpu {} => to_value(&cpu::sample())?,
            Request::LoopTimes {} => to_value(&core_loop::loop_times())?,
            Request::Place(request) => place::place(&request)?,
            Request::CaptureStart(start) => self.captures.start(start)?,
            Request::CaptureStop { capture } => self.captures.stop(&capture)?,
            Request::PacketSend(request) => self.senders.send(&request)?,
            Request::DropsStart(start) => self.drops.start(&start)?,
            Request::DropsStop {} => self.drops.stop()?,
            Request::TimersStart(start) => self.timers.start(&start)?,
            Request::TimersStop {} => self.timers.stop()?,
            Request::PerfStart {} => self.perf.start()?,
            Request::PerfStop {} => self.perf.stop()?,
            Request::AwakeStart(request) => self.node.awake().start(&request)?,
            Request::Awake {} => self.node.awake().read()?,
            Request::Serve(request) => self.node.sessions.serve(request, None)?,
            Request::Run(request) => return self.node.sessions.run(request).map(Reply::Later),
            Request::Finish(request) => return self.node.sessions.finish(&request).map(Reply::Later),
            Request::Progress { session } => self.node.sessions.progress(&session)?,
            Request::Cancel { session } => return self.cancel(&session),
            Request::ConnectionLogsStart {} => self.node.sessions.start_connection_logs()?,
            Request::ConnectionLogsStop {} => self.node.sessions.stop_connection_logs()?,
            Request::VlanBegin(request) => self.node.vlans().begin(request)?,
            Request::TunnelAdd(spec) => tunnels::add(&mut self.tunnels(), &spec)?,
            Request::TunnelRemove { device } => tunnels::remove(&mut self.tunnels(), &device)?,
            Request::TunnelCounters(request) => tunnels::counters(&mut self.tunnels(), &request)?,
            Request::TranslatorAdd(spec) => translators::add(&mut self.translators(), *spec)?,
            Request::TranslatorRemove { device } => translators::remove(&mut self.translators(), &device)?,
            Request::TranslatorCounters(request) => translators::counters(&self.translators(), &request)?,
            Request::TranslatorBringUp(request) => {
                return Ok(Reply::Later(bring_up::bring_up(&self.translators, *request)));
            }
            Request::EmulateAdd(spec) => self.emulation.add(*spec)?,
            Request::EmulateChange(change) => self.emulation.change(*change)?,
            Request::EmulateRecord(request) => self.emulation.record(&request)?,
            Request::EmulateRemove { link } => self.emulation.remove(&link)?,
            Request::MulticastForward(request) => self.services.forward_multicast(request)?,
            Request::MulticastCounters {} => self.services.multicast_counters()?,
            Request::MulticastStop {} => self.services.stop_multicast()?,
            Request::RouterAdvertise(request) => self.services.advertise(request)?,
            Request::AdvertiseStop { device } => self.services.stop_advertising(&device)?,
            Request::RouterSolicit(request) => return Ok(Reply::Later(self.services.solicit(request))),
            Request::PrefixDiscover(request) => return Ok(Reply::Later(self.services.discover_prefix(request))),
            Request::DhcpServe(request) => self.services.serve_dhcp(&request)?,
            Request::DhcpStop { device } => self.services.stop_dhcp(&device)?,
            Request::DhcpAsk(request) => return Ok(Reply::Later(self.services.ask_dhcp(request))),
            Request::BrokerStart(start) => self.services.start_broker(*start)?,
            Request::BrokerStatus {} => self.services.broker_status()?,
            Request::BrokerStop {} => self.services.stop_broker()?,
            Request::BrokerAsk(request) => return self.services.request_tunnel(*request).map(Reply::Later),
            Request::DnsStart(request) => self.services.start_dns(&request)?,
            Request::DnsCounters {} => self.services.dns_counters()?,
            Request::DnsStop {} => self.services.stop_dns()?,
            Request::RelayStart(request) => self.services.start_relay(&request)?,
            Request::RelayCounters {} => self.services.relay_counters()?,
            Request::RelayStop {} => self.services.stop_relay()?,
            Request::TcpConnect(request) => return self.probes.tcp_connect(request).map(Reply::Later),
            Request::Resolve(request) => return self.probes.resolve(request).map(Reply::Later),
            Request::Application(request) => return self.probes.application(*request).map(Reply::Later),
            Request::Ping(request) => return self.probes.ping(request).map(Reply::Later),
            Request::Vantage(request) => return self.probes.vantage(request).map(Reply::Later),
            Request::Route(request) => return self.probes.route(request).map(Reply::Later),
            Request::PathMtu(request) => return self.probes.path_mtu(request).map(Reply::Later),
            Request::DeviceStart(start) => return self.device.start(*start).map(Reply::Later),
            Request::DeviceCounters(request) => self.device.counters(&request)?,
            Request::DeviceLog(request) => self.device.log(&request)?,
            Request::BrokerRelease(release) => return self.services.release_tunnel(release).map(Reply::Later),
        };
        Ok(Reply::Now(value))
    }

    fn cancel(&self, session: &str) -> Result<Reply, Error> {
        Ok(self.node.sessions.cancel(session)?.map_or_else(|| Reply::Now(json!({})), Reply::Later))
    }

    fn tunnels(&self) -> MutexGuard<'_, Tunnels> {
        self.tunnels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn translators(&self) -> MutexGuard<'_, Translators> {
        self.translators.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn greet(&mut self, hello: &Hello) -> Outcome {
        let answer = hello::answer(hello, &self.node.name)?;
        self.is_greeted = true;
        Ok(answer)
    }
}

impl Asker for Node {
    const MAX_REQUEST_BYTES: usize = MAX_REQUEST_BYTES;

    fn answers(&self) -> &Answers {
        &self.answers
    }

    fn note_gone(&self, error: &io::Error) {
        crate::complain(&format!("writing a response: {error}"), 1);
        self.end(1)
    }
}

impl Node {
    fn vlans(&self) -> MutexGuard<'_, Vlans> {
        self.vlans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn awake(&self) -> MutexGuard<'_, Awake> {
        self.awake.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the node. The kernel closes its sessions' sockets and takes the namespace away.
    fn end(&self, code: i32) -> ! {
        self.commands.kill_all();
        // An interface is not to tag anything at home.
        self.vlans().end();
        *self.awake() = Awake::default();
        let is_home = self.lent.as_ref().is_none_or(Lent::give_back);
        if !is_home {
            crate::complain("not all borrowed interfaces could be given back; see /run/sixbench/lent", 1);
        }
        process::exit(if is_home { code } else { 1 })
    }
}
