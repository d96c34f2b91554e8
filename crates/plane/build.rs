//! Compiles `bpf/` for the kernel, and takes the list of outcomes from there.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let sources = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../../bpf");
    let output = PathBuf::from(variable("OUT_DIR"));
    println!("cargo::rerun-if-changed={}", sources.display());
    println!("cargo::rerun-if-env-changed=CLANG");
    // Version 3 of the instruction set has atomic additions that return the old value (Linux 5.12).
    let result = compile(&sources.join("tunnel.bpf.c"), &output.join("tunnel.bpf.o"), &[])
        .and_then(|()| {
            compile(&sources.join("tunnel.bpf.c"), &output.join("tunnel-5.10.bpf.o"), &["-DNO_FETCH_AND_ADD"])
        })
        .and_then(|()| compile(&sources.join("translator.bpf.c"), &output.join("translator.bpf.o"), &[]))
        .and_then(|()| compile(&sources.join("drops.bpf.c"), &output.join("drops.bpf.o"), &[]))
        .and_then(|()| compile(&sources.join("vlan.bpf.c"), &output.join("vlan.bpf.o"), &[]))
        .and_then(|()| compile(&sources.join("timers.bpf.c"), &output.join("timers.bpf.o"), &[]))
        .and_then(|()| compile(&sources.join("frames.bpf.c"), &output.join("frames.bpf.o"), &[]))
        .and_then(|()| write_outcomes(&sources.join("outcomes.h"), &output.join("outcomes.rs")));
    if let Err(reason) = result {
        println!("cargo::error={reason}");
    }
}

fn compile(source: &Path, object: &Path, definitions: &[&str]) -> Result<(), String> {
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    let mut command = Command::new(&clang);
    // Headers are read as words too, as in the kernel, hence this option of its own.
    command.arg("-fno-strict-aliasing");
    command.args(["-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-c", "-o"]);
    command.arg(object).args(definitions).arg(source);
    // Debian keeps <asm/types.h> in a folder an architecture, where clang does not look when it compiles for BPF.
    let headers = format!("/usr/include/{}-linux-gnu", variable("CARGO_CFG_TARGET_ARCH"));
    if Path::new(&headers).is_dir() {
        command.arg(format!("-I{headers}"));
    }
    let finished = command.output().map_err(|error| {
        format!("compiling {} needs clang, and starting {clang} failed: {error}; install the Debian package clang, or set CLANG", source.display())
    })?;
    if finished.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&finished.stderr).trim_end().to_owned();
    let remedy = if words.contains("bpf/bpf_helpers.h") {
        "; install the Debian package libbpf-dev"
    } else if words.contains("linux/") || words.contains("asm/") {
        "; install the Debian package linux-libc-dev"
    } else {
        ""
    };
    Err(format!("{clang} cannot compile {}{remedy}: {}", source.display(), words.replace('\n', " | ")))
}

/// Each `OUTCOME(NAME, "reason", VERDICT, "words")` becomes a value of `pub enum Outcome`.
fn write_outcomes(header: &Path, output: &Path) -> Result<(), String> {
    let text = fs::read_to_string(header).map_err(|error| format!("reading {}: {error}", header.display()))?;
    let [mut names, mut reasons, mut verdicts, mut words] = [const { String::new() }; 4];
    let mut count = 0;
    for entry in text.split("\tOUTCOME(").skip(1) {
        let [name, reason, verdict, explanation, ..] = entry.split('"').collect::<Vec<_>>()[..] else {
            return Err(format!("{}: not an outcome: {entry}", header.display()));
        };
        let [name, verdict] = [name, verdict].map(|field| camel_case(field.trim_matches([',', ' ', '\\', '\n', '\t'])));
        let _ = writeln!(names, "{name},");
        let _ = writeln!(reasons, "Self::{name} => {reason:?},");
        let _ = writeln!(verdicts, "Self::{name} => Verdict::{verdict},");
        let _ = writeln!(words, "Self::{name} => {explanation:?},");
        count += 1;
    }
    let all = names.replace('\n', "\nSelf::");
    let all = all.trim_end_matches("Self::");
    let code = format!(
        "/// What can become of a packet, in the order of `bpf/outcomes.h`, whose names these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Outcome {{\n{names}}}
impl Outcome {{
/// Each of them.
pub const ALL: [Self; {count}] = [Self::{all}];
/// Its name in counters.
pub fn reason(self) -> &'static str {{ match self {{\n{reasons}}} }}
/// The verdict of a program on a packet with this outcome.
pub fn verdict(self) -> Verdict {{ match self {{\n{verdicts}}} }}
/// The outcome in words: a sentence about the packet.
pub fn words(self) -> &'static str {{ match self {{\n{words}}} }}
}}\n"
    );
    fs::write(output, code).map_err(|error| format!("writing {}: {error}", output.display()))
}

/// `NO_ROUTE` as `NoRoute`.
fn camel_case(name: &str) -> String {
    let word = |word: &str| word[..1].to_owned() + &word[1..].to_ascii_lowercase();
    name.split('_').map(word).collect()
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
