//! Overflows of the native stack: a hook that finds no room on it is not called, so a call whose exit it should have
//! reported stays on the shadow stack.

use jvmti::own_stack;

/// A stack with fewer bytes left than this may have overflowed.
const NEAR_THE_END: usize = 256 * 1024;

/// Detects overflows of one thread's native stack.
pub(super) struct Overflow {
    /// The lowest address of the usual range, in which no check is needed.
    usual: usize,
    /// The length of that range, in bytes.
    span: usize,
    near: usize,
    far: usize,
}

impl Overflow {
    pub(super) fn of_current_thread() -> Self {
        let (near, far) = match own_stack() {
            Some(stack) => (
                stack.begin + NEAR_THE_END.min(stack.size() / 4),
                stack.begin + (2 * NEAR_THE_END).min(stack.size() / 2),
            ),
            None => (0, 0),
        };
        Self {
            usual: near,
            span: usize::MAX - near,
            near,
            far,
        }
    }

    #[inline]
    pub(super) fn is_usual(&self, at: usize) -> bool {
        at.wrapping_sub(self.usual) <= self.span
    }

    /// Checks an unusual address: returns `true` if the stack was near its end and no longer is. Also moves the usual
    /// range.
    pub(super) fn is_over(&mut self, at: usize) -> bool {
        let over = at >= self.far;
        let (from, to) = match over {
            true => (self.near, usize::MAX),
            false => (0, self.far.saturating_sub(1)),
        };
        self.usual = from;
        self.span = to.wrapping_sub(from);
        over
    }
}

/// Returns the number of `calls` that are still active, given the methods on the stack. Both begin with the outermost.
/// Methods without hooks are only on the stack; a call that is not on the stack has ended, and so have those it made.
pub(super) fn still_there<M: PartialEq>(
    calls: impl Iterator<Item = M>,
    stack: impl IntoIterator<Item = M>,
) -> usize {
    let mut stack = stack.into_iter();
    calls
        .take_while(|call| stack.any(|method| method == *call))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(calls: &str, stack: &str) -> usize {
        still_there(calls.chars(), stack.chars())
    }

    #[test]
    fn calls_that_the_stack_has_are_still_there() {
        assert_eq!(left("", "abc"), 0);
        assert_eq!(left("abc", "abc"), 3);
        // Methods without hooks.
        assert_eq!(left("abc", "-a--bc-"), 3);
    }

    #[test]
    fn calls_that_the_stack_does_not_have_have_ended_with_all_they_made() {
        assert_eq!(left("mdddd", "m"), 1);
        assert_eq!(left("mdm", "mm"), 1);
        assert_eq!(left("mdddd", "mdd"), 3);
        assert_eq!(left("abc", ""), 0);
    }
}
