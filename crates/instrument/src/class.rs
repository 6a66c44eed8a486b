//! The class file: chooses the methods that get the calls, and writes the file with their new code.

use crate::code::{self, ClassContext, Insertion, Scratch};
use crate::descriptor;
use crate::error::{Error, Fault};
use crate::frames::{KeptLocal, LocalType};
use crate::hooks::Hooks;
use crate::instrumented::{Instrumented, LeftOut, Reason};
use crate::layout::InsertedCode;
use crate::method::{Annotations, ClassInfo, Method};
use crate::opcodes::{
    BIPUSH, ICONST_0, INVOKESTATIC, LDC, LDC_W, LLOAD, LLOAD_0, LSTORE, LSTORE_0, SIPUSH, WIDE,
};
use crate::pool::{Additions, Pool};
use crate::reader::Reader;

const MAGIC: u32 = 0xCAFE_BABE;
/// The first version for which the verifier reads stack maps.
const FIRST_WITH_STACK_MAPS: u16 = 50;
const ACC_NATIVE: u16 = 0x0100;
const ACC_STATIC: u16 = 0x0008;
const ACC_SYNCHRONIZED: u16 = 0x0020;
/// The most local variables of a method whose entry's result is kept: each frame of its stack map names all of them.
const MOST_LOCALS: u16 = 1_000;
const INTRINSIC: [&[u8]; 2] = [
    b"Ljdk/internal/vm/annotation/IntrinsicCandidate;",
    b"Ljdk/internal/HotSpotIntrinsicCandidate;",
];

/// Returns the name of the class in these bytes, with slashes, in modified UTF-8.
///
/// # Errors
///
/// The bytes up to the name are not those of a class file.
pub fn class_name(class: &[u8]) -> Result<&[u8], Error> {
    Ok(Class::parse(class)?.info.name)
}

/// Inserts the calls of `hooks` into the methods of `class`. `number` is called once for each method that can be
/// instrumented, in the order of the class file, and returns the number that the calls pass, or `None` to leave the
/// method unchanged. A method with a number may still turn out to be too large, and is then listed in `left_out`.
///
/// # Errors
///
/// The bytes are not a class file that can be read. The VM will report the fault.
pub fn instrument(
    class: &[u8],
    hooks: &Hooks,
    number: &mut dyn FnMut(&ClassInfo, &Method) -> Option<u32>,
) -> Result<Instrumented, Error> {
    let class = Class::parse(class)?;
    if class.info.name == hooks.tracker {
        return Ok(Instrumented::default());
    }
    let mut additions = Additions::after(class.pool.count());
    let calls = Calls::add(hooks, &mut additions);
    let context = class.context(calls.as_ref());
    let mut left_out = Vec::new();
    let mut copy = Copy::new(class.bytes);
    let mut scratch = Scratch::default();
    let mut instrumented = false;
    class.each_method(|method, code| {
        let mut leave_out = |reason| left_out.push(LeftOut::new(method, reason));
        let Some(code) = code else {
            if method.access & ACC_NATIVE != 0 {
                leave_out(Reason::Native);
            }
            return;
        };
        if let Some(reason) = class.obstacle(method, code.contents) {
            return leave_out(reason);
        }
        let Some(calls) = &calls else {
            return leave_out(Reason::FullConstantPool);
        };
        let Some(number) = number(&class.info, method) else {
            return;
        };
        let locals = code::local_count(code.contents);
        if calls.keeps && locals > MOST_LOCALS {
            return leave_out(Reason::TooLarge);
        }
        let is_leaf = method.access & ACC_SYNCHRONIZED == 0 && code::is_leaf(code.contents);
        let calls = match &calls.leaf {
            Some(leaf) if is_leaf => leaf,
            _ => calls,
        };
        let method_calls = calls.with(number, locals, &mut additions);
        let Some(inserted) = method_calls else {
            return leave_out(Reason::FullConstantPool);
        };
        let kept = match calls.keeps {
            true => {
                let Some(at_start) = class.locals_at_start(method, &mut additions) else {
                    return leave_out(Reason::FullConstantPool);
                };
                Some(KeptLocal {
                    index: locals,
                    at_start,
                })
            }
            false => None,
        };
        let insertion = Insertion {
            code: InsertedCode {
                entry: inserted.entry.bytes(),
                exit: inserted.exit.bytes(),
                caught: inserted.caught.bytes(),
            },
            exception_exit: class
                .may_have_handler(method)
                .then(|| inserted.exception_exit.bytes()),
            stack: if kept.is_some() { KeptLocal::SLOTS } else { 1 },
            kept: kept.as_ref(),
            constructor: (method.name == b"<init>").then_some(method.descriptor),
        };
        match copy.replace(&code, &context, &insertion, &mut scratch) {
            Ok(()) => instrumented = true,
            Err(fault) => leave_out(fault.into()),
        }
    })?;
    let class = instrumented.then(|| copy.finish(class.pool.end, &additions));
    Ok(Instrumented { class, left_out })
}

