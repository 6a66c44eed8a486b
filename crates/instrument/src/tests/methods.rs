//! The methods that are instrumented, and their new code.

use super::build::{ClassBuilder, Parsed};
use super::{HOOKS, instrument_all, instrument_one, reason};
use crate::class::{class_name, instrument};
use crate::error::Error;
use crate::hooks::Hooks;
use crate::instrumented::Reason;
use crate::tracker::tracker_class;

const RETURN: u8 = 177;
const ARRAYLENGTH: u8 = 190;

#[test]
fn entry_exits_and_a_handler_are_inserted() {
    // aload_0; arraylength; ifeq +4; return; return
    let code = [42, ARRAYLENGTH, 153, 0, 4, RETURN, RETURN];
    let frame = [0, 1, 6];
    let class = ClassBuilder::new("m", "()V", &code).code_attribute("StackMapTable", &frame);
    let method = instrument_one(&class);
    let (entry, exit, exception_exit) = (method.entry(), method.exit(), method.exception_exit());
    let jump = [42, ARRAYLENGTH, 153, 0, 8];
    let body = [&jump[..], &exit, &[RETURN], &exit, &[RETURN]];
    method.assert_code(&[&entry, &body.concat(), &exception_exit]);
    assert_eq!(method.exceptions, [[4, 19, 19, 0]]);
    assert_eq!(method.max_stack, 4);
    // The jump's target moves from 6 to 14; the handler is at 19, its frame knows of the exception only.
    let [high, low] = method.throwable;
    let frames = [0, 2, 14, 255, 0, 4, 0, 0, 0, 1, 7, high, low];
    assert_eq!(method.attribute("StackMapTable"), Some(&frames[..]));
}

#[test]
fn code_that_cannot_throw_gets_no_handler() {
    let method = instrument_one(&ClassBuilder::new("m", "()I", &[3, 172]));
    let (entry, exit) = (method.entry(), method.exit());
    method.assert_code(&[&entry, &[3], &exit, &[172]]);
    assert!(method.exceptions.is_empty());
    assert_eq!(method.attribute("StackMapTable"), None);
}

#[test]
fn a_string_is_loaded_without_fear_and_a_class_is_not() {
    let mut class = ClassBuilder::new("m", "()V", &[]);
    let number = class.pool.integer(7).expect("room");
    let other = class.pool.class(b"Other").expect("room");
    class.code = vec![18, number as u8, 87, RETURN];
    assert!(instrument_one(&class).exceptions.is_empty());
    class.code = vec![18, other as u8, 87, RETURN];
    assert_eq!(instrument_one(&class).exceptions.len(), 1);
}

#[test]
fn a_jump_back_to_the_start_does_not_enter_again() {
    // aload_0; arraylength; ifne -2; return
    let class = ClassBuilder::new("m", "()V", &[42, ARRAYLENGTH, 154, 255, 254, RETURN]);
    let class = class.code_attribute("StackMapTable", &[0, 1, 0]);
    let method = instrument_one(&class);
    assert_eq!(method.code[6..9], [154, 255, 254]);
    let frames = method.attribute("StackMapTable").expect("frames");
    assert_eq!(frames[..3], [0, 2, 4], "the frame at 0 is behind the entry");
}

#[test]
fn a_handler_of_the_program_comes_first() {
    // aload_0; arraylength; pop; return; athrow
    let code = [42, ARRAYLENGTH, 87, RETURN, 191];
    let class = ClassBuilder::new("m", "()V", &code).handler([0, 3, 4, 0]);
    let class = class.major(49);
    let method = instrument_one(&class);
    assert_eq!(method.exceptions, [[4, 7, 12, 0], [4, 13, 13, 0]]);
    assert_eq!(method.attribute("StackMapTable"), None, "too old for it");
}

#[test]
fn numbers_are_pushed_by_the_shortest_instruction() {
    let class = ClassBuilder::new("m", "()V", &[RETURN]).bytes();
    let pushes: [(u32, &[u8]); 7] = [
        (0, &[3]),
        (5, &[8]),
        (6, &[16, 6]),
        (127, &[16, 127]),
        (128, &[17, 0, 128]),
        (32_767, &[17, 127, 255]),
        (u32::MAX, &[18]),
    ];
    for (number, push) in pushes {
        let outcome = instrument(&class, &HOOKS, &mut |_, _| Some(number)).expect("a class");
        let code = Parsed::method(&outcome.class.expect("new bytes")).code;
        assert!(code.starts_with(push), "{number}: {code:?}");
    }
}

