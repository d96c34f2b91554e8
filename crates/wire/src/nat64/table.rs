//! Bindings and sessions: RFC 6146 sections 3.1 and 3.5.
//!
//! Each session is in a queue of those with its lifetime, which is in the order of their last packets. So those that
//! are over are at its front, and a packet costs the same however many sessions there are.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use slab::Slab;

use super::ends::{Inside, Outside, Protocol};
use super::pool::Pool;
use super::settings::{Filtering, Settings};
use super::tcp::{Event, Lifetime, Side, State};
use crate::siit::Clause;

/// The numbers of entries of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Amounts {
    pub bindings: usize,
    pub sessions: usize,
}

/// The place of a row in its slab. Maps and queues name rows that are there alone.
type Id = u32;
const NOBODY: Id = Id::MAX;

#[derive(Debug)]
struct Binding {
    protocol: Protocol,
    inside: Inside,
    outside: Outside,
    sessions: u32,
    is_static: bool,
}

#[derive(Debug)]
struct Session {
    binding: Id,
    remote: Outside,
    state: State,
    lifetime: Lifetime,
    expires: Duration,
    /// The neighbours in its queue.
    older: Id,
    newer: Id,
}

/// The sessions of a lifetime by their last packets.
#[derive(Debug, Clone, Copy)]
struct Queue {
    oldest: Id,
    newest: Id,
}

/// Bindings and sessions.
#[derive(Debug)]
pub struct Table {
    bindings: Slab<Binding>,
    sessions: Slab<Session>,
    by_inside: HashMap<(Protocol, Inside), Id>,
    by_outside: HashMap<(Protocol, Outside), Id>,
    by_remote: HashMap<(Id, Outside), Id>,
    /// The IPv4 address of each IPv6 host, and how many bindings it has with it: RFC 4787 section 4.1, "paired".
    hosts: HashMap<Ipv6Addr, (Ipv4Addr, u32)>,
    /// Number of sessions that a binding has with an address; `None` unless that decides which packets may enter.
    partners: Option<HashMap<(Id, Ipv4Addr), u32>>,
    queues: [Queue; Lifetime::ALL.len()],
    pool: Pool,
    lasts: [Duration; Lifetime::ALL.len()],
    max_sessions: usize,
}

impl Table {
    /// A table with the static bindings alone.
    pub fn new(settings: &Settings) -> Result<Self, String> {
        let timeouts = &settings.timeouts;
        let mut table = Self {
            bindings: Slab::new(),
            sessions: Slab::new(),
            by_inside: HashMap::new(),
            by_outside: HashMap::new(),
            by_remote: HashMap::new(),
            hosts: HashMap::new(),
            partners: (settings.filtering == Filtering::AddressDependent).then(HashMap::new),
            queues: [Queue { oldest: NOBODY, newest: NOBODY }; Lifetime::ALL.len()],
            pool: Pool::new(&settings.pool, settings.seed),
            lasts: Lifetime::ALL.map(|lifetime| match lifetime {
                Lifetime::Udp => timeouts.udp,
                Lifetime::TcpEstablished => timeouts.tcp_established,
                Lifetime::TcpTransitory => timeouts.tcp_transitory,
                Lifetime::Icmp => timeouts.icmp,
            }),
            max_sessions: settings.max_sessions.min(NOBODY as usize),
        };
        for one in &settings.bindings {
            let is_new = !table.by_inside.contains_key(&(one.protocol, one.inside));
            if !is_new || !table.pool.bind_exactly(one.protocol, one.outside) {
                return Err(format!("two static bindings have {} or its IPv6 address and port", one.outside));
            }
            table.add_binding(one.protocol, one.inside, one.outside, true);
        }
        Ok(table)
    }

    /// True if an address is in the pool.
    pub fn has(&self, address: Ipv4Addr) -> bool {
        self.pool.has(address)
    }

    /// The numbers of its bindings and sessions.
    pub fn amounts(&self) -> Amounts {
        Amounts { bindings: self.bindings.len(), sessions: self.sessions.len() }
    }

