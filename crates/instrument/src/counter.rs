//! The class that counts calls without help: its methods are bytecode that the compilers inline, and that reads and writes
//! memory of the agent through `jdk.internal.misc.Unsafe`. Whatever is not simple goes to native methods of the same class.

use crate::hooks::Hooks;
use crate::opcodes::{GETSTATIC, INVOKESTATIC, INVOKEVIRTUAL, LDC, LDC_W, PUTSTATIC, RETURN};
use crate::pool::Additions;

const MAGIC: u32 = 0xCAFE_BABE;
/// The version of Java 5, the last without stack maps.
const VERSION: u16 = 49;
const PUBLIC_FINAL_SUPER_SYNTHETIC: u16 = 0x1031;
const PRIVATE_STATIC_FINAL: u16 = 0x001A;
const PUBLIC_STATIC_SYNTHETIC: u16 = 0x1009;
const PUBLIC_STATIC_NATIVE_SYNTHETIC: u16 = 0x1109;
const STATIC: u16 = 0x0008;

const ACONST_NULL: u8 = 1;
const LCONST_0: u8 = 9;
const LCONST_1: u8 = 10;
const BIPUSH: u8 = 16;
const LDC2_W: u8 = 20;
const ILOAD: u8 = 21;
const LLOAD: u8 = 22;
const LSTORE: u8 = 55;
const DUP: u8 = 89;
const LADD: u8 = 97;
const LSUB: u8 = 101;
const IADD: u8 = 96;
const IMUL: u8 = 104;
const LSHL: u8 = 121;
const IUSHR: u8 = 124;
const LUSHR: u8 = 125;
const LAND: u8 = 127;
const I2L: u8 = 133;
const L2I: u8 = 136;
const LCMP: u8 = 148;
const IFEQ: u8 = 153;
const IFNE: u8 = 154;
const IF_ICMPEQ: u8 = 159;
const IF_ICMPNE: u8 = 160;
const GOTO: u8 = 167;
const LRETURN: u8 = 173;

/// The places that the class reads and writes. Offsets are in bytes.
///
/// A thread's slot has the thread's number (`key`), the position in its stack of contexts (`position`: the number of contexts in
/// the lower half, an identity of the stack in the upper one), the address of that stack (`stack`), and the highest position
/// for which it has room (`room`). The stack has the addresses of contexts, the innermost last. A context has the number of
/// its calls (`calls`), and the addresses of its latest callees (`callees`), with their methods (`methods`). Other callees may be in
/// the thread's cache (`cache`), whose entries have a context (`caller`), a method called in it (`method`), and the context of
/// that (`callee`).
#[derive(Debug, Clone, Copy)]
pub struct CounterLayout {
    /// The address of the table of slots.
    pub slots: u64,
    /// The number of slots, a power of two; a thread has the one of its number modulo this.
    pub slot_count: u64,
    /// The size of a slot as a power of two.
    pub slot_shift: u8,
    /// In a slot, a long.
    pub key: u64,
    /// In a slot, a long.
    pub position: u64,
    /// In a slot, a long.
    pub stack: u64,
    /// In a slot, an int.
    pub room: u64,
    /// In a slot, a long: the address of the cache, a multiple of the size of an entry, and in its lowest five bits the number of bits by
    /// which the hash has more than the number of an entry.
    pub cache: u64,
    /// The hash by which an entry of the cache is found.
    pub hash: CacheHash,
    /// The size of an entry as a power of two, at least five.
    pub entry_shift: u8,
    /// In an entry, a long.
    pub caller: u64,
    /// In an entry, an int.
    pub method: u64,
    /// In an entry, a long.
    pub callee: u64,
    /// In a context, a long.
    pub calls: u64,
    /// In a context, longs.
    pub callees: [u64; 2],
    /// In a context, ints.
    pub methods: [u64; 2],
    /// `true` if the VM has carriers of virtual threads; the slots are theirs.
    pub has_carriers: bool,
}

