//! Sentences and paths as the answer prints them.

use std::path::Path;

use hprof_format::printable;
use hprof_profile::Metric;

use crate::amounts::{Amounts, number};

/// Returns what a total is a total of.
pub fn sentence(total: u64, metric: Metric, amounts: Amounts) -> String {
    let amount = amounts.text(total);
    match metric {
        Metric::Cpu if amounts.are_sampled_times() => {
            let (time, samples) = (amounts.cell(total), number(total));
            format!("{time} of CPU time, in {samples} samples")
        }
        Metric::Cpu => amount,
        Metric::Wall => format!("{amount} of thread time, running or waiting"),
        Metric::Blocked => format!("{amount} of waiting for monitors"),
        Metric::Parked => format!("{amount} of being parked"),
        Metric::Pinned => format!("{amount} of being pinned"),
        Metric::Time | Metric::InclusiveTime => format!("{amount} in methods"),
        Metric::AllocBytes => format!("{amount} allocated"),
        Metric::AllocObjects => format!("{amount} objects allocated"),
        Metric::LiveBytes => format!("{amount} live"),
        Metric::LiveObjects => format!("{amount} objects live"),
        Metric::TemporaryBytes => format!("{amount} that died before a collection"),
        Metric::TemporaryObjects => format!("{amount} objects that died before a collection"),
        Metric::SurvivedBytes => format!("{amount} that survived a collection"),
        Metric::SurvivedObjects => format!("{amount} objects that survived a collection"),
        Metric::PeakBytes => format!("{amount} live at the peak"),
        Metric::PeakObjects => format!("{amount} objects live at the peak"),
        Metric::Contention => format!("{amount} of waiting for monitors"),
        Metric::Contentions => format!("{amount} waits for monitors"),
        Metric::LockWait => format!("{amount} of waiting for locks"),
        Metric::NativeLiveBytes => format!("{amount} of native memory not freed"),
        Metric::NativeLiveBlocks => format!("{amount} native blocks not freed"),
        Metric::NativeOldBytes => format!("{amount} of native memory not freed for long"),
        Metric::NativeOldBlocks => format!("{amount} native blocks not freed for long"),
        Metric::NativeBytes => format!("{amount} of native memory allocated"),
        Metric::NativeBlocks => format!("{amount} native blocks allocated"),
        Metric::Calls => format!("{amount} calls"),
    }
}

/// Returns a path as a word for a shell.
pub fn quoted(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%".contains(letter);
    if !path.starts_with('-') && path.chars().all(is_plain) {
        return path.into_owned();
    }
    let start = if path.starts_with('-') { "./" } else { "" };
    let escaped = path.replace('\'', "'\\''");
    format!("'{start}{}'", printable(&escaped))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_words_of_a_shell() {
        assert_eq!(quoted(Path::new("a/Main-1.hprof")), "a/Main-1.hprof");
        assert_eq!(quoted(Path::new("my dir/it's")), "'my dir/it'\\''s'");
        assert_eq!(quoted(Path::new("-x/a")), "'./-x/a'");
    }
}
