//! The sixbench agent: one process is one node.
//!
//! This crate holds: a node's network namespace, the conversation on standard input and output that `docs/protocol.md`
//! describes, and all tasks of a node except traffic: commands, sysctls, counters, captures, and the interfaces that it
//! borrows. Other crates send and time traffic (`sixbench-traffic`), carry packets through tunnels (`sixbench-plane`),
//! offer services (`sixbench-services`), exchange bytes with another machine (`sixbench-remote`), and have the formats
//! of packets (`sixbench-wire`).
//!
//! `node` reads requests and hands them out, one module an operation; `remote` does so for clients on other machines,
//! which may do less; `translate` passes packets through a mechanism and `decode` prints their headers, without a node;
//! [`protocol`] has the form of requests.
//!
//! It is a library so that fuzzers reach the readers of a stranger's bytes ([`lines`], [`protocol`]). `unsafe` only in
//! `sys`.

mod answers;
mod args;
mod asked;
mod awake;
mod bring_up;
mod capture;
mod conversation;
mod counters;
mod decode;
mod device;
mod drops;
mod emulation;
mod error;
mod exec;
mod hardware_clock;
mod hello;
mod job;
mod lending;
pub mod lines;
mod links;
mod node;
mod packet_send;
mod path_mtu;
mod perf;
mod place;
mod probes;
pub mod protocol;
mod remote;
mod services;
mod sessions;
mod silence;
mod startup;
mod sys;
mod sysctl;
mod timers;
mod tracking;
mod translate;
mod translators;
mod tunnels;
mod vlans;
mod workloads;

use std::process::ExitCode;

use args::Invocation;

/// A usage error.
const EXIT_USAGE: u8 = 2;
/// The machine cannot do what was asked, or does not permit it.
const EXIT_CANNOT: u8 = 3;

/// The program: carries out the command line.
pub fn run() -> ExitCode {
    match args::parse(std::env::args_os().skip(1)) {
        Ok(Invocation::Version) => {
            println!("sixbench-agent {} protocol {}", env!("CARGO_PKG_VERSION"), protocol::VERSION);
            ExitCode::SUCCESS
        }
        Ok(Invocation::Parameters) => match workloads::parameters() {
            Ok(listed) => {
                println!("{listed:#}");
                ExitCode::SUCCESS
            }
            Err(error) => complain(&error.to_string(), EXIT_CANNOT),
        },
        Ok(Invocation::Results) => {
            println!("{:#}", workloads::results());
            ExitCode::SUCCESS
        }
        Ok(Invocation::Help) => {
            println!("{}", args::USAGE);
            ExitCode::SUCCESS
        }
        Ok(Invocation::Node(options)) => match startup::prepare(&options) {
            Ok(lent) => node::serve(options.name, lent, options.longest_silence),
            Err(message) => complain(&message, EXIT_CANNOT),
        },
        Ok(Invocation::Serve(options)) => remote::serve(options),
        Ok(Invocation::Connect(options)) => remote::connect(&options),
        Ok(Invocation::DeviceInit) => device::run_init(),
        Ok(Invocation::KeepLent(arguments)) => lending::run_keeper(arguments),
        Ok(Invocation::KeepAwake(arguments)) => awake::run_spinners(arguments),
        Ok(Invocation::Lendable) => lending::run_look(),
        Ok(Invocation::MendLent) => lending::run_mend(),
        Ok(Invocation::HardwareClock(number)) => hardware_clock::run(number),
        Ok(Invocation::Translate) => translate::translate(),
        Ok(Invocation::Decode) => decode::decode(),
        Err(message) => complain(&format!("{message}; see: sixbench-agent --help"), EXIT_USAGE),
    }
}

fn complain(message: &str, code: u8) -> ExitCode {
    eprintln!("sixbench-agent: {message}");
    ExitCode::from(code)
}