/// `((address >>> shift) * factor + method) * spread`, all of it as unsigned ints, for a context's address. Its upper bits are the number
/// of an entry.
#[derive(Debug, Clone, Copy)]
pub struct CacheHash {
    /// The bits of an address that say nothing.
    pub shift: u8,
    /// A small odd number.
    pub factor: u8,
    /// A large odd number.
    pub spread: u32,
}

/// The names of the native methods: `static native long slowEntry(int method, long thread)` and
/// `static native void slowExit(long position, long thread)`; of leaves `static native long slowLeafEntry(int method, long thread)`.
#[derive(Debug, Clone, Copy)]
pub struct SlowHooks<'a> {
    /// Counts a call, and returns the position before it.
    pub entry: &'a [u8],
    /// Goes back to a position.
    pub exit: &'a [u8],
    /// Counts a call of a leaf, and returns the address of the thread's slot: the leaf's exit takes one from its position. If the call
    /// is not counted, that of memory which is laid out like a slot.
    pub leaf_entry: &'a [u8],
}

/// Returns the bytes of the class, with the methods of `hooks`, which must have [`Hooks::caught`]. It is for the boot loader of a
/// VM that has `jdk.internal.misc.Unsafe`, in `java/lang`. Empty if a name is longer than a class file allows.
pub fn counter_class(hooks: &Hooks, slow: &SlowHooks, layout: &CounterLayout) -> Vec<u8> {
    Counter::build(hooks, slow, layout).unwrap_or_default()
}

/// The bits of a cache's address that are not part of it.
const UNUSED_BITS: u64 = 31;

/// The name of the method that looks into the cache.
const FIND: &[u8] = b"find";

/// The code of a method.
#[derive(Default)]
struct Code(Vec<u8>);

/// The position of a jump's offset.
struct Jump(usize);

impl Code {
    fn op(&mut self, code: &[u8]) {
        self.0.extend_from_slice(code);
    }

    fn with_index(&mut self, opcode: u8, index: u16) {
        self.0.push(opcode);
        self.0.extend_from_slice(&index.to_be_bytes());
    }

    fn jump(&mut self, opcode: u8) -> Jump {
        self.with_index(opcode, 0);
        Jump(self.0.len() - 2)
    }

    /// Has a jump end here.
    fn land(&mut self, Jump(operand): Jump) {
        // The code is a few hundred bytes long.
        let distance = u16::try_from(self.0.len() + 1 - operand).unwrap_or(0);
        self.0[operand..operand + 2].copy_from_slice(&distance.to_be_bytes());
    }
}

/// The class under construction, by indices of its pool.
struct Counter<'a> {
    layout: &'a CounterLayout,
    pool: Additions,
    unsafe_field: u16,
    thread_field: u16,
    current_thread: u16,
    get_int: u16,
    get_long: u16,
    put_long: u16,
}

// Local variables of the methods.
const ARGUMENT: u8 = 0;
const THREAD: u8 = 2;
const SLOT: u8 = 4;
const POSITION: u8 = 6;
const ENTRY: u8 = 8;
const CONTEXT: u8 = 10;
const CALLER: u8 = 12;
const LOCALS: u16 = 14;
const STACK: u16 = 10;

