//! Damaged dumps: an error with the offset or an answer, never a panic, never memory out of proportion.

#[allow(dead_code, reason = "each test uses a part")]
mod model;

use hprof_heap::{By, Dump, Error, Excluded, Heap, Memory, Options, Silent, Target, histogram};
use model::{Model, file, model};
use proptest::prelude::*;

/// Asks all questions.
fn ask_all(bytes: &[u8]) -> Result<(), Error> {
    let file = file(bytes);
    let dump = Dump::open(&file, None)?;
    histogram(&dump, By::Site, None, &Silent)?;
    let options = Options {
        layout: None,
        excluded: Excluded::default(),
        memory: Memory::unlimited(),
    };
    let heap = Heap::of(&dump, &options, &Silent)?;
    let _ = heap.summary();
    for by in [By::Class, By::Loader, By::Package, By::Site] {
        heap.groups(by, 2)?;
    }
    heap.leaks(0.01, None)?;
    heap.waste(5)?;
    heap.areas(None, 50)?;
    heap.threads(usize::MAX)?;
    for row in heap.largest(None, 5)? {
        heap.show(row.id, 0)?;
        heap.paths(&Target::Object(row.id), 1)?;
    }
    Ok(())
}

/// Bytes to set, and the length to truncate to.
type Damage = (Vec<(prop::sample::Index, u8)>, Option<prop::sample::Index>);

fn damage() -> impl Strategy<Value = Damage> {
    (
        proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        prop::option::of(any::<prop::sample::Index>()),
    )
}

fn assert_answer_or_byte(model: &Model, (changes, cut): Damage) -> Result<(), TestCaseError> {
    let mut bytes = model.write();
    for (place, value) in changes {
        let place = place.index(bytes.len());
        bytes[place] = value;
    }
    if let Some(cut) = cut {
        bytes.truncate(cut.index(bytes.len()));
    }
    if let Err(error) = ask_all(&bytes) {
        let text = error.to_string();
        prop_assert!(
            text.starts_with("byte ") || matches!(error, Error::NoDump),
            "{text}"
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_damaged_dump_gives_an_answer_or_an_error_with_the_byte(model in model(), damage in damage()) {
        assert_answer_or_byte(&model, damage)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000_000))]

    /// `cargo test --release -p hprof-heap --test mutations a_million -- --ignored`
    #[test]
    #[ignore = "takes minutes"]
    fn a_million_damaged_dumps_give_answers_or_errors_with_the_byte(model in model(), damage in damage()) {
        assert_answer_or_byte(&model, damage)?;
    }
}
