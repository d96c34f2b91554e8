//! The process that keeps borrowed interfaces: it stays in the machine's namespace, and outlives the node.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::process::ExitCode;

use nix::sched::{CloneFlags, setns};
use nix::unistd::{Pid, getppid, setsid};
use sixbench_netlink::Client;

use super::examine::examine;
use super::record::{Claim, Record};
use super::{READY, REFUSED, TAKE, TAKEN};
use crate::sys;

/// The command that the agent starts itself with as this process.
pub const COMMAND: &str = "keep-lent";

/// The argument of a keeper that finishes the work of one that was killed.
pub const RETURN: &str = "--return";
/// The argument by which it lends an interface that is in use, too.
pub const EVEN_IN_USE: &str = "--even-in-use";

/// Runs as that process, until standard input ends and the interfaces are home.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let node = getppid();
    // A user who ends a session of SSH must not end this process before it is done.
    let _ = (setsid(), sys::ignore_requests_to_end());
    let mut names: Vec<String> = arguments.into_iter().map(|name| name.to_string_lossy().into_owned()).collect();
    // Claims that are made in one order never wait for each other. An option comes first.
    names.sort_unstable();
    names.dedup();
    let done = match names.split_first() {
        Some((first, names)) if first == RETURN => bring_back(node, names),
        Some((first, names)) if first == EVEN_IN_USE => keep(node, names, true),
        _ => keep(node, &names, false),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            say(&format!("{REFUSED}{reason}"));
            ExitCode::FAILURE
        }
    }
}

fn keep(node: Pid, names: &[String], even_in_use: bool) -> Result<(), String> {
    let home = namespace("/proc/self/ns/net")?;
    let claims = names.iter().map(|name| Claim::make(name)).collect::<Result<Vec<_>, _>>()?;
    for claim in &claims {
        claim.mend()?;
    }
    let records = claims.iter().map(|claim| examine(&claim.interface, even_in_use)).collect::<Result<Vec<_>, _>>()?;
    for (claim, record) in claims.iter().zip(&records) {
        claim.save(record)?;
    }
    say(READY);
    let mut input = io::stdin().lock().lines();
    if input.next().and_then(Result::ok).as_deref() != Some(TAKE) {
        claims.iter().for_each(Claim::forget);
        return Ok(());
    }
    let away = namespace(&format!("/proc/{node}/ns/net"))?;
    if inode(&away)? == inode(&home)? {
        claims.iter().for_each(Claim::forget);
        return Err("borrowing interfaces: the node has no network namespace of its own".to_owned());
    }
    let moved = send_away(&away, &records);
    if moved.is_ok() {
        say(TAKEN);
        // Whatever the node does, this ends when it does.
        input.for_each(drop);
    }
    bring_home(&home, &away, &claims, &records)?;
    moved
}

fn bring_back(node: Pid, names: &[String]) -> Result<(), String> {
    let home = namespace("/proc/self/ns/net")?;
    let away = namespace(&format!("/proc/{node}/ns/net"))?;
    let claims = names.iter().map(|name| Claim::make(name)).collect::<Result<Vec<_>, _>>()?;
    let records = claims.iter().map(Claim::load).collect::<Result<Vec<_>, _>>()?;
    bring_home(&home, &away, &claims, &records)
}

fn send_away(away: &File, records: &[Record]) -> Result<(), String> {
    let mut client = Client::open().map_err(|error| format!("opening a netlink socket: {error}"))?;
    for record in records {
        let doing = |error| format!("moving {} into the node: {error}", record.interface);
        let link = client.links().map_err(doing)?.into_iter().find(|link| link.name == record.interface);
        let index = link.ok_or_else(|| doing(io::ErrorKind::NotFound.into()))?.index;
        client.move_to(index, away.as_fd()).map_err(doing)?;
    }
    Ok(())
}

/// Brings home those that are away, and restores all.
fn bring_home(home: &File, away: &File, claims: &[Claim], records: &[Record]) -> Result<(), String> {
    enter(away)?;
    let mut wrong = None;
    let moved = Client::open().and_then(|mut client| {
        for link in client.links()? {
            if records.iter().any(|record| record.interface == link.name) {
                if let Err(error) = client.move_to(link.index, home.as_fd()) {
                    wrong = Some(format!("giving {} back: {error}", link.name));
                }
            }
        }
        Ok(())
    });
    enter(home)?;
    moved.map_err(|error| format!("giving interfaces back: {error}"))?;
    for (claim, record) in claims.iter().zip(records) {
        match record.restore() {
            Ok(()) => claim.forget(),
            Err(error) => wrong = Some(error),
        }
    }
    wrong.map_or(Ok(()), Err)
}

fn enter(namespace: &File) -> Result<(), String> {
    setns(namespace, CloneFlags::CLONE_NEWNET).map_err(|errno| format!("changing the network namespace: {errno}"))
}

fn namespace(path: &str) -> Result<File, String> {
    File::open(path).map_err(|error| format!("opening {path}: {error}"))
}

fn inode(namespace: &File) -> Result<u64, String> {
    namespace.metadata().map(|file| file.ino()).map_err(|error| format!("looking at a network namespace: {error}"))
}

/// The node may be gone.
fn say(line: &str) {
    let mut output = io::stdout().lock();
    let _ = writeln!(output, "{}", line.replace('\n', " ")).and_then(|()| output.flush());
}