    /// The IPv4 address and port of an IPv6 host that sends a packet.
    pub fn outgoing(
        &mut self,
        protocol: Protocol,
        inside: Inside,
        remote: Outside,
        event: Event,
        now: Duration,
    ) -> Result<Outside, Clause> {
        self.expire(now);
        let found = self.by_inside.get(&(protocol, inside)).copied();
        if let Some(binding) = found {
            let outside = self.bindings[binding as usize].outside;
            if self.touch(binding, remote, Side::Ipv6, event, now) || (protocol == Protocol::Tcp && event != Event::Syn)
            {
                return Ok(outside);
            }
        } else if protocol == Protocol::Tcp && event != Event::Syn {
            return Err(Clause::NoBinding);
        }
        if self.sessions.len() >= self.max_sessions {
            return Err(Clause::TableFull);
        }
        let binding = match found {
            Some(binding) => binding,
            None => {
                let own = self.hosts.get(&inside.address).map(|(address, _)| *address);
                let outside = self.pool.bind(protocol, inside, own).ok_or(Clause::NoPortLeft)?;
                self.add_binding(protocol, inside, outside, false)
            }
        };
        self.add_session(binding, remote, Side::Ipv6, now);
        Ok(self.bindings[binding as usize].outside)
    }

    /// The IPv6 host to whose IPv4 address and port a packet came.
    pub fn incoming(
        &mut self,
        protocol: Protocol,
        outside: Outside,
        remote: Outside,
        event: Event,
        now: Duration,
    ) -> Result<Inside, Clause> {
        self.expire(now);
        let binding = *self.by_outside.get(&(protocol, outside)).ok_or(Clause::NoBinding)?;
        let inside = self.bindings[binding as usize].inside;
        if self.touch(binding, remote, Side::Ipv4, event, now) {
            return Ok(inside);
        }
        self.check_partner(binding, remote.address)?;
        if protocol == Protocol::Tcp && event != Event::Syn {
            return Ok(inside);
        }
        if self.sessions.len() >= self.max_sessions {
            return Err(Clause::TableFull);
        }
        self.add_session(binding, remote, Side::Ipv4, now);
        Ok(inside)
    }

    /// The IPv4 address and port of an IPv6 host, without a packet of its session: of an ICMP error.
    pub fn outside_of(&mut self, protocol: Protocol, inside: Inside, now: Duration) -> Option<Outside> {
        self.expire(now);
        let binding = self.by_inside.get(&(protocol, inside))?;
        Some(self.bindings[*binding as usize].outside)
    }

    /// The IPv6 host that has that IPv4 address and port. An error about a packet to that remote end is for it.
    pub fn inside_of(
        &mut self,
        protocol: Protocol,
        outside: Outside,
        remote: Outside,
        now: Duration,
    ) -> Result<Inside, Clause> {
        self.expire(now);
        let binding = *self.by_outside.get(&(protocol, outside)).ok_or(Clause::NoBinding)?;
        self.check_partner(binding, remote.address)?;
        Ok(self.bindings[binding as usize].inside)
    }

    fn check_partner(&self, binding: Id, address: Ipv4Addr) -> Result<(), Clause> {
        match &self.partners {
            Some(partners) if !partners.contains_key(&(binding, address)) => Err(Clause::Filtered),
            _ => Ok(()),
        }
    }

    /// Notes a packet of a session. False: there is no such session.
    fn touch(&mut self, binding: Id, remote: Outside, side: Side, event: Event, now: Duration) -> bool {
        let Some(&id) = self.by_remote.get(&(binding, remote)) else { return false };
        let is_tcp = self.bindings[binding as usize].protocol == Protocol::Tcp;
        let session = &self.sessions[id as usize];
        let (state, lifetime) = match is_tcp {
            true => session.state.next(side, event),
            false => (session.state, Some(session.lifetime)),
        };
        self.sessions[id as usize].state = state;
        if let Some(lifetime) = lifetime {
            self.leave_queue(id);
            self.enter_queue(id, lifetime, now);
        }
        true
    }

