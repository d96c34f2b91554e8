//! The rules that decide the fate of a packet.

macro_rules! clauses {
    ($($clause:ident $name:literal $section:literal $words:literal,)*) => {
        /// The rules.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Clause { $(#[doc = $words] $clause,)* }

        impl Clause {
            /// All clauses.
            pub const ALL: &'static [Self] = &[$(Self::$clause,)*];

            /// The name of the clause, such as `fragment-needed`.
            pub fn name(self) -> &'static str {
                match self { $(Self::$clause => $name,)* }
            }

            /// The section where the clause is written, such as `RFC 7915 section 4.1`.
            pub fn clause(self) -> &'static str {
                match self { $(Self::$clause => $section,)* }
            }

            /// The clause in words: a sentence about the packet.
            pub fn words(self) -> &'static str {
                match self { $(Self::$clause => $words,)* }
            }
        }
    };
}

clauses! {
    ToIpv6 "to-ipv6" "RFC 7915 section 4.1" "An IPv6 header takes the place of the IPv4 header.",
    ToIpv4 "to-ipv4" "RFC 7915 section 5.1" "An IPv4 header takes the place of the IPv6 header.",
    Fragmented "fragmented" "RFC 7915 section 4" "The packet has DF clear and would be longer than the lowest IPv6 MTU, so it becomes IPv6 fragments.",
    FragmentedToIpv4 "fragmented-to-ipv4" "RFC 7915 sections 1.4 and 5.1" "The packet is too short to have DF set, or came in fragments itself, but is too long for the IPv4 link, so it becomes IPv4 fragments.",
    FragmentToIpv6 "fragment-to-ipv6" "RFC 7915 section 4.1" "The packet is an IPv4 fragment, so it becomes an IPv6 fragment with the same identification.",
    FragmentToIpv4 "fragment-to-ipv4" "RFC 7915 section 5.1.1" "The packet has a Fragment header, so the IPv4 packet has its identification, and DF clear.",
    ErrorToIpv6 "error-to-ipv6" "RFC 7915 section 4.2" "The ICMP error and the packet in it become an ICMPv6 error and an IPv6 packet.",
    ErrorToIpv4 "error-to-ipv4" "RFC 7915 section 5.2" "The ICMPv6 error and the packet in it become an ICMP error and an IPv4 packet.",
    ChecksumComputed "checksum-computed" "RFC 7915 section 4.5" "The UDP datagram has no checksum, so one is computed.",
    Hairpin "hairpin" "RFC 7757 section 4.2.2, RFC 6146 section 3.8" "The IPv4 destination stands for an IPv6 host, so the packet is translated back to IPv6 at once.",
    FragmentationNeeded "fragmentation-needed" "RFC 7915 section 4.1" "The packet has DF set and is too long for the IPv6 link, so its source gets Fragmentation Needed.",
    PacketTooBig "packet-too-big" "RFC 7915 section 5.1" "The packet is too long for the next link, so its source gets Packet Too Big.",
    HopLimit "hop-limit" "RFC 7915 sections 4.1 and 5.1" "The hop limit is used up, so the source gets Time Exceeded.",
    SourceRoute "source-route" "RFC 7915 section 4.1" "The packet has a source route that it has not followed to its end, so its source gets Source Route Failed.",
    RoutingHeader "routing-header" "RFC 7915 section 5.1" "The packet has a routing header with segments left, so its source gets Parameter Problem.",
    HeaderAfterFragment "header-after-fragment" "RFC 7915 section 5.1.1" "An extension header follows the Fragment header, and IPv4 has no place for it there.",
    OwnAddress "own-address" "RFC 1122 sections 3.2.2 and 4, RFC 4443 sections 3 and 4" "The packet is to the translator's own address, which answers as a node on which nothing listens, or drops what such a node drops.",
    Malformed "malformed" "RFC 791, RFC 8200" "The bytes are no packet, or not a whole one, or a checksum is wrong.",
    NotUnicast "not-unicast" "RFC 7915 sections 4.1 and 5.1" "An address is not that of a host: it is multicast, loopback, link-local, broadcast or unspecified.",
    NoMapping "no-mapping" "RFC 7915 section 6" "Nothing maps an address of the packet to the other family.",
    PortSet "port-set" "RFC 7597 section 5.1" "The port is in no port set of the rule for its IPv4 address, so it belongs to no customer edge.",
    NoPort "no-port" "RFC 7597 section 8.3" "The packet has no port or identifier that identifies its owner, as a later fragment or a message of another protocol.",
    NotByRule "not-by-rule" "RFC 7597 section 8.1" "The IPv6 address is not what the rule says for the packet's IPv4 address and port.",
    Denied "denied" "RFC 7915 sections 4.4 and 5.4" "An IPv4 address of the packet is in a denied prefix.",
    NonGlobal "non-global" "RFC 6052 section 3.1" "The well-known prefix 64:ff9b::/96 must not stand for an IPv4 address that is not global.",
    OtherFamily "other-family" "RFC 7915 sections 4.1 and 5.1" "The protocol number has a meaning in the other family only.",
    ZeroChecksum "zero-checksum" "RFC 7915 section 4.5" "The UDP datagram has no checksum, and none is computed.",
    FragmentedIcmp "fragmented-icmp" "RFC 7915 section 1.2" "The packet is a fragment of an ICMP message, whose checksum cannot be translated.",
    UntranslatedIcmp "untranslated-icmp" "RFC 7915 sections 4.2 and 5.2" "The other family has no such ICMP message.",
    Igmp "igmp" "RFC 7915 section 4.2" "The packet is an IGMP message, which no router sends on.",
    ErrorInError "error-in-error" "RFC 7915 sections 4.3 and 5.3" "The ICMP error is about an ICMP error.",
    QuotedPacket "quoted-packet" "RFC 7915 sections 4.3 and 5.3" "The packet in the ICMP error cannot be translated.",
    FragmentWaits "fragment-waits" "RFC 6146 section 3.4, RFC 7597 section 8.3" "The packet is a later fragment and waits for the first one, which has the ports; it comes out with that one or not at all.",
    FragmentHeld "fragment-held" "RFC 8200 section 4.5, RFC 791 section 3.2" "The packet is a fragment and waits for the others, with which it goes on as one packet.",
    FirstFragmentMissing "first-fragment-missing" "RFC 6146 section 3.4" "The packet is a fragment that waited in vain for the first one of its packet or for all, or overlapped another.",
    FirstFragmentDropped "first-fragment-dropped" "RFC 6146 section 3.4" "The packet is a fragment whose first one did not go on, so it does not either.",
    OverlappingFragment "overlapping-fragment" "RFC 5722 section 4" "The packet is a fragment that overlaps another, a copy of one, or comes after such fragments of its packet.",
    TooManyFragments "too-many-fragments" "RFC 6146 section 3.4" "The packet is a fragment, and there are as many as may wait.",
    OfPrefix "of-prefix" "RFC 6146 section 3.5" "The IPv6 source has the translator's prefix, so the packet was translated before.",
    OfPool "of-pool" "RFC 6146 section 3.8, RFC 2827 section 3" "The IPv4 source is an address of the pool, from which only the translator sends.",
    NoBinding "no-binding" "RFC 6146 section 3.5" "No binding has the packet's address and port.",
    Filtered "filtered" "RFC 6146 section 3.5.1.2" "The IPv6 host has sent nothing to that IPv4 address, and only addresses that it has sent to may answer.",
    NoPortLeft "no-port-left" "RFC 6146 section 3.5.1.1" "All suitable ports of the pool are taken.",
    TableFull "table-full" "RFC 6146 section 5.3" "The table has as many sessions as it may have.",
    Sessionless "sessionless" "RFC 6146 section 3.4" "The protocol is neither TCP nor UDP nor ICMP, so there can be no session.",
}

impl Clause {
    /// True if the source of a packet that this clause drops may get an error that it was prohibited: RFC 7915 sections
    /// 4.4 and 5.4. Other packets are dropped in silence, or their sources get another error.
    pub fn can_be_answered(self) -> bool {
        matches!(
            self,
            Self::HeaderAfterFragment
                | Self::NoMapping
                | Self::PortSet
                | Self::NoPort
                | Self::Denied
                | Self::NonGlobal
                | Self::OtherFamily
                | Self::ZeroChecksum
                | Self::NoPortLeft
                | Self::TableFull
        )
    }
}
