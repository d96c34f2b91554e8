//! `serve`, `run`, `finish` and `cancel`: the node's part in trials.

mod table;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sixbench_measure::clock;
use sixbench_packet::LocalAddress;
use sixbench_traffic as traffic;
use sixbench_traffic::{Cancel, Certificate, ConnectionLogs, Endpoint, Progress, Workload, only};
use sixbench_wire::token::Token;
use table::Table;

use crate::device::Program;
use crate::error::{Code, Error, Outcome};
use crate::job::Job;

/// Most sessions of a node.
pub const MAX_SESSIONS: usize = 64;
/// Addresses of a session beyond the first.
const MAX_FURTHER: usize = 15;

/// The answer to `progress`.
#[derive(Debug, serde::Serialize)]
struct ProgressAnswer {
    #[serde(flatten)]
    progress: traffic::progress::ProgressTally,
    /// The time of the answer on the monotonic clock.
    now_ns: u64,
}

/// A request to serve a workload.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Serve {
    session: String,
    /// Its name.
    pub workload: String,
    /// The address to listen on.
    pub address: LocalAddress,
    /// The client's address. Absent: any client that has the token.
    pub peer: Option<IpAddr>,
    /// Further addresses, listened on with the same port.
    #[serde(default)]
    pub also: Vec<Pair>,
    token: Token,
    /// The program that serves in the place of ours.
    #[serde(default)]
    program: Option<Program>,
    /// The parameters, not yet checked.
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// A request to run a workload as its client.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    session: String,
    workload: String,
    address: LocalAddress,
    peer: IpAddr,
    #[serde(default)]
    also: Vec<Pair>,
    port: u16,
    token: Token,
    #[serde(default)]
    cookie: bool,
    certificate: Option<Certificate>,
    /// The program that runs in the place of our client.
    #[serde(default)]
    program: Option<Program>,
    #[serde(default)]
    params: Map<String, Value>,
}

/// An address of this side and the only one of the other side that goes with it.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    address: LocalAddress,
    peer: IpAddr,
}

/// A request for the end and the result of serving.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    session: String,
    sent: Option<u64>,
    timeout_ns: u64,
    first_silence_ns: Option<u64>,
}

/// The function that finds a workload by its name.
type Find = fn(&str) -> traffic::Result<&'static dyn Workload>;

/// The programs of others that may be an end of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Programs {
    /// Those that requests name.
    Any,
    /// None: requests come from other machines.
    None,
}

/// The sessions of this node. Only the thread that reads requests begins them; those that work on one end it.
pub struct Sessions {
    find: Find,
    programs: Programs,
    table: Arc<Table>,
    logs: ConnectionLogs,
}

impl Sessions {
    /// A table without sessions, and with room for this many.
    pub fn new(find: Find, programs: Programs, most: usize) -> Self {
        Self { find, programs, table: Arc::new(Table::new(most)), logs: ConnectionLogs::default() }
    }

    /// Refuses a program where there are to be none.
    fn admit(&self, program: Option<Program>) -> Result<Option<Program>, Error> {
        match (program, self.programs) {
            (Some(_), Programs::None) => Err(Error::new(Code::Refused, "this server runs no programs for its clients")),
            (program, _) => Ok(program),
        }
    }

    /// True if there are no sessions.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// Cancels those that began longer ago than this.
    pub fn cancel_older_than(&self, age: Duration) {
        for name in self.table.older_than(age) {
            // It may have ended meanwhile. Nobody asked for the job's answer.
            if let Ok(Some(job)) = self.cancel(&name) {
                let _ = job();
            }
        }
    }

    /// Starts a server, which holds something for as long as its session lasts; it listens when this returns.
    pub fn serve(&self, request: Serve, held: Option<Box<dyn Send>>) -> Outcome {
        let Serve { session, workload, address, peer, also, token, program, params } = request;
        let (workload, program) = ((self.find)(&workload)?, self.admit(program)?);
        let is_open = peer.is_none();
        if peer.is_some_and(|peer| peer.is_unspecified()) {
            return Err(Error::bad_request(
                "`peer` is an address, or absent where the token alone identifies the client",
            ));
        }
        let first = endpoint(address, peer.unwrap_or_else(|| anybody(address.ip())), 0, token)?;
        let endpoints = with_further(first, &also)?;
        let reservation = self.table.begin(&session, &endpoints, held)?;
        let server = match program {
            Some(program) => program.serve(only(workload.name(), &endpoints)?)?,
            None => workload.serve_at(&endpoints, &Value::Object(params), &reservation.cancel)?,
        };
        let mut answer = json!({ "port": server.port(), "cookie": is_open });
        if let Some(certificate) = server.certificate() {
            answer["certificate"] = json!(certificate);
        }
        reservation.keep(server);
        Ok(answer)
    }

