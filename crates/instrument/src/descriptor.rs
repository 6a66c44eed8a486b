//! The types of methods and fields in their textual form: `(ILjava/lang/String;)J`.

/// Returns the first letter of each argument; `None` if this is not a method's descriptor.
pub(crate) fn arguments(descriptor: &[u8]) -> Option<Vec<u8>> {
    let mut letters = Vec::new();
    each_argument(descriptor, |kind| letters.extend(kind.first()))?;
    Some(letters)
}

/// Returns the type of each argument; `None` if this is not a method's descriptor.
pub(crate) fn argument_types(descriptor: &[u8]) -> Option<Vec<&[u8]>> {
    let mut types = Vec::new();
    each_argument(descriptor, |kind| types.push(kind))?;
    Some(types)
}

/// Returns the number of stack slots for the arguments, without the object itself, and for the result.
pub(crate) fn slots(descriptor: &[u8]) -> Option<(u32, u32)> {
    let mut arguments = 0;
    let result = each_argument(descriptor, |kind| arguments += size(kind))?;
    Some((arguments, size(result)))
}

/// Returns the number of slots for a value of this type.
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

/// Calls `each` for each argument, and returns the type of the result.
fn each_argument<'a>(descriptor: &'a [u8], mut each: impl FnMut(&'a [u8])) -> Option<&'a [u8]> {
    let mut rest = descriptor.strip_prefix(b"(")?;
    loop {
        let whole = rest;
        let (&letter, after) = rest.split_first()?;
        rest = after;
        match letter {
            b')' => return Some(rest),
            b'[' => {
                let dimensions = rest.iter().take_while(|&&byte| byte == b'[').count();
                rest = &rest[dimensions..];
                let (&element, after) = rest.split_first()?;
                rest = after;
                if element == b'L' {
                    rest = after_name(rest)?;
                }
            }
            b'L' => rest = after_name(rest)?,
            _ => {}
        }
        each(&whole[..whole.len() - rest.len()]);
    }
}

fn after_name(rest: &[u8]) -> Option<&[u8]> {
    let end = rest.iter().position(|&byte| byte == b';')?;
    rest.get(end + 1..)
}
