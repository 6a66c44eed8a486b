//! `include=` and `exclude=`: the classes that are timed.

/// Chooses classes by name.
#[derive(Clone, Debug, Default)]
pub struct ClassFilter {
    /// Patterns of names as in Java source; `*` stands for any number of characters, including dots. Empty means all
    /// classes.
    pub include: Vec<String>,
    /// As `include`, and takes precedence over it. Empty means no classes.
    pub exclude: Vec<String>,
}

impl ClassFilter {
    /// Returns `true` if a class of that name is chosen.
    pub(super) fn wants(&self, class: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, class));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

fn matches(pattern: &str, name: &str) -> bool {
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
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn exclude_wins() {
        let patterns = |list: &[&str]| list.iter().map(|&pattern| pattern.into()).collect();
        let filter = ClassFilter {
            include: patterns(&["a.*", "b.B"]),
            exclude: patterns(&["a.x.*"]),
        };
        assert!(filter.wants("a.A") && filter.wants("b.B"));
        assert!(!filter.wants("a.x.A") && !filter.wants("c.C"));
        assert!(ClassFilter::default().wants("c.C"));
    }
}