    /// Accepts a client's run. The job runs it to its end.
    pub fn run(&self, request: Run) -> Result<Job, Error> {
        let Run { session, workload, address, peer, also, port, token, cookie, certificate, program, params } = request;
        let (workload, program) = ((self.find)(&workload)?, self.admit(program)?);
        let logs = self.logs.clone();
        let first = Endpoint { cookie, certificate, logs, ..endpoint(address, peer, port, token)? };
        let endpoints = with_further(first, &also)?;
        let reservation = self.table.begin(&session, &endpoints, None)?;
        Ok(Box::new(move || {
            let result = match program {
                Some(program) => program.run(only(workload.name(), &endpoints)?, &reservation.cancel),
                None => workload.run_at(&endpoints, &Value::Object(params), &reservation.cancel),
            };
            settle(result, &reservation.cancel)
        }))
    }

    /// Accepts the end of a server. The job waits for it.
    pub fn finish(&self, request: &Finish) -> Result<Job, Error> {
        let Some((reservation, server)) = self.table.take(&request.session)? else {
            let message = format!("session `{}` does not serve, or is being finished already", request.session);
            return Err(Error::new(Code::NoSession, message));
        };
        let finish = traffic::Finish {
            sent: request.sent,
            timeout_ns: request.timeout_ns,
            first_silence_ns: request.first_silence_ns,
        };
        Ok(Box::new(move || settle(server.finish(&finish), &reservation.cancel)))
    }

    /// Keeps the logs of the connections that clients make from now on.
    pub fn start_connection_logs(&self) -> Outcome {
        if self.logs.are_kept() {
            return Err(Error::new(Code::CaptureExists, "logs of connections are kept already"));
        }
        self.logs.start();
        Ok(json!({}))
    }

    /// The logs since then.
    pub fn stop_connection_logs(&self) -> Outcome {
        let none = || Error::new(Code::NoCapture, "no logs are kept: send connection-logs-start first");
        self.logs.stop().map(|kept| json!(kept)).ok_or_else(none)
    }

    /// The data that has arrived at a session so far, the state of its senders, and the time of this on the same clock.
    pub fn progress(&self, session: &str) -> Outcome {
        let progress = self.table.progress(session)?.tally();
        Ok(json!(ProgressAnswer { progress, now_ns: clock::monotonic_ns() }))
    }

    /// Cancels a session. Where a `run` or `finish` is at work on it, that is answered and ends it, and there is
    /// nothing more to do here; the job ends a server.
    pub fn cancel(&self, session: &str) -> Result<Option<Job>, Error> {
        self.table.raise(session)?;
        Ok(self.table.take(session)?.map(|(reservation, server)| -> Job {
            Box::new(move || {
                drop(server);
                drop(reservation);
                Ok(json!({}))
            })
        }))
    }
}

/// A cancelled session has no result, whatever its workload still returned.
fn settle(result: traffic::Result<Value>, cancel: &Cancel) -> Outcome {
    cancel.check()?;
    result
}

fn endpoint(address: LocalAddress, peer: IpAddr, port: u16, token: Token) -> Result<Endpoint, Error> {
    if address.is_ipv4() != peer.is_ipv4() {
        return Err(Error::bad_request(format!("address {address} and peer {peer} are of different families")));
    }
    let (logs, progress) = (ConnectionLogs::default(), Progress::default());
    Ok(Endpoint { address, peer, port, token, cookie: false, certificate: None, logs, progress })
}

/// The endpoints of a session, which share port and token.
fn with_further(first: Endpoint, also: &[Pair]) -> Result<Vec<Endpoint>, Error> {
    if also.len() > MAX_FURTHER {
        return Err(Error::bad_request(format!("`also` has at most {MAX_FURTHER} pairs of addresses")));
    }
    let Endpoint { port, token, .. } = first;
    let further = also.iter().map(|pair| endpoint(pair.address, pair.peer, port, token));
    std::iter::once(Ok(first)).chain(further).collect()
}

