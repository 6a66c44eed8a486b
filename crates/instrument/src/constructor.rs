//! Finds the part of a constructor that runs before its `super(...)` or `this(...)`.
//!
//! The verifier has two kinds of states in a constructor, and a handler can be entered from only one of them. Nothing
//! in the code marks the call of `<init>` that matters: it is the one on the object that the constructor was called
//! with. So that object is followed, through the stack and the local variables, along every path from the constructor's
//! start to that call.

use crate::descriptor;
use crate::error::Fault;
use crate::frames::{self, ThisPlaces};
use crate::layout::{Layout, length_at, may_throw, padding, target};
use crate::opcodes::*;
use crate::pool::Pool;
use crate::reader::{i32_at, u16_at};

/// The constraint that an instruction puts on handlers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The object is constructed, as far as the verifier is concerned.
    Behind,
    /// The object is not constructed yet, and is in local variable 0.
    Before,
    /// As `Before`, but the instruction cannot throw.
    BeforeQuietly,
    /// No handler may cover this: it is the call itself, or the unconstructed object is somewhere else.
    Never,
}

/// The state of the analysis and its results. Reused for each constructor.
#[derive(Default)]
pub(crate) struct Constructor {
    /// By pc; meaningful only where instructions start.
    pub(crate) parts: Vec<Part>,
    seen: Vec<bool>,
    ways: Vec<(usize, ThisPlaces)>,
    /// The number of exception table entries that may still be examined; hostile code would take forever.
    budget: usize,
}

/// One entry of an exception table: from, to, handler.
pub(crate) type Range = (u16, u16, u16);

/// The constructor cannot be followed.
struct Lost;

