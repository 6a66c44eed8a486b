//! Stack maps: the verifier's information about the targets of jumps.

use crate::error::Fault;
use crate::layout::Layout;
use crate::reader::Reader;

const TOP: u8 = 0;
const INTEGER: u8 = 1;
const FLOAT: u8 = 2;
const DOUBLE: u8 = 3;
const LONG: u8 = 4;
const UNINITIALIZED_THIS: u8 = 6;
const OBJECT: u8 = 7;
const UNINITIALIZED: u8 = 8;
const SAME_LOCALS_EXTENDED: u8 = 247;
const SAME_EXTENDED: u8 = 251;
const FULL: u8 = 255;
/// The number of distances that small frames can encode in their kind.
const SMALL: u8 = 64;

/// A frame to be added after all others.
pub(crate) struct HandlerFrame {
    /// Its position in the new code.
    pub(crate) position: u32,
    /// `true` if the object is not constructed yet.
    pub(crate) before_super: bool,
}

/// A frame of the table, with its types not parsed.
struct MapFrame<'a> {
    kind: u8,
    /// The instruction that it describes.
    pc: usize,
    /// For a full frame the locals and the stack; for the others those that it adds.
    locals: Types<'a>,
    stack: Types<'a>,
}

/// A number of verification types, in encoded form.
#[derive(Clone, Copy)]
struct Types<'a> {
    count: u16,
    bytes: &'a [u8],
}

const NONE: Types = Types {
    count: 0,
    bytes: &[],
};

impl<'a> Types<'a> {
    fn read(reader: &mut Reader<'a>, table: &'a [u8], count: u16) -> Result<Self, Fault> {
        let start = reader.offset();
        for _ in 0..count {
            match reader.u8()? {
                OBJECT | UNINITIALIZED => {
                    reader.u16()?;
                }
                0..=UNINITIALIZED_THIS => {}
                _ => return Err(Fault::Malformed),
            }
        }
        let bytes = &table[start..reader.offset()];
        Ok(Self { count, bytes })
    }

    /// Iterates over each type's tag and the bytes after it.
    fn iter(self) -> impl Iterator<Item = (u8, &'a [u8])> {
        let mut rest = self.bytes;
        std::iter::from_fn(move || {
            let (&tag, after) = rest.split_first()?;
            let length = if matches!(tag, OBJECT | UNINITIALIZED) {
                2
            } else {
                0
            };
            let (operand, after) = after.split_at_checked(length)?;
            rest = after;
            Some((tag, operand))
        })
    }

    fn write(self, layout: &Layout, out: &mut Vec<u8>) -> Result<(), Fault> {
        for (tag, operand) in self.iter() {
            out.push(tag);
            match <[u8; 2]>::try_from(operand) {
                Ok(new) if tag == UNINITIALIZED => {
                    let new = usize::from(u16::from_be_bytes(new));
                    let position = layout.instruction(new).ok_or(Fault::Malformed)?;
                    push_u2(position, out)?;
                }
                _ => out.extend_from_slice(operand),
            }
        }
        Ok(())
    }
}

/// The frames of a StackMapTable, in order.
struct MapFrames<'a> {
    table: &'a [u8],
    reader: Reader<'a>,
    left: u16,
    /// The pc of the previous frame.
    before: Option<usize>,
}

impl<'a> MapFrames<'a> {
    fn new(table: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(table);
        let left = reader.u16()?;
        Ok(Self {
            table,
            reader,
            left,
            before: None,
        })
    }

    /// Returns the next frame. After the last there must be nothing.
    fn next(&mut self) -> Result<Option<MapFrame<'a>>, Fault> {
        if self.left == 0 {
            return match self.reader.is_at_end() {
                true => Ok(None),
                false => Err(Fault::Malformed),
            };
        }
        self.left -= 1;
        let (table, reader) = (self.table, &mut self.reader);
        let kind = reader.u8()?;
        let delta = match kind {
            0..64 => u16::from(kind),
            64..128 => u16::from(kind - SMALL),
            SAME_LOCALS_EXTENDED..=FULL => reader.u16()?,
            _ => return Err(Fault::Malformed),
        };
        let (mut locals, mut stack) = (NONE, NONE);
        match kind {
            64..128 | SAME_LOCALS_EXTENDED => stack = Types::read(reader, table, 1)?,
            252..FULL => locals = Types::read(reader, table, u16::from(kind - SAME_EXTENDED))?,
            FULL => {
                let count = reader.u16()?;
                locals = Types::read(reader, table, count)?;
                let count = reader.u16()?;
                stack = Types::read(reader, table, count)?;
            }
            _ => {}
        }
        let pc = usize::from(delta) + self.before.map_or(0, |before| before + 1);
        self.before = Some(pc);
        Ok(Some(MapFrame {
            kind,
            pc,
            locals,
            stack,
        }))
    }
}