/// The peer of a server that serves any client that has the token.
fn anybody(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use sixbench_traffic::{ResultSchemas, SchemaGenerator, Server};

    use super::*;
    use crate::job::shielded;
    use crate::protocol::{self, Request};

    /// A workload that does what `params` says, until it is cancelled.
    struct Puppet;

    struct PuppetServer(Cancel, bool);

    impl Workload for Puppet {
        fn name(&self) -> &'static str {
            "puppet"
        }

        fn parameters(&self) -> sixbench_traffic::Result<Value> {
            Ok(json!({}))
        }

        fn results(&self, generator: &mut SchemaGenerator) -> ResultSchemas {
            ResultSchemas { client: generator.subschema_for::<Value>(), server: generator.subschema_for::<Value>() }
        }

        fn serve_at(&self, _: &[Endpoint], params: &Value, cancel: &Cancel) -> traffic::Result<Box<dyn Server>> {
            assert!(params.get("panic_on_serve").is_none(), "as told");
            Ok(Box::new(PuppetServer(cancel.clone(), params.get("wait").is_some())))
        }

        fn run_at(&self, _: &[Endpoint], params: &Value, cancel: &Cancel) -> traffic::Result<Value> {
            assert!(params.get("panic").is_none(), "as told");
            wait(cancel, params.get("wait").is_some());
            Ok(json!({"transactions": 3}))
        }
    }

    impl Server for PuppetServer {
        fn port(&self) -> u16 {
            4242
        }

        fn finish(self: Box<Self>, finish: &traffic::Finish) -> traffic::Result<Value> {
            wait(&self.0, self.1);
            Ok(json!({"sent": finish.sent}))
        }
    }

    #[test]
    fn what_has_arrived_is_told_while_a_session_is_at_work() {
        let sessions = sessions();
        assert_eq!(code(sessions.progress("a")), Code::NoSession);
        serve(&sessions, "a", json!({})).expect("it serves");
        let quiet = sessions.progress("a").expect("it is there");
        assert!(quiet["now_ns"].is_u64() && quiet.get("received_bytes").is_none());
        sessions.table.progress("a").expect("it is there").add(7, 100);
        let busy = sessions.progress("a").expect("it is there");
        assert_eq!((&busy["first_ns"], &busy["received_bytes"]), (&json!(7), &json!(100)));
    }

    fn wait(cancel: &Cancel, until_cancelled: bool) {
        while until_cancelled && !cancel.is_raised() {
            thread::yield_now();
        }
    }

    fn sessions() -> Sessions {
        Sessions::new(|_| Ok(&Puppet), Programs::Any, MAX_SESSIONS)
    }

    fn request(op: &str, session: &str, params: Value) -> Request {
        let mut line = json!({
            "id": 1, "op": op, "session": session, "workload": "puppet", "address": "192.0.2.1", "peer": "192.0.2.2",
            "token": "00112233445566778899aabbccddeeff", "params": params,
        });
        if op == "run" {
            line["port"] = json!(1);
        }
        protocol::parse(line.to_string().as_bytes()).expect("a request").request
    }

    fn serve(sessions: &Sessions, session: &str, params: Value) -> Outcome {
        let Request::Serve(request) = request("serve", session, params) else { panic!("another request") };
        sessions.serve(request, None)
    }

    fn run(sessions: &Sessions, session: &str, params: Value) -> Result<Job, Error> {
        let Request::Run(request) = request("run", session, params) else { panic!("another request") };
        sessions.run(request)
    }

    fn finish(sessions: &Sessions, session: &str) -> Result<Job, Error> {
        sessions.finish(&Finish { session: session.to_owned(), sent: Some(5), timeout_ns: 1, first_silence_ns: None })
    }

    fn code<T>(result: Result<T, Error>) -> Code {
        result.map(drop).expect_err("a failure").code
    }

    #[test]
    fn a_served_session_is_finished_once_and_its_name_is_free_again() {
        let sessions = sessions();
        assert_eq!(code(finish(&sessions, "a")), Code::NoSession);
        assert_eq!(serve(&sessions, "a", json!({})).expect("it serves"), json!({"port": 4242, "cookie": false}));
        assert_eq!(code(serve(&sessions, "a", json!({}))), Code::SessionExists);
        assert_eq!(code(run(&sessions, "a", json!({}))), Code::SessionExists);
        let job = finish(&sessions, "a").expect("it served");
        assert_eq!(code(finish(&sessions, "a")), Code::NoSession);
        assert_eq!(job().expect("a result"), json!({"sent": 5}));
        serve(&sessions, "a", json!({})).expect("the name is free");
    }

    #[test]
    fn a_cancelled_run_has_no_result() {
        let sessions = sessions();
        let job = run(&sessions, "a", json!({"wait": true})).expect("accepted");
        let runs = thread::spawn(job);
        assert!(sessions.cancel("a").expect("it runs").is_none());
        assert_eq!(code(runs.join().expect("no panic")), Code::Cancelled);
        assert_eq!(code(sessions.cancel("a")), Code::NoSession);
    }

    #[test]
    fn a_cancelled_finish_has_no_result() {
        let sessions = sessions();
        serve(&sessions, "a", json!({"wait": true})).expect("it serves");
        let finishes = thread::spawn(finish(&sessions, "a").expect("it served"));
        assert!(sessions.cancel("a").expect("it is finished").is_none());
        assert_eq!(code(finishes.join().expect("no panic")), Code::Cancelled);
    }

    #[test]
    fn a_cancelled_server_is_gone_when_the_answer_comes() {
        let sessions = sessions();
        serve(&sessions, "a", json!({})).expect("it serves");
        let job = sessions.cancel("a").expect("it serves").expect("a server to end");
        assert_eq!(code(serve(&sessions, "a", json!({}))), Code::SessionExists);
        job().expect("it ends");
        serve(&sessions, "a", json!({})).expect("the name is free");
    }

    #[test]
    fn a_panic_ends_the_session() {
        let sessions = sessions();
        let job = run(&sessions, "a", json!({"panic": true})).expect("accepted");
        assert_eq!(code(shielded("run", job)), Code::Internal);
        assert_eq!(code(shielded("serve", || serve(&sessions, "a", json!({"panic_on_serve": true})))), Code::Internal);
        serve(&sessions, "a", json!({})).expect("the name is free");
    }

    #[test]
    fn a_job_that_never_starts_ends_its_session() {
        let sessions = sessions();
        drop(run(&sessions, "a", json!({})).expect("accepted"));
        serve(&sessions, "a", json!({})).expect("the name is free");
    }

    #[test]
    fn sessions_that_are_too_old_are_cancelled() {
        let sessions = sessions();
        serve(&sessions, "serves", json!({})).expect("it serves");
        let runs = thread::spawn(run(&sessions, "runs", json!({"wait": true})).expect("accepted"));
        sessions.cancel_older_than(Duration::from_secs(3600));
        assert!(!sessions.is_empty());
        sessions.cancel_older_than(Duration::ZERO);
        assert_eq!(code(runs.join().expect("no panic")), Code::Cancelled);
        assert!(sessions.is_empty());
    }

    #[test]
    fn nobody_elsewhere_has_a_program_run() {
        let sessions = Sessions::new(|_| Ok(&Puppet), Programs::None, MAX_SESSIONS);
        let with_program = |op| {
            let mut line: Value = json!({
                "id": 1, "op": op, "session": "a", "workload": "puppet", "address": "192.0.2.1", "peer": "192.0.2.2",
                "token": "00112233445566778899aabbccddeeff", "program": {
                    "argv": ["touch", "/tmp/nobody-has-this-made"], "name": "touch", "memory_bytes": 1 << 20,
                },
            });
            if op == "run" {
                line["port"] = json!(1);
            }
            protocol::parse(line.to_string().as_bytes()).expect("a request").request
        };
        let Request::Serve(serving) = with_program("serve") else { panic!("another request") };
        assert_eq!(code(sessions.serve(serving, None)), Code::Refused);
        let Request::Run(running) = with_program("run") else { panic!("another request") };
        assert_eq!(code(sessions.run(running)), Code::Refused);
        assert!(sessions.is_empty());
    }

    #[test]
    fn sessions_are_bounded() {
        let sessions = sessions();
        for number in 0..MAX_SESSIONS {
            serve(&sessions, &number.to_string(), json!({})).expect("there is room");
        }
        assert_eq!(code(serve(&sessions, "more", json!({}))), Code::Busy);
    }
}