/// Disassembles and reassembles every method's code without inserting anything: for tests, which expect the same bytes.
///
/// # Errors
///
/// The bytes are not a class file that can be read.
#[doc(hidden)]
pub fn round_trip(class: &[u8]) -> Result<Vec<u8>, Error> {
    let class = Class::parse(class)?;
    let context = class.context(None);
    let nothing = Insertion {
        code: InsertedCode {
            entry: &[],
            exit: &[],
            caught: &[],
        },
        exception_exit: None,
        stack: 0,
        kept: None,
        constructor: None,
    };
    let mut copy = Copy::new(class.bytes);
    let mut scratch = Scratch::default();
    class.each_method(|_, code| {
        if let Some(code) = code {
            // Code that cannot be read stays unchanged.
            let _ = copy.replace(&code, &context, &nothing, &mut scratch);
        }
    })?;
    Ok(copy.finish(class.pool.end, &Additions::after(class.pool.count())))
}

/// A class file, parsed up to its methods.
pub(crate) struct Class<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) pool: Pool<'a>,
    info: ClassInfo<'a>,
    /// The class itself in the pool.
    this: u16,
    minor: u16,
    /// The offset of the fields.
    pub(crate) fields: usize,
}

/// A Code attribute and its offset.
struct CodeAttribute<'a> {
    /// The offset of the length, which is followed by the contents.
    offset: usize,
    contents: &'a [u8],
}

impl<'a> Class<'a> {
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(bytes);
        if reader.u32()? != MAGIC {
            return Err(Error::NotAClassFile);
        }
        let minor = reader.u16()?;
        let major = reader.u16()?;
        let pool = Pool::parse(bytes, reader.offset())?;
        let mut reader = Reader::at(bytes, pool.end);
        let access = reader.u16()?;
        let this = reader.u16()?;
        let name = pool.class_name(this)?;
        let super_name = match reader.u16()? {
            0 => None,
            index => Some(pool.class_name(index)?),
        };
        let interfaces = reader.u16()?;
        reader.take(usize::from(interfaces) * 2)?;
        Ok(Self {
            bytes,
            pool,
            info: ClassInfo {
                name,
                super_name,
                access,
                major,
            },
            this,
            minor,
            fields: reader.offset(),
        })
    }

    fn context(&self, calls: Option<&Calls>) -> ClassContext<'_> {
        ClassContext {
            pool: &self.pool,
            has_stack_maps: self.has_stack_maps(),
            throwable: calls.map_or(0, |calls| calls.throwable),
            stack_map_name: calls.map_or(0, |calls| calls.stack_map_name),
        }
    }

    /// Calls back for each method, with its code if it has any.
    fn each_method<'s>(
        &'s self,
        mut each: impl FnMut(&Method<'s>, Option<CodeAttribute<'s>>),
    ) -> Result<(), Error> {
        let mut reader = Reader::at(self.bytes, self.fields);
        for _ in 0..reader.u16()? {
            reader.take(6)?;
            skip_attributes(&mut reader)?;
        }
        for index in 0..reader.u16()? {
            let access = reader.u16()?;
            let name = self.pool.utf8(reader.u16()?)?;
            let descriptor = self.pool.utf8(reader.u16()?)?;
            let mut code = None;
            let mut annotations = Annotations {
                pool: &self.pool,
                contents: &[],
            };
            for _ in 0..reader.u16()? {
                let attribute = self.pool.utf8(reader.u16()?)?;
                let offset = reader.offset();
                let contents = reader.sized()?;
                match attribute {
                    b"Code" => code = Some(CodeAttribute { offset, contents }),
                    b"RuntimeVisibleAnnotations" => annotations.contents = contents,
                    _ => {}
                }
            }
            let method = Method {
                index,
                name,
                descriptor,
                access,
                code_length: code
                    .as_ref()
                    .map_or(0, |code| code::code_length(code.contents)),
                is_intrinsic: INTRINSIC.iter().any(|mark| annotations.contains(mark)),
                annotations,
                code: code.as_ref().map_or(&[], |code| code.contents),
            };
            each(&method, code);
        }
        skip_attributes(&mut reader)?;
        match reader.is_at_end() {
            true => Ok(()),
            false => Err(Error::TrailingBytes {
                offset: reader.offset(),
            }),
        }
    }

    /// Returns the reason a method with code cannot be instrumented, as far as it is known before the code is read.
    fn obstacle(&self, method: &Method, code: &[u8]) -> Option<Reason> {
        let is_finalizer = method.name == b"finalize" && method.descriptor == b"()V";
        if method.is_intrinsic {
            Some(Reason::Intrinsic)
        } else if self.info.major < 45 || (self.info.major == 45 && self.minor < 3) {
            Some(Reason::TooOld)
        } else if is_finalizer && code::is_empty(code) {
            Some(Reason::EmptyFinalizer)
        } else {
            None
        }
    }

    /// Returns the types of the local variables that a method starts with: the object and the arguments. `None` if the pool has
    /// no room for a class, or the descriptor is malformed.
    fn locals_at_start(&self, method: &Method, pool: &mut Additions) -> Option<Vec<LocalType>> {
        let mut locals = Vec::new();
        if !self.has_stack_maps() {
            return Some(locals);
        }
        if method.access & ACC_STATIC == 0 {
            let is_constructor = method.name == b"<init>" && self.info.super_name.is_some();
            locals.push(match is_constructor {
                true => LocalType::UNINITIALIZED_THIS,
                false => LocalType::object(self.this),
            });
        }
        for kind in descriptor::argument_types(method.descriptor)? {
            locals.push(match kind {
                [b'L', name @ .., b';'] => LocalType::object(pool.known_class(name)?),
                [b'[', ..] => LocalType::object(pool.known_class(kind)?),
                [letter, ..] => LocalType::number(*letter),
                [] => return None,
            });
        }
        Some(locals)
    }

    fn has_stack_maps(&self) -> bool {
        self.info.major >= FIRST_WITH_STACK_MAPS
    }

    /// Returns `false` for the constructor of `java.lang.Object`: a handler in it would crash the VM's compiler.
    fn may_have_handler(&self, method: &Method) -> bool {
        !(self.info.super_name.is_none() && method.name == b"<init>")
    }
}

