//! `counters`: the kernel's counters of the node's network namespace.

use std::collections::BTreeMap;
use std::fs;

use serde::Serialize;
use serde_json::{Number, Value, json};
use sixbench_measure::clock;

use crate::error::{Error, Outcome};
use crate::links;

/// The calling thread's view: `/proc/net` would be that of the process's first thread, which is the same here, but
/// would not be for a thread in a namespace of its own.
const DIRECTORY: &str = "/proc/thread-self/net";

/// Groups of counters: protocol, then name.
type Groups = BTreeMap<String, BTreeMap<String, Number>>;

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Interface {
    rx_bytes: u64,
    rx_packets: u64,
    rx_errors: u64,
    rx_dropped: u64,
    tx_bytes: u64,
    tx_packets: u64,
    tx_errors: u64,
    tx_dropped: u64,
}

/// The packets that wait for their missing fragments, at this moment.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Reassembly {
    /// Number of packets.
    queues: u64,
    /// Bytes of the kernel's memory that their fragments take.
    memory_bytes: u64,
}

/// Reads all counters. Those that this kernel does not have (IPv6, say) are absent.
///
/// `emulated`: packets that are under way in the links that the node emulates, if it does.
pub fn read(emulated: Option<usize>) -> Outcome {
    let clock_ns = clock::monotonic_ns();
    let interfaces = parse_interfaces(&read_file("dev")?);
    let mut snmp = parse_pairs_of_lines(&read_file("snmp")?);
    // A kernel without IPv6 has no such file.
    snmp.extend(parse_snmp6(&fs::read_to_string(format!("{DIRECTORY}/snmp6")).unwrap_or_default()));
    snmp.retain(|group, _| !group.starts_with("UdpLite"));
    let tcpext = parse_pairs_of_lines(&read_file("netstat")?).remove("TcpExt");
    let (links, queues) =
        links::read().map_err(|error| Error::system("reading the state of interfaces", "netlink", error))?;
    let mut counters = json!({ "clock_ns": clock_ns, "interfaces": interfaces, "links": links, "snmp": snmp });
    let mut reassembly = parse_reassembly(&read_file("sockstat")?);
    reassembly.extend(parse_reassembly(&fs::read_to_string(format!("{DIRECTORY}/sockstat6")).unwrap_or_default()));
    counters["reassembly"] = json!(reassembly);
    if let Some(waiting) = emulated {
        counters["emulated_waiting"] = json!(waiting);
    }
    if let Some(tcpext) = tcpext {
        counters["tcpext"] = Value::from_iter(tcpext);
    }
    if let Some(waiting) =
        fs::read_to_string(format!("{DIRECTORY}/softnet_stat")).ok().as_deref().and_then(parse_softnet)
    {
        counters["softirq_waiting"] = json!(waiting);
    }
    if let Some(queues) = queues {
        counters["queues"] = json!(queues);
    }
    Ok(counters)
}

fn read_file(name: &str) -> Result<String, Error> {
    let path = format!("{DIRECTORY}/{name}");
    fs::read_to_string(&path)
        .map_err(|error| Error::system(format_args!("reading counters from {path}"), "read", error))
}

/// `dev`: two lines of headings, then a line an interface.
fn parse_interfaces(text: &str) -> BTreeMap<String, Interface> {
    text.lines().filter_map(parse_interface).collect()
}

fn parse_interface(line: &str) -> Option<(String, Interface)> {
    let (name, columns) = line.split_once(':')?;
    let columns: Vec<u64> = columns.split_ascii_whitespace().map_while(|column| column.parse().ok()).collect();
    match columns[..] {
        [rx_bytes, rx_packets, rx_errors, rx_dropped, _, _, _, _, tx_bytes, tx_packets, tx_errors, tx_dropped, ..] => {
            let interface =
                Interface { rx_bytes, rx_packets, rx_errors, rx_dropped, tx_bytes, tx_packets, tx_errors, tx_dropped };
            Some((name.trim().to_owned(), interface))
        }
        _ => None,
    }
}

/// `snmp` and `netstat`: a line of names and a line of values for each group, both beginning with the group's name.
fn parse_pairs_of_lines(text: &str) -> Groups {
    let mut groups = Groups::new();
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((group, names)), Some((other, values))) = (names.split_once(':'), values.split_once(':')) else {
            continue;
        };
        if group == other {
            let pairs = names.split_ascii_whitespace().zip(values.split_ascii_whitespace());
            let counters = pairs.filter_map(|(name, value)| Some((name.to_owned(), parse_number(value)?)));
            groups.entry(group.to_owned()).or_default().extend(counters);
        }
    }
    groups
}

