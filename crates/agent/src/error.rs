//! The results of requests.

use serde::Serialize;
use serde_json::Value;
pub use sixbench_packet::{Code, Error};

/// Result of an operation.
pub type Outcome = Result<Value, Error>;

/// The result of an operation that was done.
pub fn to_value(result: &impl Serialize) -> Outcome {
    serde_json::to_value(result).map_err(|error| Error::new(Code::Internal, format!("writing the result: {error}")))
}