impl<'a> Counter<'a> {
    fn build(hooks: &Hooks, slow: &SlowHooks, layout: &'a CounterLayout) -> Option<Vec<u8>> {
        let mut pool = Additions::after(1);
        let this = pool.class(hooks.tracker)?;
        let parent = pool.class(b"java/lang/Object")?;
        let unsafe_class = pool.class(b"jdk/internal/misc/Unsafe")?;
        let unsafe_type = pool.utf8(b"Ljdk/internal/misc/Unsafe;")?;
        let long_type = pool.utf8(b"J")?;
        let thread_class = pool.class(b"java/lang/Thread")?;
        let thread_getter = pool.utf8(b"()Ljava/lang/Thread;")?;
        let current_thread: &[u8] = match layout.has_carriers {
            true => b"currentCarrierThread",
            false => b"currentThread",
        };
        let get_int = pool.utf8(b"(Ljava/lang/Object;J)I")?;
        let get_long = pool.utf8(b"(Ljava/lang/Object;J)J")?;
        let put_long = pool.utf8(b"(Ljava/lang/Object;JJ)V")?;
        let unsafe_name = pool.utf8(b"UNSAFE")?;
        let thread_name = pool.utf8(b"THREAD")?;
        let mut counter = Self {
            layout,
            unsafe_field: pool.field(this, unsafe_name, unsafe_type)?,
            thread_field: pool.field(this, thread_name, long_type)?,
            current_thread: pool.method(thread_class, current_thread, thread_getter)?,
            get_int: pool.method(unsafe_class, b"getInt", get_int)?,
            get_long: pool.method(unsafe_class, b"getLong", get_long)?,
            put_long: pool.method(unsafe_class, b"putLong", put_long)?,
            pool,
        };
        let slow_entry_type = counter.pool.utf8(b"(IJ)J")?;
        let slow_exit_type = counter.pool.utf8(b"(JJ)V")?;
        let slow_entry = counter.pool.method(this, slow.entry, slow_entry_type)?;
        let slow_exit = counter.pool.method(this, slow.exit, slow_exit_type)?;
        let entry_type = counter.pool.utf8(b"(I)J")?;
        let exit_type = counter.pool.utf8(b"(J)V")?;
        let exit = counter.pool.method(this, hooks.exit, exit_type)?;
        let find_type = counter.pool.utf8(b"(JJI)J")?;
        let find = counter.pool.method(this, FIND, find_type)?;

        let initializer = counter.initializer(unsafe_class, thread_class)?;
        let mut methods = vec![
            (
                STATIC,
                b"<clinit>".as_slice(),
                counter.pool.utf8(b"()V")?,
                Some(initializer),
            ),
            (
                PUBLIC_STATIC_SYNTHETIC,
                hooks.entry,
                entry_type,
                Some(counter.entry(find, slow_entry, POSITION)?),
            ),
            (
                PUBLIC_STATIC_SYNTHETIC,
                hooks.exit,
                exit_type,
                Some(counter.exit(slow_exit)?),
            ),
            (STATIC, FIND, find_type, Some(counter.find()?)),
            (
                PUBLIC_STATIC_NATIVE_SYNTHETIC,
                slow.entry,
                slow_entry_type,
                None,
            ),
            (
                PUBLIC_STATIC_NATIVE_SYNTHETIC,
                slow.exit,
                slow_exit_type,
                None,
            ),
        ];
        if let Some(leaf) = hooks.leaf {
            let slow_leaf = slow.leaf_entry;
            let slow = counter.pool.method(this, slow_leaf, slow_entry_type)?;
            let entry = counter.entry(find, slow, SLOT)?;
            let exit = counter.leaf_exit()?;
            methods.push((PUBLIC_STATIC_SYNTHETIC, leaf.entry, entry_type, Some(entry)));
            methods.push((PUBLIC_STATIC_SYNTHETIC, leaf.exit, exit_type, Some(exit)));
            methods.push((
                PUBLIC_STATIC_NATIVE_SYNTHETIC,
                slow_leaf,
                slow_entry_type,
                None,
            ));
        }
        let mut one_further = Code::default();
        one_further.op(&[LLOAD, ARGUMENT, LCONST_1, LADD]);
        one_further.with_index(INVOKESTATIC, exit);
        one_further.op(&[RETURN]);
        methods.push((
            PUBLIC_STATIC_SYNTHETIC,
            hooks.caught?,
            exit_type,
            Some(one_further),
        ));

        let code_name = counter.pool.utf8(b"Code")?;
        let mut body = Vec::new();
        for number in [PUBLIC_FINAL_SUPER_SYNTHETIC, this, parent, 0, 2] {
            body.extend_from_slice(&number.to_be_bytes());
        }
        for number in [
            [PRIVATE_STATIC_FINAL, unsafe_name, unsafe_type, 0],
            [PRIVATE_STATIC_FINAL, thread_name, long_type, 0],
        ]
        .concat()
        {
            body.extend_from_slice(&number.to_be_bytes());
        }
        body.extend_from_slice(&u16::try_from(methods.len()).ok()?.to_be_bytes());
        for (access, name, descriptor, code) in methods {
            let name = counter.pool.utf8(name)?;
            let attributes = u16::from(code.is_some());
            for number in [access, name, descriptor, attributes] {
                body.extend_from_slice(&number.to_be_bytes());
            }
            if let Some(Code(code)) = code {
                let length = u32::try_from(code.len()).ok()?;
                body.extend_from_slice(&code_name.to_be_bytes());
                body.extend_from_slice(&(12 + length).to_be_bytes());
                body.extend_from_slice(&STACK.to_be_bytes());
                body.extend_from_slice(&LOCALS.to_be_bytes());
                body.extend_from_slice(&length.to_be_bytes());
                body.extend_from_slice(&code);
                // No handlers, no attributes.
                body.extend_from_slice(&[0; 4]);
            }
        }
        body.extend_from_slice(&[0; 2]);

        let mut class = MAGIC.to_be_bytes().to_vec();
        for number in [0, VERSION, counter.pool.count()] {
            class.extend_from_slice(&number.to_be_bytes());
        }
        class.extend_from_slice(&counter.pool.bytes);
        class.extend_from_slice(&body);
        Some(class)
    }

