//! The name of a trial's server.

use blake2::Blake2b;
use blake2::digest::Digest;
use blake2::digest::consts::U8;
use rustls::pki_types::ServerName;
use sixbench_traffic::Result;
use sixbench_traffic::error::bad_params;
use sixbench_wire::token::Token;

/// A name that nobody else has (RFC 6761 section 6.2).
const DOMAIN: &str = "sixbench.test";

/// The name by which the trial's client asks for its server, and which the server's certificate has. It follows from
/// the token and gives nothing of it away: whoever asks for it is of the trial.
pub fn of_trial(token: &Token) -> String {
    let mut hash = Blake2b::<U8>::new();
    hash.update(b"sixbench server name\0");
    hash.update(token.0);
    format!("{:016x}.{DOMAIN}", u64::from_be_bytes(hash.finalize().into()))
}

/// The name of one of several hosts that a trial's server stands for: the first has the trial's, others are below it.
pub fn of_host(trial: &str, index: usize) -> String {
    if index == 0 { trial.to_owned() } else { format!("host{index}.{trial}") }
}

/// True for the trial's name, and for one right below it. Letters may be of either case (RFC 4343).
pub fn is_of_trial(asked: &str, trial: &str) -> bool {
    let asked = asked.to_ascii_lowercase();
    asked == trial
        || asked.strip_suffix(trial).is_some_and(|label| label.len() > 1 && label.find('.') == Some(label.len() - 1))
}

/// The trial's name, as clients of TLS take it.
pub fn of_server(token: &Token) -> Result<ServerName<'static>> {
    as_server(of_trial(token))
}

/// A name, as clients of TLS take it.
pub fn as_server(name: String) -> Result<ServerName<'static>> {
    ServerName::try_from(name.clone())
        .map_err(|e| bad_params("tls", format!("the server's name {name} is none of DNS: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trial_has_a_name_that_does_not_show_its_token() {
        let (first, second) = (Token([1; 16]), Token([2; 16]));
        assert_ne!(of_trial(&first), of_trial(&second));
        assert_eq!(of_trial(&first), of_trial(&first));
        assert!(!of_trial(&first).contains("0101"));
        let trial = of_trial(&first);
        let host = of_host(&trial, 2);
        let ours = [trial.clone(), trial.to_uppercase(), of_host(&trial, 0), host.clone()];
        assert!(ours.iter().all(|asked| is_of_trial(asked, &trial)));
        let others = [format!("a.{host}"), format!("a{trial}"), format!(".{trial}"), DOMAIN.to_owned(), String::new()];
        assert!(!others.iter().any(|asked| is_of_trial(asked, &trial)));
        assert_eq!(of_server(&first).unwrap().to_str(), of_trial(&first));
    }
}
