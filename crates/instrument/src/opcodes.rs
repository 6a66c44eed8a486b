//! The instruction set as tables: the length of each instruction, its effects on the flow and on the stack, and whether
//! it can throw.

pub(crate) const LDC: u8 = 18;
pub(crate) const LDC_W: u8 = 19;
pub(crate) const LDC2_W: u8 = 20;
pub(crate) const LLOAD: u8 = 22;
pub(crate) const ALOAD: u8 = 25;
pub(crate) const LLOAD_0: u8 = 30;
pub(crate) const ALOAD_0: u8 = 42;
pub(crate) const ALOAD_3: u8 = 45;
pub(crate) const ISTORE: u8 = 54;
pub(crate) const LSTORE: u8 = 55;
pub(crate) const ASTORE: u8 = 58;
pub(crate) const ISTORE_0: u8 = 59;
pub(crate) const LSTORE_0: u8 = 63;
pub(crate) const ASTORE_3: u8 = 78;
pub(crate) const DUP: u8 = 89;
pub(crate) const SWAP: u8 = 95;
pub(crate) const JSR: u8 = 168;
pub(crate) const GOTO: u8 = 167;
pub(crate) const RET: u8 = 169;
pub(crate) const TABLESWITCH: u8 = 170;
pub(crate) const RETURN: u8 = 177;
pub(crate) const GETSTATIC: u8 = 178;
pub(crate) const PUTSTATIC: u8 = 179;
pub(crate) const PUTFIELD: u8 = 181;
pub(crate) const INVOKEVIRTUAL: u8 = 182;
pub(crate) const INVOKESPECIAL: u8 = 183;
pub(crate) const INVOKESTATIC: u8 = 184;
pub(crate) const INVOKEDYNAMIC: u8 = 186;
pub(crate) const NEW: u8 = 187;
pub(crate) const MONITORENTER: u8 = 194;
pub(crate) const MONITOREXIT: u8 = 195;
pub(crate) const ATHROW: u8 = 191;
pub(crate) const WIDE: u8 = 196;
pub(crate) const MULTIANEWARRAY: u8 = 197;
pub(crate) const GOTO_W: u8 = 200;
pub(crate) const JSR_W: u8 = 201;
pub(crate) const BIPUSH: u8 = 16;
pub(crate) const SIPUSH: u8 = 17;
pub(crate) const ICONST_0: u8 = 3;
pub(crate) const IINC: u8 = 132;
const LAST: u8 = JSR_W;

/// The rewriter's treatment of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Copy it.
    Plain,
    /// One of the six returns.
    Return,
    /// A jump with an offset of two bytes.
    Jump,
    /// A jump with an offset of four bytes.
    WideJump,
    /// `tableswitch` or `lookupswitch`.
    Switch,
    /// The prefix `wide`, which forms one instruction with the next one.
    Wide,
    /// Not an instruction that a class file may contain.
    Unknown,
}

/// The table row of one instruction.
#[derive(Clone, Copy)]
pub(crate) struct Instruction {
    pub(crate) kind: Kind,
    /// The length in bytes; 0 if it depends on the operands.
    pub(crate) length: u8,
    /// `true` if it can throw anything other than an error of the VM itself (no memory, a thread stopped from outside).
    pub(crate) throws: bool,
}

/// The rows of all byte values.
pub(crate) static INSTRUCTIONS: [Instruction; 256] = {
    let mut rows = [Instruction {
        kind: Kind::Unknown,
        length: 0,
        throws: false,
    }; 256];
    let mut opcode = 0;
    while opcode <= LAST {
        rows[opcode as usize] = Instruction {
            kind: kind(opcode),
            length: length(opcode),
            throws: throws(opcode),
        };
        opcode += 1;
    }
    rows
};

pub(crate) fn instruction(opcode: u8) -> &'static Instruction {
    &INSTRUCTIONS[usize::from(opcode)]
}

const fn kind(opcode: u8) -> Kind {
    match opcode {
        153..=JSR | 198 | 199 => Kind::Jump,
        TABLESWITCH | 171 => Kind::Switch,
        172..=RETURN => Kind::Return,
        WIDE => Kind::Wide,
        GOTO_W | JSR_W => Kind::WideJump,
        _ => Kind::Plain,
    }
}

const fn length(opcode: u8) -> u8 {
    match opcode {
        TABLESWITCH | 171 | WIDE => 0,
        BIPUSH | LDC | 21..=ALOAD | ISTORE..=ASTORE | RET | 188 => 2,
        SIPUSH | LDC_W | 20 | IINC | 153..=JSR | GETSTATIC..=INVOKESTATIC => 3,
        187 | 189 | 192 | 193 | 198 | 199 => 3,
        MULTIANEWARRAY => 4,
        185 | INVOKEDYNAMIC | GOTO_W | JSR_W => 5,
        _ => 1,
    }
}

/// Returns whether an instruction can throw. Constants, local variables, the stack, arithmetic, jumps and returns
/// cannot; loading a constant may run code, but only for kinds other than numbers and strings: the caller checks those
/// itself.
const fn throws(opcode: u8) -> bool {
    !matches!(
        opcode,
        0..=SIPUSH
            | 21..=ALOAD_3
            | ISTORE..=ASTORE_3
            | 87..=107
            | 110
            | 111
            | 114..=RETURN
            | WIDE
            | 198..=LAST
    )
}

/// Returns the number of stack slots that an instruction pops and pushes. `None` if that depends on the operands, the
/// values are moved, or the flow ends there.
pub(crate) fn stack_effect(opcode: u8) -> Option<(u32, u32)> {
    // Arithmetic alternates between one slot and two.
    let of_int = opcode.is_multiple_of(2);
    Some(match opcode {
        0 | IINC | GOTO | GOTO_W => (0, 0),
        1..=8 | 11..=13 | BIPUSH..=LDC_W | 21 | 23 | 26..=29 | 34..=37 | 187 => (0, 1),
        9 | 10 | 14 | 15 | 20 | 22 | 24 | 30..=33 | 38..=41 => (0, 2),
        46 | 48 | 50..=53 => (2, 1),
        47 | 49 => (2, 2),
        79 | 81 | 83..=86 => (3, 0),
        80 | 82 => (4, 0),
        87 | 153..=158 | TABLESWITCH | 171 | 194 | 195 | 198 | 199 => (1, 0),
        88 | 159..=166 => (2, 0),
        96..=115 if of_int => (2, 1),
        96..=115 => (4, 2),
        116..=119 if of_int => (1, 1),
        116..=119 => (2, 2),
        120..=125 if of_int => (2, 1),
        120..=125 => (3, 2),
        126..=131 if of_int => (2, 1),
        126..=131 => (4, 2),
        133 | 135 | 140 | 141 => (1, 2),
        134 | 139 | 145..=147 | 188..=190 | 192 | 193 => (1, 1),
        136 | 137 | 142 | 144 | 149 | 150 => (2, 1),
        138 | 143 => (2, 2),
        148 | 151 | 152 => (4, 1),
        _ => return None,
    })
}
