//! The agent cannot read the native code of Windows: nothing has such a function or such a variable.

mod function;

pub use function::NativeFunction;

/// A variable of a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Its address in this process.
    pub(crate) address: usize,
    /// Its bytes.
    pub(crate) size: usize,
}

/// A variable that the library offers to others.
pub(crate) struct Exported<'name> {
    /// Its name.
    pub(crate) name: &'name str,
    /// Its address in this process.
    pub(crate) address: usize,
}

/// Returns `None` for each name.
pub(crate) fn variables<const N: usize>(
    _function: usize,
    _exported: Exported<'_>,
    _names: [&str; N],
) -> [Option<Variable>; N] {
    [None; N]
}
