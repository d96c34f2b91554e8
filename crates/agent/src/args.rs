//! The command line.

mod remote;

use std::ffi::OsString;
use std::time::Duration;

use crate::awake;
use crate::lending::{self, Wanted};

pub use self::remote::{ConnectOptions, ServeOptions};

/// The text printed for `--help`.
pub const USAGE: &str = "\
usage: sixbench-agent node --name NAME [--here | --borrow INTERFACE ... [--even-in-use]] [--end-after-silence SECONDS]
       sixbench-agent serve [--listen ADDRESS[,ADDRESS]] [--port N] [--key FILE] [--max-clients N]
                            [--max-client-flows N] [--max-flows N] [--max-rate BITS] [--max-duration S] [--one-off]
       sixbench-agent connect HOST PORT [--key FILE] [--bind ADDRESS] [-4 | -6]
       sixbench-agent translate
       sixbench-agent decode
       sixbench-agent lendable
       sixbench-agent mend-lent
       sixbench-agent hardware-clock N
       sixbench-agent device-init
       sixbench-agent keep-lent
       sixbench-agent --parameters
       sixbench-agent --results
       sixbench-agent --version

node: Be the node NAME. The agent makes a network namespace. It reads requests from standard input and answers them on
standard output, one JSON object a line, until standard input closes. With --here it stays in the network namespace in
which it was started. With --borrow it has interfaces of the machine in its namespace, until it ends; with
--even-in-use also those that have a default route or a program's socket. With
--end-after-silence it also ends when no line has arrived for that time, as after a connection to another machine was cut.
serve: Answer the requests of other machines over TCP, if they concern traffic. The agent listens on port 5210 of loopback
unless other addresses are given. Beyond loopback it needs a key.
connect: Connect standard input and output with an agent that serves.
translate: Take packets through a tunnel or a translator. The first line of standard input describes it, every other line is
a packet; each is answered on standard output. It needs no root.
decode: Print the headers of packets. Every line of standard input is a packet; each is answered on standard output. It
needs no root.
lendable: Print the interfaces of the machine that a node can borrow, and why it cannot borrow the others, as JSON.
mend-lent: Restore addresses, routes and settings of interfaces that came back from a node whose processes were all killed.
hardware-clock: Read the PTP hardware clock /dev/ptpN between two readings of the system's clock, and print all as JSON.
device-init: Used by the agent itself to start a device under test.
keep-lent: Used by the agent itself to keep interfaces.
--parameters: Print the parameters of every workload as JSON, with their bounds and defaults.
--results: Print the JSON Schemas of the results of every workload's client and server, and of every probe.";

/// The request of the command line.
#[derive(Debug, PartialEq, Eq)]
pub enum Invocation {
    /// Be a node.
    Node(Options),
    /// Serve other machines.
    Serve(ServeOptions),
    /// Connect with one that serves.
    Connect(ConnectOptions),
    /// Take packets through a mechanism.
    Translate,
    /// Tell the headers of packets.
    Decode,
    /// Be the first process in the namespaces of a device under test.
    DeviceInit,
    /// Keep interfaces that a node borrows.
    KeepLent(Vec<OsString>),
    /// Keep processors awake.
    KeepAwake(Vec<OsString>),
    /// Say which interfaces can be borrowed.
    Lendable,
    /// Restore interfaces that came home without their keeper.
    MendLent,
    /// Print readings of a hardware clock, by its number.
    HardwareClock(u32),
    /// Say which parameters the workloads have.
    Parameters,
    /// Print the schemas of all results.
    Results,
    /// Say which version this is.
    Version,
    /// Say how to be called.
    Help,
}

/// The options of a node.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// The node's name.
    pub name: String,
    /// True if the node stays in the caller's network namespace.
    pub here: bool,
    /// The interfaces of the machine that it has in its namespace.
    pub borrow: Wanted,
    /// Longest time without a line of input, after which the node ends.
    pub longest_silence: Option<Duration>,
}

/// Reads the arguments after the program's name. The error is one line for the user.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, String> {
    let mut arguments = arguments.into_iter().peekable();
    match arguments.peek().and_then(|first| first.to_str()) {
        Some(lending::COMMAND) => return Ok(Invocation::KeepLent(arguments.skip(1).collect())),
        Some(awake::COMMAND) => return Ok(Invocation::KeepAwake(arguments.skip(1).collect())),
        _ => {}
    }
    let mut arguments = arguments.map(|argument| {
        argument.into_string().map_err(|argument| format!("argument {} is not UTF-8", argument.to_string_lossy()))
    });
    match arguments.next().transpose()?.as_deref() {
        Some("node") => parse_node(arguments).map(Invocation::Node),
        Some("serve") => remote::parse_serve(arguments).map(Invocation::Serve),
        Some("connect") => remote::parse_connect(arguments).map(Invocation::Connect),
        Some("translate") => parse_bare("translate", arguments, Invocation::Translate),
        Some("decode") => parse_bare("decode", arguments, Invocation::Decode),
        Some("lendable") => parse_bare("lendable", arguments, Invocation::Lendable),
        Some("mend-lent") => parse_bare("mend-lent", arguments, Invocation::MendLent),
        Some("hardware-clock") => {
            let number = arguments.next().transpose()?.and_then(|number| number.parse().ok());
            let number = number.ok_or("`hardware-clock` needs the number of a clock, such as 0 for /dev/ptp0")?;
            parse_bare("hardware-clock", arguments, Invocation::HardwareClock(number))
        }
        Some("device-init") => Ok(Invocation::DeviceInit),
        Some("--parameters") => Ok(Invocation::Parameters),
        Some("--results") => Ok(Invocation::Results),
        Some("--version" | "-V") => Ok(Invocation::Version),
        Some("--help" | "-h") => Ok(Invocation::Help),
        Some(other) => Err(format!("there is no command `{other}`")),
        None => Err("a command is missing".to_owned()),
    }
}