    /// `UNSAFE = Unsafe.getUnsafe(); THREAD = UNSAFE.objectFieldOffset(Thread.class, "tid");`
    fn initializer(&mut self, unsafe_class: u16, thread: u16) -> Option<Code> {
        let pool = &mut self.pool;
        let descriptor = pool.utf8(b"(Ljava/lang/Class;Ljava/lang/String;)J")?;
        let offset = pool.method(unsafe_class, b"objectFieldOffset", descriptor)?;
        let name = pool.string(b"tid")?;
        let descriptor = pool.utf8(b"()Ljdk/internal/misc/Unsafe;")?;
        let get_unsafe = pool.method(unsafe_class, b"getUnsafe", descriptor)?;
        let mut code = Code::default();
        code.with_index(INVOKESTATIC, get_unsafe);
        code.op(&[DUP]);
        code.with_index(PUTSTATIC, self.unsafe_field);
        for constant in [thread, name] {
            code.op(&[LDC, u8::try_from(constant).ok()?]);
        }
        code.with_index(INVOKEVIRTUAL, offset);
        code.with_index(PUTSTATIC, self.thread_field);
        code.op(&[RETURN]);
        Some(code)
    }

    fn constant(&mut self, code: &mut Code, value: u64) -> Option<()> {
        let index = self.pool.long(value)?;
        code.with_index(LDC2_W, index);
        Some(())
    }

    /// Pushes the number at an offset from the address in a local variable.
    fn get(&mut self, code: &mut Code, method: u16, address: u8, offset: u64) -> Option<()> {
        self.push_place(code, address, offset)?;
        code.with_index(INVOKEVIRTUAL, method);
        Some(())
    }

    /// Pushes what Unsafe's methods take for a place in memory.
    fn push_place(&mut self, code: &mut Code, address: u8, offset: u64) -> Option<()> {
        code.with_index(GETSTATIC, self.unsafe_field);
        code.op(&[ACONST_NULL, LLOAD, address]);
        if offset != 0 {
            self.constant(code, offset)?;
            code.op(&[LADD]);
        }
        Some(())
    }

