//! A table of numbers that mostly are small.

use std::io;

use crate::data::memory::{Memory, Numbers};

/// A table of numbers, at first all 0. They take two bytes each, and four as soon as one of them needs more.
pub(crate) enum SmallNumbers {
    Short(Numbers<u16>),
    Long(Numbers<u32>),
}

impl SmallNumbers {
    pub(crate) fn new(length: usize, memory: &Memory) -> io::Result<SmallNumbers> {
        Ok(SmallNumbers::Short(memory.table(length)?))
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            SmallNumbers::Short(all) => all.len(),
            SmallNumbers::Long(all) => all.len(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> u32 {
        match self {
            SmallNumbers::Short(all) => all[index as usize].into(),
            SmallNumbers::Long(all) => all[index as usize],
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, index: u32, number: u32, memory: &Memory) -> io::Result<()> {
        match self {
            SmallNumbers::Short(all) => match u16::try_from(number) {
                Ok(short) => all[index as usize] = short,
                Err(_) => self.widen(index, number, memory)?,
            },
            SmallNumbers::Long(all) => all[index as usize] = number,
        }
        Ok(())
    }

    #[cold]
    fn widen(&mut self, index: u32, number: u32, memory: &Memory) -> io::Result<()> {
        let SmallNumbers::Short(short) = self else {
            return Ok(());
        };
        let mut long: Numbers<u32> = memory.table(short.len())?;
        for (long, &short) in long.iter_mut().zip(&short[..]) {
            *long = short.into();
        }
        long[index as usize] = number;
        *self = SmallNumbers::Long(long);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_kept_beside_small_ones() {
        let memory = Memory::unlimited();
        let mut numbers = SmallNumbers::new(4, &memory).expect("there is memory");
        let expected = [1, 65_535, 65_536, u32::MAX];
        for (index, number) in (0..).zip(expected) {
            let set = numbers.set(index, number, &memory);
            set.expect("there is memory");
        }
        assert_eq!([0, 1, 2, 3].map(|index| numbers.get(index)), expected);
    }
}
