//! Properties of a translator, whatever the packet.

mod domain;
mod held;
mod hostile;
mod packets;
mod properties;
#[path = "../common/seeded.rs"]
mod seeded;
