//! The rules of a library, in which a signal handler looks addresses up.

use elf::{Entry, FrameRule};

/// The rules of a library, by address.
#[derive(Default)]
pub(super) struct Rules {
    entries: Box<[Entry]>,
    /// For each page of addresses the number of entries that begin before it, and last the number of all: an address is
    /// looked for among those of its page, which are few and lie side by side.
    pages: Box<[u32]>,
}

const PAGE_BITS: u32 = 12;

impl Rules {
    /// Takes entries that are sorted by where they begin.
    pub(super) fn new(entries: Box<[Entry]>) -> Self {
        let last = entries.last().map_or(0, |entry| entry.begin >> PAGE_BITS);
        let before = |page: u32| {
            let count = entries.partition_point(|entry| entry.begin >> PAGE_BITS < page);
            // There is at most one for each address, which is a `u32`.
            count as u32
        };
        let pages = (0..=last.saturating_add(1)).map(before).collect();
        Self { entries, pages }
    }

    /// Returns the rule for an address. For the handler.
    #[inline(always)]
    pub(super) fn at(&self, address: usize) -> FrameRule {
        let page = address >> PAGE_BITS;
        let (pages, entries) = (self.pages.as_ptr(), self.entries.as_ptr());
        // The last entry is the end of a function.
        if page.wrapping_add(1) >= self.pages.len() || page.wrapping_add(1) == 0 {
            return FrameRule::Unknown;
        }
        // SAFETY: both numbers are below the length.
        let (low, high) = unsafe { (*pages.add(page), *pages.add(page.wrapping_add(1))) };
        let (low, high) = (low as usize, high as usize);
        // SAFETY: entries from `low` to before `high` are there, and `position` asks for no others.
        let begin = |at: usize| unsafe { (*entries.add(low.wrapping_add(at))).begin as usize };
        let found = match position(high.wrapping_sub(low), address, begin) {
            Some(at) => low.wrapping_add(at),
            None if low > 0 => low.wrapping_sub(1),
            None => return FrameRule::Unknown,
        };
        // SAFETY: the number of an entry.
        unsafe { (*entries.add(found)).rule }
    }
}

/// Returns the number of the last of `count` entries, sorted by what `begin` returns for their numbers, that does not
/// begin after an address.
#[inline(always)]
pub(super) fn position(
    count: usize,
    address: usize,
    begin: impl Fn(usize) -> usize,
) -> Option<usize> {
    let (mut low, mut high) = (0_usize, count);
    while low < high {
        let middle = low.wrapping_add(high.wrapping_sub(low) >> 1);
        if begin(middle) <= address {
            low = middle.wrapping_add(1);
        } else {
            high = middle;
        }
    }
    low.checked_sub(1)
}

const _: () = assert!(size_of::<Entry>() <= 16, "libjvm.so has 300,000");

#[cfg(test)]
mod tests {
    use elf::Saved;

    use super::*;

    #[test]
    fn an_address_has_the_rule_of_the_last_entry_before_it() {
        let entry = |(begin, end)| {
            let saved = Saved {
                frame_pointer: None,
                return_address: Some(-1),
            };
            let rule = FrameRule::AboveStackPointer { end, saved };
            Entry { begin, rule }
        };
        let begins = [(0x1010, 1), (0x1020, 2), (0x3000, 3), (0x3fff, 4)];
        let rules = Rules::new(begins.map(entry).into());
        let rule = |address| match rules.at(address) {
            FrameRule::AboveStackPointer { end, .. } => Some(end),
            _ => None,
        };
        assert_eq!([0, 0x100f, 0x9000, usize::MAX].map(rule), [None; 4]);
        for (address, end) in [
            (0x1010, 1),
            (0x101f, 1),
            (0x1020, 2),
            (0x2abc, 2),
            (0x3000, 3),
            (0x3ffe, 3),
            (0x3fff, 4),
        ] {
            assert_eq!(rule(address), Some(end), "{address:#x}");
        }
        assert_eq!(Rules::default().at(5), FrameRule::Unknown);
        assert_eq!(Rules::new(Box::default()).at(5), FrameRule::Unknown);
    }

    #[test]
    fn the_entry_that_begins_last_is_found() {
        let begins = [10, 20, 30];
        let find = |address| position(begins.len(), address, |at| begins[at]);
        assert_eq!(find(9), None);
        assert_eq!(
            [10, 19, 20, 31].map(find),
            [Some(0), Some(0), Some(1), Some(2)]
        );
        assert_eq!(position(0, 5, |_| 0), None);
    }
}
