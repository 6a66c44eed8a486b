//! Constructors: the part before `super(...)` has its own handler, and the call itself has none.

use super::build::ClassBuilder;
use super::instrument_one;

const RETURN: u8 = 177;
const INVOKESPECIAL: u8 = 183;
const INVOKESTATIC: u8 = 184;
const ALOAD_0: u8 = 42;

/// Builds a constructor whose code may call `P.<init>(I)`, at 0, and `C.f()I`, at 1.
fn constructor(code: impl Fn([u8; 2], [u8; 2]) -> Vec<u8>) -> ClassBuilder {
    let mut class = ClassBuilder::new("<init>", "(I)V", &[]);
    let parent = class.method("P", "<init>", "(I)V");
    let other = class.method("C", "f", "()I");
    class.code = code(parent, other);
    class
}

#[test]
fn nothing_that_throws_means_no_handler() {
    // super(7)
    let class = constructor(|[a, b], _| vec![ALOAD_0, 16, 7, INVOKESPECIAL, a, b, RETURN]);
    assert!(instrument_one(&class).exceptions.is_empty());
}

#[test]
fn each_side_of_the_call_has_its_handler() {
    // super(f()); f();
    let class = constructor(|[a, b], [c, d]| {
        let before = [ALOAD_0, INVOKESTATIC, c, d, INVOKESPECIAL, a, b];
        [&before[..], &[INVOKESTATIC, c, d, 87, RETURN]].concat()
    });
    let method = instrument_one(&class);
    // The body is from 4 to 20. The handler for the part after the call comes first.
    assert_eq!(method.exceptions, [[4, 8, 25, 0], [11, 20, 20, 0]]);
    let [high, low] = method.throwable;
    let frames = [
        [0, 2].as_slice(),
        &[255, 0, 20, 0, 0, 0, 1, 7, high, low],
        &[255, 0, 4, 0, 1, 6, 0, 1, 7, high, low],
    ];
    assert_eq!(
        method.attribute("StackMapTable"),
        Some(&frames.concat()[..])
    );
}

#[test]
fn without_stack_maps_one_handler_does() {
    let class = constructor(|[a, b], [c, d]| {
        vec![
            ALOAD_0,
            INVOKESTATIC,
            c,
            d,
            INVOKESPECIAL,
            a,
            b,
            INVOKESTATIC,
            c,
            d,
            87,
            RETURN,
        ]
    });
    let method = instrument_one(&class.major(49));
    assert_eq!(method.exceptions, [[4, 8, 20, 0], [11, 20, 20, 0]]);
}

#[test]
fn an_object_made_for_an_argument_is_not_this() {
    // super(new P(f()).hashCode()), with a jump inside: the first call of <init> is not the constructor's.
    let mut class = constructor(|[a, b], [c, d]| {
        let new = [
            ALOAD_0,
            187,
            0,
            2,
            89,
            INVOKESTATIC,
            c,
            d,
            INVOKESPECIAL,
            a,
            b,
        ];
        [&new[..], &[87, 26, INVOKESPECIAL, a, b, RETURN]].concat()
    });
    class.major = 61;
    let method = instrument_one(&class);
    // Up to the second call: 13 bytes after the entry.
    assert_eq!(method.exceptions, [[4, 17, 25, 0]]);
}

#[test]
fn the_object_is_followed_through_a_local_variable_and_the_stack() {
    // aload_0; astore_2; invokestatic f; aload_2; swap; invokespecial; return
    let class = constructor(|[a, b], [c, d]| {
        vec![
            ALOAD_0,
            77,
            INVOKESTATIC,
            c,
            d,
            44,
            95,
            INVOKESPECIAL,
            a,
            b,
            RETURN,
        ]
    });
    assert_eq!(instrument_one(&class).exceptions, [[4, 11, 19, 0]]);
}

#[test]
fn where_the_object_is_not_in_its_place_nothing_is_covered() {
    // aload_0; aconst_null; astore_0; invokestatic f; invokespecial; invokestatic f; pop; return
    let class = constructor(|[a, b], [c, d]| {
        let before = [ALOAD_0, 1, 75, INVOKESTATIC, c, d, INVOKESPECIAL, a, b];
        [&before[..], &[INVOKESTATIC, c, d, 87, RETURN]].concat()
    });
    assert_eq!(instrument_one(&class).exceptions, [[13, 22, 22, 0]]);
}

#[test]
fn both_ways_to_the_call_are_before_it() {
    // super(n == 0 ? f() : f()), then a branch after it
    let class = constructor(|[a, b], [c, d]| {
        let choice = [
            ALOAD_0,
            27,
            154,
            0,
            9,
            INVOKESTATIC,
            c,
            d,
            167,
            0,
            6,
            INVOKESTATIC,
            c,
            d,
        ];
        let call = [INVOKESPECIAL, a, b, INVOKESTATIC, c, d, 87, RETURN];
        [&choice[..], &call].concat()
    });
    // At 11 and 14; this and an int, with this (and an int) on the stack.
    let first = [255, 0, 11, 0, 2, 6, 1, 0, 1, 6];
    let second = [255, 0, 2, 0, 2, 6, 1, 0, 2, 6, 1];
    let frames = [&[0, 2][..], &first, &second].concat();
    let method = instrument_one(&class.code_attribute("StackMapTable", &frames));
    assert_eq!(method.exceptions, [[4, 18, 35, 0], [21, 30, 30, 0]]);
}

#[test]
fn dead_code_before_the_call_belongs_to_it_by_its_frame() {
    // goto +6; (dead) invokestatic f; (next) aload_0; iconst_0; invokespecial; return. The frame at 3 says that the
    // object is not constructed yet, and no path leads there.
    let class = constructor(|[a, b], [c, d]| {
        let head = [167, 0, 7, INVOKESTATIC, c, d, 87];
        [&head[..], &[ALOAD_0, 3, INVOKESPECIAL, a, b, RETURN]].concat()
    });
    let frames = [0, 2, 255, 0, 3, 0, 2, 6, 1, 0, 0, 3];
    let method = instrument_one(&class.code_attribute("StackMapTable", &frames));
    assert_eq!(method.exceptions, [[4, 13, 21, 0]]);
}

#[test]
fn a_handler_of_the_program_before_the_call_is_before_it() {
    // try { f(); } catch { f(); } super(0)
    let class = constructor(|[a, b], [c, d]| {
        let tried = [
            INVOKESTATIC,
            c,
            d,
            87,
            167,
            0,
            8,
            87,
            INVOKESTATIC,
            c,
            d,
            87,
        ];
        [&tried[..], &[ALOAD_0, 3, INVOKESPECIAL, a, b, RETURN]].concat()
    });
    // In an old class only the exception table refers to the handler at 7.
    let class = class.handler([0, 4, 7, 0]).major(49);
    let method = instrument_one(&class);
    assert_eq!(method.exceptions, [[4, 8, 11, 0], [4, 18, 26, 0]]);
}
