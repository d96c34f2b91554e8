//! The stack of headers of a packet, outermost first.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::Serialize;

use crate::ethernet::{self, ethertype};
use crate::ipv4::{self, Fragment};
use crate::ipv6::{self, Extension};
use crate::{Defect, Flaw, Span, arp, dhcp, gre, icmp, protocol, tcp, teredo, udp, vxlan};

/// A packet with more layers than this is not read to its end: an Ethernet header, eight IP headers one inside the
/// other, with GRE between some, and their payload.
pub const MAX_LAYERS: usize = 16;

/// The header that a packet begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// An Ethernet header.
    Ethernet,
    /// An IPv4 or IPv6 header: on devices that have no link layer, such as tunnels.
    Ip,
}

/// A header, or why there are no more. `bytes` is the header's length; where the rest of the packet is not decoded, the
/// captured length of that rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Layer {
    Ethernet {
        bytes: usize,
    },
    Vlan {
        bytes: usize,
        vlan_id: u16,
        priority: u8,
    },
    /// The addresses where it resolves IPv4 on Ethernet.
    Arp {
        bytes: usize,
        operation: u16,
        #[serde(skip_serializing_if = "Option::is_none")]
        sender: Option<Ipv4Addr>,
        #[serde(skip_serializing_if = "Option::is_none")]
        target: Option<Ipv4Addr>,
    },
    /// `bytes` counts the options.
    Ipv4 {
        bytes: usize,
        source: Ipv4Addr,
        destination: Ipv4Addr,
        total_bytes: usize,
        hop_limit: u8,
        traffic_class: u8,
        protocol: u8,
        dont_fragment: bool,
        fragment: Option<Fragment>,
    },
    /// `bytes` counts the extension headers, and `protocol` is the number after them.
    Ipv6 {
        bytes: usize,
        source: Ipv6Addr,
        destination: Ipv6Addr,
        total_bytes: usize,
        hop_limit: u8,
        traffic_class: u8,
        flow_label: u32,
        protocol: u8,
        extensions: Vec<Extension>,
        fragment: Option<Fragment>,
    },
    Gre {
        bytes: usize,
        protocol_type: u16,
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<u32>,
    },
    /// The payload's length is unknown in the first fragment of a packet.
    Tcp {
        bytes: usize,
        source_port: u16,
        destination_port: u16,
        #[serde(skip_serializing_if = "Option::is_none")]
        payload_bytes: Option<usize>,
    },
    /// The payload's length is that of the whole datagram, also in the first fragment of one.
    Udp {
        bytes: usize,
        source_port: u16,
        destination_port: u16,
        payload_bytes: usize,
    },
    /// An Ethernet frame follows.
    Vxlan {
        bytes: usize,
        vni: u32,
    },
    /// An IPv6 packet follows. `bytes` counts the authentication and the origin indication, of which most packets have
    /// neither.
    Teredo {
        bytes: usize,
    },
    /// A message of DHCP, if it was captured whole.
    Dhcp {
        bytes: usize,
        message: &'static str,
        /// True if the client can do without IPv4, and asks whether it is to: RFC 8925.
        wants_v6only: bool,
        /// Time for which the client is to do without IPv4, in seconds.
        #[serde(skip_serializing_if = "Option::is_none")]
        v6only_wait_s: Option<u32>,
    },
    Icmp(IcmpFields),
    Icmpv6(IcmpFields),
    /// Data of a fragment that is not the first of its packet.
    FragmentData {
        bytes: usize,
    },
    /// Something that this crate does not read: `number` is the EtherType or protocol that the layer `after` gives it.
    Unknown {
        after: &'static str,
        number: u16,
        bytes: usize,
    },
    /// The capture, or the first fragment of a packet, ends within the header of `of`.
    Truncated {
        of: &'static str,
        bytes: usize,
    },
    /// The header of `of` contradicts its format.
    Malformed {
        of: &'static str,
        reason: &'static str,
        bytes: usize,
    },
    /// The end of what is read of a packet with more than [`MAX_LAYERS`] layers.
    TooDeep {
        bytes: usize,
    },
}

