//! Properties of a resolver with DNS64, whatever it is asked.

mod forwarding;
mod held;
mod hostile;
mod names;
mod rules;
#[path = "../common/seeded.rs"]
mod seeded;
