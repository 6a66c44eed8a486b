//! Class files.

use hprof_instrument::{Hooks, class_name, instrument, round_trip, source_file};

const HOOKS: Hooks<'_> = Hooks {
    tracker: b"java/lang/HprofTracker",
    entry: b"methodEntry",
    exit: b"methodExit",
    exception_exit: b"exceptionExit",
    caught: None,
};

/// Any bytes yield a result, and an instrumented class is a class file of the same name and source.
pub fn instrumenter(data: &[u8]) {
    let source = source_file(data);
    let _ = round_trip(data);
    let outcome = instrument(data, &HOOKS, &mut |_, method| {
        method.first_line();
        method.has_annotation(b"Ljdk/internal/vm/annotation/Hidden;");
        Some(u32::from(method.index) << 8)
    });
    let Ok(Some(class)) = outcome.map(|outcome| outcome.class) else {
        return;
    };
    assert_eq!(class_name(&class).ok(), class_name(data).ok());
    assert_eq!(source_file(&class), source);
    assert_eq!(round_trip(&class).ok().as_ref(), Some(&class));
}
