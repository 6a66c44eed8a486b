//! Hand-made classes, and their expected results.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the classes are small"
)]

mod build;
mod constructors;
mod counting;
mod kept;
mod methods;
mod mutations;
mod places;

use crate::class::{instrument, round_trip};
use crate::hooks::Hooks;
use crate::instrumented::{Instrumented, Reason};
use build::ClassBuilder;

/// Hooks of another class.
pub(super) const HOOKS: Hooks = Hooks {
    tracker: b"T",
    entry: b"in",
    exit: b"out",
    exception_exit: b"up",
    caught: None,
    leaf: None,
};

/// Instruments all methods; each gets the number 1.
pub(super) fn instrument_all(class: &[u8]) -> Instrumented {
    assert_eq!(round_trip(class).as_deref(), Ok(class), "the round trip");
    instrument(class, &HOOKS, &mut |_, _| Some(1)).expect("a class file")
}

/// Instruments a class with one method, which must succeed, and takes the method apart.
pub(super) fn instrument_one(class: &ClassBuilder) -> build::Parsed {
    let outcome = instrument_all(&class.bytes());
    assert_eq!(outcome.left_out, []);
    build::Parsed::method(&outcome.class.expect("new bytes"))
}

/// Returns the reason a class's only method is left out.
pub(super) fn reason(class: &ClassBuilder) -> Reason {
    let outcome = instrument_all(&class.bytes());
    assert!(outcome.class.is_none());
    assert_eq!(outcome.left_out.len(), 1);
    outcome.left_out[0].reason
}
