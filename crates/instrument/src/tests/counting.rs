//! The class that counts calls, run on memory made by hand.

use std::collections::{BTreeMap, HashMap};

use super::kept::{KEEPING, LEAF};
use crate::class::instrument;
use crate::counter::{CacheHash, CounterLayout, SlowHooks, counter_class};
use crate::hooks::Hooks;
use crate::pool::Pool;
use crate::reader::Reader;

const SLOW: SlowHooks = SlowHooks {
    entry: b"slowIn",
    exit: b"slowOut",
    leaf_entry: b"slowLeafIn",
};
const LAYOUT: CounterLayout = CounterLayout {
    slots: 1 << 40,
    slot_count: 1 << 16,
    slot_shift: 6,
    key: 0,
    position: 8,
    stack: 16,
    room: 24,
    cache: 32,
    hash: CacheHash {
        shift: 6,
        factor: 31,
        spread: 0x9E37_79B1,
    },
    entry_shift: 5,
    caller: 0,
    callee: 8,
    method: 16,
    calls: 0,
    callees: [16, 24],
    methods: [40, 48],
    has_carriers: true,
};

fn class() -> Vec<u8> {
    let hooks = Hooks {
        exception_exit: b"out",
        leaf: Some(LEAF),
        ..KEEPING
    };
    counter_class(&hooks, &SLOW, &LAYOUT)
}

#[test]
fn the_counter_is_small_enough_to_be_inlined() {
    const FREQ_INLINE_SIZE: usize = 325;
    let mut lengths = Vec::new();
    let other = Hooks {
        tracker: b"X",
        ..KEEPING
    };
    let outcome = instrument(&class(), &other, &mut |_, method| {
        lengths.push((
            String::from_utf8_lossy(method.name).into_owned(),
            method.code_length,
        ));
        Some(1)
    });
    outcome.expect("a class file");
    let names: Vec<&str> = lengths.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "<clinit>", "in", "out", "find", "leafIn", "leafOut", "caught"
        ]
    );
    for (name, length) in &lengths {
        assert!((*length as usize) < FREQ_INLINE_SIZE, "{name}: {length}");
    }
}

/// The number of the current thread.
const THREAD: i64 = 5;
const SLOT: u64 = LAYOUT.slots + (5 << LAYOUT.slot_shift);
const STACK: u64 = 2 << 40;
const CACHE: u64 = 3 << 40;
/// The bits of a hash that are not part of an entry's number in the cache.
const UNUSED: u64 = 22;
/// The context of the caller, at the position before the call.
const CALLER: u64 = 4 << 40;
const CALLEES: [u64; 2] = [CALLER + 64, CALLER + 128];
const CACHED: u64 = CALLER + 192;
/// An identity and a depth.
const POSITION: i64 = 9 << 32 | 3;
/// The methods of the callees, the second of which is in the cache.
const METHODS: [i64; 2] = [70, 80];
const CACHED_METHOD: i64 = 90;
/// What native methods return here.
const SLOWLY: i64 = -7;

/// A thread that runs the class. Memory that is not here must not be read.
struct Machine {
    class: Vec<u8>,
    memory: BTreeMap<u64, i64>,
    /// The native methods that were called, with the first argument.
    slow: Vec<(String, i64)>,
}

/// Where a method is.
struct Method {
    code: Vec<u8>,
    arguments: usize,
}

impl Machine {
    fn new() -> Self {
        let mut memory = BTreeMap::from([
            (SLOT + LAYOUT.key, THREAD),
            (SLOT + LAYOUT.position, POSITION),
            (SLOT + LAYOUT.stack, STACK.cast_signed()),
            (SLOT + LAYOUT.room, 100),
            (SLOT + LAYOUT.cache, (CACHE | UNUSED).cast_signed()),
            (STACK + 3 * 8, CALLER.cast_signed()),
            (STACK + 4 * 8, 0),
        ]);
        for place in 0..2 {
            memory.insert(CALLER + LAYOUT.callees[place], CALLEES[place].cast_signed());
            memory.insert(CALLER + LAYOUT.methods[place], METHODS[place]);
        }
        for context in [CALLEES[0], CALLEES[1], CACHED] {
            memory.insert(context + LAYOUT.calls, 1_000);
        }
        for entry in 0..1 << (32 - UNUSED) {
            let entry = CACHE + (entry << LAYOUT.entry_shift);
            for offset in [LAYOUT.caller, LAYOUT.method, LAYOUT.callee] {
                memory.insert(entry + offset, 0);
            }
        }
        let mut machine = Self {
            class: class(),
            memory,
            slow: Vec::new(),
        };
        let entry = machine.cache_entry(CACHED_METHOD);
        machine
            .memory
            .insert(entry + LAYOUT.caller, CALLER.cast_signed());
        machine.memory.insert(entry + LAYOUT.method, CACHED_METHOD);
        machine
            .memory
            .insert(entry + LAYOUT.callee, CACHED.cast_signed());
        machine
    }

