//! Attributes with positions in the code, which must be updated.

use super::build::ClassBuilder;
use super::instrument_one;

const RETURN: u8 = 177;
const ARRAYLENGTH: u8 = 190;

/// `aload_0; arraylength; pop; return`: entry at 0, body from 4, the return at 7 with its exit, a handler at 12.
fn body() -> ClassBuilder {
    ClassBuilder::new("m", "()V", &[42, ARRAYLENGTH, 87, RETURN])
}

#[test]
fn entry_and_handler_have_the_first_line() {
    let table = [0, 2, 0, 3, 0, 21, 0, 0, 0, 20];
    let method = instrument_one(&body().code_attribute("LineNumberTable", &table));
    let table = [0, 3, 0, 7, 0, 21, 0, 0, 0, 20, 0, 12, 0, 20];
    assert_eq!(method.attribute("LineNumberTable"), Some(&table[..]));
}

#[test]
fn variables_live_as_long_as_before() {
    // From 0 to the end; from 2 for 1; from an operand on; outside the code, which stays outside.
    let rows = [[0, 0, 0, 4], [0, 2, 0, 1], [0, 9, 0, 0], [0, 1, 0xFF, 0xFF]];
    let new = [
        [0, 0, 0, 12],
        [0, 6, 0, 1],
        [0, 22, 0, 0],
        [0, 5, 0xFF, 0xFF],
    ];
    let table = |rows: [[u8; 4]; 4]| {
        let rows = rows.map(|row| [&row[..], &[0, 1, 0, 2, 0, 0]].concat());
        [&[0, 4][..], &rows.concat()].concat()
    };
    for name in ["LocalVariableTable", "LocalVariableTypeTable"] {
        let method = instrument_one(&body().code_attribute(name, &table(rows)));
        assert_eq!(method.attribute(name), Some(&table(new)[..]), "{name}");
    }
}

#[test]
fn annotations_of_types_follow() {
    let annotation = [0, 0, 9, 0, 1, 0, 8, b'[', 0, 1, b's', 0, 7];
    let variable = [0x40, 0, 1, 0, 2, 0, 2, 0, 0];
    let cast = [0x47, 0, 3, 0];
    let handler = [0x42, 0, 0];
    let join = |variable: &[u8], cast: &[u8]| {
        let annotated = [variable, cast, &handler].map(|target| [target, &annotation].concat());
        [&[0, 3][..], &annotated.concat()].concat()
    };
    let name = "RuntimeVisibleTypeAnnotations";
    let method = instrument_one(&body().code_attribute(name, &join(&variable, &cast)));
    let new = join(&[0x40, 0, 1, 0, 6, 0, 6, 0, 0], &[0x47, 0, 7, 0]);
    assert_eq!(method.attribute(name), Some(&new[..]));
    // An attribute that cannot be read stays unchanged.
    let odd = [0, 2, 0x43, 0, 3, 0, 0, 9, 0, 0, 0x99];
    let method = instrument_one(&body().code_attribute(name, &odd));
    assert_eq!(method.attribute(name), Some(&odd[..]));
}

#[test]
fn frames_grow_into_the_long_form() {
    // ifnull over 60 nops to a return, at 64 and then at 68 + 4.
    for (kind, long, types) in [(64, 251, &[][..]), (64, 247, &[1])] {
        let mut code = vec![42, 198, 0, 63];
        code.resize(64, 0);
        code.push(RETURN);
        let short = if types.is_empty() {
            vec![251, 0, 64]
        } else {
            vec![247, 0, 64, 1]
        };
        assert_eq!(short[0], long);
        let class = ClassBuilder::new("m", "()V", &code);
        let table = [&[0, 1][..], &short].concat();
        let method = instrument_one(&class.code_attribute("StackMapTable", &table));
        let new = [&[0, 1, long, 0, kind + 4][..], types].concat();
        assert_eq!(method.attribute("StackMapTable"), Some(&new[..]));
    }
    // At 61 the kind holds the distance; at 65 it does not.
    for (kind, long, types) in [(61, 251, &[][..]), (64 + 61, 247, &[1])] {
        let mut code = vec![42, 198, 0, 60];
        code.resize(61, 0);
        code.push(RETURN);
        let class = ClassBuilder::new("m", "()V", &code);
        let table = [&[0, 1, kind][..], types].concat();
        let method = instrument_one(&class.code_attribute("StackMapTable", &table));
        let new = [&[0, 1, long, 0, 65][..], types].concat();
        assert_eq!(method.attribute("StackMapTable"), Some(&new[..]));
    }
}

#[test]
fn an_object_without_its_constructor_follows_its_new() {
    // aload_0; ifnull +3; new at 4; pop; return, with a frame at 7 that knows of the object made at 4.
    let code = [42, 198, 0, 3, 187, 0, 2, 87, RETURN];
    let table = [0, 1, 255, 0, 7, 0, 0, 0, 1, 8, 0, 4];
    let class = ClassBuilder::new("m", "()V", &code).code_attribute("StackMapTable", &table);
    let method = instrument_one(&class);
    let frames = method.attribute("StackMapTable").expect("frames");
    assert_eq!(frames[..12], [0, 2, 255, 0, 11, 0, 0, 0, 1, 8, 0, 8]);
}

#[test]
fn what_is_not_known_stays() {
    let method = instrument_one(&body().code_attribute("Unheard", &[1, 2, 3]));
    assert_eq!(method.attribute("Unheard"), Some(&[1, 2, 3][..]));
}

#[test]
fn subroutines_of_old_code_are_jumps() {
    // jsr +4; return; astore_1; ret 1
    let method =
        instrument_one(&ClassBuilder::new("m", "()V", &[168, 0, 4, RETURN, 76, 169, 1]).major(46));
    let (entry, exit) = (method.entry(), method.exit());
    method.assert_code(&[&entry, &[168, 0, 8], &exit, &[RETURN, 76, 169, 1]]);
}
