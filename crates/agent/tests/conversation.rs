//! Requests, responses and refusals.

mod common;

use std::process::Command;

use common::{Agent, Fifo, session, with};
use serde_json::{Value, json};

fn agent_command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_sixbench-agent"))
}

#[test]
fn the_version_names_the_protocol() {
    let output = agent_command().arg("--version").output().expect("it starts");
    assert!(output.status.success());
    let expected = format!("sixbench-agent {} protocol 1\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
}

#[test]
fn a_usage_error_is_a_sentence_and_exits_with_2() {
    for arguments in [&[][..], &["node"], &["node", "--name"], &["node", "--name", "a", "--port", "1"]] {
        let output = agent_command().args(arguments).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.ends_with("; see: sixbench-agent --help\n") && words.lines().count() == 1, "{words}");
    }
}

#[test]
fn hello_comes_first() {
    let mut agent = Agent::here();
    assert_eq!(agent.error("cpu", json!({}))["code"], "not-greeted");
    let mismatch = agent.error("hello", json!({"protocol": 99, "version": "9"}));
    assert_eq!(mismatch["code"], "protocol-mismatch");
    assert_eq!(mismatch["context"]["protocol"], 1);
    assert_eq!(agent.error("cpu", json!({}))["code"], "not-greeted");

    let hello = agent.ok("hello", json!({"protocol": 1, "version": "0.1.0"}));
    assert_eq!(hello["protocol"], 1);
    assert_eq!(hello["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(hello["name"], "here");
    assert_eq!(hello["pid"], agent.pid());
    assert_eq!(hello["machine"], std::env::consts::ARCH);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("Linux");
    assert_eq!(hello["kernel"], release.trim_end());
    let link = std::fs::read_link("/proc/self/ns/net").expect("Linux");
    assert_eq!(link.to_string_lossy(), format!("net:[{}]", hello["netns_inode"]));
    agent.ok("cpu", json!({}));
}

#[test]
fn bad_requests_do_not_end_the_agent() {
    let mut agent = Agent::here().greeted();
    let refused = |agent: &mut Agent, line: &[u8]| -> Value {
        agent.send_raw(line);
        agent.receive()
    };
    for line in [&b"garbage\n"[..], b"\n", b"[1, 2]\n", b"\xff\x00\xfe\n", b"{\"op\": \"cpu\"}\n"] {
        let response = refused(&mut agent, line);
        assert_eq!((&response["id"], &response["error"]["code"]), (&Value::Null, &json!("bad-request")), "{line:?}");
    }
    for line in ["{\"id\": 77, \"op\": \"reboot\"}\n", "{\"id\": 77, \"op\": \"cpu\", \"why\": 1}\n"] {
        let response = refused(&mut agent, line.as_bytes());
        assert_eq!((&response["id"], &response["error"]["code"]), (&json!(77), &json!("bad-request")), "{line}");
    }
    agent.ok("cpu", json!({}));
}

#[test]
fn a_line_that_is_too_long_is_skipped() {
    let mut agent = Agent::here().greeted();
    let mut line = format!("{{\"id\": 5, \"op\": \"cpu\", \"x\": \"{}", "x".repeat(2 << 20)).into_bytes();
    line.extend(b"\"}\n");
    agent.send_raw(&line);
    let response = agent.receive();
    assert_eq!((&response["id"], &response["error"]["code"]), (&Value::Null, &json!("line-too-long")));
    agent.ok("cpu", json!({}));

    // The longest line that is read: a request that is refused by its number.
    let start = "{\"id\": 6, \"op\": \"cpu\", \"x\": \"";
    let longest = format!("{start}{}\"}}\n", "x".repeat((1 << 20) - start.len() - 2));
    agent.send_raw(longest.as_bytes());
    let response = agent.receive();
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!(6), &json!("bad-request")));
}

#[test]
fn a_slow_command_does_not_hold_up_other_requests() {
    let mut agent = Agent::here().greeted();
    let gate = Fifo::new();
    let slow = agent.send("exec", json!({"argv": ["cat", gate.text()]}));
    let quick = agent.send("cpu", json!({}));
    assert_eq!(agent.receive()["id"], quick);
    std::fs::write(gate.path(), "done").expect("cat reads");
    let response = agent.receive();
    assert_eq!(response["id"], slow);
    assert_eq!(response["ok"]["stdout"], "done");
}

#[test]
fn cpu_samples_have_cores_and_clocks() {
    let mut agent = Agent::here().greeted();
    let before = agent.ok("cpu", json!({}));
    let after = agent.ok("cpu", json!({}));
    assert!(!before["cores"].as_array().expect("a list").is_empty());
    assert!(before["cores"][0]["idle"].is_u64());
    assert!(before["clock_ns"].as_u64() < after["clock_ns"].as_u64());
}

#[test]
fn sessions_are_refused_with_reasons() {
    let mut agent = Agent::here().greeted();
    let serve = |workload| session("s", workload, "127.0.0.1", &json!({}));
    assert_eq!(
        agent.error("serve", with(serve("carrier-pigeon"), json!({"peer": "127.0.0.1"})))["code"],
        "unknown-workload"
    );
    let refusal = agent.error("serve", with(serve("ping"), json!({"peer": "127.0.0.1", "token": "secret"})));
    assert_eq!(refusal["code"], "bad-request");
    assert!(refusal["message"].as_str().expect("text").contains("32 hexadecimal digits"), "{refusal}");
    assert_eq!(agent.error("finish", json!({"session": "s", "timeout_ns": 1}))["code"], "no-session");
    assert_eq!(agent.error("cancel", json!({"session": "s"}))["code"], "no-session");
}

#[test]
fn a_run_can_be_cancelled_while_others_are_answered() {
    let mut agent = Agent::here().greeted();
    let side = |session: &str| {
        let params = json!({"duration_ns": 3_600_000_000_000_u64});
        with(common::session(session, "tcp-rr", "127.0.0.1", &params), json!({"peer": "127.0.0.1"}))
    };
    let port = agent.ok("serve", side("server"))["port"].clone();
    assert_eq!(agent.error("serve", side("server"))["code"], "session-exists");
    let run = agent.send("run", with(side("client"), json!({"port": port})));
    agent.ok("cpu", json!({}));
    let cancel = agent.send("cancel", json!({"session": "client"}));
    let mut responses = [agent.receive(), agent.receive()];
    responses.sort_by_key(|response| response["id"].as_u64());
    assert_eq!((&responses[0]["id"], &responses[0]["error"]["code"]), (&json!(run), &json!("cancelled")));
    assert_eq!(responses[1], json!({"id": cancel, "ok": {}}));
    assert_eq!(agent.ok("cancel", json!({"session": "server"})), json!({}));
    assert_eq!(agent.error("cancel", json!({"session": "server"}))["code"], "no-session");
}