/// A local variable that inserted code keeps a long in, from the method's entry on. It comes after all others, so a frame must
/// name all of them.
pub(crate) struct KeptLocal {
    /// Its index: the number of the method's own local variables.
    pub(crate) index: u16,
    /// The types of the variables that the method starts with.
    pub(crate) at_start: Vec<LocalType>,
}

/// The type of a local variable.
#[derive(Clone, Copy)]
pub(crate) struct LocalType {
    tag: u8,
    /// The class, or the `new` of an uninitialized object; 0 for other types.
    operand: u16,
}

impl KeptLocal {
    /// The number of slots that it takes.
    pub(crate) const SLOTS: u16 = 2;

    fn write(&self, locals: &[LocalType], layout: &Layout, out: &mut Vec<u8>) -> Result<(), Fault> {
        let used: u32 = locals.iter().map(|local| u32::from(local.slots())).sum();
        let unused = u32::from(self.index)
            .checked_sub(used)
            .ok_or(Fault::Malformed)?;
        push_u2(locals.len() + unused as usize + 1, out)?;
        for local in locals {
            local.write(layout, out)?;
        }
        out.resize(out.len() + unused as usize, TOP);
        out.push(LONG);
        Ok(())
    }
}

impl LocalType {
    /// The object of a constructor that has not called `super(...)` yet.
    pub(crate) const UNINITIALIZED_THIS: Self = Self {
        tag: UNINITIALIZED_THIS,
        operand: 0,
    };

    /// Returns the type of an object of the class at an index of the pool.
    pub(crate) fn object(class: u16) -> Self {
        Self {
            tag: OBJECT,
            operand: class,
        }
    }

    /// Returns the type for a letter of a descriptor that stands for a number.
    pub(crate) fn number(letter: u8) -> Self {
        let tag = match letter {
            b'J' => LONG,
            b'D' => DOUBLE,
            b'F' => FLOAT,
            _ => INTEGER,
        };
        Self { tag, operand: 0 }
    }

    fn slots(self) -> u8 {
        if matches!(self.tag, LONG | DOUBLE) {
            2
        } else {
            1
        }
    }

    fn write(self, layout: &Layout, out: &mut Vec<u8>) -> Result<(), Fault> {
        let bytes = self.operand.to_be_bytes();
        let length = if matches!(self.tag, OBJECT | UNINITIALIZED) {
            2
        } else {
            0
        };
        let count = 1;
        let bytes = [self.tag, bytes[0], bytes[1]];
        Types {
            count,
            bytes: &bytes[..=length],
        }
        .write(layout, out)
    }
}

/// The local variables at each frame in turn, as their types.
struct FrameLocals(Vec<LocalType>);

impl FrameLocals {
    /// Continues to a frame.
    fn advance(&mut self, frame: &MapFrame) -> Result<(), Fault> {
        let locals = &mut self.0;
        match frame.kind {
            248..SAME_EXTENDED => {
                let kept = locals
                    .len()
                    .checked_sub(usize::from(SAME_EXTENDED - frame.kind));
                locals.truncate(kept.ok_or(Fault::Malformed)?);
            }
            FULL => locals.clear(),
            _ => {}
        }
        locals.extend(frame.locals.iter().map(|(tag, operand)| LocalType {
            tag,
            operand: <[u8; 2]>::try_from(operand).map_or(0, u16::from_be_bytes),
        }));
        Ok(())
    }
}

/// Rewrites the contents of a StackMapTable: the frames of `table`, if there is one, at their new positions, followed
/// by `handlers`, for each of which only the exception (of the class `throwable`) and the `kept` variable are known.
pub(crate) fn write(
    table: Option<&[u8]>,
    layout: &Layout,
    handlers: &[HandlerFrame],
    kept: Option<&KeptLocal>,
    throwable: u16,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let mut frames = MapFrames::new(table.unwrap_or(&[0, 0]))?;
    push_u2(usize::from(frames.left) + handlers.len(), out)?;
    let mut before = None;
    let mut locals = FrameLocals(kept.map_or(Vec::new(), |kept| kept.at_start.clone()));
    while let Some(frame) = frames.next()? {
        let position = layout.instruction(frame.pc).ok_or(Fault::Malformed)?;
        let distance = distance(before, position)?;
        match kept {
            Some(kept) => {
                locals.advance(&frame)?;
                out.push(FULL);
                push_u2(distance, out)?;
                kept.write(&locals.0, layout, out)?;
                push_u2(frame.stack.count, out)?;
                frame.stack.write(layout, out)?;
            }
            None => write_frame(&frame, distance, layout, out)?,
        }
        before = Some(position);
    }
    for handler in handlers {
        out.push(FULL);
        push_u2(distance(before, handler.position)?, out)?;
        let known = [LocalType::UNINITIALIZED_THIS];
        let known = if handler.before_super {
            &known[..]
        } else {
            &[]
        };
        match kept {
            Some(kept) => kept.write(known, layout, out)?,
            None => {
                push_u2(known.len(), out)?;
                known
                    .iter()
                    .try_for_each(|local| local.write(layout, out))?;
            }
        }
        out.extend_from_slice(&[0, 1, OBJECT]);
        out.extend_from_slice(&throwable.to_be_bytes());
        before = Some(handler.position);
    }
    Ok(())
}

