//! One method's code: the inserted calls, the handlers, and everything that refers to positions in the code.

use crate::constructor::{Constructor, Part, Range};
use crate::error::Fault;
use crate::frames::{self, HandlerFrame, KeptLocal, push_u2};
use crate::layout::{InsertedCode, Layout, MAX_CODE, length_at, may_throw};
use crate::opcodes::{ATHROW, GETSTATIC, INVOKEVIRTUAL, MONITORENTER, MONITOREXIT, NEW, PUTSTATIC};
use crate::pool::Pool;
use crate::reader::Reader;
use crate::tables;

/// The properties common to a class's methods.
pub(crate) struct ClassContext<'a> {
    pub(crate) pool: &'a Pool<'a>,
    /// `true` if the verifier uses stack maps for this class's version, and nothing else.
    pub(crate) has_stack_maps: bool,
    /// The pool's entry for `java/lang/Throwable`.
    pub(crate) throwable: u16,
    /// The pool's entry for the name of the attribute with the stack map.
    pub(crate) stack_map_name: u16,
}

/// The code inserted into one method.
pub(crate) struct Insertion<'a> {
    pub(crate) code: InsertedCode<'a>,
    /// The code of a handler before it rethrows the exception; `None` for no handler.
    pub(crate) exception_exit: Option<&'a [u8]>,
    /// The number of stack slots that the code needs in addition to the method's.
    pub(crate) stack: u16,
    /// The local variable that the code keeps a long in; `None` for no variable.
    pub(crate) kept: Option<&'a KeptLocal>,
    /// The descriptor, if the method is a constructor.
    pub(crate) constructor: Option<&'a [u8]>,
}

/// Memory that is reused for each method.
#[derive(Default)]
pub(crate) struct Scratch {
    layout: Layout,
    constructor: Constructor,
    program_ranges: Vec<Range>,
    covers: Vec<Cover>,
    /// The handlers of the program that get code.
    caught: Vec<u16>,
}

/// A part of the new code that one of the inserted handlers covers.
struct Cover {
    start: u32,
    end: u32,
    before_super: bool,
}

/// A Code attribute's contents, split into parts.
struct Code<'a> {
    max_stack: u16,
    max_locals: u16,
    bytes: &'a [u8],
    /// Entries of eight bytes.
    exceptions: &'a [u8],
    attribute_count: u16,
    /// The attributes, one after another.
    attributes: &'a [u8],
}

impl<'a> Code<'a> {
    fn parse(contents: &'a [u8]) -> Result<Self, Fault> {
        let mut reader = Reader::new(contents);
        let max_stack = reader.u16()?;
        let max_locals = reader.u16()?;
        let bytes = reader.sized()?;
        if bytes.is_empty() || bytes.len() > MAX_CODE {
            return Err(Fault::Malformed);
        }
        let count = reader.u16()?;
        let exceptions = reader.take(usize::from(count) * 8)?;
        let attribute_count = reader.u16()?;
        let attributes = &contents[reader.offset()..];
        Ok(Self {
            max_stack,
            max_locals,
            bytes,
            exceptions,
            attribute_count,
            attributes,
        })
    }

