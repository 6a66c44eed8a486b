//! Patterns of names.

/// Returns `true` if `name` is as in `pattern`, where `*` stands for any number of characters, including dots.
#[must_use]
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(head) else {
        return false;
    };
    // Matching each middle part at its first occurrence leaves the most text for the following parts.
    let mut parts = rest.split('*');
    let tail = parts.next_back().unwrap_or_default();
    for part in parts {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        let cases = [
            ("com.acme.*", "com.acme.Foo", true),
            ("com.acme.*", "com.acme.sub.Foo$Bar", true),
            ("com.acme.*", "com.acmeX", false),
            ("com.acme.Foo", "com.acme.Foo", true),
            ("com.acme.Foo", "com.acme.Foo$Bar", false),
            ("*", "A", true),
            ("*Test", "a.MyTest", true),
            ("*Test", "a.MyTests", false),
            ("a.*.Foo", "a.b.c.Foo", true),
            ("a.*.Foo", "a.Foo", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("ab*ba", "aba", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}
