//! Work that a thread does after its request was accepted.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Code, Error, Outcome};

/// The rest of an operation, which returns the answer.
pub type Job = Box<dyn FnOnce() -> Outcome + Send>;

/// Does `work`. A panic is an `internal` failure of this one request: the state that the work held is dropped, the node
/// lives on.
pub fn shielded<T>(op: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Error::new(Code::Internal, format!("{op}: a fault of the agent: {}", panic_message(panic.as_ref()))))
    })
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => message,
        (_, Some(message)) => message,
        _ => "a panic without a message",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_failure() {
        let failure = shielded::<()>("run", || panic!("at the disco")).expect_err("it panicked");
        assert_eq!(failure.code, Code::Internal);
        assert_eq!(failure.message, "run: a fault of the agent: at the disco");
    }
}
