//! The state that an interface had at home, on disk until it has it again; and the present holder of the interface.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use sixbench_netlink::Client;
use sixbench_packet::stamping::{self, Setting};

/// The directory of records. It is empty after the machine has started, when all interfaces are home anyway.
const DIRECTORY: &str = "/run/sixbench/lent";
/// Time in which a keeper brings interfaces home, for which the next one waits.
const PATIENCE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);

/// An interface as it was at home.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its name.
    pub interface: String,
    /// Its Ethernet address: another one of that name is another interface.
    pub address: String,
    /// Its settings in the namespace: paths below `/proc/sys/net`, and values.
    pub settings: BTreeMap<String, String>,
    /// The offloads that a node may switch, as `ethtool -K` takes them.
    pub offloads: Vec<String>,
    /// The settings of its hardware time stamps (`struct hwtstamp_config`); absent where its driver has none.
    #[serde(default)]
    pub stamps: Option<[u32; 3]>,
    /// The commands that bring the rest of its state back, in order: lines for `ip -batch`.
    pub lines: Vec<String>,
}

impl Record {
    /// Restores what it had, where it is here again.
    pub fn restore(&self) -> Result<(), String> {
        let doing = |what: &str| format!("restoring {}: {what}", self.interface);
        for (path, value) in &self.settings {
            let path = format!("/proc/sys/net/{path}");
            let now = fs::read_to_string(&path).unwrap_or_default();
            if now.trim_end() != value {
                // Some cannot be written, and have not changed either.
                let _ = fs::write(&path, value);
            }
        }
        if !self.offloads.is_empty() {
            // A device that refuses has kept them.
            let arguments = ["-K", &self.interface].into_iter().chain(self.offloads.iter().map(String::as_str));
            let _ = Command::new("ethtool").args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
        let mut command = Command::new("ip");
        // An object that is there already is refused, and the lines after it count all the same.
        command.args(["-force", "-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| doing(&error.to_string()))?;
        if let Some(mut stdin) = child.stdin.take() {
            let text = self.lines.join("\n") + "\n";
            stdin.write_all(text.as_bytes()).map_err(|error| doing(&error.to_string()))?;
        }
        child.wait().map_err(|error| doing(&error.to_string()))?;
        self.restore_stamps().map_err(|error| doing(&format!("its hardware time stamps: {error}")))
    }

    fn restore_stamps(&self) -> io::Result<()> {
        let Some(before) = self.stamps.map(Setting::from) else { return Ok(()) };
        if stamping::setting(&self.interface)? != before {
            stamping::set(&self.interface, before)?;
        }
        Ok(())
    }

    /// True if this namespace has the interface.
    fn is_here(&self) -> bool {
        let links = Client::open().and_then(|mut client| client.links()).unwrap_or_default();
        links
            .iter()
            .any(|link| link.name == self.interface && link.ethernet.map(text_of).as_ref() == Some(&self.address))
    }
}

/// The address as `ip` writes it.
fn text_of(address: [u8; 6]) -> String {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

/// The right of one keeper to an interface, as long as it lives.
pub struct Claim {
    /// The interface's name.
    pub interface: String,
    path: PathBuf,
    _lock: Flock<File>,
}

impl Claim {
    /// Takes it, once nobody else has it. The error is for the user.
    pub fn make(interface: &str) -> Result<Self, String> {
        let until = Instant::now() + PATIENCE;
        loop {
            match Self::try_make(interface)? {
                Some(claim) => return Ok(claim),
                None if Instant::now() < until => thread::sleep(POLL),
                None => {
                    return Err(format!("borrowing {interface}: another run uses it; wait until that run has ended"));
                }
            }
        }
    }

    fn try_make(interface: &str) -> Result<Option<Self>, String> {
        let doing = |error| format!("borrowing {interface}: writing in {DIRECTORY}: {error}; this needs root");
        let is_name = !interface.is_empty() && interface != "." && interface != ".." && !interface.contains('/');
        if !is_name {
            return Err(format!("borrowing {interface}: an interface cannot have this name"));
        }
        let namespace = fs::metadata("/proc/self/ns/net").map_err(doing)?.ino();
        match DirBuilder::new().recursive(true).mode(0o700).create(DIRECTORY) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(doing(error)),
            _ => {}
        }
        let path = PathBuf::from(format!("{DIRECTORY}/{namespace}-{interface}.json"));
        let lock_path = path.with_extension("lock");
        let file = File::create(&lock_path).map_err(doing)?;
        let inode = file.metadata().map_err(doing)?.ino();
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            // Whoever had it has removed it meanwhile: it is not the one that others will lock.
            Ok(_) if fs::metadata(&lock_path).map(|file| file.ino()).ok() != Some(inode) => Ok(None),
            Ok(lock) => Ok(Some(Self { interface: interface.to_owned(), path, _lock: lock })),
            Err((_, Errno::EWOULDBLOCK)) => Ok(None),
            Err((_, errno)) => Err(doing(errno.into())),
        }
    }

    /// Keeps a record until `forget`.
    pub fn save(&self, record: &Record) -> Result<(), String> {
        let doing = |error| format!("borrowing {}: writing {}: {error}", self.interface, self.path.display());
        let partial = self.path.with_extension("partial");
        let text = serde_json::to_vec(record).map_err(|error| doing(error.into()))?;
        fs::write(&partial, text).and_then(|()| fs::rename(&partial, &self.path)).map_err(doing)
    }

    /// The record of the keeper before.
    pub fn load(&self) -> Result<Record, String> {
        let doing = |error| format!("giving {} back: reading {}: {error}", self.interface, self.path.display());
        let text = fs::read(&self.path).map_err(doing)?;
        serde_json::from_slice(&text).map_err(|error| doing(error.into()))
    }

    /// Removes the record: the interface is home.
    pub fn forget(&self) {
        let _ = fs::remove_file(&self.path);
    }

    /// Restores an interface that came home without its keeper. Returns whether there was one.
    pub fn mend(&self) -> Result<bool, String> {
        let Ok(record) = self.load() else { return Ok(false) };
        let is_here = record.is_here();
        if is_here {
            record.restore()?;
        }
        self.forget();
        Ok(is_here)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.path.with_extension("lock"));
    }
}

/// Restores every interface of this namespace that came home without its keeper. Returns their names.
pub fn mend_all() -> Result<Vec<String>, String> {
    let namespace =
        fs::metadata("/proc/self/ns/net").map_err(|error| format!("looking at the namespace: {error}"))?.ino();
    let prefix = format!("{namespace}-");
    let mut mended = Vec::new();
    for entry in fs::read_dir(DIRECTORY).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let interface = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".json"));
        let Some(interface) = interface else { continue };
        // An interface that is lent now is left alone.
        if let Some(claim) = Claim::try_make(interface)? {
            if claim.mend()? {
                mended.push(interface.to_owned());
            }
        }
    }
    Ok(mended)
}