    fn add_binding(&mut self, protocol: Protocol, inside: Inside, outside: Outside, is_static: bool) -> Id {
        let id = self.bindings.insert(Binding { protocol, inside, outside, sessions: 0, is_static }) as Id;
        self.by_inside.insert((protocol, inside), id);
        self.by_outside.insert((protocol, outside), id);
        self.hosts.entry(inside.address).or_insert((outside.address, 0)).1 += 1;
        id
    }

    fn add_session(&mut self, binding: Id, remote: Outside, side: Side, now: Duration) {
        let protocol = self.bindings[binding as usize].protocol;
        let state = if protocol == Protocol::Tcp { State::first(side) } else { State::Established };
        let lifetime = protocol.lifetime();
        let id = self.sessions.insert(Session {
            binding,
            remote,
            state,
            lifetime,
            expires: now,
            older: NOBODY,
            newer: NOBODY,
        }) as Id;
        self.by_remote.insert((binding, remote), id);
        self.bindings[binding as usize].sessions += 1;
        if let Some(partners) = &mut self.partners {
            *partners.entry((binding, remote.address)).or_default() += 1;
        }
        self.enter_queue(id, lifetime, now);
    }

    /// Takes away what is over. An established connection gets the transitory time first: RFC 6146 section 3.5.2.2 has
    /// the translator ask the host meanwhile whether it still has it, which this one does not.
    fn expire(&mut self, now: Duration) {
        for lifetime in Lifetime::ALL {
            while let Some(id) = Some(self.queues[lifetime as usize].oldest).filter(|&id| id != NOBODY) {
                let session = &self.sessions[id as usize];
                if session.expires > now {
                    break;
                }
                let (state, ended) = (session.state, session.expires);
                self.leave_queue(id);
                if lifetime == Lifetime::TcpEstablished && state == State::Established {
                    self.sessions[id as usize].state = State::Transitory;
                    self.enter_queue(id, Lifetime::TcpTransitory, ended);
                } else {
                    self.remove_session(id);
                }
            }
        }
    }

    fn remove_session(&mut self, id: Id) {
        let Session { binding, remote, .. } = self.sessions.remove(id as usize);
        self.by_remote.remove(&(binding, remote));
        if let Some(partners) = &mut self.partners {
            let left = partners.get(&(binding, remote.address)).map_or(0, |count| count - 1);
            match left {
                0 => partners.remove(&(binding, remote.address)),
                _ => partners.insert((binding, remote.address), left),
            };
        }
        let row = &mut self.bindings[binding as usize];
        row.sessions -= 1;
        if row.sessions == 0 && !row.is_static {
            self.remove_binding(binding);
        }
    }

    fn remove_binding(&mut self, id: Id) {
        let Binding { protocol, inside, outside, .. } = self.bindings.remove(id as usize);
        self.by_inside.remove(&(protocol, inside));
        self.by_outside.remove(&(protocol, outside));
        self.pool.give_back(protocol, outside);
        if let Some(host) = self.hosts.get_mut(&inside.address) {
            host.1 -= 1;
            if host.1 == 0 {
                self.hosts.remove(&inside.address);
            }
        }
    }

    fn enter_queue(&mut self, id: Id, lifetime: Lifetime, from: Duration) {
        let expires = from + self.lasts[lifetime as usize];
        // An established connection that is over may be older than the newest transitory one; then it stays as long as
        // that.
        let newest = self.queues[lifetime as usize].newest;
        let expires = if newest == NOBODY { expires } else { expires.max(self.sessions[newest as usize].expires) };
        let session = &mut self.sessions[id as usize];
        (session.lifetime, session.expires, session.older, session.newer) = (lifetime, expires, newest, NOBODY);
        match newest {
            NOBODY => self.queues[lifetime as usize].oldest = id,
            _ => self.sessions[newest as usize].newer = id,
        }
        self.queues[lifetime as usize].newest = id;
    }

    fn leave_queue(&mut self, id: Id) {
        let Session { lifetime, older, newer, .. } = self.sessions[id as usize];
        match older {
            NOBODY => self.queues[lifetime as usize].oldest = newer,
            _ => self.sessions[older as usize].newer = newer,
        }
        match newer {
            NOBODY => self.queues[lifetime as usize].newest = older,
            _ => self.sessions[newer as usize].older = older,
        }
    }
}
