//! Pages and names of the workload `http`, as its ends get them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sixbench_applications::name;
use sixbench_applications::parsers::Page;
use sixbench_wire::token::Token;

const TOKEN: Token = Token([7; 16]);

/// A page as a text and as the numbers in it, and a name that a client asks for.
pub fn trial_http(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    page(&text);
    page(&STANDARD.encode(data));
    asked(&text);
}

/// Each object of a page waits for an earlier one at most.
fn page(text: &str) {
    match Page::decode(text) {
        Ok(page) => {
            assert!(!page.objects().is_empty());
            assert!(page.objects().iter().enumerate().all(|(index, object)| object.after.is_none_or(|it| it < index)));
            assert!(page.objects().iter().all(|object| object.host < page.hosts()));
            assert!(page.connections(6) <= page.objects().len());
            assert_eq!(page.waiting().len(), page.objects().len());
        }
        Err(reason) => assert!(!reason.is_empty()),
    }
}

/// A name of the trial's is the trial's own, or one label below it.
fn asked(text: &str) {
    let trial = name::of_trial(&TOKEN);
    for asked in [text.to_owned(), format!("{text}{trial}"), format!("{text}.{trial}")] {
        if name::is_of_trial(&asked, &trial) {
            let labels = |name: &str| name.split('.').count();
            assert!(asked.to_ascii_lowercase().ends_with(&trial), "{asked}");
            assert!(labels(&asked) <= labels(&trial) + 1, "{asked}");
        }
    }
}
