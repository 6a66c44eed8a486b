//! A method whose calls are no longer counted, as stated in a line before CPU TIME.

/// A method that was called so often that counting its calls cost more than the budget allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncounted {
    /// The name and the signature: `a.B.c(I)V`.
    pub method: String,
    /// The calls that were counted until then.
    pub calls: u64,
    /// The percentage of the program's CPU time that counting may cost.
    pub budget: u8,
}

/// The text before the number of calls.
const START: &str = "no longer counted after ";

impl Uncounted {
    /// Formats the line.
    #[must_use]
    pub fn note(&self) -> String {
        let Self {
            method,
            calls,
            budget,
        } = self;
        format!("{START}{calls} calls, because of budget={budget}%: {method}")
    }

    /// Parses the line of [`Uncounted::note`].
    pub(crate) fn of_note(note: &str) -> Option<Self> {
        let rest = note.strip_prefix(START)?;
        let (calls, rest) = rest.split_once(" calls, because of budget=")?;
        let (budget, method) = rest.split_once("%: ")?;
        Some(Self {
            method: method.to_owned(),
            calls: calls.parse().ok()?,
            budget: budget.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_read_as_it_was_written() {
        let uncounted = Uncounted {
            method: "a.B.c(I)V".to_owned(),
            calls: 1_234,
            budget: 20,
        };
        let note = uncounted.note();
        let expected = "no longer counted after 1234 calls, because of budget=20%: a.B.c(I)V";
        assert_eq!(note, expected);
        assert_eq!(Uncounted::of_note(&note), Some(uncounted));
        assert_eq!(Uncounted::of_note("no longer counted after noon"), None);
    }
}
