//! Work on several threads whose result is the same however many there are.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The most threads that prepare pieces: more would wait for their turn.
const MOST: usize = 8;

/// Prepares pieces, numbered from 0, on several threads, and puts each in its place in the order of the numbers. Each thread
/// prepares one piece at a time, and waits with it for its turn, so no more pieces are kept than there are threads.
///
/// `told` is called here with the pieces that this thread prepares. If some fail, the error is that of the first.
pub(crate) fn in_turn<T: Default, E: Send>(
    (threads, pieces): (usize, usize),
    prepare: impl Fn(usize, &mut T) -> Result<(), E> + Sync,
    put: impl FnMut(&mut T) -> Result<(), E> + Send,
    told: impl FnMut(usize),
) -> Result<(), E> {
    let turns = Turns {
        pieces,
        next: AtomicUsize::new(0),
        turn: Mutex::new(Turn {
            piece: 0,
            put,
            ended: None,
        }),
        changed: Condvar::new(),
    };
    let others = threads.min(MOST).min(pieces).saturating_sub(1);
    thread::scope(|scope| {
        let run = || turns.work(&prepare, |_| {});
        // Where the system has no more threads, those that are there do.
        let start = |_| thread::Builder::new().spawn_scoped(scope, run).ok();
        let started: Vec<_> = (0..others).map_while(start).collect();
        turns.work(&prepare, told);
        for thread in started {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    });
    let turn = turns.turn.into_inner();
    let turn = turn.unwrap_or_else(PoisonError::into_inner);
    turn.ended.unwrap_or(Ok(()))
}

/// Returns what is found in the first of the pieces in which there is something, with pieces as for [`in_turn`].
pub(crate) fn find_in_turn<T: Send>(
    (threads, pieces): (usize, usize),
    find: impl Fn(usize) -> Option<T> + Sync,
) -> Option<T> {
    let look = |piece, _: &mut ()| find(piece).map_or(Ok(()), Err);
    in_turn((threads, pieces), look, |_| Ok(()), |_| {}).err()
}

/// Runs both, the first on a thread of its own if there may be one and the system has one.
pub(crate) fn at_once<A: Send, B>(
    threads: usize,
    first: impl Fn() -> A + Sync,
    second: impl FnOnce() -> B,
) -> (A, B) {
    if threads == 1 {
        return (first(), second());
    }
    thread::scope(|scope| {
        let started = thread::Builder::new().spawn_scoped(scope, &first);
        let second = second();
        let first = match started {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => first(),
        };
        (first, second)
    })
}

struct Turns<P, E> {
    pieces: usize,
    /// The next piece to prepare.
    next: AtomicUsize,
    turn: Mutex<Turn<P, E>>,
    changed: Condvar,
}

struct Turn<P, E> {
    /// The next piece to put in its place.
    piece: usize,
    put: P,
    /// Set if no more pieces are wanted.
    ended: Option<Result<(), E>>,
}

impl<P, E> Turns<P, E> {
    fn work<T: Default>(
        &self,
        prepare: impl Fn(usize, &mut T) -> Result<(), E>,
        mut told: impl FnMut(usize),
    ) where
        P: FnMut(&mut T) -> Result<(), E>,
    {
        let _others = EndInPanic(self);
        let mut prepared = T::default();
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= self.pieces {
                return;
            }
            told(piece);
            let found = prepare(piece, &mut prepared);
            let mut turn = self.lock();
            while turn.piece != piece && turn.ended.is_none() {
                let waited = self.changed.wait(turn);
                turn = waited.unwrap_or_else(PoisonError::into_inner);
            }
            if turn.ended.is_some() {
                return;
            }
            match found.and_then(|()| (turn.put)(&mut prepared)) {
                Ok(()) => turn.piece += 1,
                failed => turn.ended = Some(failed),
            }
            drop(turn);
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Turn<P, E>> {
        // After a panic it has ended.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets the others end if this thread panics: the turn of its piece would never come.
struct EndInPanic<'a, P, E>(&'a Turns<P, E>);

impl<P, E> Drop for EndInPanic<'_, P, E> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().ended = Some(Ok(()));
            self.0.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put_together(threads: usize, failing: &[usize]) -> (Vec<usize>, Result<(), usize>) {
        let mut all = Vec::new();
        let prepare = |piece: usize, prepared: &mut Vec<usize>| {
            prepared.clear();
            // Those after it are ready before.
            let spins = if piece.is_multiple_of(3) { 10_000 } else { 1 };
            prepared.extend((0..spins).map(|_| std::hint::black_box(piece)).take(2));
            if failing.contains(&piece) {
                Err(piece)
            } else {
                Ok(())
            }
        };
        let put = |prepared: &mut Vec<usize>| {
            all.append(prepared);
            Ok(())
        };
        let ended = in_turn((threads, 100), prepare, put, |_| {});
        (all, ended)
    }

    #[test]
    fn pieces_are_put_together_in_their_order() {
        for threads in [1, 2, 3, 100] {
            let (all, ended) = put_together(threads, &[]);
            let expected = (0..100).flat_map(|piece: usize| {
                let times = if piece.is_multiple_of(3) { 2 } else { 1 };
                (0..times).map(move |_| piece)
            });
            assert!(all.into_iter().eq(expected));
            assert_eq!(ended, Ok(()));
        }
    }

    #[test]
    fn the_first_error_counts_and_nothing_after_it() {
        for threads in [1, 2, 8] {
            let (all, ended) = put_together(threads, &[71, 40, 41]);
            assert_eq!(ended, Err(40));
            assert_eq!(all.last(), Some(&39));
        }
    }

    #[test]
    fn the_first_find_counts() {
        for threads in [1, 2, 8] {
            let find = |piece: usize| (piece % 41 == 40).then_some(piece);
            assert_eq!(find_in_turn((threads, 100), find), Some(40));
            assert_eq!(find_in_turn((threads, 40), find), None);
        }
    }

    #[test]
    fn a_panic_ends_all_threads_and_goes_on() {
        let panics = |piece: usize, _: &mut ()| {
            assert!(piece != 20, "planted");
            Ok::<(), ()>(())
        };
        let run = || in_turn((4, 100), panics, |_| Ok(()), |_| {});
        assert!(std::panic::catch_unwind(run).is_err());
    }

    #[test]
    fn both_are_run_on_one_thread_or_two() {
        for threads in [1, 2] {
            assert_eq!(at_once(threads, || 1, || "two"), (1, "two"));
        }
    }
}
