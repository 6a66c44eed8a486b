//! Classes with faults in them: a result or an error, never a panic.

use proptest::prelude::*;

use super::HOOKS;
use super::build::ClassBuilder;
use crate::class::{instrument, round_trip};

/// Returns a constructor with everything that the rewriter examines.
fn rich() -> Vec<u8> {
    let mut class = ClassBuilder::new("<init>", "(I[[Ljava/lang/String;J)V", &[]);
    let [a, b] = class.method("P", "<init>", "(I)V");
    let [c, d] = class.method("C", "f", "(JLX;)I");
    let mut code = vec![42, 27, 154, 0, 12, 9, 1, 184, c, d, 167, 0, 4, 3, 183, a, b];
    code.extend_from_slice(&[
        3, 170, 0, 0, 0, 0, 0, 14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 14,
    ]);
    code.extend_from_slice(&[196, 132, 0, 1, 0, 1, 177]);
    class.code = code;
    let frames = [
        0, 3, 255, 0, 13, 0, 2, 6, 1, 0, 1, 6, 64, 1, 255, 0, 15, 0, 0, 0, 1, 8, 0, 1,
    ];
    let annotation = [
        0, 1, 0x40, 0, 1, 0, 2, 0, 2, 0, 0, 1, 0, 0, 0, 9, 0, 1, 0, 8, b'[', 0, 1, b's', 0, 7,
    ];
    class
        .handler([0, 10, 13, 0])
        .code_attribute("StackMapTable", &frames)
        .code_attribute("LineNumberTable", &[0, 1, 0, 0, 0, 9])
        .code_attribute("LocalVariableTable", &[0, 1, 0, 0, 0, 9, 0, 1, 0, 2, 0, 0])
        .code_attribute("RuntimeVisibleTypeAnnotations", &annotation)
        .annotation("LMark;")
        .bytes()
}

fn try_it(class: &[u8], number: u32) {
    let _ = round_trip(class);
    let _ = instrument(class, &HOOKS, &mut |_, method| {
        method.has_annotation(b"LOther;");
        Some(number)
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_bytes_are_survived(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
        number in any::<u32>(),
    ) {
        let mut class = rich();
        for (at, byte) in changes {
            let at = at.index(class.len());
            class[at] = byte;
        }
        try_it(&class, number);
        class.truncate(cut.index(class.len()));
        try_it(&class, number);
    }

    #[test]
    fn any_code_is_survived(
        name in prop::sample::select(vec!["m", "<init>", "finalize"]),
        code in prop::collection::vec(any::<u8>(), 1..300),
        frames in prop::collection::vec(any::<u8>(), 0..60),
        handlers in prop::collection::vec(any::<[u8; 4]>(), 0..4),
        major in prop::sample::select(vec![45_u16, 49, 50, 52, 69]),
    ) {
        let mut class = ClassBuilder::new(name, "(IJ)V", &code).major(major);
        for row in handlers {
            class = class.handler(row.map(u16::from));
        }
        try_it(&class.code_attribute("StackMapTable", &frames).bytes(), 1);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        try_it(&bytes, 1);
        try_it(&[&[0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 61][..], &bytes].concat(), 1);
    }
}

#[test]
fn a_constructor_that_takes_for_ever_to_follow_is_given_up() {
    // 60,000 instructions under 60,000 handlers.
    let mut code = vec![0; 60_000];
    code.push(177);
    let mut class = ClassBuilder::new("<init>", "()V", &code).major(49);
    for _ in 0..60_000 {
        class = class.handler([0, 60_000, 60_000, 0]);
    }
    try_it(&class.bytes(), 1);
}
