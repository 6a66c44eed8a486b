//! Class files.

use hprof_instrument::{Hooks, LeafHooks, class_name, instrument, round_trip, source_file};

const HOOKS: Hooks<'_> = Hooks {
    tracker: b"java/lang/HprofTracker",
    entry: b"methodEntry",
    exit: b"methodExit",
    exception_exit: b"exceptionExit",
    caught: None,
    leaf: None,
};
/// Hooks whose entry returns what the method keeps.
const KEEPING: Hooks<'_> = Hooks {
    caught: Some(b"caught"),
    leaf: Some(LeafHooks {
        entry: b"leafEntry",
        exit: b"leafExit",
    }),
    ..HOOKS
};

/// Any bytes yield a result, and an instrumented class is a class file of the same name and source.
pub fn instrumenter(data: &[u8]) {
    let _ = round_trip(data);
    for hooks in [HOOKS, KEEPING] {
        insert(data, &hooks);
    }
}

fn insert(data: &[u8], hooks: &Hooks<'_>) {
    let outcome = instrument(data, hooks, &mut |_, method| {
        method.first_line();
        method.has_annotation(b"Ljdk/internal/vm/annotation/Hidden;");
        Some(u32::from(method.index) << 8)
    });
    let Ok(Some(class)) = outcome.map(|outcome| outcome.class) else {
        return;
    };
    assert_eq!(class_name(&class).ok(), class_name(data).ok());
    assert_eq!(source_file(&class), source_file(data));
    assert_eq!(round_trip(&class).ok().as_ref(), Some(&class));
}
