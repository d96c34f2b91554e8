//! `exec`: commands, their outputs and their ends.

mod common;

use std::process::Command;

use common::{Agent, Fifo, PATIENCE};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

#[test]
fn a_command_answers_with_its_exit_and_its_outputs() {
    let mut agent = Agent::here().greeted();
    let answer = agent.ok("exec", json!({"argv": ["sh", "-c", "cat; echo problem >&2; exit 7"], "stdin": "héllo\n"}));
    assert_eq!(answer, json!({"exit": 7, "stdout": "héllo\n", "stderr": "problem\n"}));
    let answer = agent.ok("exec", json!({"argv": ["sh", "-c", "kill -TERM $$"]}));
    assert_eq!(answer["exit"], -15);
}

#[test]
fn a_command_that_cannot_be_started_says_why() {
    let mut agent = Agent::here().greeted();
    let error = agent.error("exec", json!({"argv": ["/nonexistent/tool", "-x"]}));
    assert_eq!(error["code"], "system");
    assert_eq!(error["context"]["errno"], "ENOENT");
    let message = error["message"].as_str().expect("text");
    assert!(message.starts_with("running `/nonexistent/tool -x`: execve failed: No such file"), "{message}");
    for argv in [json!([]), json!(["a\u{0}b"])] {
        assert_eq!(agent.error("exec", json!({"argv": argv}))["code"], "bad-request");
    }
}

#[test]
fn large_inputs_and_outputs_pass_at_once_and_are_bounded() {
    let mut agent = Agent::here().greeted();
    // This is more than a pipe holds in either direction: a program that writes all before it reads would wait for
    // ever.
    let input = "x".repeat(900_000);
    let answer = agent.ok("exec", json!({"argv": ["tee", "/dev/stderr"], "stdin": input}));
    assert_eq!(answer["stdout"].as_str().map(str::len), Some(900_000));
    assert_eq!(answer["stderr"].as_str().map(str::len), Some(900_000));
    let answer = agent.ok("exec", json!({"argv": ["head", "-c", "3000000", "/dev/zero"]}));
    assert_eq!(answer["stdout"].as_str().map(str::len), Some(1 << 20));
    assert_eq!(answer["stdout_omitted_bytes"], 3_000_000 - (1 << 20));
    assert!(answer.get("stderr_omitted_bytes").is_none());
}

#[test]
fn a_command_need_not_read_its_input() {
    let mut agent = Agent::here().greeted();
    let answer = agent.ok("exec", json!({"argv": ["true"], "stdin": "x".repeat(900_000)}));
    assert_eq!(answer["exit"], 0);
}

#[test]
fn a_command_that_takes_too_long_is_killed_with_its_children() {
    let mut agent = Agent::here().greeted();
    let fifo = Fifo::new();
    let script = format!("exec 9>{}; echo started >&9; echo so far; sleep 1000 & wait", fifo.text());
    let id = agent.send("exec", json!({"argv": ["sh", "-c", script], "timeout_ns": 500_000_000}));
    let (line, end) = fifo.first_line();
    assert_eq!(line, "started");
    let response = agent.receive();
    assert_eq!(response["id"], id);
    assert_eq!(response["error"]["code"], "timeout");
    assert_eq!(response["error"]["context"]["stdout"], "so far\n");
    end.recv_timeout(PATIENCE).expect("the shell and its child are dead");
}

#[test]
fn what_a_command_leaves_running_ends_with_it() {
    let mut agent = Agent::here().greeted();
    let fifo = Fifo::new();
    let script = format!("exec 9>{}; sleep 1000 & echo started >&9; echo done", fifo.text());
    let id = agent.send("exec", json!({"argv": ["sh", "-c", script]}));
    let (_, end) = fifo.first_line();
    let response = agent.receive();
    assert_eq!(response, json!({"id": id, "ok": {"exit": 0, "stdout": "done\n", "stderr": ""}}));
    end.recv_timeout(PATIENCE).expect("the shell's child is dead");
}

#[test]
fn commands_start_with_default_signals() {
    let mut agent = Agent::here().greeted();
    let status = agent.exec(&["cat", "/proc/self/status"]);
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a line SigIgn");
    // The signals 1 to 31. Those above are the C library's own, and whatever the test's parents left them at.
    assert_eq!(u64::from_str_radix(ignored.trim(), 16).map(|mask| mask & 0x7fff_ffff), Ok(0), "{ignored}");
}

#[test]
fn more_commands_than_there_is_room_for_are_refused() {
    let mut agent = Agent::here().greeted();
    let gate = Fifo::new();
    for _ in 0..16 {
        agent.send("exec", json!({"argv": ["cat", gate.text()]}));
    }
    assert_eq!(agent.error("exec", json!({"argv": ["true"]}))["code"], "busy");
}

#[test]
fn the_end_of_standard_input_ends_the_agent_and_its_commands() {
    let mut agent = Agent::here().greeted();
    let fifo = Fifo::new();
    let script = format!("exec 9>{}; sleep 1000 & echo started >&9; wait", fifo.text());
    agent.send("exec", json!({"argv": ["sh", "-c", script]}));
    let (_, end) = fifo.first_line();
    agent.close_stdin();
    assert_eq!(agent.wait().code(), Some(0));
    end.recv_timeout(PATIENCE).expect("the command is dead");
}

#[test]
fn commands_die_with_an_agent_that_is_killed() {
    let mut agent = Agent::here().greeted();
    let fifo = Fifo::new();
    let script = format!("exec 9>{}; echo started >&9; exec sleep 1000", fifo.text());
    agent.send("exec", json!({"argv": ["sh", "-c", script]}));
    let (_, end) = fifo.first_line();
    agent.kill();
    end.recv_timeout(PATIENCE).expect("the command is dead");
}

#[test]
fn an_agent_lives_through_ctrl_c() {
    let mut agent = Agent::here().greeted();
    kill(Pid::from_raw(agent.pid() as i32), Signal::SIGINT).expect("it runs");
    agent.ok("cpu", json!({}));
}

#[test]
fn an_agent_dies_with_its_parent() {
    // A shell starts an agent that nothing else can end: it holds its input open itself. It says hello, then waits.
    let (input, life) = (Fifo::new(), Fifo::new());
    let agent = env!("CARGO_BIN_EXE_sixbench-agent");
    let script = format!("{agent} node --name orphan --here <>{} >{} & wait", input.text(), life.text());
    let mut parent = Command::new("sh").args(["-c", &script]).spawn().expect("a shell");
    std::fs::write(input.path(), "{\"id\": 1, \"op\": \"cpu\"}\n").expect("the agent holds its input open");
    let (line, end) = life.first_line();
    assert!(line.contains("not-greeted"), "{line}");
    parent.kill().expect("it runs");
    parent.wait().expect("it is ours");
    end.recv_timeout(PATIENCE).expect("the agent is dead");
}
