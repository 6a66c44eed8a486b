//! Names of functions as a programmer wrote them, but for spaces and parentheses: the text format is a table, and scripts
//! take its rows apart at spaces, and its frames at the first parenthesis.

use super::cpp_name::cpp_name;

/// The longest name that is taken apart, and the longest that comes of it: a short one can stand for a very long one.
const LONGEST: usize = 4_096;

/// What GCC and LLVM append to the names of a function's copies and parts, some with a number after it.
const MARKS: [&str; 9] = [
    "cold",
    "isra",
    "constprop",
    "part",
    "lto_priv",
    "localalias",
    "clone",
    "llvm",
    "__uniq",
];

/// Returns the name of a function in C, C++, Go, or Rust, without its parameters, what it returns, and what the compiler says
/// of its copies (`.cold`, `.isra.0`).
pub(super) fn demangled(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    if name.len() > LONGEST {
        return as_one_word(&text);
    }
    if let Ok(rust) = rustc_demangle::try_demangle(&text) {
        return as_one_word(&format!("{rust:#}"));
    }
    let plain = without_marks(&text);
    // Versions of glibc's symbols, in tables of static ones.
    let plain = plain.split('@').next().unwrap_or(plain);
    as_one_word(&cpp_name(plain).unwrap_or_else(|| plain.to_owned()))
}

/// Returns a name without what compilers append to it. Names of Go have dots of their own, those of C++ have none.
fn without_marks(name: &str) -> &str {
    let mut plain = name;
    while let Some((before, last)) = plain.rsplit_once('.') {
        // `isra.0`
        let is_number = !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
        let (before, last) = match before.rsplit_once('.') {
            Some((before, mark)) if is_number => (before, mark),
            _ => (before, last),
        };
        let is_mark = name.starts_with("_Z") || MARKS.contains(&last);
        if before.is_empty() || !is_mark {
            break;
        }
        plain = before;
    }
    plain
}

/// Returns a name of limited length, without spaces and parentheses.
pub fn as_one_word(name: &str) -> String {
    let name = name
        .replace("(anonymous namespace)", "{anonymous}")
        .replace(", ", ",");
    let chars = name.chars().filter(|char| !char.is_control());
    let chars = chars.map(|char| match char {
        '(' => '{',
        ')' => '}',
        char if char.is_whitespace() => '_',
        char => char,
    });
    chars.take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        for (mangled, name) in [
            ("inflate_fast", "inflate_fast"),
            ("deflate_slow.isra.0", "deflate_slow"),
            ("scan.constprop.0.isra.0.cold", "scan"),
            ("scan.llvm.1234567", "scan"),
            ("main.burn", "main.burn"),
            ("main.init.0", "main.init.0"),
            ("main.(*Pool).take", "main.{*Pool}.take"),
            ("memcpy@@GLIBC_2.14", "memcpy"),
            ("_ZN12G1ParallelGC4workEj", "G1ParallelGC::work"),
            (
                "_ZN8PhaseIFG17build_ifg_virtualEv.part.0.cold",
                "PhaseIFG::build_ifg_virtual",
            ),
            ("_ZNK5Klass12is_cloneableEv", "Klass::is_cloneable"),
            (
                "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
                "core::fmt::Formatter::pad",
            ),
            ("_ZdlPv", "operator_delete"),
            ("_ZN3FooclEv", "Foo::operator{}"),
            ("_ZN5QueueIiLj131072EE5tasksEv", "Queue<int,131072>::tasks"),
            ("_ZN12_GLOBAL__N_13runEv", "{anonymous}::run"),
            ("_ZN3MapIimE3getEv", "Map<int,unsigned_long>::get"),
            ("_Zwrong", "_Zwrong"),
            (".hidden", ".hidden"),
            ("", ""),
        ] {
            assert_eq!(demangled(mangled.as_bytes()), name);
        }
        assert_eq!(demangled(b"a\x1b[2Jb\n"), "a[2Jb");
        assert_eq!(demangled(&[b'a'; 10_000]).len(), LONGEST);
    }
}