    /// Finds the thread's slot. The jump is taken if that is another thread's.
    fn find_slot(&mut self, code: &mut Code) -> Option<Jump> {
        let CounterLayout {
            slots,
            slot_count,
            slot_shift,
            key,
            ..
        } = *self.layout;
        code.with_index(GETSTATIC, self.unsafe_field);
        code.with_index(INVOKESTATIC, self.current_thread);
        code.with_index(GETSTATIC, self.thread_field);
        code.with_index(INVOKEVIRTUAL, self.get_long);
        code.op(&[LSTORE, THREAD]);
        self.constant(code, slots)?;
        code.op(&[LLOAD, THREAD]);
        self.constant(code, slot_count - 1)?;
        code.op(&[LAND, BIPUSH, slot_shift, LSHL, LADD, LSTORE, SLOT]);
        self.get(code, self.get_long, SLOT, key)?;
        code.op(&[LLOAD, THREAD, LCMP]);
        Some(code.jump(IFNE))
    }

    /// Counts a call, and returns a local variable: that of the position before it, or of the slot.
    fn entry(&mut self, find: u16, slow_entry: u16, result: u8) -> Option<Code> {
        let layout = *self.layout;
        let mut code = Code::default();
        let mut slow = vec![self.find_slot(&mut code)?];
        self.get(&mut code, self.get_long, SLOT, layout.position)?;
        code.op(&[LSTORE, POSITION]);
        // The stack's entry for the caller.
        self.get(&mut code, self.get_long, SLOT, layout.stack)?;
        code.op(&[LLOAD, POSITION]);
        self.constant(&mut code, u64::from(u32::MAX))?;
        code.op(&[LAND, BIPUSH, 3, LSHL, LADD, LSTORE, ENTRY]);
        code.op(&[LLOAD, POSITION, L2I]);
        self.get(&mut code, self.get_int, SLOT, layout.room)?;
        slow.push(code.jump(IF_ICMPEQ));
        self.get(&mut code, self.get_long, ENTRY, 0)?;
        code.op(&[LSTORE, CALLER]);
        // The callee's context.
        self.get(&mut code, self.get_int, CALLER, layout.methods[0])?;
        code.op(&[ILOAD, ARGUMENT]);
        let other = code.jump(IF_ICMPNE);
        self.get(&mut code, self.get_long, CALLER, layout.callees[0])?;
        code.op(&[LSTORE, CONTEXT]);
        let found = code.jump(GOTO);
        code.land(other);
        self.get(&mut code, self.get_int, CALLER, layout.methods[1])?;
        code.op(&[ILOAD, ARGUMENT]);
        let other = code.jump(IF_ICMPNE);
        self.get(&mut code, self.get_long, CALLER, layout.callees[1])?;
        code.op(&[LSTORE, CONTEXT]);
        let found_second = code.jump(GOTO);
        code.land(other);
        self.get(&mut code, self.get_long, SLOT, layout.cache)?;
        code.op(&[LLOAD, CALLER, ILOAD, ARGUMENT]);
        code.with_index(INVOKESTATIC, find);
        code.op(&[LSTORE, CONTEXT]);
        code.land(found);
        code.land(found_second);
        // Also 0 in the memory of a context that is discarded at this moment.
        code.op(&[LLOAD, CONTEXT, LCONST_0, LCMP]);
        slow.push(code.jump(IFEQ));
        self.push_place(&mut code, ENTRY, 8)?;
        code.op(&[LLOAD, CONTEXT]);
        code.with_index(INVOKEVIRTUAL, self.put_long);
        self.push_place(&mut code, SLOT, layout.position)?;
        code.op(&[LLOAD, POSITION, LCONST_1, LADD]);
        code.with_index(INVOKEVIRTUAL, self.put_long);
        self.push_place(&mut code, CONTEXT, layout.calls)?;
        self.get(&mut code, self.get_long, CONTEXT, layout.calls)?;
        code.op(&[LCONST_1, LADD]);
        code.with_index(INVOKEVIRTUAL, self.put_long);
        code.op(&[LLOAD, result, LRETURN]);
        for jump in slow {
            code.land(jump);
        }
        code.op(&[ILOAD, ARGUMENT, LLOAD, THREAD]);
        code.with_index(INVOKESTATIC, slow_entry);
        code.op(&[LRETURN]);
        Some(code)
    }

