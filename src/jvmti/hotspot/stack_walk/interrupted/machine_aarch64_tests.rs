use super::machine::{FrameState, InterruptedCode};

fn assert_states(code: &[u32], expected: &[FrameState]) {
    let begin = code.as_ptr().expose_provenance();
    let end = begin + size_of_val(code);
    let code = InterruptedCode { begin, end };
    for (index, &state) in expected.iter().enumerate() {
        let at = begin + 4 * index;
        assert_eq!(code.while_given_up(at), state, "{index}");
    }
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
