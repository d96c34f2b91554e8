//! `serve` and `connect`: two machines without a lab.
//!
//! [`client`] is the conversation with one client; [`limits`] and [`flows`] limit its requests, [`listening`] chooses
//! the addresses of its sessions; [`bridge`] is the client's end.

mod bridge;
mod client;
mod flows;
mod limits;
mod listening;

use std::process::ExitCode;
use std::sync::Arc;

use serde_json::json;
use sixbench_packet::LocalAddress;
use sixbench_remote::{Error, Key, listen};

use self::client::Host;
use self::flows::Flows;
use self::limits::Limits;
use self::listening::Listening;
use crate::args::{ConnectOptions, ServeOptions};
use crate::{EXIT_CANNOT, EXIT_USAGE, complain};

/// Serves clients until a signal, or until the first one has gone.
pub fn serve(options: ServeOptions) -> ExitCode {
    match serve_all(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(&error),
    }
}

/// Connects standard input and output with a served agent.
pub fn connect(options: &ConnectOptions) -> ExitCode {
    let key = options.key.as_deref().map(Key::read).transpose();
    match key.and_then(|key| sixbench_remote::connect(&options.target, key.as_ref())) {
        Ok(channel) => bridge::carry(channel, &options.target),
        Err(error) => refuse(&error),
    }
}

fn serve_all(options: ServeOptions) -> Result<(), Error> {
    let key = options.key.as_deref().map(Key::read).transpose()?;
    if key.is_none() && options.addresses.are_beyond_loopback() {
        let message = "serving beyond loopback needs a key that the clients have too; give its file with --key FILE";
        return Err(Error::Usage(message.to_owned()));
    }
    let listening = listen(&options.addresses)?;
    let bound = listening.addresses().iter().map(|&at| (LocalAddress::from(at), at.port()));
    let addresses: Vec<_> =
        bound.clone().map(|(address, port)| json!({"address": address.to_string(), "port": port})).collect();
    println!("{}", json!({"listening": addresses, "key": key.is_some()}));
    let host = Arc::new(Host {
        name: client::host_name(),
        listening: Listening { addresses: bound.map(|(address, _)| address).collect() },
        limits: Limits { max_rate_bps: options.max_rate_bps, max_duration_s: options.max_duration_s },
        flows: Flows::new(options.max_client_flows, options.max_flows),
    });
    let serve = move |channel, visit: &mut _| client::serve(channel, visit, &host);
    listening.serve(key, options.max_clients, options.one_off, Arc::new(serve))
}

fn refuse(error: &Error) -> ExitCode {
    match error {
        Error::Usage(_) => complain(&error.to_string(), EXIT_USAGE),
        Error::System { .. } | Error::Peer { .. } => complain(&error.to_string(), EXIT_CANNOT),
    }
}