impl Constructor {
    /// Fills in `parts`. Returns `false` if that was not possible, and no handler may cover any of it.
    pub(crate) fn follow(
        &mut self,
        code: &[u8],
        pool: &Pool,
        method_descriptor: &[u8],
        frames: Option<&[u8]>,
        ranges: &[Range],
        layout: &Layout,
    ) -> Result<bool, Fault> {
        self.parts.clear();
        self.parts.resize(code.len(), Part::Behind);
        self.seen.clear();
        self.seen.resize(code.len(), false);
        self.ways.clear();
        self.budget = 1 << 20;
        let Some(arguments) = descriptor::arguments(method_descriptor) else {
            return Err(Fault::Malformed);
        };
        let start = ThisPlaces {
            depth: 0,
            stack: 0,
            locals: 1,
        };
        self.ways.push((0, start));
        // Last in, first out: positions from the class file come before those found on the way.
        if let Some(table) = frames {
            let ways = &mut self.ways;
            frames::before_super(table, &arguments, &mut |pc, places| ways.push((pc, places)))?;
        }
        while let Some((pc, places)) = self.ways.pop() {
            if layout.instruction(pc).is_none() {
                return Err(Fault::Malformed);
            }
            if self.go(code, pool, pc, places, ranges).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Follows the code from `pc` until the flow ends, the object is constructed, or the position is known.
    fn go(
        &mut self,
        code: &[u8],
        pool: &Pool,
        mut pc: usize,
        mut places: ThisPlaces,
        ranges: &[Range],
    ) -> Result<(), Lost> {
        while let Some(seen) = self.seen.get_mut(pc) {
            if std::mem::replace(seen, true) {
                return Ok(());
            }
            self.enter_handlers(pc, places, ranges)?;
            let length = length_at(code, pc).ok_or(Lost)?;
            let quiet = !may_throw(code, pc, pool);
            self.parts[pc] = match (places.locals & 1 != 0, quiet) {
                (false, _) => Part::Never,
                (true, false) => Part::Before,
                (true, true) => Part::BeforeQuietly,
            };
            let step = places.step(code, pool, pc)?;
            match step {
                Step::Constructs => {
                    self.parts[pc] = Part::Never;
                    return Ok(());
                }
                // A field of its own class, which javac uses to keep the outer object before `super(...)`.
                Step::StoresOwnField if self.parts[pc] == Part::Before => {
                    self.parts[pc] = Part::BeforeQuietly;
                }
                Step::StoresOwnField | Step::On => {}
                Step::Ends => return Ok(()),
            }
            if !self.branch(code, pc, length, places)? {
                return Ok(());
            }
            pc += length;
        }
        Err(Lost)
    }

    /// Follows the program's handlers to which the instruction may branch.
    fn enter_handlers(
        &mut self,
        pc: usize,
        places: ThisPlaces,
        ranges: &[Range],
    ) -> Result<(), Lost> {
        self.budget = self.budget.checked_sub(ranges.len()).ok_or(Lost)?;
        for &(from, to, handler) in ranges {
            let handler = usize::from(handler);
            let covered = (usize::from(from)..usize::from(to)).contains(&pc);
            if covered && self.seen.get(handler) == Some(&false) {
                let thrown = ThisPlaces {
                    depth: 1,
                    stack: 0,
                    locals: places.locals,
                };
                self.ways.push((handler, thrown));
            }
        }
        Ok(())
    }

    /// Notes the target of a jump. Returns `true` if the flow also continues after it.
    fn branch(
        &mut self,
        code: &[u8],
        pc: usize,
        length: usize,
        places: ThisPlaces,
    ) -> Result<bool, Lost> {
        let opcode = code[pc];
        match instruction(opcode).kind {
            Kind::Jump => {
                let offset = u16_at(code, pc + 1).ok_or(Lost)?.cast_signed();
                self.note(pc, i32::from(offset), places)?;
                Ok(opcode != GOTO)
            }
            Kind::WideJump => {
                self.note(pc, i32_at(code, pc + 1).ok_or(Lost)?, places)?;
                Ok(false)
            }
            Kind::Switch => {
                let operands = pc + 1 + padding(pc);
                self.note(pc, i32_at(code, operands).ok_or(Lost)?, places)?;
                let (first, stride) = if opcode == TABLESWITCH {
                    (operands + 12, 4)
                } else {
                    (operands + 12, 8)
                };
                for row in (first..pc + length).step_by(stride) {
                    self.note(pc, i32_at(code, row).ok_or(Lost)?, places)?;
                }
                Ok(false)
            }
            _ => Ok(true),
        }
    }

    fn note(&mut self, pc: usize, offset: i32, places: ThisPlaces) -> Result<(), Lost> {
        let to = target(pc, offset).ok_or(Lost)?;
        match self.seen.get(to) {
            Some(true) => {}
            Some(false) => self.ways.push((to, places)),
            None => return Err(Lost),
        }
        Ok(())
    }
}

/// The effect of an instruction on the unconstructed object.
enum Step {
    /// It stays unconstructed.
    On,
    /// The instruction is the call of `super(...)` or `this(...)`.
    Constructs,
    /// The instruction stores one of the object's own fields.
    StoresOwnField,
    /// The flow ends.
    Ends,
}

impl ThisPlaces {
    fn step(&mut self, code: &[u8], pool: &Pool, pc: usize) -> Result<Step, Lost> {
        let opcode = code[pc];
        let operand = || u16_at(code, pc + 1).ok_or(Lost);
        match opcode {
            ALOAD => self.push(self.in_local(usize::from(code[pc + 1])))?,
            ALOAD_0..=ALOAD_3 => self.push(self.in_local(usize::from(opcode - ALOAD_0)))?,
            ISTORE..=ASTORE => self.store(opcode - ISTORE, usize::from(code[pc + 1]))?,
            ISTORE_0..=ASTORE_3 => {
                let which = opcode - ISTORE_0;
                self.store(which / 4, usize::from(which % 4))?;
            }
            DUP..=SWAP => self.shuffle(opcode)?,
            WIDE => match code[pc + 1] {
                ALOAD => {
                    let local = u16_at(code, pc + 2).ok_or(Lost)?;
                    self.push(self.in_local(usize::from(local)))?;
                }
                opcode @ ISTORE..=ASTORE => {
                    let local = u16_at(code, pc + 2).ok_or(Lost)?;
                    self.store(opcode - ISTORE, usize::from(local))?;
                }
                RET => return Err(Lost),
                opcode => {
                    let (off, on) = stack_effect(opcode).ok_or(Lost)?;
                    self.change(off, on)?;
                }
            },
            GETSTATIC..=PUTFIELD => return self.field(opcode, operand()?, pool),
            INVOKEVIRTUAL..=INVOKEDYNAMIC => return self.call(opcode, operand()?, pool),
            MULTIANEWARRAY => self.change(u32::from(code[pc + 3]), 1)?,
            172..=RETURN | ATHROW => return Ok(Step::Ends),
            JSR | JSR_W | RET => return Err(Lost),
            _ => {
                let (off, on) = stack_effect(opcode).ok_or(Lost)?;
                self.change(off, on)?;
            }
        }
        Ok(Step::On)
    }

    fn in_local(&self, local: usize) -> bool {
        local < 64 && self.locals >> local & 1 != 0
    }

    fn push(&mut self, is_this: bool) -> Result<(), Lost> {
        if is_this {
            // Real code has it near the bottom.
            self.stack |= 1_u64.checked_shl(self.depth).ok_or(Lost)?;
        }
        self.depth += 1;
        Ok(())
    }

    fn pop(&mut self) -> Result<bool, Lost> {
        self.depth = self.depth.checked_sub(1).ok_or(Lost)?;
        let bit = 1_u64.checked_shl(self.depth).unwrap_or(0);
        let is_this = self.stack & bit != 0;
        self.stack &= !bit;
        Ok(is_this)
    }

    fn change(&mut self, off: u32, on: u32) -> Result<(), Lost> {
        self.depth = self.depth.checked_sub(off).ok_or(Lost)?;
        if self.depth < 64 {
            self.stack &= (1 << self.depth) - 1;
        }
        self.depth += on;
        Ok(())
    }

    /// Handles a store; `kind`: 0 to 4 for int, long, float, double, reference.
    fn store(&mut self, kind: u8, local: usize) -> Result<(), Lost> {
        let wide = matches!(kind, 1 | 3);
        let is_this = self.pop()?;
        if wide {
            self.pop()?;
        }
        for local in local..=local + usize::from(wide) {
            let bit = u32::try_from(local).ok().and_then(|n| 1_u64.checked_shl(n));
            match (bit, is_this) {
                (Some(bit), true) => self.locals |= bit,
                (Some(bit), false) => self.locals &= !bit,
                (None, true) => return Err(Lost),
                (None, false) => {}
            }
        }
        Ok(())
    }

    /// Handles `dup` and its kin: which of the popped values are pushed again, counted from the top.
    fn shuffle(&mut self, opcode: u8) -> Result<(), Lost> {
        let (taken, put): (usize, &[usize]) = match opcode - DUP {
            0 => (1, &[0, 0]),
            1 => (2, &[0, 1, 0]),
            2 => (3, &[0, 2, 1, 0]),
            3 => (2, &[1, 0, 1, 0]),
            4 => (3, &[1, 0, 2, 1, 0]),
            5 => (4, &[1, 0, 3, 2, 1, 0]),
            _ => (2, &[0, 1]),
        };
        let mut values = [false; 4];
        for value in &mut values[..taken] {
            *value = self.pop()?;
        }
        put.iter().try_for_each(|&value| self.push(values[value]))
    }

    fn field(&mut self, opcode: u8, index: u16, pool: &Pool) -> Result<Step, Lost> {
        let (_, kind) = pool.member(index).map_err(|_| Lost)?;
        let size = descriptor::size(kind);
        match opcode - GETSTATIC {
            0 => self.change(0, size)?,
            1 => self.change(size, 0)?,
            2 => self.change(1, size)?,
            _ => {
                self.change(size, 0)?;
                if self.pop()? {
                    return Ok(Step::StoresOwnField);
                }
            }
        }
        Ok(Step::On)
    }

    fn call(&mut self, opcode: u8, index: u16, pool: &Pool) -> Result<Step, Lost> {
        let (name, signature) = pool.member(index).map_err(|_| Lost)?;
        let (arguments, result) = descriptor::slots(signature).ok_or(Lost)?;
        self.change(arguments, 0)?;
        if !matches!(opcode, INVOKESTATIC | INVOKEDYNAMIC) {
            let on_this = self.pop()?;
            if on_this && opcode == INVOKESPECIAL && name == b"<init>" {
                return Ok(Step::Constructs);
            }
        }
        self.change(0, result)?;
        Ok(Step::On)
    }
}
