//! The way into the device for packets that are longer than its MTU.
//!
//! The other end of a tunnel may have a larger MTU, and fragment its packets. The node that takes such a packet out of
//! the tunnel forwards it like any other, by the MTU of the next link: RFC 4213 section 3.2, RFC 2473 section 3.3. A
//! veth refuses it, so it comes in by a redirection from the far end, which checks no MTU. Linux's sit and ip6tnl
//! accept it, too.

use crate::device::{far_name, ip, tc};

/// The destination in the Ethernet header of packets that are redirected: an address that nobody has.
pub const MARK: [u8; 6] = [0x02, 0, b'l', b'o', b'n', b'g'];
/// Most bytes that a link carries: `ETH_MAX_MTU` of the kernel.
const MOST_BYTES: u32 = 65_535;

/// The way of one device. It is made when it is needed first.
pub struct LongWay {
    near: String,
    is_open: Option<bool>,
}

impl LongWay {
    pub fn of(device: &str) -> Self {
        Self { near: device.to_owned(), is_open: None }
    }

    /// Makes it, in the namespace of this thread. False: the kernel cannot.
    pub fn open(&mut self) -> bool {
        *self.is_open.get_or_insert_with(|| {
            let far = far_name(&self.near);
            let lines = commands(&self.near, &far);
            // The MTU last: without the redirection the near end would drop in silence what the far end takes.
            tc(&lines).is_ok() && ip(&format!("link set {far} mtu {MOST_BYTES}\n")).is_ok()
        })
    }
}

/// The lines for `tc -batch`.
fn commands(near: &str, far: &str) -> String {
    let [_, _, octets @ ..] = MARK;
    let mark = u32::from_be_bytes(octets);
    // Counted from the IP header: the last four octets of the destination.
    format!(
        "qdisc add dev {far} clsact
filter add dev {far} egress protocol all u32 match u32 {mark:#x} 0xffffffff at -12 action mirred ingress redirect dev {near}
"
    )
}
