//! Why something is suspected, or not, in words.

use hprof_heap::{Bound, Pattern, Suspect};

use crate::amounts::number;

/// Returns what is said of something large that does not grow, given its age and turnover.
pub fn not_growing(suspect: &Suspect) -> &'static str {
    if suspect.is_from_the_start() {
        "Large, and as old as the program: a cache?"
    } else {
        "Large, but replaced all the time"
    }
}

/// Returns the reason why something is bounded.
pub fn bound(bound: &Bound) -> String {
    match bound {
        Bound::EldestGoes { class } => {
            format!("a cache? {class} can drop its eldest entry for each new one")
        }
        Bound::Capacity {
            class,
            field,
            value,
            elements,
        } => format!(
            "full: {} elements, and {class}.{field} is {}",
            number(*elements),
            number(*value)
        ),
        Bound::FixedArray { length } => format!(
            "a table or a buffer? An array of {} elements to which nothing is added",
            number(*length)
        ),
        Bound::Unmodifiable { class } => format!("a table? Nothing can be added to {class}"),
        Bound::Snapshot => "replaced as a whole? An AtomicReference holds it".to_owned(),
        Bound::Soft => "soft references keep it: it goes when memory is short".to_owned(),
        Bound::Cleared => {
            "cleared references keep it: their owner removes them when it is used the next time"
                .to_owned()
        }
        Bound::Few { elements } => {
            format!("a pool? {} elements, which are large", number(*elements))
        }
    }
}

/// Returns the form of a pile.
pub fn pattern(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Chain { class, objects } => {
            let objects = number(*objects);
            format!("a chain of {objects} {class}, each of which holds the next")
        }
        Pattern::Callbacks { class, objects } => {
            let objects = number(*objects);
            format!("{objects} callbacks of class {class} in one place: are they ever removed?")
        }
        Pattern::Loaders { class, objects } => {
            let objects = number(*objects);
            format!("{objects} class loaders {class}, which pile up")
        }
    }
}