    fn cache_entry(&self, method: i64) -> u64 {
        let hash = ((CALLER >> LAYOUT.hash.shift) as u32)
            .wrapping_mul(LAYOUT.hash.factor.into())
            .wrapping_add(method as u32)
            .wrapping_mul(LAYOUT.hash.spread);
        CACHE + (u64::from(hash >> UNUSED) << LAYOUT.entry_shift)
    }

    fn at(&self, address: u64) -> i64 {
        let value = self.memory.get(&address);
        *value.unwrap_or_else(|| panic!("{address:#x} is no memory"))
    }

    /// Returns the position, the innermost context and the number of its calls.
    fn innermost(&self) -> (i64, u64, i64) {
        let position = self.at(SLOT + LAYOUT.position);
        let context = self
            .at(STACK + (position.cast_unsigned() & 0xFFFF_FFFF) * 8)
            .cast_unsigned();
        (position, context, self.at(context + LAYOUT.calls))
    }

    fn method(&self, name: &str) -> Method {
        let pool = Pool::parse(&self.class, 8).expect("a pool");
        let mut reader = Reader::at(&self.class, pool.end);
        let mut next = || reader.u16().expect("a number");
        // Access, names; two fields without attributes.
        let header: Vec<u16> = (0..13).map(|_| next()).collect();
        assert_eq!((header[4], header[8], header[12]), (2, 0, 0));
        let methods = next();
        for _ in 0..methods {
            let [_, found, descriptor, attributes] = [(); 4].map(|()| reader.u16().expect("one"));
            let mut code = Vec::new();
            if attributes == 1 {
                reader.take(2).expect("the name of the attribute");
                let length = reader.u32().expect("its length") as usize;
                let attribute = reader.take(length).expect("the attribute");
                code = attribute[8..length - 4].to_vec();
            }
            let text = |index| pool.utf8(index).expect("a text").to_vec();
            if text(found) == name.as_bytes() {
                let descriptor = text(descriptor);
                let end = descriptor.iter().position(|&letter| letter == b')');
                let arguments = end.expect("an end") - 1;
                return Method { code, arguments };
            }
        }
        panic!("there is no method {name}")
    }

    /// Runs a method; ints and longs are one value each, references 0 for null and 1.
    fn run(&mut self, name: &str, arguments: &[i64]) -> i64 {
        let code = self.method(name).code;
        // Only the last argument of a method may be an int: the others take two places.
        let places = (0..).step_by(2);
        let mut locals: HashMap<u8, i64> = places.zip(arguments.iter().copied()).collect();
        let mut stack: Vec<i64> = Vec::new();
        let mut at = 0;
        loop {
            let index = |offset| u16::from_be_bytes([code[at + offset], code[at + offset + 1]]);
            let mut pop = || stack.pop().expect("a value");
            let mut next = at + 1;
            match code[at] {
                1 | 9 => stack.push(0),
                10 => stack.push(1),
                16 => {
                    stack.push(i64::from(code[at + 1].cast_signed()));
                    next += 1;
                }
                19 | 20 => {
                    stack.push(self.constant(index(1)));
                    next += 2;
                }
                21 | 22 => {
                    stack.push(locals[&code[at + 1]]);
                    next += 1;
                }
                55 => {
                    locals.insert(code[at + 1], pop());
                    next += 1;
                }
                operation @ (96 | 97 | 101 | 104 | 121 | 124 | 125 | 127 | 148) => {
                    let (right, left) = (pop(), pop());
                    stack.push(binary(operation, left, right));
                }
                133 | 136 => {
                    let value = pop();
                    stack.push(i64::from(value as i32));
                }
                condition @ (153 | 154 | 159 | 160 | 167) => {
                    let jumps = match condition {
                        153 => pop() == 0,
                        154 => pop() != 0,
                        159 => pop() == pop(),
                        160 => pop() != pop(),
                        _ => true,
                    };
                    next = at + if jumps { index(1) as usize } else { 3 };
                }
                173 => return pop(),
                177 => return 0,
                178 => {
                    stack.push(0);
                    next += 2;
                }
                182 | 184 => {
                    self.call(index(1), &mut stack);
                    next += 2;
                }
                other => panic!("{other} at {at}"),
            }
            at = next;
        }
    }

    fn constant(&self, index: u16) -> i64 {
        let pool = Pool::parse(&self.class, 8).expect("a pool");
        pool.number(index).expect("a number")
    }

