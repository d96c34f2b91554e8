//! Text of strangers, as it is shown to people. Pure.

/// The text, as far as it is letters, numbers, spaces and the signs of ASCII, and at most so many characters of it. The
/// replacement character stands for each other one: a terminal would take some for commands, and others are not seen.
pub fn printable(text: &str, max_chars: usize) -> String {
    let is_plain = |one: char| one == ' ' || one.is_ascii_graphic() || one.is_alphanumeric();
    text.chars().take(max_chars).map(|one| if is_plain(one) { one } else { char::REPLACEMENT_CHARACTER }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_no_commands_for_a_terminal() {
        for (text, expected) in [
            ("a b-c.example: \"x\"", "a b-c.example: \"x\""),
            ("\u{1b}[2J\r\n\t\u{7f}", "\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("\u{9b}2J \u{202e}evil \u{2028}\u{e000}", "\u{fffd}2J \u{fffd}evil \u{fffd}\u{fffd}"),
            ("bücher.example 例え", "bücher.example 例え"),
        ] {
            assert_eq!(printable(text, 100), expected);
        }
        assert_eq!(printable("äöü", 2), "äö");
    }
}
