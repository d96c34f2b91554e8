//! The client's end: standard input to the server, and the server to standard output.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{self, ExitCode};
use std::thread;

use sixbench_remote::{Channel, Target};

use crate::{EXIT_CANNOT, complain};

const BUFFER_BYTES: usize = 64 << 10;

/// Carries both ways until one side ends.
pub fn carry(channel: Channel, target: &Target) -> ExitCode {
    let Channel { mut reader, mut writer, .. } = channel;
    let output = match io::stdout().as_fd().try_clone_to_owned() {
        Ok(output) => output,
        Err(error) => return complain(&format!("opening standard output: {error}"), 1),
    };
    let requests = move || match copy(&mut io::stdin().lock(), &mut writer) {
        Ok(()) => process::exit(0),
        // The other thread sees the end as well, and reports it.
        Err(_) => thread::park(),
    };
    if let Err(error) = thread::Builder::new().name("requests".to_owned()).spawn(requests) {
        return complain(&format!("starting a thread for requests: {error}"), EXIT_CANNOT);
    }
    let ended = copy(&mut reader, &mut File::from(output));
    let why = ended.err().map_or_else(|| "the server closed it".to_owned(), |error| error.to_string());
    complain(&format!("the connection to {} port {} ended: {why}", target.host, target.port), EXIT_CANNOT)
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => to.write_all(&buffer[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