fn skip_attributes(reader: &mut Reader) -> Result<(), Error> {
    for _ in 0..reader.u16()? {
        reader.u16()?;
        reader.sized()?;
    }
    Ok(())
}

impl LeftOut {
    fn new(method: &Method, reason: Reason) -> Self {
        Self {
            index: method.index,
            name: method.name.to_vec(),
            descriptor: method.descriptor.to_vec(),
            reason,
        }
    }
}

impl From<Fault> for Reason {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Malformed => Self::Malformed,
            Fault::TooLarge => Self::TooLarge,
            Fault::JumpTooFar => Self::JumpTooFar,
        }
    }
}

/// The constant pool entries for the calls.
struct Calls {
    entry: u16,
    exit: u16,
    exception_exit: u16,
    /// `true` if the method keeps what its entry returns, and passes that to the others instead of the method's number.
    keeps: bool,
    /// `None` if no handler has a call.
    caught: Option<u16>,
    /// Those of leaves, if they differ.
    leaf: Option<Box<Calls>>,
    throwable: u16,
    stack_map_name: u16,
}

/// The code of one method's calls.
struct MethodCalls {
    entry: Call,
    exit: Call,
    exception_exit: Call,
    caught: Call,
}

impl Calls {
    /// Adds the entries; `None` if the pool has no room.
    fn add(hooks: &Hooks, pool: &mut Additions) -> Option<Self> {
        let tracker = pool.class(hooks.tracker)?;
        let (of_entry, descriptor) = match hooks.caught {
            Some(_) => (pool.utf8(b"(I)J")?, pool.utf8(b"(J)V")?),
            None => {
                let descriptor = pool.utf8(b"(I)V")?;
                (descriptor, descriptor)
            }
        };
        let entry = pool.method(tracker, hooks.entry, of_entry)?;
        let exit = pool.method(tracker, hooks.exit, descriptor)?;
        let exception_exit = match hooks.exception_exit == hooks.exit {
            true => exit,
            false => pool.method(tracker, hooks.exception_exit, descriptor)?,
        };
        let caught = match hooks.caught {
            Some(caught) => Some(pool.method(tracker, caught, descriptor)?),
            None => None,
        };
        let mut calls = Self {
            entry,
            exit,
            exception_exit,
            keeps: caught.is_some(),
            caught,
            leaf: None,
            throwable: pool.class(b"java/lang/Throwable")?,
            stack_map_name: pool.utf8(b"StackMapTable")?,
        };
        if let Some(leaf) = hooks.leaf {
            let exit = pool.method(tracker, leaf.exit, descriptor)?;
            calls.leaf = Some(Box::new(Self {
                entry: pool.method(tracker, leaf.entry, of_entry)?,
                exit,
                exception_exit: exit,
                caught: None,
                leaf: None,
                ..calls
            }));
        }
        Some(calls)
    }