/// The content of an ICMP or ICMPv6 message. The messages that errors quote are payload, not layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct IcmpFields {
    pub bytes: usize,
    pub r#type: u8,
    pub code: u8,
    /// The identifier of an echo request or reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identifier: Option<u16>,
    /// The sequence number of an echo request or reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u16>,
    /// The MTU in a Packet Too Big or Fragmentation Needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    /// Unknown in the first fragment of a packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_bytes: Option<usize>,
}

impl Layer {
    /// Source and destination, of an IP header.
    pub fn addresses(&self) -> Option<(IpAddr, IpAddr)> {
        match *self {
            Layer::Ipv4 { source, destination, .. } => Some((source.into(), destination.into())),
            Layer::Ipv6 { source, destination, .. } => Some((source.into(), destination.into())),
            _ => None,
        }
    }
}

/// Source and destination of the outermost IP header.
pub fn outermost_addresses(link: Link, packet: Span<'_>) -> Option<(IpAddr, IpAddr)> {
    Layers::new(link, packet).find_map(|layer| layer.addresses())
}

/// Walks through a packet's layers. Whatever the bytes, it ends after at most [`MAX_LAYERS`] + 1 layers, whose `bytes`
/// are together at most what was captured.
#[derive(Debug, Clone)]
pub struct Layers<'a> {
    rest: Span<'a>,
    next: Next,
    count: usize,
}

#[derive(Debug, Clone, Copy)]
enum Next {
    Header(Format),
    /// An IPv4 or IPv6 header, by its version.
    Ip,
    /// A Teredo header of this many bytes.
    Teredo {
        bytes: usize,
    },
    FragmentData,
    Unknown {
        after: &'static str,
        number: u16,
    },
    Flawed {
        of: &'static str,
        flaw: Flaw,
    },
    Nothing,
}

#[derive(Debug, Clone, Copy)]
enum Format {
    Ethernet,
    Vlan,
    Arp,
    Ipv4,
    Ipv6,
    Gre,
    Tcp,
    Udp,
    Vxlan,
    Dhcp,
    Icmp,
    Icmpv6,
}

impl<'a> Layers<'a> {
    /// The layers of a packet that begins with `link`.
    pub fn new(link: Link, packet: Span<'a>) -> Self {
        let next = match link {
            Link::Ethernet => Next::Header(Format::Ethernet),
            Link::Ip => Next::Ip,
        };
        Self { rest: packet, next, count: 0 }
    }

    fn header(&mut self, format: Format) -> Result<Layer, Flaw> {
        match format {
            Format::Ethernet => self.ethernet(),
            Format::Vlan => self.vlan(),
            Format::Arp => self.arp(),
            Format::Ipv4 => self.ipv4(),
            Format::Ipv6 => self.ipv6(),
            Format::Gre => self.gre(),
            Format::Tcp => self.tcp(),
            Format::Udp => self.udp(),
            Format::Vxlan => self.vxlan(),
            Format::Dhcp => self.dhcp(),
            Format::Icmp => self.icmp(icmp::Version::V4).map(Layer::Icmp),
            Format::Icmpv6 => self.icmp(icmp::Version::V6).map(Layer::Icmpv6),
        }
    }

    fn ethernet(&mut self) -> Result<Layer, Flaw> {
        let frame = ethernet::Frame::parse(self.rest)?;
        (self.next, self.rest) = (Next::of_ethertype("ethernet", frame.ethertype()), frame.payload());
        Ok(Layer::Ethernet { bytes: ethernet::HEADER_BYTES })
    }

    fn vlan(&mut self) -> Result<Layer, Flaw> {
        let tag = ethernet::Tag::parse(self.rest)?;
        (self.next, self.rest) = (Next::of_ethertype("vlan", tag.ethertype()), tag.payload());
        Ok(Layer::Vlan { bytes: ethernet::TAG_BYTES, vlan_id: tag.vlan_id(), priority: tag.priority() })
    }

    fn arp(&mut self) -> Result<Layer, Flaw> {
        let packet = arp::Packet::parse(self.rest)?;
        let (sender, target) = packet.addresses().unzip();
        Ok(Layer::Arp { bytes: packet.bytes(), operation: packet.operation(), sender, target })
    }