fn parse_node(mut arguments: impl Iterator<Item = Result<String, String>>) -> Result<Options, String> {
    let (mut name, mut here, mut borrow, mut longest_silence) = (None, false, Wanted::default(), None);
    while let Some(argument) = arguments.next().transpose()? {
        match argument.as_str() {
            "--name" => name = Some(arguments.next().transpose()?.ok_or("--name needs a value")?),
            "--here" => here = true,
            "--borrow" => borrow.interfaces.push(arguments.next().transpose()?.ok_or("--borrow needs a value")?),
            "--even-in-use" => borrow.even_in_use = true,
            "--end-after-silence" => {
                let seconds =
                    arguments.next().transpose()?.and_then(|text| text.parse().ok()).filter(|seconds| *seconds > 0);
                longest_silence =
                    Some(Duration::from_secs(seconds.ok_or("--end-after-silence needs a number of seconds")?));
            }
            other => return Err(format!("`node` has no argument `{other}`")),
        }
    }
    match name {
        _ if here && !borrow.interfaces.is_empty() => Err("`node` takes --here or --borrow, not both".to_owned()),
        Some(name) if !name.is_empty() => Ok(Options { name, here, borrow, longest_silence }),
        _ => Err("`node` needs --name NAME".to_owned()),
    }
}

/// A command that takes no arguments.
fn parse_bare(
    command: &str,
    mut arguments: impl Iterator<Item = Result<String, String>>,
    invocation: Invocation,
) -> Result<Invocation, String> {
    match arguments.next().transpose()? {
        None => Ok(invocation),
        Some(other) => Err(format!("`{command}` has no argument `{other}`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Invocation, String> {
        super::parse(words.iter().map(OsString::from))
    }

    #[test]
    fn a_node_has_a_name_and_a_place() {
        let options = |here, borrow, longest_silence| Options { name: "h1".to_owned(), here, borrow, longest_silence };
        let node = |here| Ok(Invocation::Node(options(here, Wanted::default(), None)));
        assert_eq!(parse(&["node", "--name", "h1"]), node(false));
        assert_eq!(parse(&["node", "--here", "--name", "h1"]), node(true));
        let borrow = Wanted { interfaces: vec!["eth1".to_owned(), "eth2".to_owned()], even_in_use: true };
        assert_eq!(
            parse(&["node", "--name", "h1", "--borrow", "eth1", "--even-in-use", "--borrow", "eth2"]),
            Ok(Invocation::Node(options(false, borrow, None)))
        );
        assert_eq!(
            parse(&["node", "--name", "h1", "--end-after-silence", "30"]),
            Ok(Invocation::Node(options(false, Wanted::default(), Some(Duration::from_secs(30)))))
        );
        assert_eq!(parse(&["mend-lent"]), Ok(Invocation::MendLent));
        assert_eq!(parse(&["lendable"]), Ok(Invocation::Lendable));
        assert_eq!(parse(&["hardware-clock", "1"]), Ok(Invocation::HardwareClock(1)));
        assert_eq!(parse(&["keep-lent", "eth1"]), Ok(Invocation::KeepLent(vec![OsString::from("eth1")])));
        assert_eq!(parse(&["translate"]), Ok(Invocation::Translate));
        assert_eq!(parse(&["decode"]), Ok(Invocation::Decode));
        assert_eq!(parse(&["--version"]), Ok(Invocation::Version));
        assert_eq!(parse(&["--parameters"]), Ok(Invocation::Parameters));
        assert_eq!(parse(&["--results"]), Ok(Invocation::Results));
    }

    #[test]
    fn anything_else_is_a_usage_error() {
        for words in [
            &[][..],
            &["server"],
            &["node"],
            &["node", "--name"],
            &["node", "--name", ""],
            &["node", "--name", "a", "b"],
            &["node", "--name", "a", "--borrow"],
            &["node", "--name", "a", "--end-after-silence", "0"],
            &["node", "--name", "a", "--here", "--borrow", "eth1"],
            &["mend-lent", "eth1"],
            &["hardware-clock"],
            &["hardware-clock", "/dev/ptp0"],
            &["hardware-clock", "0", "1"],
            &["translate", "siit"],
            &["decode", "x"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