    /// Returns the calls with this number, in a method with so many local variables; `None` if the pool has no room for it.
    fn with(&self, number: u32, locals: u16, pool: &mut Additions) -> Option<MethodCalls> {
        let mut push = Call::default();
        match (number, number.to_be_bytes()) {
            (0..=5, [.., low]) => push.append(&[ICONST_0 + low]),
            (6..=0x7F, [.., low]) => push.append(&[BIPUSH, low]),
            (0x80..=0x7FFF, [.., high, low]) => push.append(&[SIPUSH, high, low]),
            _ => match pool.integer(number)?.to_be_bytes() {
                [0, index] => push.append(&[LDC, index]),
                [high, low] => push.append(&[LDC_W, high, low]),
            },
        }
        let after = |mut push: Call, method: u16| {
            let [high, low] = method.to_be_bytes();
            push.append(&[INVOKESTATIC, high, low]);
            push
        };
        if !self.keeps {
            return Some(MethodCalls {
                entry: after(push, self.entry),
                exit: after(push, self.exit),
                exception_exit: after(push, self.exception_exit),
                caught: Call::default(),
            });
        }
        let mut entry = after(push, self.entry);
        entry.access_local(LSTORE, LSTORE_0, locals);
        let mut kept = Call::default();
        kept.access_local(LLOAD, LLOAD_0, locals);
        Some(MethodCalls {
            entry,
            exit: after(kept, self.exit),
            exception_exit: after(kept, self.exception_exit),
            caught: self
                .caught
                .map_or_else(Call::default, |caught| after(kept, caught)),
        })
    }
}

/// The code that pushes a number, calls a method and stores its result: at most ten bytes.
#[derive(Default, Clone, Copy)]
struct Call {
    code: [u8; 10],
    length: usize,
}

impl Call {
    fn append(&mut self, code: &[u8]) {
        self.code[self.length..self.length + code.len()].copy_from_slice(code);
        self.length += code.len();
    }

    /// Appends an instruction that loads or stores a local variable, in its shortest form; `short` is that for variable 0.
    fn access_local(&mut self, opcode: u8, short: u8, local: u16) {
        match local.to_be_bytes() {
            [0, low @ 0..4] => self.append(&[short + low]),
            [0, low] => self.append(&[opcode, low]),
            [high, low] => self.append(&[WIDE, opcode, high, low]),
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.code[..self.length]
    }
}

/// A copy of a class file with some of its Code attributes replaced. The bytes in between are copied in one piece.
struct Copy<'a> {
    class: &'a [u8],
    /// The output so far; the header with the pool is inserted at the end.
    out: Vec<u8>,
    /// The end of the part that has been copied or replaced.
    done: usize,
}

impl<'a> Copy<'a> {
    fn new(class: &'a [u8]) -> Self {
        Self {
            class,
            out: Vec::new(),
            done: 0,
        }
    }

    /// Replaces an attribute. After an error it stays unchanged.
    fn replace(
        &mut self,
        code: &CodeAttribute,
        context: &ClassContext,
        insertion: &Insertion,
        scratch: &mut Scratch,
    ) -> Result<(), Fault> {
        let before = self.out.len();
        self.out
            .extend_from_slice(&self.class[self.done..code.offset]);
        code::rewrite(code.contents, context, insertion, scratch, &mut self.out)
            .inspect_err(|_| self.out.truncate(before))?;
        self.done = code.offset + 4 + code.contents.len();
        Ok(())
    }

    /// Returns the whole file; the old pool ends at `pool_end`.
    fn finish(mut self, pool_end: usize, additions: &Additions) -> Vec<u8> {
        const COUNT: usize = 8;
        self.out.extend_from_slice(&self.class[self.done..]);
        self.out
            .splice(pool_end..pool_end, additions.bytes.iter().copied());
        self.out[COUNT..COUNT + 2].copy_from_slice(&additions.count().to_be_bytes());
        self.out
    }
}