/// `snmp6`: a name and a value a line, the name beginning with the group's.
fn parse_snmp6(text: &str) -> Groups {
    let mut groups = Groups::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next().and_then(parse_number)) else { continue };
        let group = ["Ip6", "Icmp6", "UdpLite6", "Udp6"].into_iter().find(|group| name.starts_with(group));
        if let Some(group) = group {
            groups.entry(group.to_owned()).or_default().insert(name[group.len()..].to_owned(), value);
        }
    }
    groups
}

/// `sockstat` and `sockstat6`: a line each `FRAG: inuse 1 memory 2304`, by family here.
fn parse_reassembly(text: &str) -> BTreeMap<&'static str, Reassembly> {
    text.lines()
        .filter_map(|line| {
            let (name, values) = line.split_once(':')?;
            let family = match name {
                "FRAG" => "ipv4",
                "FRAG6" => "ipv6",
                _ => return None,
            };
            let words: Vec<_> = values.split_ascii_whitespace().collect();
            let ["inuse", queues, "memory", memory] = words[..] else { return None };
            let reassembly = Reassembly { queues: queues.parse().ok()?, memory_bytes: memory.parse().ok()? };
            Some((family, reassembly))
        })
        .collect()
}

/// `softnet_stat`: a line of hexadecimal numbers for each processor, of which the twelfth is the packets that wait for
/// it (Linux 5.10). They are the whole machine's.
fn parse_softnet(text: &str) -> Option<u64> {
    text.lines().map(|line| u64::from_str_radix(line.split_ascii_whitespace().nth(11)?, 16).ok()).sum()
}

/// Most are unsigned; `MaxConn` of TCP is -1.
fn parse_number(text: &str) -> Option<Number> {
    text.parse::<u64>().map(Number::from).or_else(|_| text.parse::<i64>().map(Number::from)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_have_both_directions() {
        let text = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
eth0.1:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
broken: 1 2 x
";
        let interfaces = parse_interfaces(text);
        assert_eq!(interfaces.keys().collect::<Vec<_>>(), ["eth0.1", "lo"]);
        let interface = &interfaces["eth0.1"];
        assert_eq!((interface.rx_bytes, interface.rx_dropped, interface.tx_bytes, interface.tx_dropped), (1, 4, 9, 12));
    }

    #[test]
    fn groups_are_pairs_of_lines() {
        let text = "Tcp: RtoMin MaxConn\nTcp: 200 -1\nUdp: InDatagrams\nUdp: 18446744073709551615\nOdd: A\nEven: 1\n";
        let groups = parse_pairs_of_lines(text);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups["Tcp"]["MaxConn"], Number::from(-1));
        assert_eq!(groups["Udp"]["InDatagrams"], Number::from(u64::MAX));
    }

    #[test]
    fn what_waits_for_fragments_is_known_by_family() {
        let reassembly =
            parse_reassembly("UDP: inuse 0 mem 0\nFRAG: inuse 2 memory 2304\nFRAG6: inuse 0 memory 0\nFRAG: odd\n");
        assert_eq!(reassembly["ipv4"], Reassembly { queues: 2, memory_bytes: 2304 });
        assert_eq!(reassembly["ipv6"], Reassembly { queues: 0, memory_bytes: 0 });
        assert!(parse_reassembly("FRAG: inuse x memory 1\nFRAG: inuse 1\nFRAG\n").is_empty());
    }

    #[test]
    fn what_waits_for_processors_is_summed() {
        let line = "000160d4 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000";
        assert_eq!(
            parse_softnet(&format!("{line} 00000010 00000000 00000010 00000000\n{line} 00000002 00000001\n")),
            Some(18)
        );
        assert_eq!(parse_softnet(&format!("{line}\n")), None);
    }

    #[test]
    fn ipv6_counters_are_grouped_by_their_names() {
        let text =
            "Ip6InReceives\t5\nIcmp6OutType135 \t 2\nUdp6InDatagrams 1\nUdpLite6InDatagrams 1\nUnheard 3\nIp6Odd\n";
        let groups = parse_snmp6(text);
        assert_eq!(groups.keys().collect::<Vec<_>>(), ["Icmp6", "Ip6", "Udp6", "UdpLite6"]);
        assert_eq!(groups["Ip6"], BTreeMap::from([("InReceives".to_owned(), Number::from(5))]));
        assert_eq!(groups["Icmp6"]["OutType135"], Number::from(2));
    }
}
