//! The agent cannot read the native code of Windows: nothing has such a function.

mod function;

pub use function::NativeFunction;
