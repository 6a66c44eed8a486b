use super::machine::{FrameState, InterruptedCode};

fn interrupted(code: &[u32]) -> InterruptedCode {
    let begin = code.as_ptr().expose_provenance();
    let end = begin + size_of_val(code);
    InterruptedCode { begin, end }
}

/// Asserts the states of a frame at all instructions before it counts as complete, and at the one after them.
fn assert_made(code: &[u32], expected: &[FrameState]) {
    let code = interrupted(code);
    for (index, &state) in expected.iter().enumerate() {
        let at = code.begin + 4 * index;
        assert_eq!(code.while_made(code.begin, at), Some(state), "{index}");
    }
    // In front of the entry.
    assert_eq!(
        code.while_made(code.begin + 8, code.begin + 4),
        Some(FrameState::Absent)
    );
}

fn assert_states(code: &[u32], expected: &[FrameState]) {
    let code = interrupted(code);
    let begin = code.begin;
    for (index, &state) in expected.iter().enumerate() {
        let at = begin + 4 * index;
        assert_eq!(code.while_given_up(at), state, "{index}");
    }
}

#[test]
fn a_frame_is_made_before_it_counts_as_complete() {
    use FrameState::{Absent, Complete, FramePointerSaved, Reserved};
    // sub x9, sp, 20, lsl 12; str xzr, [x9]; sub sp, sp, 64; stp x29, x30, [sp, 48]; then the barrier: ldr w8, 16;
    // ldr w9, [x28, 32]; cmp w8, w9
    let small = [
        0xd140_53e9,
        0xf900_013f,
        0xd101_03ff,
        0xa903_7bfd,
        0x1800_0088,
        0xb940_2389,
        0x6b09_011f,
    ];
    let states = [
        Absent, Absent, Absent, Reserved, Complete, Complete, Complete, Complete,
    ];
    assert_made(&small, &states);
    // stp x29, x30, [sp, -16]!; sub sp, sp, 1008
    assert_made(
        &[0xa9bf_7bfd, 0xd10f_c3ff],
        &[Absent, FramePointerSaved, Complete],
    );
    // stp x29, x30, [sp, -16]!; mov x8, 8000; sub sp, sp, x8
    let large = [0xa9bf_7bfd, 0xd283_e808, 0xcb28_63ff];
    let states = [Absent, FramePointerSaved, FramePointerSaved, Complete];
    assert_made(&large, &states);
}

#[test]
fn a_frame_is_given_up_before_a_return() {
    use FrameState::{Absent, Complete};
    // ldp x29, x30, [sp, 48]; add sp, sp, 64; ldr x8, [x28, 864]; cmp sp, x8; b.hi; ret
    let asking = [
        0xa943_7bfd,
        0x9101_03ff,
        0xf941_b388,
        0xeb28_63ff,
        0x5400_0108,
        0xd65f_03c0,
    ];
    let expected = [Complete, Complete, Absent, Absent, Absent, Absent];
    assert_states(&asking, &expected);
    // ldp x29, x30, [sp], 16; ldr x8, [x28, 264]; ldr wzr, [x8]; ret
    let touching = [0xa8c1_7bfd, 0xf940_8788, 0xb940_011f, 0xd65f_03c0];
    assert_states(&touching, &[Complete, Absent, Absent, Absent]);
    // ldr x8, [x28, 264]; ldr wzr, [x8]; b, back: a loop
    let in_loop = [0xf940_8788, 0xb940_011f, 0x17ff_fffe];
    assert_states(&in_loop, &[Complete; 3]);
}

#[test]
fn a_frame_is_given_up_before_an_exception_goes_on() {
    use FrameState::{Absent, Complete};
    // ldp x29, x30, [sp, 48]; add sp, sp, 64; b, to other code
    let near = [0xa943_7bfd, 0x9101_03ff, 0x1400_1000];
    assert_states(&near, &[Complete, Complete, Absent]);
    // add sp, sp, 64; adrp x8; add x8, x8, 0x80; br x8
    let far = [0x9101_03ff, 0xb000_0108, 0x9102_0108, 0xd61f_0100];
    assert_states(&far, &[Complete, Absent, Absent, Absent]);
    // add sp, sp, 64; b, back
    assert_states(&[0x9101_03ff, 0x17ff_ffff], &[Complete; 2]);
    // adrp x8; add x8, x8, 0x80; br x8: the frame is there
    assert_states(&far[1..], &[Complete; 3]);
}
