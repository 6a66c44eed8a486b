//! The name of a function.

use std::sync::Arc;

/// A function of native code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeFunction {
    /// The file name of the library, such as `libzip.so`.
    pub library: Arc<str>,
    /// The name of the function; an address within the library in angle brackets if it has none.
    pub name: Arc<str>,
}