    fn ipv4(&mut self) -> Result<Layer, Flaw> {
        let packet = ipv4::Packet::parse(self.rest)?;
        let (protocol, fragment) = (packet.protocol(), packet.fragment());
        (self.next, self.rest) = (Next::of_protocol("ipv4", protocol, fragment), packet.payload());
        Ok(Layer::Ipv4 {
            bytes: packet.header_bytes(),
            source: packet.source(),
            destination: packet.destination(),
            total_bytes: packet.total_bytes(),
            hop_limit: packet.hop_limit(),
            traffic_class: packet.traffic_class(),
            protocol,
            dont_fragment: packet.dont_fragment(),
            fragment,
        })
    }

    fn ipv6(&mut self) -> Result<Layer, Flaw> {
        let packet = ipv6::Packet::parse(self.rest)?;
        let mut found = packet.extensions();
        let extensions = found.by_ref().collect();
        self.rest = found.payload;
        self.next = match found.flaw {
            Some(flaw) => Next::Flawed { of: "ipv6-extension", flaw },
            None => Next::of_protocol("ipv6", found.protocol, found.fragment),
        };
        Ok(Layer::Ipv6 {
            bytes: ipv6::HEADER_BYTES + found.bytes,
            source: packet.source(),
            destination: packet.destination(),
            total_bytes: packet.total_bytes(),
            hop_limit: packet.hop_limit(),
            traffic_class: packet.traffic_class(),
            flow_label: packet.flow_label(),
            protocol: found.protocol,
            extensions,
            fragment: found.fragment,
        })
    }

    fn gre(&mut self) -> Result<Layer, Flaw> {
        let packet = gre::Packet::parse(self.rest)?;
        let protocol_type = packet.protocol_type();
        self.next = match protocol_type {
            ethertype::TRANSPARENT_BRIDGING => Next::Header(Format::Ethernet),
            _ => Next::of_ethertype("gre", protocol_type),
        };
        self.rest = packet.payload();
        Ok(Layer::Gre { bytes: packet.header_bytes(), protocol_type, key: packet.key() })
    }

    fn tcp(&mut self) -> Result<Layer, Flaw> {
        let segment = tcp::Segment::parse(self.rest)?;
        Ok(Layer::Tcp {
            bytes: segment.header_bytes(),
            source_port: segment.source_port(),
            destination_port: segment.destination_port(),
            payload_bytes: segment.payload().length(),
        })
    }

    fn udp(&mut self) -> Result<Layer, Flaw> {
        let datagram = udp::Datagram::parse(self.rest)?;
        if datagram.destination_port() == vxlan::PORT && vxlan::Packet::parse(datagram.payload()).is_some() {
            (self.next, self.rest) = (Next::Header(Format::Vxlan), datagram.payload());
        }
        let ports = [datagram.source_port(), datagram.destination_port()];
        if let Some(packet) = teredo::Packet::parse(datagram.payload(), ports) {
            (self.next, self.rest) = (Next::Teredo { bytes: packet.header_bytes() }, packet.payload());
        }
        let is_dhcp = ports.iter().all(|port| [dhcp::SERVER_PORT, dhcp::CLIENT_PORT].contains(port));
        if is_dhcp && whole_dhcp(datagram.payload()).is_some() {
            (self.next, self.rest) = (Next::Header(Format::Dhcp), datagram.payload());
        }
        Ok(Layer::Udp {
            bytes: udp::HEADER_BYTES,
            source_port: datagram.source_port(),
            destination_port: datagram.destination_port(),
            payload_bytes: datagram.payload_bytes(),
        })
    }

    fn vxlan(&mut self) -> Result<Layer, Flaw> {
        let packet = vxlan::Packet::parse(self.rest).ok_or(Flaw::Malformed(Defect::Vxlan))?;
        (self.next, self.rest) = (Next::Header(Format::Ethernet), packet.payload());
        Ok(Layer::Vxlan { bytes: vxlan::HEADER_BYTES, vni: packet.vni() })
    }

    fn dhcp(&mut self) -> Result<Layer, Flaw> {
        let message = whole_dhcp(self.rest).ok_or(Flaw::Truncated)?;
        let bytes = self.rest.captured().len();
        Ok(Layer::Dhcp {
            bytes,
            message: message.kind.name(),
            wants_v6only: message.wants_v6only(),
            v6only_wait_s: message.v6only_wait_s,
        })
    }

