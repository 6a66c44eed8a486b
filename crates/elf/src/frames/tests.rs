use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::super::rule::Saved;
use super::*;

const ADDRESS: u64 = 0x1000;

fn above_stack_pointer(end: i16, frame_pointer: Option<i8>) -> FrameRule {
    let saved = Saved {
        frame_pointer,
        return_address: Some(-1),
    };
    FrameRule::AboveStackPointer { end, saved }
}

fn entry(begin: u32, end: i16) -> Entry {
    let rule = above_stack_pointer(end, None);
    Entry { begin, rule }
}

#[test]
fn entries_are_sorted_and_say_something_new() {
    let unknown = |begin| Entry {
        begin,
        rule: FrameRule::Unknown,
    };
    let mut frames = Frames {
        entries: List::collect([
            entry(30, 1),
            unknown(40),
            entry(10, 1),
            entry(12, 2),
            entry(14, 2),
            unknown(30),
        ])
        .expect("little"),
        functions: List::collect([30, 10]).expect("little"),
        code: List::new(),
    };
    frames.arrange();
    assert_eq!(
        frames.entries,
        [entry(10, 1), entry(12, 2), entry(30, 1), unknown(40)]
    );
    assert_eq!(frames.functions, [10, 30]);
}

#[test]
fn nothing_malformed_is_more_than_nothing() {
    for bytes in [&[][..], &[0; 64], &[0xff; 64], &[1, 2, 3, 4, 5, 6, 7, 8]] {
        assert!(Frames::read(bytes, ADDRESS).entries.is_empty());
    }
}

/// An entry of the section, with its length before it, of a multiple of eight bytes.
#[cfg(target_arch = "x86_64")]
fn section_entry(id: u32, rest: &[u8]) -> Vec<u8> {
    let mut bytes = id.to_le_bytes().to_vec();
    bytes.extend(rest);
    while !(bytes.len() + 4).is_multiple_of(8) {
        bytes.push(0);
    }
    let length = u32::try_from(bytes.len()).expect("short");
    [length.to_le_bytes().as_slice(), &bytes].concat()
}

/// Returns a section as compilers for x86_64 write it: `zR`, 1, -8, the return address in register 16, addresses from here
/// in 4 bytes; the frame ends 8 bytes above `rsp`, and the return address is right before its end. It has functions of 64
/// bytes from 0x5000 on, each with its instructions.
#[cfg(target_arch = "x86_64")]
fn section(functions: &[&[u8]]) -> Vec<u8> {
    let common = [1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1];
    let mut section = section_entry(0, &common);
    for (at, code) in functions.iter().enumerate() {
        let id_at = section.len() + 4;
        let begin = 0x5000 + 0x40 * at as i32;
        let begin = begin - i32::try_from(ADDRESS as usize + id_at + 4).expect("small");
        let function = [&begin.to_le_bytes(), &[0x40, 0, 0, 0], &[0][..], code].concat();
        let id = u32::try_from(id_at).expect("small");
        section.extend(section_entry(id, &function));
    }
    section.extend([0; 4]);
    section
}

/// The rules of one function, with the distance of their addresses from its beginning, without the one that ends it.
#[cfg(target_arch = "x86_64")]
fn rules(code: &[u8]) -> Vec<(u32, FrameRule)> {
    let frames = Frames::read(&section(&[code]), ADDRESS);
    assert_eq!(frames.functions, [0x5000]);
    let mut rules: Vec<_> = frames
        .entries
        .iter()
        .map(|entry| (entry.begin - 0x5000, entry.rule))
        .collect();
    match rules.last() {
        Some((0x40, FrameRule::Unknown)) => drop(rules.pop()),
        last => assert!(
            matches!(last, Some((_, FrameRule::Unknown))),
            "what is unknown to the end says nothing new there: {last:?}"
        ),
    }
    rules
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_function_with_a_frame_pointer_has_the_rules_of_its_instructions() {
    let saved = Saved {
        frame_pointer: Some(-2),
        return_address: Some(-1),
    };
    let whole = FrameRule::AboveFramePointer { end: 2, saved };
    // push rbp; mov rbp, rsp; ...; leave; ret; and code after that, as before.
    let code = [
        0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x50, 0xc6, 0x0c, 7, 8, 0x41, 0x0b,
    ];
    assert_eq!(
        rules(&code),
        [
            (0, above_stack_pointer(1, None)),
            (1, above_stack_pointer(2, Some(-2))),
            (4, whole),
            (20, above_stack_pointer(1, None)),
            (21, whole),
        ]
    );
}

#[cfg(target_arch = "x86_64")]
#[test]
fn what_is_not_simple_is_unknown_from_there_on() {
    let first = (0, above_stack_pointer(1, None));
    let unknown = |at| (at, FrameRule::Unknown);
    // The return address is undefined: an outermost frame. Then an offset without a register to add it to.
    let code = [0x0f, 2, 0x77, 8, 0x07, 16, 0x02, 4, 0x13, 0x7e];
    assert_eq!(rules(&code), [(0, FrameRule::Outermost), unknown(4)]);
    // The frame pointer is what an expression says.
    assert_eq!(rules(&[0x41, 0x10, 6, 1, 0x30]), [first, unknown(1)]);
    assert_eq!(rules(&[0x41, 0x3f]), [first, unknown(1)], "no instruction");
    assert_eq!(rules(&[0x41, 0x0b]), [first, unknown(1)], "not remembered");
    assert_eq!(rules(&[0x41, 0x0f, 1, 0x77]), [first, unknown(1)]);
    assert_eq!(rules(&[0x3f]), [unknown(0)]);
    let remembered = [[0x41].as_slice(), &[0x0a; 100]].concat();
    assert_eq!(rules(&remembered), [first, unknown(1)], "100 states");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_malformed_function_leaves_the_others_as_they_are() {
    let mut bytes = section(&[&[], &[], &[]]);
    let whole = Frames::read(&bytes, ADDRESS);
    assert_eq!(whole.functions, [0x5000, 0x5040, 0x5080]);
    // The second function's way back to what it has in common with the others.
    let second = bytes.len() - 4 - 2 * 24 + 4;
    bytes[second] ^= 4;
    let frames = Frames::read(&bytes, ADDRESS);
    assert_eq!(frames.functions, [0x5000, 0x5080]);
}

#[cfg(target_arch = "x86_64")]
proptest! {
    #[test]
    fn changed_bytes_are_read_to_some_end(
        changes in vec((any::<Index>(), any::<u8>()), 0..4),
        end in any::<Index>(),
    ) {
        let code = [0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x0b];
        let mut bytes = section(&[&code, &code]);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(end.index(bytes.len() + 1));
        let frames = Frames::read(&bytes, ADDRESS);
        // Each entry of a row takes at least a byte.
        prop_assert!(frames.entries.len() <= bytes.len());
    }
}
