//! The command line.

mod remote;

use std::ffi::OsString;

pub use self::remote::{ConnectOptions, ServeOptions};

/// What is printed for `--help`, and after a usage error.
pub const USAGE: &str = "\
usage: sixbench-agent node --name NAME [--here]
       sixbench-agent serve [--listen ADDRESS[,ADDRESS]] [--port N] [--key FILE] [--max-clients N]
                            [--max-client-flows N] [--max-flows N] [--max-rate BITS] [--max-duration S] [--one-off]
       sixbench-agent connect HOST PORT [--key FILE] [--bind ADDRESS] [-4 | -6]
       sixbench-agent translate
       sixbench-agent decode
       sixbench-agent device-init
       sixbench-agent --parameters
       sixbench-agent --version

node: Be the node NAME. The agent makes a network namespace. It reads requests from standard input and answers them on
standard output, one JSON object a line, until standard input closes. With --here it stays in the network namespace in
which it was started.
serve: Answer the requests of other machines over TCP, if they concern traffic. The agent listens on port 5210 of loopback
unless other addresses are given. Beyond loopback it needs a key.
connect: Connect standard input and output with an agent that serves.
translate: Take packets through a tunnel or a translator. The first line of standard input says which, every other one is a
packet; each is answered on standard output. It needs no root.
decode: Tell the headers of packets. Every line of standard input is a packet; each is answered on standard output. It
needs no root.
device-init: For the agent itself, which starts a device under test by it.
--parameters: Print the parameters of every workload as JSON, with their bounds and defaults.";

/// What the command line asks for.
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
    /// Say which parameters the workloads have.
    Parameters,
    /// Say which version this is.
    Version,
    /// Say how to be called.
    Help,
}

/// How to be a node.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// The node's name.
    pub name: String,
    /// Whether to stay in the caller's network namespace.
    pub here: bool,
}

/// Reads the arguments after the program's name. The error is one line for the user.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Invocation, String> {
    let mut arguments = arguments.into_iter().map(|argument| {
        argument.into_string().map_err(|argument| format!("argument {} is not UTF-8", argument.to_string_lossy()))
    });
    match arguments.next().transpose()?.as_deref() {
        Some("node") => parse_node(arguments).map(Invocation::Node),
        Some("serve") => remote::parse_serve(arguments).map(Invocation::Serve),
        Some("connect") => remote::parse_connect(arguments).map(Invocation::Connect),
        Some("translate") => parse_bare("translate", arguments, Invocation::Translate),
        Some("decode") => parse_bare("decode", arguments, Invocation::Decode),
        Some("device-init") => Ok(Invocation::DeviceInit),
        Some("--parameters") => Ok(Invocation::Parameters),
        Some("--version" | "-V") => Ok(Invocation::Version),
        Some("--help" | "-h") => Ok(Invocation::Help),
        Some(other) => Err(format!("there is no command `{other}`")),
        None => Err("a command is missing".to_owned()),
    }
}

fn parse_node(mut arguments: impl Iterator<Item = Result<String, String>>) -> Result<Options, String> {
    let (mut name, mut here) = (None, false);
    while let Some(argument) = arguments.next().transpose()? {
        match argument.as_str() {
            "--name" => name = Some(arguments.next().transpose()?.ok_or("--name needs a value")?),
            "--here" => here = true,
            other => return Err(format!("`node` has no argument `{other}`")),
        }
    }
    match name {
        Some(name) if !name.is_empty() => Ok(Options { name, here }),
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
        let node = |here| Ok(Invocation::Node(Options { name: "h1".to_owned(), here }));
        assert_eq!(parse(&["node", "--name", "h1"]), node(false));
        assert_eq!(parse(&["node", "--here", "--name", "h1"]), node(true));
        assert_eq!(parse(&["translate"]), Ok(Invocation::Translate));
        assert_eq!(parse(&["decode"]), Ok(Invocation::Decode));
        assert_eq!(parse(&["--version"]), Ok(Invocation::Version));
        assert_eq!(parse(&["--parameters"]), Ok(Invocation::Parameters));
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
            &["translate", "siit"],
            &["decode", "x"],
        ] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
