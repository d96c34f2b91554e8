//! The states of a TCP connection as a translator sees it: RFC 6146 section 3.5.2.2.

/// The effect of a segment on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Syn,
    Fin,
    Rst,
    /// Any other segment, and every packet of other protocols.
    Other,
}

impl Event {
    /// The event that the flags of a segment stand for.
    pub fn of(flags: u8) -> Self {
        match flags {
            _ if flags & 0x04 != 0 => Self::Rst,
            _ if flags & 0x02 != 0 => Self::Syn,
            _ if flags & 0x01 != 0 => Self::Fin,
            _ => Self::Other,
        }
    }
}

/// The family that a packet came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Ipv6,
    Ipv4,
}

/// The states besides CLOSED, in which there is no session. A session of another protocol is established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Ipv4Init,
    Ipv6Init,
    Established,
    Ipv4Fin,
    Ipv6Fin,
    BothFin,
    Transitory,
}

/// The class of a session that decides how long it stays after a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    Udp,
    TcpEstablished,
    TcpTransitory,
    Icmp,
}

impl Lifetime {
    pub const ALL: [Self; 4] = [Self::Udp, Self::TcpEstablished, Self::TcpTransitory, Self::Icmp];
}

impl State {
    /// The first one, where the connection begins there.
    pub fn first(side: Side) -> Self {
        match side {
            Side::Ipv6 => Self::Ipv6Init,
            Side::Ipv4 => Self::Ipv4Init,
        }
    }

    /// The next one, and how long the session stays from now on. `None`: as long as before.
    pub fn next(self, side: Side, event: Event) -> (Self, Option<Lifetime>) {
        let (stays, short) = (Some(Lifetime::TcpEstablished), Some(Lifetime::TcpTransitory));
        match (self, side, event) {
            (Self::Ipv4Init, Side::Ipv6, Event::Syn) | (Self::Ipv6Init, Side::Ipv4, Event::Syn) => {
                (Self::Established, stays)
            }
            (Self::Ipv6Init, Side::Ipv6, Event::Syn) => (self, short),
            (Self::Ipv4Init | Self::Ipv6Init, ..) => (self, None),
            (Self::Established, _, Event::Rst) => (Self::Transitory, short),
            (Self::Established, Side::Ipv4, Event::Fin) => (Self::Ipv4Fin, stays),
            (Self::Established, Side::Ipv6, Event::Fin) => (Self::Ipv6Fin, stays),
            (Self::Ipv4Fin, Side::Ipv6, Event::Fin) | (Self::Ipv6Fin, Side::Ipv4, Event::Fin) => (Self::BothFin, short),
            (Self::Established | Self::Ipv4Fin | Self::Ipv6Fin, ..) => (self, stays),
            (Self::BothFin, ..) | (Self::Transitory, _, Event::Rst) => (self, None),
            (Self::Transitory, ..) => (Self::Established, stays),
        }
    }
}
