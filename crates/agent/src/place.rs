//! `place`: the processors that a node runs on.

use std::fs;
use std::process;

use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde::Deserialize;
use serde_json::json;

use crate::error::{Error, Outcome};

/// A request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceRequest {
    processors: Vec<usize>,
}

/// Puts every thread of this process on these processors, and the programs that it has started, such as tayga. Programs
/// that they start follow.
pub fn place(request: &PlaceRequest) -> Outcome {
    let mut wanted = CpuSet::new();
    for &processor in &request.processors {
        wanted.set(processor).map_err(|error| refused(&request.processors, error))?;
    }
    place_process(process::id(), &wanted).map_err(|error| refused(&request.processors, error))?;
    Ok(json!({}))
}

fn refused(processors: &[usize], error: Errno) -> Error {
    Error::system(format_args!("running on the processors {processors:?}"), "sched_setaffinity", error)
}

/// A process and its descendants (`proc_tid_children(5)`); those that have ended since, or that the kernel tells
/// nobody, are left out.
fn place_process(pid: u32, wanted: &CpuSet) -> Result<(), Errno> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    for thread in threads {
        let Some(number) = thread.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        match sched_setaffinity(Pid::from_raw(number), wanted) {
            Ok(()) => {}
            Err(Errno::ESRCH) => continue,
            Err(error) => return Err(error),
        }
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            place_process(child, wanted)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use nix::sched::sched_getaffinity;

    use super::*;
    use crate::error::Code;

    fn allowed(pid: u32) -> Vec<usize> {
        let set = sched_getaffinity(Pid::from_raw(i32::try_from(pid).unwrap())).unwrap();
        (0..CpuSet::count()).filter(|&core| set.is_set(core).unwrap()).collect()
    }

    /// A shell and a program that it has started, both ended with it.
    struct Started(Child);

    impl Started {
        fn program(&self) -> u32 {
            let file = format!("/proc/{0}/task/{0}/children", self.0.id());
            loop {
                if let Some(child) = fs::read_to_string(&file).unwrap().split_whitespace().next() {
                    return child.parse().unwrap();
                }
            }
        }
    }

    impl Drop for Started {
        fn drop(&mut self) {
            let program = self.program();
            self.0.kill().unwrap();
            self.0.wait().unwrap();
            nix::sys::signal::kill(Pid::from_raw(program as i32), nix::sys::signal::Signal::SIGKILL).unwrap();
        }
    }

    #[test]
    fn a_process_is_placed_with_the_programs_that_it_has_started() {
        let started = Started(Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap());
        let last = *allowed(process::id()).last().unwrap();
        let mut wanted = CpuSet::new();
        wanted.set(last).unwrap();
        let program = started.program();
        place_process(started.0.id(), &wanted).unwrap();
        assert_eq!(allowed(started.0.id()), [last]);
        assert_eq!(allowed(program), [last]);
    }

    #[test]
    fn processors_that_are_not_there_are_told() {
        for processor in [CpuSet::count() - 1, CpuSet::count()] {
            let failure = place(&PlaceRequest { processors: vec![processor] }).unwrap_err();
            assert_eq!(failure.code, Code::System);
            let begins = format!("running on the processors [{processor}]: ");
            assert!(failure.message.starts_with(&begins), "{}", failure.message);
        }
    }
}
