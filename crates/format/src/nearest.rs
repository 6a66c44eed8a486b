//! "Did you mean": the name that a misspelt one probably stands for.

/// Returns the candidate with the fewest typing errors between it and `name`, if there are few enough that it was
/// probably meant: at most one in three letters. Of equals the first.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.chars().flat_map(char::to_lowercase).collect();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let letters: Vec<char> = candidate.chars().flat_map(char::to_lowercase).collect();
        let most = name.len().max(letters.len()).div_ceil(3);
        if name.len().abs_diff(letters.len()) > most {
            continue;
        }
        let errors = errors_between(&name, &letters);
        if errors <= most && best.is_none_or(|(fewest, _)| errors < fewest) {
            best = Some((errors, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Counts the letters that were left out, added, replaced or swapped with their neighbour.
fn errors_between(left: &[char], right: &[char]) -> usize {
    let mut before_last = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, &letter) in left.iter().enumerate() {
        let mut current = vec![row + 1; right.len() + 1];
        for (column, &other) in right.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != other);
            let mut fewest = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let is_swap =
                row > 0 && column > 0 && letter == right[column - 1] && left[row - 1] == other;
            if is_swap {
                fewest = fewest.min(before_last[column - 1] + 1);
            }
            current[column + 1] = fewest;
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_understood_and_another_word_is_not() {
        let names = ["depth", "doe", "sort", "stacks", "interval", "heap"];
        for (given, meant) in [
            ("dept", Some("depth")),
            ("detph", Some("depth")),
            ("Depth", Some("depth")),
            ("intervall", Some("interval")),
            ("intreval", Some("interval")),
            ("stack", Some("stacks")),
            ("hepa", Some("heap")),
            ("speed", None),
            ("x", None),
            ("", None),
            ("interpreter", None),
        ] {
            assert_eq!(nearest(given, names), meant, "{given}");
        }
        assert_eq!(nearest("depth", []), None);
    }

    #[test]
    fn errors_are_counted() {
        let errors = |left: &str, right: &str| {
            let letters = |word: &str| word.chars().collect::<Vec<_>>();
            errors_between(&letters(left), &letters(right))
        };
        assert_eq!(errors("", ""), 0);
        assert_eq!(errors("abc", ""), 3);
        assert_eq!(errors("", "abc"), 3);
        assert_eq!(errors("abcd", "acbd"), 1);
        assert_eq!(errors("kitten", "sitting"), 3);
    }
}
