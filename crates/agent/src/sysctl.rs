//! `sysctl`: the settings of the node's network stack, under `/proc/sys/net`.

use std::fmt;
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value, json};

use crate::error::{Error, Outcome};

/// The request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SysctlRequest {
    #[serde(default)]
    set: Assignments,
    #[serde(default)]
    get: Vec<String>,
}

/// Sets values in the order of the request, then reads the requested ones. The first failure ends it.
pub fn apply(request: &SysctlRequest) -> Outcome {
    for (name, value) in &request.set.0 {
        // The kernel shows this directory as it is in the network namespace of the process that opens the file.
        fs::write(path(name)?, value)
            .map_err(|error| Error::system(format_args!("setting {name} to {value:?}"), "write", error))?;
    }
    let mut values = Map::new();
    for name in &request.get {
        let value = fs::read_to_string(path(name)?)
            .map_err(|error| Error::system(format_args!("getting {name}"), "read", error))?;
        values.insert(name.clone(), Value::String(value.trim_end_matches('\n').to_owned()));
    }
    Ok(json!({ "values": values }))
}

/// The file of a name. In `net.ipv4.ip_forward` dots are separators; in a name with slashes they are not, since
/// interfaces may have dots in their names: `net/ipv4/conf/eth0.1/forwarding`.
fn path(name: &str) -> Result<PathBuf, Error> {
    let relative = if name.contains('/') { name.to_owned() } else { name.replace('.', "/") };
    let mut parts = relative.split('/');
    let is_inside = parts.next() == Some("net") && relative.len() > "net/".len();
    if !is_inside || parts.any(|part| matches!(part, "" | "." | "..") || part.contains('\0')) {
        return Err(Error::bad_request(format!(
            "sysctl {name:?} is not a name under net, such as net.ipv4.ip_forward"
        )));
    }
    Ok(PathBuf::from("/proc/sys").join(relative))
}

/// Names and values in the order in which they were written: some settings reset others.
#[derive(Debug, Default)]
struct Assignments(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Assignments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Assignments;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object of names to text")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Assignments, A::Error> {
                let mut assignments = Vec::new();
                while let Some(assignment) = map.next_entry()? {
                    assignments.push(assignment);
                }
                Ok(Assignments(assignments))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol;

    #[test]
    fn names_are_files_under_net() {
        let file = |name| path(name).ok().and_then(|path| path.to_str().map(str::to_owned));
        assert_eq!(file("net.ipv4.ip_forward").as_deref(), Some("/proc/sys/net/ipv4/ip_forward"));
        assert_eq!(
            file("net/ipv4/conf/eth0.1/forwarding").as_deref(),
            Some("/proc/sys/net/ipv4/conf/eth0.1/forwarding")
        );
        for name in [
            "",
            "net",
            "net.",
            "net/",
            "kernel.hostname",
            "net/../kernel/hostname",
            "net..ipv4",
            "/net/core",
            "net/./core",
            "n\0",
        ] {
            assert_eq!(file(name), None, "{name}");
        }
    }

    #[test]
    fn assignments_keep_their_order() {
        let line = br#"{"id": 1, "op": "sysctl", "set": {"net.z": "1", "net.a": "2", "net.m": "3"}}"#;
        let protocol::Request::Sysctl(request) = protocol::parse(line).expect("a request").request else {
            panic!("another request");
        };
        let names: Vec<&str> = request.set.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["net.z", "net.a", "net.m"]);
    }
}
