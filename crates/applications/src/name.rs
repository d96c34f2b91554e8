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

/// The same, as clients of TLS take it.
pub fn of_server(token: &Token) -> Result<ServerName<'static>> {
    let name = of_trial(token);
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
        assert_eq!(of_server(&first).unwrap().to_str(), of_trial(&first));
    }
}
