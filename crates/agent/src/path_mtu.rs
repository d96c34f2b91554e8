//! `forget-path-mtu`: the node forgets all that it has learned about paths by ICMP, as `ip route flush cache` does for
//! both families.

use serde_json::json;
use sixbench_netlink::Client;
use sixbench_traffic::path_mtu::{FLUSH_IPV4, forget_ipv4};

use crate::error::{Error, Outcome};

/// Forgets path MTUs and redirects of both families. The answer has the number of IPv6 exceptions that there were; the
/// kernel does not tell those of IPv4.
pub fn forget() -> Outcome {
    forget_ipv4()
        .map_err(|error| Error::system(format_args!("forgetting path MTUs by {FLUSH_IPV4}"), "write", error))?;
    let ipv6 = Client::open()
        .and_then(|mut client| client.forget_ipv6_paths())
        .map_err(|error| Error::system("forgetting IPv6 path MTUs", "netlink", error))?;
    Ok(json!({ "ipv6": ipv6 }))
}