/// Returns a frame's encoded distance: one less than the bytes from the previous frame, except for the first.
fn distance(before: Option<u32>, position: u32) -> Result<u16, Fault> {
    let start = before.map_or(0, |before| before + 1);
    let distance = position.checked_sub(start).ok_or(Fault::Malformed)?;
    u16::try_from(distance).map_err(|_| Fault::TooLarge)
}

fn write_frame(
    frame: &MapFrame,
    distance: u16,
    layout: &Layout,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    // Code only grows, so a frame may need the long form instead of a short one, but never the reverse.
    let short = u8::try_from(distance).ok().filter(|&short| short < SMALL);
    let kind = match (frame.kind, short) {
        (0..64, Some(short)) => short,
        (64..128, Some(short)) => SMALL + short,
        (0..64, None) => SAME_EXTENDED,
        (64..128, None) => SAME_LOCALS_EXTENDED,
        (other, _) => other,
    };
    out.push(kind);
    if kind >= SAME_LOCALS_EXTENDED {
        out.extend_from_slice(&distance.to_be_bytes());
    }
    if kind == FULL {
        push_u2(frame.locals.count, out)?;
    }
    frame.locals.write(layout, out)?;
    if kind == FULL {
        push_u2(frame.stack.count, out)?;
    }
    frame.stack.write(layout, out)
}

/// Writes a number of two bytes.
pub(crate) fn push_u2(number: impl TryInto<u16>, out: &mut Vec<u8>) -> Result<(), Fault> {
    let number: u16 = number.try_into().map_err(|_| Fault::TooLarge)?;
    out.extend_from_slice(&number.to_be_bytes());
    Ok(())
}

/// The places of an unconstructed object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThisPlaces {
    /// The number of stack slots in use.
    pub(crate) depth: u32,
    /// Bit n is set if it is in slot n of the stack.
    pub(crate) stack: u64,
    /// Bit n is set if it is in local variable n.
    pub(crate) locals: u64,
}

/// Calls `each` for every frame with an unconstructed object. `arguments` are the types of the constructor's arguments,
/// one letter each, without the object itself.
pub(crate) fn before_super(
    table: &[u8],
    arguments: &[u8],
    each: &mut dyn FnMut(usize, ThisPlaces),
) -> Result<(), Fault> {
    // Only the tags matter here.
    let mut locals = vec![UNINITIALIZED_THIS];
    locals.extend(arguments.iter().map(|kind| match kind {
        b'J' => LONG,
        b'D' => DOUBLE,
        _ => OBJECT,
    }));
    let slots = |tags: &mut dyn Iterator<Item = u8>| {
        let (mut slot, mut places) = (0_u32, 0_u64);
        for tag in tags {
            if tag == UNINITIALIZED_THIS {
                places |= 1_u64.checked_shl(slot).unwrap_or(0);
            }
            slot += if matches!(tag, LONG | DOUBLE) { 2 } else { 1 };
        }
        (slot, places)
    };
    let mut frames = MapFrames::new(table)?;
    while let Some(frame) = frames.next()? {
        match frame.kind {
            248..SAME_EXTENDED => {
                let kept = locals
                    .len()
                    .checked_sub(usize::from(SAME_EXTENDED - frame.kind));
                locals.truncate(kept.ok_or(Fault::Malformed)?);
            }
            FULL => locals.clear(),
            _ => {}
        }
        locals.extend(frame.locals.iter().map(|(tag, _)| tag));
        let (_, in_locals) = slots(&mut locals.iter().copied());
        let (depth, in_stack) = slots(&mut frame.stack.iter().map(|(tag, _)| tag));
        if in_locals | in_stack != 0 {
            each(
                frame.pc,
                ThisPlaces {
                    depth,
                    stack: in_stack,
                    locals: in_locals,
                },
            );
        }
    }
    Ok(())
}
