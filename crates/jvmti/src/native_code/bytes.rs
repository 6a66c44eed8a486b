//! Bytes of a section that are read one after the other, in the forms of DWARF 5, section 7.6, and of the Linux Standard Base,
//! "DWARF Exception Header Encoding". Numbers are little-endian.

/// The rest of some bytes. Each function takes what it returns, or returns `None` if that is not there.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'section> {
    rest: &'section [u8],
    /// The address of the first.
    address: u64,
}

impl<'section> Bytes<'section> {
    pub(super) fn new(rest: &'section [u8], address: u64) -> Self {
        Self { rest, address }
    }

    /// Returns the address of what is next.
    pub(super) fn address(&self) -> u64 {
        self.address
    }

    pub(super) fn len(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn take(&mut self, count: usize) -> Option<Self> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        let address = self.address;
        self.rest = rest;
        self.address = address.wrapping_add(count as u64);
        Some(Self {
            rest: taken,
            address,
        })
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.rest.try_into().ok()
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Returns a number that is written in groups of seven bits, LEB128.
    pub(super) fn unsigned(&mut self) -> Option<u64> {
        let (number, _, _) = self.groups()?;
        Some(number)
    }

    /// Returns a number with a sign that is written in groups of seven bits.
    pub(super) fn signed(&mut self) -> Option<i64> {
        let (number, bits, last) = self.groups()?;
        let is_negative = last & 0x40 != 0 && bits < u64::BITS;
        let sign = if is_negative { u64::MAX << bits } else { 0 };
        Some((number | sign).cast_signed())
    }

    /// Returns the number, how many bits it has, and the last group.
    fn groups(&mut self) -> Option<(u64, u32, u8)> {
        let (mut number, mut bits) = (0, 0);
        loop {
            let group = self.u8()?;
            if bits >= u64::BITS {
                return None;
            }
            number |= u64::from(group & 0x7f) << bits;
            bits += 7;
            if group & 0x80 == 0 {
                return Some((number, bits, group));
            }
        }
    }

    /// Returns bytes with their length before them.
    pub(super) fn block(&mut self) -> Option<&'section [u8]> {
        let length = usize::try_from(self.unsigned()?).ok()?;
        Some(self.take(length)?.rest)
    }

    /// Returns bytes up to a zero.
    pub(super) fn text(&mut self) -> Option<&'section [u8]> {
        let end = self.rest.iter().position(|&byte| byte == 0)?;
        let text = self.take(end)?.rest;
        self.take(1)?;
        Some(text)
    }

    /// Returns a number in one of the encodings `DW_EH_PE_*`, whose lower half says how it is written.
    pub(super) fn encoded(&mut self, encoding: u8) -> Option<u64> {
        Some(match encoding & 0x0f {
            0x00 | 0x04 | 0x0c => self.u64()?,
            0x01 => self.unsigned()?,
            0x02 => self.u16()?.into(),
            0x03 => self.u32()?.into(),
            0x09 => self.signed()?.cast_unsigned(),
            0x0a => i64::from(self.u16()?.cast_signed()).cast_unsigned(),
            0x0b => i64::from(self.u32()?.cast_signed()).cast_unsigned(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_groups_are_those_of_the_standard() {
        let unsigned = |bytes: &[u8]| Bytes::new(bytes, 0).unsigned();
        let signed = |bytes: &[u8]| Bytes::new(bytes, 0).signed();
        assert_eq!(unsigned(&[0x02]), Some(2));
        assert_eq!(unsigned(&[0xb9, 0x64]), Some(12_857));
        assert_eq!(unsigned(&[0x80]), None);
        assert_eq!(unsigned(&[0x80; 12]), None);
        for (bytes, number) in [
            (&[0x02][..], 2),
            (&[0x7e], -2),
            (&[0xff, 0x00], 127),
            (&[0x81, 0x7f], -127),
            (&[0x80, 0x7f], -128),
        ] {
            assert_eq!(signed(bytes), Some(number), "{bytes:x?}");
        }
    }

    #[test]
    fn encoded_numbers_have_their_sizes_and_signs() {
        let mut bytes = Bytes::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 0x10);
        assert_eq!(bytes.encoded(0x1b), Some(u64::MAX));
        assert_eq!(bytes.address(), 0x14);
        assert_eq!(bytes.encoded(0x02), Some(0xffff));
        assert_eq!(bytes.encoded(0x02), None);
        assert_eq!(Bytes::new(&[0; 8], 0).encoded(0x07), None);
    }
}