#[test]
fn a_switch_keeps_its_operands_aligned() {
    // nop; iload_0; tableswitch (one byte of padding) default +15, 0..0, +14; return
    let mut code = vec![0, 26, 170, 0];
    for operand in [18_i32, 0, 0, 18] {
        code.extend_from_slice(&operand.to_be_bytes());
    }
    code.push(RETURN);
    let old = ClassBuilder::new("m", "(I)V", &code).major(49);
    let method = instrument_one(&old);
    // At 6 now, as at 2 before: the padding is the same; the return's exit code comes first.
    assert_eq!(method.code[4..9], [0, 26, 170, 0, 0]);
    assert_eq!(method.code.len(), 4 + 20 + 4 + 1);
    // With an entry of five bytes it changes.
    let outcome = instrument(&old.bytes(), &HOOKS, &mut |_, _| Some(100)).expect("a class");
    let code = Parsed::method(&outcome.class.expect("new bytes")).code;
    assert_eq!(code[5..12], [0, 26, 170, 0, 0, 0, 17]);
    assert_eq!(code.len(), 5 + 19 + 5 + 1);
}

#[test]
fn methods_without_bytecode_are_listed_or_not_there() {
    let native = ClassBuilder::new("m", "()V", &[]).access(0x0100);
    assert_eq!(reason(&native), Reason::Native);
    let outcome = instrument_all(&ClassBuilder::new("m", "()V", &[]).access(0x0400).bytes());
    assert!(outcome.class.is_none());
    assert_eq!(outcome.left_out, []);
}

#[test]
fn some_methods_are_never_touched() {
    let empty = ClassBuilder::new("finalize", "()V", &[RETURN]);
    assert_eq!(reason(&empty), Reason::EmptyFinalizer);
    instrument_one(&ClassBuilder::new("finalize", "()V", &[0, RETURN]));
    for mark in [
        "Ljdk/internal/vm/annotation/IntrinsicCandidate;",
        "Ljdk/internal/HotSpotIntrinsicCandidate;",
    ] {
        let class = ClassBuilder::new("max", "()V", &[RETURN]).annotation(mark);
        assert_eq!(reason(&class), Reason::Intrinsic);
    }
    instrument_one(&ClassBuilder::new("max", "()V", &[RETURN]).annotation("LOther;"));
}

#[test]
fn the_constructor_of_all_objects_has_no_handler() {
    let class = ClassBuilder::new("<init>", "()V", &[42, ARRAYLENGTH, 87, RETURN]);
    assert!(
        instrument_one(&class.without_parent())
            .exceptions
            .is_empty()
    );
}

#[test]
fn the_tracker_and_unwanted_methods_stay() {
    let tracker = tracker_class(&HOOKS);
    assert_eq!(class_name(&tracker), Ok(HOOKS.tracker));
    let outcome = instrument(&tracker, &HOOKS, &mut |_, _| {
        unreachable!("asked about the tracker")
    });
    assert!(outcome.is_ok_and(|outcome| outcome.class.is_none() && outcome.left_out.is_empty()));
    let class = ClassBuilder::new("m", "()V", &[RETURN]).bytes();
    let outcome = instrument(&class, &HOOKS, &mut |_, _| None).expect("a class");
    assert!(outcome.class.is_none() && outcome.left_out.is_empty());
}

#[test]
fn the_caller_is_told_what_a_method_is() {
    let class = ClassBuilder::new("m", "(J)V", &[0, RETURN])
        .annotation("LMark;")
        .access(9);
    let mut asked = 0;
    instrument(&class.bytes(), &HOOKS, &mut |class, method| {
        asked += 1;
        assert_eq!((class.name, class.super_name), (&b"C"[..], Some(&b"P"[..])));
        assert_eq!((class.major, class.access), (61, 0x21));
        assert_eq!((method.name, method.descriptor), (&b"m"[..], &b"(J)V"[..]));
        assert_eq!((method.index, method.access, method.code_length), (0, 9, 2));
        assert!(method.has_annotation(b"LMark;") && !method.has_annotation(b"LMar;"));
        None
    })
    .expect("a class");
    assert_eq!(asked, 1);
}