    /// Calls the method that an instruction refers to.
    fn call(&mut self, index: u16, stack: &mut Vec<i64>) {
        let pool = Pool::parse(&self.class, 8).expect("a pool");
        let (name, _) = pool.member(index).expect("a method");
        let name = String::from_utf8_lossy(name).into_owned();
        match name.as_str() {
            "currentCarrierThread" => stack.push(1),
            "getInt" | "getLong" => {
                let [_, object, address] = last(stack);
                stack.push(match object {
                    1 => THREAD,
                    _ => self.at(address.cast_unsigned()),
                });
            }
            "putLong" => {
                let [_, _, address, value] = last(stack);
                let place = self.memory.get_mut(&(address.cast_unsigned()));
                *place.unwrap_or_else(|| panic!("{address:#x} is no memory")) = value;
            }
            "slowIn" | "slowOut" | "slowLeafIn" => {
                let [argument, thread] = last(stack);
                assert_eq!(thread, THREAD);
                if name != "slowOut" {
                    stack.push(SLOWLY);
                }
                self.slow.push((name, argument));
            }
            "find" => {
                let arguments: [i64; 3] = last(stack);
                stack.push(self.run("find", &arguments));
            }
            _ => {
                assert_eq!(self.method(&name).arguments, 1, "{name}");
                let [argument] = last(stack);
                self.run(&name, &[argument]);
            }
        }
    }
}

fn last<const COUNT: usize>(stack: &mut Vec<i64>) -> [i64; COUNT] {
    let rest = stack.split_off(stack.len() - COUNT);
    rest.try_into().expect("as many")
}

fn binary(operation: u8, left: i64, right: i64) -> i64 {
    let (int, distance) = (left as i32, right as u32);
    match operation {
        96 => i64::from(int.wrapping_add(right as i32)),
        97 => left.wrapping_add(right),
        101 => left.wrapping_sub(right),
        104 => i64::from(int.wrapping_mul(right as i32)),
        121 => left.wrapping_shl(distance),
        124 => i64::from((int.cast_unsigned() >> (distance & 31)).cast_signed()),
        125 => (left.cast_unsigned() >> (distance & 63)).cast_signed(),
        127 => left & right,
        _ => left.cmp(&right) as i64,
    }
}

const ENTRIES: [(&str, &str, i64); 2] = [
    ("in", "slowIn", POSITION),
    ("leafIn", "slowLeafIn", SLOT.cast_signed()),
];

#[test]
fn a_known_callee_is_counted_and_left() {
    let callees = [
        (METHODS[0], CALLEES[0]),
        (METHODS[1], CALLEES[1]),
        (CACHED_METHOD, CACHED),
    ];
    for (entry, _, result) in ENTRIES {
        for (method, callee) in callees {
            let mut machine = Machine::new();
            assert_eq!(machine.run(entry, &[method]), result, "{entry} {method}");
            assert_eq!(machine.innermost(), (POSITION + 1, callee, 1_001));
            let exit = entry.replace("in", "out").replace("In", "Out");
            machine.run(&exit, &[result]);
            assert_eq!(machine.at(SLOT + LAYOUT.position), POSITION);
            assert_eq!(machine.slow, []);
        }
    }
}

#[test]
fn the_agent_counts_what_bytecode_does_not_know() {
    type Change = fn(&mut Machine);
    let cases: [(i64, Change); 3] = [
        (1, |_| ()),
        (METHODS[0], |machine| {
            machine.memory.insert(SLOT + LAYOUT.key, THREAD + 1);
        }),
        (METHODS[0], |machine| {
            machine.memory.insert(SLOT + LAYOUT.room, 3);
        }),
    ];
    for (entry, slow, _) in ENTRIES {
        for (method, change) in cases {
            let mut machine = Machine::new();
            change(&mut machine);
            let before = machine.memory.clone();
            assert_eq!(machine.run(entry, &[method]), SLOWLY);
            assert_eq!(machine.slow, [(slow.to_owned(), method)]);
            assert_eq!(machine.memory, before);
        }
    }
}

#[test]
fn a_callee_whose_memory_was_discarded_is_not_followed() {
    for (entry, slow, _) in ENTRIES {
        for (place, method) in METHODS.into_iter().enumerate() {
            let mut machine = Machine::new();
            machine.memory.insert(CALLER + LAYOUT.callees[place], 0);
            let before = machine.memory.clone();
            assert_eq!(machine.run(entry, &[method]), SLOWLY, "{entry} {method}");
            assert_eq!(machine.slow, [(slow.to_owned(), method)]);
            assert_eq!(machine.memory, before);
        }
    }
}

#[test]
fn an_exit_goes_back_and_never_forward() {
    let mut machine = Machine::new();
    for position in [POSITION + 1, (8 << 32) | 1, (10 << 32) | 1] {
        machine.run("out", &[position]);
        assert_eq!(machine.at(SLOT + LAYOUT.position), POSITION, "{position:x}");
    }
    machine.run("caught", &[POSITION - 2]);
    assert_eq!(machine.at(SLOT + LAYOUT.position), POSITION - 1);
    machine.memory.insert(SLOT + LAYOUT.key, THREAD + 1);
    machine.run("out", &[POSITION - 3]);
    assert_eq!(machine.slow, [("slowOut".to_owned(), POSITION - 3)]);
    assert_eq!(machine.at(SLOT + LAYOUT.position), POSITION - 1);
}