    fn icmp(&mut self, version: icmp::Version) -> Result<IcmpFields, Flaw> {
        let message = icmp::Message::parse(version, self.rest)?;
        let (identifier, sequence) = message.echo().map(|echo| (echo.identifier, echo.sequence)).unzip();
        Ok(IcmpFields {
            bytes: icmp::HEADER_BYTES,
            r#type: message.kind(),
            code: message.code(),
            identifier,
            sequence,
            mtu_bytes: message.mtu_bytes(),
            payload_bytes: message.payload().length(),
        })
    }

    fn flawed(&self, of: &'static str, flaw: Flaw) -> Layer {
        let bytes = self.rest.captured().len();
        match flaw {
            Flaw::Truncated => Layer::Truncated { of, bytes },
            Flaw::Malformed(defect) => Layer::Malformed { of, reason: defect.reason(), bytes },
        }
    }

    /// The header that the packet begins with, by its IP version.
    fn ip(&self) -> Next {
        match self.rest.first() {
            Ok([first]) if first >> 4 == 4 => Next::Header(Format::Ipv4),
            Ok([first]) if first >> 4 == 6 => Next::Header(Format::Ipv6),
            Ok(_) => Next::Flawed { of: "ip", flaw: Flaw::Malformed(Defect::NotIp) },
            Err(flaw) => Next::Flawed { of: "ip", flaw },
        }
    }
}

/// The message that a datagram has. `None`: it is none, or was not captured whole, so that options may be missing.
fn whole_dhcp(payload: Span<'_>) -> Option<dhcp::Message> {
    let is_whole = payload.length() == Some(payload.captured().len());
    dhcp::Message::parse(payload.captured()).ok().filter(|_| is_whole)
}

impl Iterator for Layers<'_> {
    type Item = Layer;

    fn next(&mut self) -> Option<Layer> {
        let next = match std::mem::replace(&mut self.next, Next::Nothing) {
            Next::Ip => self.ip(),
            next => next,
        };
        let bytes = self.rest.captured().len();
        if self.count == MAX_LAYERS && !matches!(next, Next::Nothing) {
            return Some(Layer::TooDeep { bytes });
        }
        self.count += 1;
        match next {
            Next::Header(format) => Some(self.header(format).unwrap_or_else(|flaw| self.flawed(format.name(), flaw))),
            Next::Teredo { bytes } => {
                self.next = Next::Header(Format::Ipv6);
                Some(Layer::Teredo { bytes })
            }
            Next::FragmentData => Some(Layer::FragmentData { bytes }),
            Next::Unknown { after, number } => Some(Layer::Unknown { after, number, bytes }),
            Next::Flawed { of, flaw } => Some(self.flawed(of, flaw)),
            Next::Ip | Next::Nothing => None,
        }
    }
}

impl Next {
    fn of_ethertype(after: &'static str, number: u16) -> Self {
        Self::Header(match number {
            ethertype::IPV4 => Format::Ipv4,
            ethertype::IPV6 => Format::Ipv6,
            ethertype::ARP => Format::Arp,
            ethertype::VLAN | ethertype::SERVICE_VLAN => Format::Vlan,
            _ => return Self::Unknown { after, number },
        })
    }

    fn of_protocol(after: &'static str, number: u8, fragment: Option<Fragment>) -> Self {
        if fragment.is_some_and(|fragment| fragment.offset_bytes != 0) {
            return Self::FragmentData;
        }
        Self::Header(match number {
            protocol::ICMP => Format::Icmp,
            protocol::ICMPV6 => Format::Icmpv6,
            protocol::TCP => Format::Tcp,
            protocol::UDP => Format::Udp,
            protocol::IPV4 => Format::Ipv4,
            protocol::IPV6 => Format::Ipv6,
            protocol::GRE => Format::Gre,
            protocol::NO_NEXT_HEADER => return Self::Nothing,
            _ => return Self::Unknown { after, number: u16::from(number) },
        })
    }
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Ethernet => "ethernet",
            Format::Vlan => "vlan",
            Format::Arp => "arp",
            Format::Ipv4 => "ipv4",
            Format::Ipv6 => "ipv6",
            Format::Gre => "gre",
            Format::Tcp => "tcp",
            Format::Udp => "udp",
            Format::Vxlan => "vxlan",
            Format::Dhcp => "dhcp",
            Format::Icmp => "icmp",
            Format::Icmpv6 => "icmpv6",
        }
    }
}
