//! Where the memory of the process was over the time of a profile.

use std::time::Duration;

use hprof_format::{MemoryLook, Note, NoteMeaning};

/// The most looks in a profile.
const MOST_LOOKS: u32 = 64;

/// The looks of a profile, evenly spread over its time, and the latest one.
#[derive(Default)]
pub(super) struct MemoryLooks {
    looks: Vec<MemoryLook>,
    /// The least time between two of them; the latest may be closer to the one before.
    pause: Duration,
}

impl MemoryLooks {
    /// Adds a look. Where there are too many, some are given up.
    pub(super) fn add(&mut self, look: MemoryLook) {
        if let [.., before, latest] = &self.looks[..]
            && latest.after < before.after + self.pause
        {
            self.looks.pop();
        }
        if self.looks.len() == MOST_LOOKS as usize {
            self.pause = look.after * 2 / MOST_LOOKS;
            let mut next = Duration::ZERO;
            let pause = self.pause;
            self.looks.retain(|look| {
                let is_far = look.after >= next;
                if is_far {
                    next = look.after + pause;
                }
                is_far
            });
        }
        self.looks.push(look);
    }

    /// Returns them as notes.
    pub(super) fn notes(&self) -> Vec<String> {
        let notes = self.looks.iter().filter_map(|look| {
            let note = Note::of_meaning(NoteMeaning::Memory(look.clone()))?;
            Some(note.text.into_owned())
        });
        notes.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_looks_of_a_long_profile_are_few_and_evenly_spread() {
        let mut looks = MemoryLooks::default();
        for second in 0..10_000 {
            looks.add(MemoryLook {
                after: Duration::from_secs(second),
                ..MemoryLook::default()
            });
        }
        let times: Vec<u64> = looks
            .looks
            .iter()
            .map(|look| look.after.as_secs())
            .collect();
        assert!(
            (16..=MOST_LOOKS as usize).contains(&times.len()),
            "{times:?}"
        );
        assert_eq!(times[0], 0);
        assert_eq!(times.last(), Some(&9_999));
        let spread = &times[..times.len() - 1];
        let pauses: Vec<u64> = spread.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (least, most) = (pauses.iter().min(), pauses.iter().max());
        assert!(most <= least.map(|least| 2 * least).as_ref(), "{times:?}");
        assert_eq!(looks.notes().len(), times.len());
    }
}