    /// `static long find(long cache, long caller, int method)`: the callee's context, 0 if the cache does not have it. It is a method of its own,
    /// so that the compilers still inline the entry.
    fn find(&mut self) -> Option<Code> {
        const CACHE: u8 = 0;
        const CALLER: u8 = 2;
        const METHOD: u8 = 4;
        const ENTRY: u8 = 5;
        let layout = *self.layout;
        let CacheHash {
            shift,
            factor,
            spread,
        } = layout.hash;
        let mut code = Code::default();
        code.op(&[LLOAD, CACHE]);
        self.constant(&mut code, !UNUSED_BITS)?;
        code.op(&[LAND, LLOAD, CALLER, BIPUSH, shift, LUSHR, L2I]);
        code.op(&[BIPUSH, factor, IMUL, ILOAD, METHOD, IADD]);
        let spread = self.pool.integer(spread)?;
        code.with_index(LDC_W, spread);
        // A shift of an int takes the five lowest bits.
        code.op(&[IMUL, LLOAD, CACHE, L2I, IUSHR, I2L]);
        code.op(&[BIPUSH, layout.entry_shift, LSHL, LADD, LSTORE, ENTRY]);
        self.get(&mut code, self.get_long, ENTRY, layout.caller)?;
        code.op(&[LLOAD, CALLER, LCMP]);
        let other_caller = code.jump(IFNE);
        self.get(&mut code, self.get_int, ENTRY, layout.method)?;
        code.op(&[ILOAD, METHOD]);
        let other_method = code.jump(IF_ICMPNE);
        self.get(&mut code, self.get_long, ENTRY, layout.callee)?;
        code.op(&[LRETURN]);
        code.land(other_caller);
        code.land(other_method);
        code.op(&[LCONST_0, LRETURN]);
        Some(code)
    }

    /// Goes back to a position of this stack, never forward.
    fn exit(&mut self, slow_exit: u16) -> Option<Code> {
        let position = self.layout.position;
        let mut code = Code::default();
        let slow = self.find_slot(&mut code)?;
        // The identities of two stacks differ by more than the depth of any.
        self.get(&mut code, self.get_long, SLOT, position)?;
        code.op(&[LLOAD, ARGUMENT, LSUB, BIPUSH, 31, LUSHR, LCONST_0, LCMP]);
        let elsewhere = code.jump(IFNE);
        self.push_place(&mut code, SLOT, position)?;
        code.op(&[LLOAD, ARGUMENT]);
        code.with_index(INVOKEVIRTUAL, self.put_long);
        code.land(elsewhere);
        code.op(&[RETURN]);
        code.land(slow);
        code.op(&[LLOAD, ARGUMENT, LLOAD, THREAD]);
        code.with_index(INVOKESTATIC, slow_exit);
        code.op(&[RETURN]);
        Some(code)
    }

    /// Takes one from the position in the slot whose address is the argument: what is below the leaf is the same as at its entry. An
    /// exception from another thread may have the exit called twice, and while the leaf loads a class, another profile may begin:
    /// a stack without contexts stays as it is, as positions before its beginning would be read.
    fn leaf_exit(&mut self) -> Option<Code> {
        let position = self.layout.position;
        let mut code = Code::default();
        self.get(&mut code, self.get_long, ARGUMENT, position)?;
        code.op(&[LSTORE, POSITION, LLOAD, POSITION, L2I]);
        let empty = code.jump(IFEQ);
        self.push_place(&mut code, ARGUMENT, position)?;
        code.op(&[LLOAD, POSITION, LCONST_1, LSUB]);
        code.with_index(INVOKEVIRTUAL, self.put_long);
        code.land(empty);
        code.op(&[RETURN]);
        Some(code)
    }
}
