use super::machine::{FrameState, InterruptedCode, OutOfLine};

fn with_code<R>(bytes: &[u8], body: impl FnOnce(InterruptedCode, usize) -> R) -> R {
    let begin = bytes.as_ptr().expose_provenance();
    let end = begin + bytes.len();
    body(InterruptedCode { begin, end }, begin)
}

#[test]
fn a_frame_is_made_in_steps() {
    // mov [rsp - 0x14000], eax; push rbp; sub rsp, 0x20; cmp dword [r15 + 0x20], 1
    let c2 = [
        0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20, 0x41, 0x81, 0x7f,
        0x20, 0x01, 0, 0, 0,
    ];
    with_code(&c2, |code, entry| {
        let state = |at| code.while_made(entry, entry + at);
        assert_eq!(state(0), Some(FrameState::Absent));
        assert_eq!(state(7), Some(FrameState::Absent));
        assert_eq!(state(8), Some(FrameState::FramePointerSaved));
        assert_eq!(state(12), Some(FrameState::Complete));
        assert_eq!(state(20), Some(FrameState::Complete));
        assert_eq!(state(3), None, "not the beginning of an instruction");
    });
    // sub rsp, 0x18; mov [rsp + 0x10], rbp
    let small = [
        0x48, 0x81, 0xec, 0x18, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 0x10,
    ];
    with_code(&small, |code, entry| {
        let state = |at| code.while_made(entry, entry + at);
        assert_eq!(state(0), Some(FrameState::Absent));
        assert_eq!(state(7), Some(FrameState::FramePointerUnsaved));
        assert_eq!(state(12), Some(FrameState::Complete));
    });
    with_code(&[0x0f, 0x0b, 0x90], |code, entry| {
        assert_eq!(code.while_made(entry, entry + 2), None, "unknown");
    });
}

#[test]
fn a_frame_is_given_up_in_steps() {
    // add rsp, 0x10; pop rbp; cmp rsp, [r15 + 0x340]; ja; ret
    let end = [
        0x48, 0x83, 0xc4, 0x10, 0x5d, 0x49, 0x3b, 0xa7, 0x40, 0x03, 0, 0, 0x0f, 0x87, 0x10, 0, 0,
        0, 0xc3,
    ];
    with_code(&end, |code, begin| {
        let state = |at| code.while_given_up(begin + at);
        assert_eq!(state(0), FrameState::Complete);
        assert_eq!(state(4), FrameState::FramePointerSaved);
        for at in [5, 12, 18] {
            assert_eq!(state(at), FrameState::Absent, "{at}");
        }
    });
    // add rsp, 0x140; pop rbp; jmp, to other code: an exception continues to the caller
    let throwing = [
        0x48, 0x81, 0xc4, 0x40, 1, 0, 0, 0x5d, 0xe9, 0x00, 0x10, 0, 0,
    ];
    with_code(&throwing, |code, begin| {
        let state = |at| code.while_given_up(begin + at);
        assert_eq!(state(0), FrameState::Complete);
        assert_eq!(state(7), FrameState::FramePointerSaved);
        assert_eq!(state(8), FrameState::Absent);
    });
    // The same, and back: a call out of line that has saved rbp
    let back = [0x48, 0x83, 0xc4, 0x10, 0x5d, 0xe9, 0xf6, 0xff, 0xff, 0xff];
    with_code(&back, |code, begin| {
        for at in [4, 5] {
            assert_eq!(code.while_given_up(begin + at), FrameState::Complete);
        }
    });
    // A loop asks for safepoints, too, but continues: mov r10, [r15 + 0x108]; test [r10], eax; inc eax
    let in_loop = [
        0x4d, 0x8b, 0x97, 0x08, 0x01, 0, 0, 0x41, 0x85, 0x02, 0xff, 0xc0,
    ];
    with_code(&in_loop, |code, begin| {
        assert_eq!(code.while_given_up(begin), FrameState::Complete);
    });
}