#[test]
fn a_tracker_with_one_method_for_all_exits_can_be() {
    let hooks = Hooks {
        exception_exit: b"out",
        ..HOOKS
    };
    let [two, three] = [hooks, HOOKS].map(|hooks| tracker_class(&hooks));
    let methods = |class: &[u8]| {
        instrument(
            class,
            &Hooks {
                tracker: b"X",
                ..HOOKS
            },
            &mut |_, _| None,
        )
    };
    for (class, count) in [(two, 2), (three, 3)] {
        let outcome = methods(&class).expect("a class");
        assert_eq!(outcome.left_out.len(), count);
        assert!(
            outcome
                .left_out
                .iter()
                .all(|method| method.reason == Reason::Native)
        );
    }
}

#[test]
fn too_much_code_is_left_out() {
    let mut code = vec![0; 65_530];
    code.push(RETURN);
    assert_eq!(
        reason(&ClassBuilder::new("m", "()V", &code)),
        Reason::TooLarge
    );
    // As much as fits: the entry and one exit.
    code.drain(..4);
    assert_eq!(
        instrument_one(&ClassBuilder::new("m", "()V", &code))
            .code
            .len(),
        65_535
    );
}

#[test]
fn a_jump_that_no_longer_reaches_is_widened() {
    // aload_0; pop; goto +n; many returns; return
    let mut code = vec![42, 87, 167, 0x7F, 0xFF];
    code.resize(2 + 0x7FFF, 0);
    code[10] = RETURN;
    code.push(RETURN);
    let method = instrument_one(&ClassBuilder::new("m", "()V", &code).major(49));
    let target = (4 + 2 + 0x7FFF + 4 + 2_i32) - 6;
    assert_eq!(method.code[6], 200, "goto_w");
    assert_eq!(method.code[7..11], target.to_be_bytes());
    assert_eq!(method.code[6 + target as usize..][..4], method.exit());
}

#[test]
fn a_condition_that_no_longer_reaches_leaves_the_method_out() {
    let mut code = vec![26, 87, 153, 0x7F, 0xFF];
    code.resize(2 + 0x7FFF, 0);
    code[10] = RETURN;
    code.push(RETURN);
    let class = ClassBuilder::new("m", "(I)V", &code).major(49);
    assert_eq!(reason(&class), Reason::JumpTooFar);
}

#[test]
fn a_full_pool_leaves_the_methods_out() {
    let mut class = ClassBuilder::new("m", "()V", &[RETURN]);
    // `Code` and the 15 entries of the calls fit exactly.
    while class.pool.count() + 1 + 15 < u16::MAX {
        class.pool.integer(0).expect("room");
    }
    instrument_one(&class);
    class.pool.integer(0).expect("room");
    assert_eq!(reason(&class), Reason::FullConstantPool);
}

#[test]
fn code_that_is_not_valid_is_left_out() {
    let cases: [&[u8]; 6] = [
        &[255],                // no such instruction
        &[17, 0],              // cut off
        &[167, 0, 1],          // a jump into itself
        &[167, 0, 3],          // a jump behind the end
        &[170, 0, 0, 0, 0, 0], // half a switch
        &[196, 132, 0],        // half a wide iinc
    ];
    for code in cases {
        assert_eq!(
            reason(&ClassBuilder::new("m", "()V", code)),
            Reason::Malformed,
            "{code:?}"
        );
    }
}

#[test]
fn bytes_that_are_no_class_file_are_refused() {
    let class = ClassBuilder::new("m", "()V", &[RETURN]).bytes();
    let outcome = |bytes: &[u8]| instrument(bytes, &HOOKS, &mut |_, _| Some(1)).map(|_| ());
    assert_eq!(outcome(b"PK\x03\x04..."), Err(Error::NotAClassFile));
    assert_eq!(outcome(&[]), Err(Error::Truncated { offset: 0 }));
    let longer = [&class[..], &[0]].concat();
    let offset = class.len();
    assert_eq!(outcome(&longer), Err(Error::TrailingBytes { offset }));
    for end in 0..class.len() {
        assert!(outcome(&class[..end]).is_err(), "cut off at {end}");
    }
}
