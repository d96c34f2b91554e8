//! A conversation: every line is a request, which is answered at once, or when a thread has done its job.

use std::io;
use std::sync::Arc;
use std::thread;

use serde_json::Value;

use crate::answers::Answers;
use crate::error::{Code, Error, Outcome};
use crate::job::{Job, shielded};
use crate::lines::Line;
use crate::protocol::{self, Request};

/// The answer to a request, now or later.
pub enum Reply {
    Now(Value),
    /// The answer follows when a thread has done the job; other requests are answered meanwhile.
    Later(Job),
}

/// The conversation is over.
pub struct Over;

/// The other end of a conversation, as every thread that answers knows it.
pub trait Asker: Send + Sync + 'static {
    /// The longest request.
    const MAX_REQUEST_BYTES: usize;

    /// The output of answers.
    fn answers(&self) -> &Answers;

    /// An answer could not be written.
    fn note_gone(&self, error: &io::Error);
}

/// Answers the request in a line by what `reply` says.
pub fn take<A: Asker>(
    asker: &Arc<A>,
    line: &Line<'_>,
    reply: impl FnOnce(Request) -> Result<Reply, Error>,
) -> Result<(), Over> {
    let numbered = match line {
        Line::TooLong => {
            let message = format!("a request has at most {} bytes here", A::MAX_REQUEST_BYTES);
            return answer(asker, None, Err(Error::new(Code::LineTooLong, message)));
        }
        Line::Complete(line) => protocol::parse(line),
    };
    let (id, request) = match numbered {
        Ok(numbered) => (numbered.id, numbered.request),
        Err(refusal) => return answer(asker, refusal.id, Err(Error::bad_request(refusal.reason))),
    };
    let op = request.op();
    match shielded(op, || reply(request)) {
        Ok(Reply::Now(value)) => answer(asker, Some(id), Ok(value)),
        Ok(Reply::Later(job)) => start(asker, id, op, job),
        Err(failure) => answer(asker, Some(id), Err(failure)),
    }
}

/// Lets a thread do the job and answer.
fn start<A: Asker>(asker: &Arc<A>, id: u64, op: &'static str, job: Job) -> Result<(), Over> {
    let answered = Arc::clone(asker);
    // An answer to a client that has gone is dropped.
    let work = move || drop(answer(&answered, Some(id), shielded(op, job)));
    thread::Builder::new().name(op.to_owned()).spawn(work).map(drop).or_else(|error| {
        let failure = Error::system(format_args!("starting a thread for {op}"), "clone", error);
        answer(asker, Some(id), Err(failure))
    })
}

fn answer<A: Asker>(asker: &Arc<A>, id: Option<u64>, outcome: Outcome) -> Result<(), Over> {
    asker.answers().send(id, outcome).map_err(|error| {
        asker.note_gone(&error);
        Over
    })
}