#[test]
fn calls_out_of_line_are_followed_back() {
    let out = |saved, back| Some(OutOfLine { saved, back });
    // call; mov r8, [rsp]; mov r11, [rsp + 8]; vzeroupper; add rsp, 0x10; jmp
    let saving = [
        0xe8, 0, 0, 0, 0, 0x4c, 0x8b, 0x04, 0x24, 0x4c, 0x8b, 0x5c, 0x24, 0x08, 0xc5, 0xf8, 0x77,
        0x48, 0x83, 0xc4, 0x10, 0xe9, 0xe6, 0xff, 0xff, 0xff,
    ];
    with_code(&saving, |code, begin| {
        assert_eq!(code.out_of_line(begin + 5), out(0x10, begin));
        assert_eq!(code.out_of_line(begin + 6), None, "within an instruction");
    });
    // mov r10, rax; vmovdqu ymm0, [rsp + 0x20]; vmovsd xmm9, [rsp + 0x100]; add rsp, 0x120; jmp, short
    let vectors = [
        0x4c, 0x8b, 0xd0, 0xc5, 0xfe, 0x6f, 0x44, 0x24, 0x20, 0xc5, 0x7b, 0x10, 0x8c, 0x24, 0, 1,
        0, 0, 0x48, 0x81, 0xc4, 0x20, 1, 0, 0, 0xeb, 0xe5,
    ];
    with_code(&vectors, |code, begin| {
        assert_eq!(code.out_of_line(begin), out(0x120, begin));
    });
    with_code(&[0xe9, 0xfb, 0xff, 0xff, 0xff], |code, begin| {
        assert_eq!(code.out_of_line(begin), out(0, begin));
    });
    // add rsp, 0x10; mov r8, rax; pop rax; jmp: arguments on the stack, and a result
    let returning = [
        0x48, 0x83, 0xc4, 0x10, 0x4c, 0x8b, 0xc0, 0x58, 0xe9, 0xf3, 0xff, 0xff, 0xff,
    ];
    with_code(&returning, |code, begin| {
        assert_eq!(code.out_of_line(begin), out(0x18, begin));
    });
    // add rsp, 0x10; mov r8, [rsp]; jmp: the stack pointer is that of the method again
    let not = [0x48, 0x83, 0xc4, 0x10, 0x4c, 0x8b, 0x04, 0x24, 0xeb, 0xf6];
    with_code(&not, |code, begin| {
        assert_eq!(code.out_of_line(begin), None);
    });
    // add rsp, 0x10; pop rbp; ret: the end of a method
    with_code(&[0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3], |code, begin| {
        assert_eq!(code.out_of_line(begin), None);
    });
    // mov r10, [r15 + 0x108]: of the thread, not of the stack
    with_code(&[0x4d, 0x8b, 0x97, 8, 1, 0, 0, 0xeb, 0], |code, begin| {
        assert_eq!(code.out_of_line(begin), None);
    });
}

#[test]
fn calls_are_recognized_by_their_end() {
    let call = [0x90, 0x90, 0xe8, 0x10, 0, 0, 0, 0x90];
    with_code(&call, |code, begin| {
        assert!(code.is_after_call(begin + 7));
        assert_eq!(code.called(begin + 7), Some(begin + 7 + 0x10));
        assert!(!code.is_after_call(begin + 8));
        assert_eq!(code.called(begin + 8), None);
    });
    with_code(&[0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xd2], |code, begin| {
        assert!(code.is_after_call(begin + 9), "call r10");
        assert_eq!(code.called(begin + 9), None);
    });
    // mov r10, target; call r10
    let far = [
        0x49, 0xba, 0x25, 0x2e, 0, 0xd9, 0xff, 0x7f, 0, 0, 0x41, 0xff, 0xd2,
    ];
    with_code(&far, |code, begin| {
        assert_eq!(code.called(begin + far.len()), Some(0x7fff_d900_2e25));
    });
    // push rsi; push rdi; call. push r10; call.
    let pushed = [0x90, 0x56, 0x57, 0xe8, 0x10, 0, 0, 0];
    with_code(&pushed, |code, begin| {
        assert_eq!(code.pushed_before_call(begin + 8), 2);
    });
    let pushed = [0x90, 0x41, 0x52, 0xe8, 0x10, 0, 0, 0];
    with_code(&pushed, |code, begin| {
        assert_eq!(code.pushed_before_call(begin + 8), 1);
    });
    with_code(&call, |code, begin| {
        assert_eq!(code.pushed_before_call(begin + 7), 0);
    });
}
