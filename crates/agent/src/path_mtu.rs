//! `forget-path-mtu`: the node forgets what ICMP told it of paths, as `ip route flush cache` does for both families.

use std::fs;
use std::io;

use nix::errno::Errno;
use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::netlink::{change, dump, word};

/// Whatever is written: the kernel counts up the generation of the namespace's routes, and what was learned in an earlier
/// one is void (`rt_cache_flush`).
const FLUSH_IPV4: &str = "/proc/sys/net/ipv4/route/flush";

/// `linux/rtnetlink.h`.
const NEW_ROUTE: u16 = 24;
const DELETE_ROUTE: u16 = 25;
const GET_ROUTE: u16 = 26;
/// `struct rtmsg`: family, seven other bytes, flags.
const ROUTE_BYTES: usize = 12;
const FLAGS_AT: usize = 8;
/// An exception to a route, made by ICMP.
const IS_EXCEPTION: u32 = 0x200;

/// Forgets path MTUs and redirects of both families. The answer has the number of IPv6 exceptions that there were; the kernel
/// does not tell those of IPv4.
pub fn forget() -> Outcome {
    fs::write(FLUSH_IPV4, "-1")
        .map_err(|error| Failure::system(format_args!("forgetting path MTUs by {FLUSH_IPV4}"), "write", error))?;
    let ipv6 = forget_ipv6().map_err(|error| Failure::system("forgetting IPv6 path MTUs", "netlink", error))?;
    Ok(json!({ "ipv6": ipv6 }))
}

/// Nothing else than deleting them one by one makes IPv6 forget (`net.ipv6.route.flush` only removes those that have expired).
fn forget_ipv6() -> io::Result<usize> {
    let mut request = [0; ROUTE_BYTES];
    request[0] = libc::AF_INET6 as u8;
    request[FLAGS_AT..].copy_from_slice(&IS_EXCEPTION.to_ne_bytes());
    let mut exceptions = Vec::new();
    dump(GET_ROUTE, &request, NEW_ROUTE, |body| exceptions.extend(is_exception(body).then(|| body.to_vec())))?;
    for exception in &exceptions {
        match change(DELETE_ROUTE, exception) {
            // It has expired meanwhile.
            Err(error) if error.raw_os_error() == Some(Errno::ESRCH as i32) => {}
            done => done?,
        }
    }
    Ok(exceptions.len())
}

/// The kernel may dump all other routes too, and those of IPv4 where it has no IPv6.
fn is_exception(body: &[u8]) -> bool {
    body.first() == Some(&(libc::AF_INET6 as u8)) && word(body, FLAGS_AT).is_some_and(|flags| flags & IS_EXCEPTION != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(family: i32, flags: u32) -> Vec<u8> {
        [[family as u8, 0, 0, 0, 0, 0, 0, 0].as_slice(), &flags.to_ne_bytes()].concat()
    }

    #[test]
    fn only_exceptions_of_ipv6_are_deleted() {
        assert!(is_exception(&route(libc::AF_INET6, IS_EXCEPTION | 1)));
        assert!(!is_exception(&route(libc::AF_INET6, 0)));
        assert!(!is_exception(&route(libc::AF_INET, IS_EXCEPTION)));
        assert!(!is_exception(&[libc::AF_INET6 as u8; 3]));
    }
}
