//! The calls whose entry returns what the method keeps for its exits.

use super::HOOKS;
use super::build::{ClassBuilder, Parsed};
use crate::class::instrument;
use crate::hooks::{Hooks, LeafHooks};

const RETURN: u8 = 177;
const ARRAYLENGTH: u8 = 190;
/// `lload 4`: the methods have four local variables of their own.
const LOAD: [u8; 2] = [22, 4];

pub(super) const KEEPING: Hooks = Hooks {
    caught: Some(b"caught"),
    ..HOOKS
};

pub(super) const LEAF: LeafHooks = LeafHooks {
    entry: b"leafIn",
    exit: b"leafOut",
};

fn keeping(class: &ClassBuilder) -> Parsed {
    let outcome = instrument(&class.bytes(), &KEEPING, &mut |_, _| Some(1)).expect("a class file");
    assert_eq!(outcome.left_out, []);
    Parsed::method(&outcome.class.expect("new bytes"))
}

fn call(load: &[u8], [high, low]: [u8; 2]) -> Vec<u8> {
    [load, &[184, high, low]].concat()
}

#[test]
fn every_frame_names_the_variable() {
    // aload_0; arraylength; ifeq +4; return; return
    let code = [42, ARRAYLENGTH, 153, 0, 4, RETURN, RETURN];
    // The same locals as at the start; then without the last one.
    let frames = [0, 2, 5, 250, 0, 0];
    let class = ClassBuilder::new("m", "(JLA;)V", &code).code_attribute("StackMapTable", &frames);
    let method = keeping(&class);
    let [enter, leave, unwind] = method.calls;
    let entry = [call(&[4], enter), vec![55, 4]].concat();
    let exit = [call(&LOAD, leave), vec![RETURN]].concat();
    let body = [42, ARRAYLENGTH, 153, 0, 9];
    let handler = [call(&LOAD, unwind), vec![191]].concat();
    method.assert_code(&[&entry, &body, &exit, &exit, &handler]);
    assert_eq!(method.exceptions, [[6, 23, 23, 0]]);
    assert_eq!(method.max_stack, 5);
    let new = method.attribute("StackMapTable").expect("frames");
    let (this, [high, low]) = ([0, 2], method.argument);
    let first = [
        255, 0, 11, 0, 4, 7, this[0], this[1], 4, 7, high, low, 4, 0, 0,
    ];
    let second = [255, 0, 5, 0, 4, 7, this[0], this[1], 4, 0, 4, 0, 0];
    let [high, low] = method.throwable;
    let third = [255, 0, 5, 0, 5, 0, 0, 0, 0, 4, 0, 1, 7, high, low];
    assert_eq!(new, [&[0, 3][..], &first, &second, &third].concat());
}

#[test]
fn a_handler_that_may_catch_an_overflow_says_so() {
    // aload_0; arraylength; pop; return; pop; return
    let code = [42, ARRAYLENGTH, 87, RETURN, 87, RETURN];
    let class = ClassBuilder::new("m", "()V", &code).major(49);
    let method = keeping(&class.handler([0, 3, 4, 0]));
    assert_eq!(method.exceptions, [[6, 9, 15, 0], [6, 27, 27, 0]]);
    assert_eq!(
        method.code[15..21],
        [call(&LOAD, method.caught), vec![87]].concat()
    );
}

#[test]
fn a_handler_of_other_exceptions_or_of_itself_does_not() {
    let code = [42, ARRAYLENGTH, 87, RETURN, 87, RETURN];
    let class = || ClassBuilder::new("m", "()V", &code).major(49);
    let mut other = class();
    let kind = other.pool.class(b"java/io/IOException").expect("room");
    let others = [
        other.handler([0, 3, 4, kind]),
        class().handler([0, 5, 4, 0]),
    ];
    for class in others {
        assert_eq!(keeping(&class).exceptions[1], [6, 22, 22, 0]);
    }
}

#[test]
fn only_leaves_have_the_calls_of_leaves() {
    const SYNCHRONIZED: u16 = 0x0021;
    let hooks = Hooks {
        leaf: Some(LEAF),
        ..KEEPING
    };
    // A call, a field of another class, a new object, a lock.
    let other_code: [&[u8]; 4] = [
        &[184, 0, 1, RETURN],
        &[178, 0, 1, 87, RETURN],
        &[187, 0, 1, 87, RETURN],
        &[42, 194, RETURN],
    ];
    let has_calls_of_leaves = |code: &[u8], access| {
        let class = ClassBuilder::new("m", "()V", code).major(49).access(access);
        let outcome = instrument(&class.bytes(), &hooks, &mut |_, _| Some(1));
        let bytes = outcome.expect("a class file").class.expect("new bytes");
        let method = Parsed::method(&bytes);
        let exit = call(&[], method.leaf_exit);
        method.code.windows(exit.len()).any(|code| code == exit)
    };
    assert!(has_calls_of_leaves(&[42, ARRAYLENGTH, 87, RETURN], 1));
    assert!(!has_calls_of_leaves(
        &[42, ARRAYLENGTH, 87, RETURN],
        SYNCHRONIZED
    ));
    for code in other_code {
        assert!(!has_calls_of_leaves(code, 1), "{code:?}");
    }
}
