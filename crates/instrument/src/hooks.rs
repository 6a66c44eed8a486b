//! The calls that are inserted.

/// The calls to insert: their class and methods. All names are in the form of class files.
#[derive(Debug, Clone, Copy)]
pub struct Hooks<'a> {
    /// The class, with slashes: `java/lang/HprofTracker`. It is never instrumented itself.
    pub tracker: &'a [u8],
    /// `static void methodEntry(int method)`: called first in the method. With [`Hooks::caught`] it returns a long.
    pub entry: &'a [u8],
    /// `static void methodExit(int method)`: called before the method returns. With [`Hooks::caught`] it takes a long.
    pub exit: &'a [u8],
    /// `static void exceptionExit(int method)`: called when an exception leaves the method. May be the same as `exit`.
    pub exception_exit: &'a [u8],
    /// `static void caught(long)`: called first in the program's handlers that can catch a StackOverflowError. The result
    /// of `entry` is kept in a local variable of the method, and passed to all the others. `None` to pass them the method.
    pub caught: Option<&'a [u8]>,
    /// The calls in leaves; `None` if these have the same as other methods. Only with [`Hooks::caught`].
    pub leaf: Option<LeafHooks<'a>>,
}

/// The calls to insert into a leaf: a method that calls no other, initializes no class and takes no lock. The thread that runs it carries
/// the same virtual thread until it returns.
#[derive(Debug, Clone, Copy)]
pub struct LeafHooks<'a> {
    /// `static long leafEntry(int method)`: called first in the method.
    pub entry: &'a [u8],
    /// `static void leafExit(long)`: called before the method returns and when an exception leaves it, with the entry's result.
    pub exit: &'a [u8],
}
