//! The types of methods and fields, as they are written: `(ILjava/lang/String;)J`.

/// The first letter of each argument; `None` if this is no method's descriptor.
pub(crate) fn arguments(descriptor: &[u8]) -> Option<Vec<u8>> {
    let mut letters = Vec::new();
    each_argument(descriptor, |letter| letters.push(letter))?;
    Some(letters)
}

/// How many slots of the stack the arguments take, without the object itself, and how many the result takes.
pub(crate) fn slots(descriptor: &[u8]) -> Option<(u32, u32)> {
    let mut arguments = 0;
    let result = each_argument(descriptor, |letter| arguments += slots_of(letter))?;
    Some((arguments, size(result)))
}

/// How many slots a value of this type takes.
pub(crate) fn size(kind: &[u8]) -> u32 {
    kind.first().copied().map_or(1, slots_of)
}

fn slots_of(letter: u8) -> u32 {
    match letter {
        b'V' => 0,
        b'J' | b'D' => 2,
        _ => 1,
    }
}

/// Answers the type of the result.
fn each_argument(descriptor: &[u8], mut each: impl FnMut(u8)) -> Option<&[u8]> {
    let mut rest = descriptor.strip_prefix(b"(")?;
    loop {
        let (&letter, behind) = rest.split_first()?;
        rest = behind;
        match letter {
            b')' => return Some(rest),
            b'[' => {
                let dimensions = rest.iter().take_while(|&&byte| byte == b'[').count();
                rest = &rest[dimensions..];
                let (&element, behind) = rest.split_first()?;
                rest = behind;
                if element == b'L' {
                    rest = behind_name(rest)?;
                }
            }
            b'L' => rest = behind_name(rest)?,
            _ => {}
        }
        each(letter);
    }
}

fn behind_name(rest: &[u8]) -> Option<&[u8]> {
    let end = rest.iter().position(|&byte| byte == b';')?;
    rest.get(end + 1..)
}
