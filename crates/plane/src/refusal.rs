//! The reasons why a kernel does not take programs.

use std::error::Error as StdError;
use std::fs;
use std::io;

use aya::util::KernelVersion;
use nix::errno::Errno;
use sixbench_packet::{Code, Error};

/// The first kernel that has all that the programs cannot do without (`bpf_redirect_neigh`).
const NEEDED_KERNEL: (u8, u8) = (5, 10);

const NET_ADMIN: (u32, &str) = (12, "CAP_NET_ADMIN");
const SYS_ADMIN: u32 = 21;
const BPF: (u32, &str) = (39, "CAP_BPF");

/// The facts that are known about a refusal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The loader's and the verifier's words.
    pub reason: String,
    /// The error number of the system call.
    pub errno: Option<i32>,
    /// Capabilities that this process lacks in the first user namespace, where that is the reason.
    pub missing_capabilities: Vec<&'static str>,
    /// The kernel that is needed, where this one is older.
    pub needed_kernel: Option<String>,
}

impl Refusal {
    /// A refusal of our own, without an error of the kernel.
    pub fn with_reason(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), ..Self::default() }
    }

    /// The refusal that the kernel's error, and the state of this machine, stand for.
    pub fn of(error: &(dyn StdError + 'static)) -> Self {
        let mut refusal = Self { reason: chain(error), errno: errno(error), ..Self::default() };
        let is_older = KernelVersion::current()
            .is_ok_and(|version| version < KernelVersion::new(NEEDED_KERNEL.0, NEEDED_KERNEL.1, 0));
        if is_older {
            refusal.needed_kernel = Some(format!("{}.{}", NEEDED_KERNEL.0, NEEDED_KERNEL.1));
        }
        if matches!(refusal.errno, Some(libc::EPERM | libc::EACCES)) {
            refusal.missing_capabilities = missing_capabilities().unwrap_or_default();
        }
        refusal
    }
}

impl Refusal {
    /// The error with that sentence, and with these facts for programs.
    fn error(&self, message: String) -> Error {
        let error = Error::new(Code::System, message);
        let mut error = match self.errno {
            Some(number) => error.with_call("bpf", &io::Error::from_raw_os_error(number)),
            None => error.with("call", "bpf"),
        };
        if !self.missing_capabilities.is_empty() {
            error = error.with("missing_capabilities", self.missing_capabilities.clone());
        }
        match &self.needed_kernel {
            Some(needed) => error.with("needed_kernel", needed.as_str()),
            None => error,
        }
    }

    fn is_forbidden(&self) -> bool {
        self.errno == Some(libc::EPERM)
    }

    /// The reason in words, without what else would do.
    pub fn words(&self) -> String {
        let mut words = self.reason.clone();
        if !self.missing_capabilities.is_empty() {
            words += &format!("; this process has no {} here", self.missing_capabilities.join(" and no "));
        } else if self.is_forbidden() {
            words += "; it has the capabilities, so a security module or a filter of system calls forbids it";
        }
        words
    }
}

/// The kernel does not take the programs.
pub(crate) fn refused(doing: impl std::fmt::Display, refusal: &Refusal) -> Error {
    refusal.error(format!("{doing}: {refusal}"))
}

/// The kernel does not tell what it does.
pub(crate) fn not_watched(watching: &str, refusal: &Refusal) -> Error {
    refusal.error(format!("watching {watching}: {}", refusal.words()))
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.words())?;
        let is_forbidden = self.is_forbidden();
        if let Some(needed) = &self.needed_kernel {
            write!(formatter, "; it needs Linux {needed}")?;
        }
        if self.errno == Some(libc::ENOSYS) {
            formatter.write_str("; this kernel is built without bpf()")?;
        }
        if is_forbidden || self.needed_kernel.is_some() || self.errno == Some(libc::ENOSYS) {
            formatter.write_str("; engine \"user\" needs no BPF")?;
        }
        Ok(())
    }
}

/// The capabilities, of CAP_BPF and CAP_NET_ADMIN, that this process lacks; CAP_SYS_ADMIN is as good as both.
fn missing_capabilities() -> io::Result<Vec<&'static str>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let uid_map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    Ok(missing(&status, &uid_map))
}

fn missing(status: &str, uid_map: &str) -> Vec<&'static str> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or_default();
    let mut effective = u64::from_str_radix(line.trim(), 16).unwrap_or(u64::MAX);
    // bpf() looks at the first user namespace, which has all user numbers; in another one capabilities say nothing
    // there.
    if uid_map.split_whitespace().ne(["0", "0", "4294967295"]) {
        effective = 0;
    }
    let has = |capability: u32| (effective >> capability) & 1 == 1;
    [BPF, NET_ADMIN].iter().filter(|(number, _)| !has(*number) && !has(SYS_ADMIN)).map(|(_, name)| *name).collect()
}

/// An error of aya, with all that caused it, on one line: the outermost says little.
fn chain(error: &dyn StdError) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words = format!("{words}: {cause_words}");
        }
        source = cause.source();
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The system's number in an error or what caused it.
fn errno(error: &(dyn StdError + 'static)) -> Option<i32> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(number) = error.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error) {
            return Some(number);
        }
        if let Some(errno) = error.downcast_ref::<Errno>() {
            return Some(*errno as i32);
        }
        next = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "         0          0 4294967295\n";

    #[test]
    fn missing_capabilities_are_named() {
        let with = |effective: &str| format!("Name:\tx\nCapEff:\t{effective}\n");
        assert_eq!(missing(&with("0000000000000000"), FIRST), ["CAP_BPF", "CAP_NET_ADMIN"]);
        assert_eq!(missing(&with("0000000000001000"), FIRST), ["CAP_BPF"]);
        assert_eq!(missing(&with("0000008000000000"), FIRST), ["CAP_NET_ADMIN"]);
        assert_eq!(missing(&with("0000000000200000"), FIRST), [""; 0]);
        assert_eq!(missing(&with("0000008000001000"), FIRST), [""; 0]);
    }

    #[test]
    fn capabilities_of_another_user_namespace_are_none() {
        assert_eq!(missing("CapEff:\t000001ffffffffff\n", "0 1000 1\n"), ["CAP_BPF", "CAP_NET_ADMIN"]);
    }

    #[test]
    fn a_refusal_says_what_would_help() {
        let refusal = Refusal {
            reason: "loading failed".to_owned(),
            errno: Some(libc::EPERM),
            missing_capabilities: vec!["CAP_BPF"],
            needed_kernel: Some("5.10".to_owned()),
        };
        let words =
            "loading failed; this process has no CAP_BPF here; it needs Linux 5.10; engine \"user\" needs no BPF";
        assert_eq!(refusal.to_string(), words);
    }
}
