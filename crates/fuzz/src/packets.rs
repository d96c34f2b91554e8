//! Packets, as captures and the slow path of tunnels read them.

use sixbench_plane::slow::offload;
use sixbench_wire::Span;
use sixbench_wire::layers::{Layers, Link, MAX_LAYERS, outermost_addresses};

#[path = "../../plane/tests/common/rules.rs"]
mod held;

use crate::tunnels::tunnels;

/// Packets of which the first bytes were captured. The first two bytes say how long the whole was, and by what it
/// begins.
pub fn layers(data: &[u8]) {
    let Some((&[more, link], captured)) = data.split_first_chunk() else { return };
    let link = if link & 1 == 0 { Link::Ethernet } else { Link::Ip };
    let span = Span::new(captured, captured.len() + usize::from(more));
    assert!(Layers::new(link, span).count() <= MAX_LAYERS + 1);
    let _ = outermost_addresses(link, span);
}

/// Packets to and from a tunnel, by the slow path's rules. The first byte chooses the tunnel, the second what the
/// packet came with.
pub fn slow_path(data: &[u8]) {
    let Some((&[tunnel, seed], packet)) = data.split_first_chunk() else { return };
    let tunnels = tunnels();
    held::check(&tunnels[usize::from(tunnel) % tunnels.len()], packet, seed.into());
    let _ = offload::complete(&mut packet.to_vec()).map(|frame| frame.packet.len());
}
