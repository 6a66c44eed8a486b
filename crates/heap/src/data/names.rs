//! Names in the form that people write.

use std::fmt::Write;
use std::sync::Arc;

use hprof_format::{ObjectId, shortened};

/// The most bytes of a name that are read; even fewer of the resulting text are shown.
const READ: usize = 1000;
/// The most dimensions of an array in the Java VM.
const MOST_DIMENSIONS: usize = 255;

/// A stack, innermost frame first. Stacks share their frames, and equal stacks are shared.
pub type Stack = Arc<[Arc<str>]>;

/// Returns `true` if a stack has no frames, for serde.
pub(crate) fn is_empty(stack: &Stack) -> bool {
    stack.is_empty()
}

/// Converts a class's name in a dump to Java source: `java/lang/String`, `[I`, `[Ljava/lang/String;`, or already
/// `java.lang.String` and `int[]`. A very long one is truncated.
pub(crate) fn class_name(dumped: &[u8]) -> String {
    if dumped.len() > READ {
        return shortened(&dotted(&dumped[..READ])).into_owned();
    }
    let dimensions = dumped.iter().take_while(|&&byte| byte == b'[').count();
    if dimensions > MOST_DIMENSIONS {
        return dotted(dumped);
    }
    let element = match &dumped[dimensions..] {
        [b'L', name @ .., b';'] if dimensions > 0 => dotted(name),
        [letter] if dimensions > 0 => {
            primitive(*letter).map_or_else(|| dotted(&[*letter]), String::from)
        }
        name => dotted(name),
    };
    shortened(&(element + &"[]".repeat(dimensions))).into_owned()
}

/// Replaces slashes by dots. Hidden classes have a part after the last slash that is not a name:
/// `Main$$Lambda/0x0000000801003000`.
fn dotted(name: &[u8]) -> String {
    let hidden = name
        .windows(3)
        .position(|part| part == b"/0x" || part == b"+0x");
    let (plain, rest) = name.split_at(hidden.unwrap_or(name.len()));
    let mut text = printable(plain).replace('/', ".");
    text.push_str(&printable(rest));
    text
}

fn primitive(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'Z' => "boolean",
        b'B' => "byte",
        b'C' => "char",
        b'S' => "short",
        b'I' => "int",
        b'J' => "long",
        b'F' => "float",
        b'D' => "double",
        _ => return None,
    })
}

/// Converts a name other than a class's by [`printable`]; a very long one is truncated.
pub(crate) fn name(bytes: &[u8]) -> String {
    shortened(&printable(&bytes[..bytes.len().min(READ)])).into_owned()
}

/// Removes everything that a terminal would interpret: control characters and those that change the direction of
/// writing become `\u001b`, bytes that are not UTF-8 the replacement character.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        push_printable(&mut out, character);
    }
    out
}

pub(crate) fn push_printable(out: &mut String, character: char) {
    let hidden = matches!(
        character,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
    );
    if character.is_control() || hidden {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\u{:04x}", u32::from(character));
    } else {
        out.push(character);
    }
}

/// Returns the package of a class, or of an array's elements; empty for the unnamed package and primitive types.
pub(crate) fn package(class: &str) -> &str {
    let name = class.split(['[', '/']).next().unwrap_or_default();
    name.rsplit_once('.').map_or("", |(package, _)| package)
}

/// Returns the same for people.
pub(crate) fn package_label(class: &str) -> String {
    match package(class) {
        "" => "<no package>".to_owned(),
        package => package.to_owned(),
    }
}

/// Serializes an id as the JDK's tools write it. In JSON it is text, because not every reader has integers of 64 bits.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
pub(crate) fn hex<S: serde::Serializer>(id: &ObjectId, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(&format_args!("0x{:x}", id.0))
}

/// As [`hex`], for an optional id.
#[expect(clippy::ref_option, reason = "serde asks for it")]
pub(crate) fn hex_or_none<S: serde::Serializer>(
    id: &Option<ObjectId>,
    out: S,
) -> Result<S::Ok, S::Error> {
    match id {
        Some(id) => hex(id, out),
        None => out.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_names_come_out_as_source() {
        for (dumped, name) in [
            ("java/lang/String", "java.lang.String"),
            ("java.lang.String", "java.lang.String"),
            ("[I", "int[]"),
            ("int[]", "int[]"),
            ("[[Ljava/util/Map$Entry;", "java.util.Map$Entry[][]"),
            ("[Ljava.lang.String;", "java.lang.String[]"),
            ("LLight;", "LLight;"),
            ("I", "I"),
            (
                "Main$$Lambda/0x0000000801003000",
                "Main$$Lambda/0x0000000801003000",
            ),
            ("a/b/C$$Lambda+0x01", "a.b.C$$Lambda+0x01"),
            ("evil\u{1b}[31m", "evil\\u001b[31m"),
        ] {
            assert_eq!(class_name(dumped.as_bytes()), name);
        }
        assert_eq!(class_name(b"\xff["), "\u{fffd}[");
    }

    #[test]
    fn long_names_are_cut() {
        let long = "ab/".repeat(2_000_000);
        let shown = class_name(long.as_bytes());
        assert!(
            shown.starts_with("ab.ab.") && shown.ends_with('…'),
            "{shown}"
        );
        for long in ["\u{1b}", "ü", "[", "\u{1f600}", "a"] {
            let long = long.repeat(100_000);
            for shown in [class_name(long.as_bytes()), name(long.as_bytes())] {
                assert!(shown.len() < READ && shown.ends_with('…'), "{shown}");
                assert!(!shown.contains('\u{fffd}'), "no character is cut in two");
            }
        }
        assert_eq!(class_name(&[b'['; 280]), "[".repeat(280));
        assert_eq!(class_name(b"[[[I"), "int[][][]");
    }

    #[test]
    fn packages_are_those_of_the_elements() {
        assert_eq!(package("java.util.Map$Entry[][]"), "java.util");
        assert_eq!(package("int[]"), "");
        assert_eq!(package("Main"), "");
        assert_eq!(package("a.b.C$$Lambda/0x0.1"), "a.b");
    }
}
