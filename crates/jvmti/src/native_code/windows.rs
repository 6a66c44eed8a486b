//! The agent cannot read the native code of Windows: nothing has such a function or such a variable.

mod function;

pub use function::NativeFunction;

/// How frames are undone: there is no such table.
pub(crate) enum UnwindTable {}

/// A variable of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Its address in this process.
    pub(crate) address: usize,
    /// Its bytes.
    pub(crate) size: usize,
}

/// Returns `None` for each name.
pub(crate) fn variables<const N: usize>(
    _function: usize,
    _exported: (&str, usize),
    _names: [&str; N],
) -> [Option<Variable>; N] {
    [None; N]
}
