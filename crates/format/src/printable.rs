//! Makes text from strangers safe to print.

use std::borrow::Cow;

/// Returns the text in a form that is safe on a terminal and in a text profile: it stays on its line, and has no
/// control characters.
///
/// Bytes that are not UTF-8 become U+FFFD. Characters that a terminal or a viewer interprets instead of showing become
/// `?`: the control characters of ASCII and Latin-1 (C0, DEL and C1, so no escape sequence is left), the line and the
/// paragraph separator, and those that change the direction of writing.
#[must_use]
pub fn printable<T: AsRef<[u8]> + ?Sized>(text: &T) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(text.as_ref());
    if text.contains(is_obeyed) {
        return text.replace(is_obeyed, "?").into();
    }
    text
}

/// The most bytes of a name that are shown. A file of a few megabytes may have one name as long as itself and use it
/// for thousands of classes and frames; names that are meant for people are shorter than this.
const LONGEST: usize = 400;

/// Truncates a name that is longer than any meant for people, and marks that with `…`.
#[must_use]
pub fn shortened(name: &str) -> Cow<'_, str> {
    match name.len() {
        0..=LONGEST => name.into(),
        _ => format!("{}…", &name[..name.floor_char_boundary(LONGEST)]).into(),
    }
}

fn is_obeyed(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_not_printed() {
        let obeyed = ['\0', '\t', '\n', '\r', '\u{1b}', '\u{7f}']
            .into_iter()
            .chain('\u{80}'..='\u{9f}')
            .chain(['\u{61c}', '\u{200e}', '\u{200f}', '\u{2028}', '\u{2029}'])
            .chain('\u{202a}'..='\u{202e}')
            .chain('\u{2066}'..='\u{2069}');
        for character in obeyed {
            let text = format!("a{character}[31mb");
            assert_eq!(printable(&text), "a?[31mb", "{:x}", u32::from(character));
        }
    }

    #[test]
    fn long_names_are_cut_between_two_characters() {
        assert_eq!(shortened("Main"), "Main");
        assert_eq!(shortened(&"x".repeat(LONGEST)), "x".repeat(LONGEST));
        for character in ["x", "ü", "語", "\u{1f600}"] {
            let long = character.repeat(1_000_000);
            let shown = shortened(&long);
            let kept = shown.strip_suffix('…').expect("something is left out");
            assert!(long.starts_with(kept) && kept.len() > LONGEST - 4 && kept.len() <= LONGEST);
        }
    }

    #[test]
    fn letters_of_all_scripts_are_printed_as_they_are() {
        for text in [
            "",
            "Größe <init> $1",
            "شجرة",
            "תור",
            "名前",
            "🙂 e\u{301}",
            "\u{a0}\u{ad}\u{200d}\u{fffd}",
        ] {
            assert!(
                matches!(printable(text), Cow::Borrowed(same) if same == text),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_not_utf_8_shows_as_such() {
        assert_eq!(printable(b"a\x9b31mb\xff"), "a\u{fffd}31mb\u{fffd}");
    }
}
