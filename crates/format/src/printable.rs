//! Text that others chose, made fit to be printed.

use std::borrow::Cow;

/// The text as it may go to a terminal or into a text profile: on the line where it is put, and as nothing but letters.
///
/// What is not UTF-8 becomes U+FFFD. Characters that a terminal or a viewer obeys instead of showing become `?`: the
/// control characters of ASCII and Latin-1 (C0, DEL and C1, so no escape sequence is left), the line and the paragraph
/// separator, and those that turn the direction of writing.
#[must_use]
pub fn printable<T: AsRef<[u8]> + ?Sized>(text: &T) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(text.as_ref());
    if text.contains(is_obeyed) {
        return text.replace(is_obeyed, "?").into();
    }
    text
}

/// Bytes of a name that are shown. A file of a few megabytes may have one name as long as itself and give it to thousands
/// of classes and frames; names that are meant for people are shorter than this.
const LONGEST: usize = 400;

/// A name with its end cut off, and `…` in its place, where it is longer than any that is meant for people.
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
