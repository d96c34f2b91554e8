//! Connection tracking: `linux/netfilter/nfnetlink.h`, `linux/netfilter/nfnetlink_conntrack.h`.

use std::io;

use crate::Client;
use crate::message::NetlinkRequest;

/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE`.
const DELETE: u16 = (1 << 8) | 2;
/// `struct nfgenmsg`: family 0 (any), version 0, resource 0.
const ANY: [u8; 4] = [0; 4];

/// Forgets all connections that the namespace keeps track of. It fails where the kernel has no `nf_conntrack_netlink`.
pub fn forget_all() -> io::Result<()> {
    Client::of_netfilter()?.change(NetlinkRequest::new(DELETE, &ANY))
}
