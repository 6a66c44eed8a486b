//! The two sides of a comparison: of two files, or of one with several dumps.

use std::path::Path;

use hprof_os::files;

use crate::failure::Failure;
use crate::input::is_standard;

/// Returns the numbers for both sides: `option` was given with `numbers`, once for both or twice for one each.
///
/// # Errors
/// [`Failure`], if a dump would be compared with itself.
pub fn of<N: Copy + PartialEq>(
    numbers: &[N],
    option: &str,
    old: &Path,
    new: &Path,
) -> Result<(Option<N>, Option<N>), Failure> {
    let (first, second) = match *numbers {
        [] => (None, None),
        [both] => (Some(both), Some(both)),
        [first, second] => (Some(first), Some(second)),
        _ => {
            let what = format!("{option} is given {} times; at most two", numbers.len());
            return Err(Failure::Message(what));
        }
    };
    if first == second && is_same(old, new) {
        let what = format_args!(
            "the dump would be compared with itself; `{option} 1 {option} 2` compares two dumps of the file"
        );
        return Err(Failure::about(old, what));
    }
    Ok((first, second))
}

fn is_same(old: &Path, new: &Path) -> bool {
    if old == new {
        return true;
    }
    let place = |path: &Path| {
        let is_file = path.metadata().ok()?.is_file();
        files::id_at(path).ok().filter(|_| is_file)
    };
    !is_standard(old) && !is_standard(new) && place(old).is_some() && place(old) == place(new)
}