    /// Calls back for each attribute with its name's index in the pool, and its contents.
    fn each_attribute(
        &self,
        mut each: impl FnMut(u16, &'a [u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let mut reader = Reader::new(self.attributes);
        for _ in 0..self.attribute_count {
            let name = reader.u16()?;
            each(name, reader.sized()?)?;
        }
        match reader.is_at_end() {
            true => Ok(()),
            false => Err(Fault::Malformed),
        }
    }

    /// Returns the stack map, if there is one.
    fn stack_map(&self, context: &ClassContext) -> Result<Option<&'a [u8]>, Fault> {
        let mut found = None;
        self.each_attribute(|name, contents| {
            if context.has_stack_maps && context.pool.utf8(name)? == b"StackMapTable" {
                if found.is_some() {
                    return Err(Fault::Malformed);
                }
                found = Some(contents);
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// Returns the length of the code of a Code attribute, in bytes; 0 if it cannot be read.
pub(crate) fn code_length(contents: &[u8]) -> u32 {
    Reader::at(contents, 4).u32().unwrap_or(0)
}

/// Returns the number of local variables of a Code attribute; 0 if it cannot be read.
pub(crate) fn local_count(contents: &[u8]) -> u16 {
    Reader::at(contents, 2).u16().unwrap_or(0)
}

/// Returns `true` if the code is a single `return`.
pub(crate) fn is_empty(contents: &[u8]) -> bool {
    Code::parse(contents).is_ok_and(|code| code.bytes == [crate::opcodes::RETURN])
}

/// Returns `true` if the code of a Code attribute calls nothing, initializes no class and takes no lock.
pub(crate) fn is_leaf(contents: &[u8]) -> bool {
    let Ok(code) = Code::parse(contents) else {
        return false;
    };
    let mut pc = 0;
    while pc < code.bytes.len() {
        let leaves = matches!(
            code.bytes[pc],
            GETSTATIC | PUTSTATIC | INVOKEVIRTUAL..=NEW | MONITORENTER | MONITOREXIT
        );
        match length_at(code.bytes, pc) {
            Some(length) if !leaves => pc += length,
            _ => return false,
        }
    }
    true
}

/// Writes a Code attribute (its length and contents) with the insertion. After an error `out` holds a part.
pub(crate) fn rewrite(
    contents: &[u8],
    context: &ClassContext,
    insertion: &Insertion,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let code = Code::parse(contents)?;
    let stack_map = code.stack_map(context)?;
    scratch.find_caught(&code, context, insertion);
    let body_end =
        scratch
            .layout
            .lay_out(code.bytes, context.pool, insertion.code, &scratch.caught)?;
    scratch.find_covers(&code, context, insertion, stack_map, body_end)?;
    let handlers = scratch.handlers(body_end, insertion)?;
    let handler_length = insertion
        .exception_exit
        .map_or(0, |exception_exit| exception_exit.len() + 1);
    scratch.layout.total = body_end + handlers.len() * handler_length;
    if scratch.layout.total > MAX_CODE {
        return Err(Fault::TooLarge);
    }

    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let max_stack = code.max_stack.checked_add(insertion.stack);
    let mut max_stack = max_stack.ok_or(Fault::TooLarge)?;
    if !handlers.is_empty() {
        // The exception, and the slots for the exit call.
        max_stack = max_stack.max(1 + insertion.stack);
    }
    push_u2(max_stack, out)?;
    let kept = insertion.kept.map_or(0, |_| KeptLocal::SLOTS);
    let max_locals = code.max_locals.checked_add(kept);
    push_u2(max_locals.ok_or(Fault::TooLarge)?, out)?;
    push_u4(scratch.layout.total, out)?;
    out.extend_from_slice(insertion.code.entry);
    scratch.layout.write(code.bytes, insertion.code, out)?;
    for _ in &handlers {
        out.extend_from_slice(insertion.exception_exit.unwrap_or_default());
        out.push(ATHROW);
    }
    scratch.write_exceptions(&code, &handlers, out)?;
    let new_frames = NewFrames {
        handlers: &handlers,
        kept: insertion.kept,
    };
    write_attributes(&code, context, &scratch.layout, &new_frames, stack_map, out)?;
    let length = u32::try_from(out.len() - start - 4).map_err(|_| Fault::TooLarge)?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

impl Scratch {
    /// Finds the handlers of the program that can catch a StackOverflowError. As the code that they get may itself throw one,
    /// it is put only where no handler before it, nor the handler itself, catches that: otherwise they might catch it
    /// for ever.
    fn find_caught(&mut self, code: &Code, context: &ClassContext, insertion: &Insertion) {
        self.caught.clear();
        if insertion.code.caught.is_empty() {
            return;
        }
        let rows = code.exceptions.as_chunks::<8>().0;
        let rows = rows.iter().map(|&[a, b, c, d, e, f, g, h]| {
            let [start, end, handler, kind] =
                [[a, b], [c, d], [e, f], [g, h]].map(u16::from_be_bytes);
            (start..end, handler, kind)
        });
        for (_, handler, kind) in rows.clone() {
            let is_caught_before = || {
                rows.clone()
                    .any(|(range, other, _)| range.contains(&handler) && other <= handler)
            };
            if handler > 0 && catches_overflow(context.pool, kind) && !is_caught_before() {
                self.caught.push(handler);
            }
        }
        self.caught.sort_unstable();
        self.caught.dedup();
    }

    /// Computes the ranges that the inserted handlers cover.
    fn find_covers(
        &mut self,
        code: &Code,
        context: &ClassContext,
        insertion: &Insertion,
        stack_map: Option<&[u8]>,
        body_end: usize,
    ) -> Result<(), Fault> {
        self.covers.clear();
        self.program_ranges.clear();
        for entry in code.exceptions.as_chunks::<8>().0 {
            let [a, b, c, d, e, f, ..] = *entry;
            let [start, end, handler] = [[a, b], [c, d], [e, f]].map(u16::from_be_bytes);
            self.program_ranges.push((start, end, handler));
        }
        if insertion.exception_exit.is_none() || !self.layout.throws {
            return Ok(());
        }
        let end = u32::try_from(body_end).map_err(|_| Fault::TooLarge)?;
        let Some(descriptor) = insertion.constructor else {
            let start = u32::try_from(insertion.code.entry.len()).map_err(|_| Fault::TooLarge)?;
            self.covers.push(Cover {
                start,
                end,
                before_super: false,
            });
            return Ok(());
        };
        let known = self.constructor.follow(
            code.bytes,
            context.pool,
            descriptor,
            stack_map,
            &self.program_ranges,
            &self.layout,
        )?;
        if known {
            self.cover_constructor(code.bytes, context, end);
        }
        Ok(())
    }

    /// Covers the runs of instructions before and after the call of `super(...)`, each by its own handler. Without
    /// stack maps one handler serves both. Runs that cannot throw are omitted.
    fn cover_constructor(&mut self, code: &[u8], context: &ClassContext, end: u32) {
        // The start and the group of the run, and whether it may throw.
        let mut run: Option<(u32, bool, bool)> = None;
        let mut pc = 0;
        while pc < code.len() {
            let here = self.layout.instruction(pc).unwrap_or(end);
            let part = self.constructor.parts[pc];
            let group = match part {
                Part::Never => None,
                Part::Behind => Some(false),
                Part::Before | Part::BeforeQuietly => Some(context.has_stack_maps),
            };
            let throws = match part {
                Part::Never | Part::BeforeQuietly => false,
                Part::Before => true,
                Part::Behind => may_throw(code, pc, context.pool),
            };
            match &mut run {
                Some((_, before_super, run_throws)) if Some(*before_super) == group => {
                    *run_throws |= throws;
                }
                _ => {
                    self.end_run(run, here);
                    run = group.map(|before_super| (here, before_super, throws));
                }
            }
            pc = self.layout.next_instruction(pc);
        }
        self.end_run(run, end);
    }

    fn end_run(&mut self, run: Option<(u32, bool, bool)>, end: u32) {
        if let Some((start, before_super, true)) = run {
            self.covers.push(Cover {
                start,
                end,
                before_super,
            });
        }
    }

    /// Returns the handlers for the covered ranges, in the order in which they follow the body.
    fn handlers(&self, body_end: usize, insertion: &Insertion) -> Result<Vec<HandlerFrame>, Fault> {
        let length = insertion
            .exception_exit
            .map_or(0, |exception_exit| exception_exit.len() + 1);
        let mut position = body_end;
        let mut handlers = Vec::new();
        for before_super in [false, true] {
            if self.covers.iter().any(|c| c.before_super == before_super) {
                handlers.push(HandlerFrame {
                    position: u32::try_from(position).map_err(|_| Fault::TooLarge)?,
                    before_super,
                });
                position += length;
            }
        }
        Ok(handlers)
    }

    /// Writes the exception table. The program's own handlers come first: the inserted ones handle only exceptions that
    /// leave the method.
    fn write_exceptions(
        &self,
        code: &Code,
        handlers: &[HandlerFrame],
        out: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let layout = &self.layout;
        let count = self.program_ranges.len() + self.covers.len();
        push_u2(count, out)?;
        let rows = code.exceptions.as_chunks::<8>().0;
        for (&(start, end, handler), row) in self.program_ranges.iter().zip(rows) {
            let is_valid = usize::from(end) <= code.bytes.len()
                && layout.instruction(start.into()).is_some()
                && layout.instruction(handler.into()).is_some();
            if !is_valid {
                return Err(Fault::Malformed);
            }
            for place in [start, end, handler] {
                push_u2(layout.anywhere(place), out)?;
            }
            out.extend_from_slice(&row[6..]);
        }
        for cover in &self.covers {
            let handler = handlers
                .iter()
                .find(|handler| handler.before_super == cover.before_super)
                .ok_or(Fault::Malformed)?;
            for place in [cover.start, cover.end, handler.position, 0] {
                push_u2(place, out)?;
            }
        }
        Ok(())
    }
}

/// Returns `true` if a handler of this class, an index in the pool, catches a StackOverflowError.
fn catches_overflow(pool: &Pool, kind: u16) -> bool {
    const OVERFLOW_AND_SUPERCLASSES: [&[u8]; 4] = [
        b"java/lang/StackOverflowError",
        b"java/lang/VirtualMachineError",
        b"java/lang/Error",
        b"java/lang/Throwable",
    ];
    kind == 0
        || pool
            .class_name(kind)
            .is_ok_and(|name| OVERFLOW_AND_SUPERCLASSES.contains(&name))
}

/// The reasons why the stack map differs from the program's.
struct NewFrames<'a> {
    handlers: &'a [HandlerFrame],
    kept: Option<&'a KeptLocal>,
}

/// Writes the attributes of the code: the positions in known ones are updated, others are copied.
fn write_attributes(
    code: &Code,
    context: &ClassContext,
    layout: &Layout,
    new: &NewFrames,
    stack_map: Option<&[u8]>,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let count_at = out.len();
    out.extend_from_slice(&[0; 2]);
    let mut count = 0_u32;
    let NewFrames { handlers, kept } = *new;
    let mut handler_line = handlers.first().map(|handler| handler.position);
    code.each_attribute(|name, contents| {
        let start = out.len();
        out.extend_from_slice(&name.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        match context.pool.utf8(name)? {
            b"StackMapTable" if context.has_stack_maps => {
                frames::write(
                    Some(contents),
                    layout,
                    handlers,
                    kept,
                    context.throwable,
                    out,
                )?;
            }
            // Not read by the VM here: the first in a class that is too old for it, the second only on small devices.
            b"StackMapTable" | b"StackMap" if layout.total != code.bytes.len() => {
                out.truncate(start);
                return Ok(());
            }
            b"LineNumberTable" => tables::lines(contents, layout, handler_line.take(), out)?,
            b"LocalVariableTable" | b"LocalVariableTypeTable" => {
                tables::variables(contents, layout, out)?;
            }
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => {
                tables::type_annotations(contents, layout, out);
            }
            _ => out.extend_from_slice(contents),
        }
        end_attribute(start, out)?;
        count += 1;
        Ok(())
    })?;
    if stack_map.is_none() && context.has_stack_maps && !handlers.is_empty() {
        let start = out.len();
        out.extend_from_slice(&context.stack_map_name.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        frames::write(None, layout, handlers, kept, context.throwable, out)?;
        end_attribute(start, out)?;
        count += 1;
    }
    let count = u16::try_from(count).map_err(|_| Fault::TooLarge)?;
    out[count_at..count_at + 2].copy_from_slice(&count.to_be_bytes());
    Ok(())
}

/// Fills in the length of the attribute that starts at `start`.
fn end_attribute(start: usize, out: &mut [u8]) -> Result<(), Fault> {
    let length = u32::try_from(out.len() - start - 6).map_err(|_| Fault::TooLarge)?;
    out[start + 2..start + 6].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn push_u4(number: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let number = u32::try_from(number).map_err(|_| Fault::TooLarge)?;
    out.extend_from_slice(&number.to_be_bytes());
    Ok(())
}
