//! What became of a packet, in words.

use crate::abi::Outcome;

/// What an outcome says of a packet, as a sentence.
pub fn of(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Undecided => "No rule decided.",
        Outcome::NotOurs => "The packet is not an outer packet of this tunnel that is for this end.",
        Outcome::Encapsulated => "The outer headers are put before the packet.",
        Outcome::Decapsulated => "The outer headers are taken off.",
        Outcome::OuterFragment => "The outer packet is a fragment, and nobody has put it together.",
        Outcome::OuterOptions => "The outer header has options or extension headers.",
        Outcome::GreChecksumPresent => "The GRE header has a checksum.",
        Outcome::OuterTooBig => "The packet is longer than the tunnel's MTU and must not be cut.",
        Outcome::NeighbourUnresolved => "The next hop's link-layer address is not known yet.",
        Outcome::KernelRefused => "The kernel does not take the packet from a program.",
        Outcome::OuterTruncated => "The outer packet is not whole.",
        Outcome::OuterChecksum => "The checksum of the outer header is wrong.",
        Outcome::OuterSourceMartian => "The outer source is an address from which no such packet may come.",
        Outcome::SourceNotPeer => "The outer source is none from which this end takes the packet.",
        Outcome::GreFlags => "The GRE header has unknown flags, another version or a wrong checksum.",
        Outcome::GreKeyMismatch => "The GRE header has another key than the tunnel.",
        Outcome::GreProtocol => "The GRE header announces neither IPv4 nor IPv6.",
        Outcome::InnerTruncated => "The inner header is not whole.",
        Outcome::InnerVersion => "The inner packet has another IP version than it should have.",
        Outcome::InnerLength => "The length in the inner header does not fit what is there.",
        Outcome::InnerTooLong => "The packet was reassembled, and the kernel cannot let one so long into the device.",
        Outcome::InnerSourceBogus => "The inner source is an address from which no packet may come.",
        Outcome::InnerDestinationBogus => "The inner destination is an address to which no packet may go.",
        Outcome::InnerSourceMismatch => "The inner source does not embed the address that it must embed.",
        Outcome::InnerDestinationMismatch => "The inner destination does not embed the address of this end.",
        Outcome::InnerSourceOffLink => "The inner source is not on-link on the tunnel's device.",
        Outcome::InnerFamily => "The tunnel does not carry this family.",
        Outcome::EcnInvalid => "The outer packet met congestion, and the inner packet is not ECN-capable.",
        Outcome::NoMapping => "Nothing says to which outer address the packet goes.",
        Outcome::DestinationMartian => "The outer destination would be an address to which no such packet may go.",
        Outcome::NestedTooDeep => "The packet is encapsulated four times already.",
        Outcome::CarrierUnreachable => "The carrier answered with an ICMP error.",
        Outcome::RoutingLoop => "The packet would come back to this end.",
        Outcome::CarrierError => {
            "The carrier's ICMP error concerns the tunnel's ends, or a packet that this one did not send."
        }
        Outcome::HopLimit => "The hop limit is used up.",
        Outcome::IcmpRefused => "The node is told to take no ICMP from there.",
        Outcome::EchoAnswered => "The packet is an echo request to the node.",
        Outcome::NoRoute => "There is no route to the outer destination.",
        Outcome::NoRoom => "A queue has no room for the packet.",
    }
}
