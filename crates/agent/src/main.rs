//! The program `sixbench-agent`.

fn main() -> std::process::ExitCode {
    sixbench_agent::run()
}
