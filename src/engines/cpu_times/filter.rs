//! `include=` and `exclude=`: the classes that are timed.

use hprof_format::matches_pattern;

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
        let any = |patterns: &[String]| {
            patterns
                .iter()
                .any(|pattern| matches_pattern(pattern, class))
        };
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
