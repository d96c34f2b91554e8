//! The transport between two agents on two machines ("Two machines" in the protocol document).
//!
//! This crate holds listening and connecting, keys, the handshake, and the limits of connections that wait at the door.
//! The contents of a connection do not belong here; they are bytes here. `agent` reads lines from a [`Reader`] and
//! writes them to a [`Writer`].
//!
//! [`first_bytes`], [`cookie`] and [`slots`] are pure; [`door`] accepts connections and waits for their first bytes,
//! [`greeting`] is the handshake, [`visitors`] decides which connections may stay, [`queues`] separates those that have
//! not been accepted, [`listener`] joins these parts, and [`channel`] carries bytes afterwards.

mod channel;
mod connect;
mod cookie;
mod door;
mod error;
mod first_bytes;
pub mod greeting;
mod key;
mod listener;
mod queues;
mod slots;
mod tcp;
mod visitors;

pub use channel::{Channel, Reader, Writer};
pub use connect::{Target, connect};
pub use error::{Error, Result};
pub use key::Key;
pub use listener::{Addresses, Listening, listen};
pub use visitors::{Full, Visit};
