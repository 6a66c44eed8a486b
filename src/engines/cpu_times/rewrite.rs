//! Inserts the hooks into classes, and remembers which methods cannot have any.

use std::collections::BTreeMap;
use std::sync::Arc;

use hprof_format::Uncounted;
use hprof_instrument::{
    CacheHash, CounterLayout, Hooks, Instrumented, LeafHooks, LeftOut, Method, Reason, SlowHooks,
    counter_class, instrument, tracker_class,
};

use super::filter::ClassFilter;
use jvmti::{CALL_HOOKS, COUNT_HOOKS, CellLayout, ClassFile, Jni};
use locks::{Mutex, rank};
use memory::{List, Map, OrStop, Set};
use names::Tables;
use names::class::{ClassId, name_of_signature};
use names::frame::{self, Frame, FrameId, Line};
use names::loader::LoaderId;
use names::string::StringId;
use stacks::Stacks;

/// An upper bound for the size of a class with hooks and of the memory to make it, as a multiple of the class's size.
const REWRITTEN: usize = 4;

/// The class of the hooks that time calls.
const TRACKER: Hooks<'static> = Hooks {
    tracker: CALL_HOOKS.name.to_bytes(),
    entry: b"methodEntry",
    exit: b"methodExit",
    exception_exit: b"exceptionExit",
    caught: None,
    leaf: None,
};
/// The class of the hooks that count calls.
const COUNTER: Hooks<'static> = Hooks {
    tracker: COUNT_HOOKS.name.to_bytes(),
    entry: b"entry",
    exit: b"exit",
    exception_exit: b"exit",
    caught: Some(b"caught"),
    leaf: Some(LeafHooks {
        entry: b"leafEntry",
        exit: b"leafExit",
    }),
};
/// The most methods omitted for one reason that are listed by name.
const NAMED: usize = 10;

/// Returns the class file of the tracker.
pub(super) fn tracker() -> Vec<u8> {
    tracker_class(&TRACKER)
}

/// Returns the class file of the hooks that count calls. `has_carriers` says whether the VM has virtual threads.
pub(super) fn counter(layout: &CellLayout, has_carriers: bool) -> Vec<u8> {
    let slow = SlowHooks {
        entry: b"slowEntry",
        exit: b"slowExit",
        leaf_entry: b"slowLeafEntry",
    };
    let layout = CounterLayout {
        slots: layout.slots,
        slot_count: layout.slot_count,
        slot_shift: layout.slot_shift,
        key: layout.key,
        position: layout.position,
        stack: layout.stack,
        room: layout.room,
        cache: layout.cache,
        hash: CacheHash {
            shift: layout.hash.shift,
            factor: layout.hash.factor,
            spread: layout.hash.spread,
        },
        entry_shift: layout.entry_shift,
        caller: layout.caller,
        method: layout.method,
        callee: layout.callee,
        calls: layout.calls,
        callees: layout.callees,
        methods: layout.methods,
        has_carriers,
    };
    counter_class(&COUNTER, &slow, &layout)
}

/// Rewrites classes.
///
/// A method's number is that of a frame, which names the method permanently: if a class is rewritten again, its methods
/// have the same numbers, and nothing is lost when it is unloaded.
pub(super) struct ClassRewriter {
    stacks: Arc<Stacks>,
    tables: Arc<Tables>,
    filter: ClassFilter,
    line_numbers: bool,
    hooks: &'static Hooks<'static>,
    left_out: Mutex<Omissions, rank::LeftOut>,
    /// The names of the classes that have hooks.
    rewritten: Mutex<Set<StringId>, rank::RewrittenClasses>,
    /// The methods that `budget=` has left out, with the calls that were counted until then.
    over_budget: Mutex<Map<FrameId, u64>, rank::OverBudget>,
}

#[derive(Default)]
struct Omissions {
    methods: BTreeMap<&'static str, Set<(ClassId, StringId, StringId)>>,
    /// The number of classes whose files cannot be parsed.
    unreadable: u32,
    /// The number of rewritten classes that the VM refused.
    refused: u32,
}

/// A class file being rewritten, whose class is named only if it has a method to be timed.
struct MethodNaming<'a> {
    rewriter: &'a ClassRewriter,
    jni: Jni<'a>,
    file: ClassFile<'a>,
    name: &'a str,
    class: Option<ClassId>,
    source_file: Option<StringId>,
}

impl ClassRewriter {
    pub(super) fn new(
        stacks: Arc<Stacks>,
        tables: Arc<Tables>,
        filter: ClassFilter,
        line_numbers: bool,
        only_counts: bool,
    ) -> Self {
        Self {
            stacks,
            tables,
            filter,
            line_numbers,
            hooks: if only_counts { &COUNTER } else { &TRACKER },
            left_out: Mutex::default(),
            rewritten: Mutex::default(),
            over_budget: Mutex::default(),
        }
    }

    /// Returns `true` if the class of a signature is to be timed.
    pub(super) fn wants_signature(&self, signature: &str) -> bool {
        signature.starts_with('L')
            && self.filter.wants(&name_of_signature(signature))
            && ![&TRACKER, &COUNTER]
                .iter()
                .any(|hooks| signature.as_bytes() == [b"L", hooks.tracker, b";"].concat())
    }

    /// Returns `true` if the class of a signature, or one of the same name, has hooks.
    pub(super) fn has_rewritten_signature(&self, signature: &str) -> bool {
        self.wants_signature(signature) && {
            let name = self.tables.strings.intern(&name_of_signature(signature));
            self.rewritten.lock().contains(&name)
        }
    }

    /// Returns the class with hooks; `None` if it stays unchanged.
    pub(super) fn rewrite(&self, jni: Jni<'_>, file: ClassFile<'_>) -> Option<Vec<u8>> {
        let name = match file.name {
            Some(name) => name,
            None => hprof_instrument::class_name(file.bytes).ok()?,
        };
        let name = text(name).replace('/', ".");
        if !self.filter.wants(&name) {
            return None;
        }
        let mut naming = MethodNaming {
            rewriter: self,
            jni,
            file,
            name: &name,
            class: None,
            source_file: None,
        };
        let mut number =
            |_: &hprof_instrument::ClassInfo<'_>, method: &Method<'_>| naming.frame(method);
        memory::need(REWRITTEN * file.bytes.len());
        match instrument(file.bytes, self.hooks, &mut number) {
            Ok(Instrumented { class, left_out }) => {
                if !left_out.is_empty()
                    && let Some(class) = naming.class()
                {
                    self.leave_out(class, &left_out);
                }
                if class.is_some() {
                    let name = self.tables.strings.intern(&name);
                    self.rewritten.lock().insert(name).or_stop();
                }
                class
            }
            Err(_) => {
                self.left_out.lock().unreadable += 1;
                None
            }
        }
    }

    fn leave_out(&self, class: ClassId, methods: &[LeftOut]) {
        let strings = &self.tables.strings;
        let mut left_out = self.left_out.lock();
        for method in methods {
            let name = strings.intern(&text(&method.name));
            let signature = strings.intern(&text(&method.descriptor));
            let alike = left_out.methods.entry(method.reason.text()).or_default();
            alike.insert((class, name, signature)).or_stop();
        }
    }

    /// Leaves these methods out when their classes are rewritten again; returns the names of the classes. With each
    /// method comes the number of calls that were counted.
    pub(super) fn leave_out_methods(&self, methods: &[(FrameId, u64)]) -> Set<String> {
        let mut over_budget = self.over_budget.lock();
        over_budget.extend(methods.iter().copied()).or_stop();
        drop(over_budget);
        let classes = methods.iter().map(|&(frame, _)| {
            let class = self.tables.frames.get(frame).method.class;
            let name = self.tables.classes.get(class).name;
            self.tables.strings.get(name).to_string()
        });
        Set::collect(classes).or_stop()
    }

    /// Names the methods that [`ClassRewriter::leave_out_methods`] has left out, one line each, the most called first.
    pub(super) fn over_budget(&self, budget: u8) -> Vec<String> {
        let methods = List::collect(
            self.over_budget
                .lock()
                .iter()
                .map(|(&frame, &calls)| (frame, calls)),
        );
        let mut methods = methods.or_stop().into_vec();
        memory::sort_by_numbers(&mut methods, |&(frame, calls)| {
            [!calls, frame.index().into()]
        });
        let notes = methods.into_iter().map(|(frame, calls)| {
            let method = self.tables.frames.get(frame).method;
            let method = self.full_name(&(method.class, method.name, method.signature));
            let uncounted = Uncounted {
                method,
                calls,
                budget,
            };
            uncounted.note()
        });
        notes.collect()
    }

    /// Notes that the VM refused a rewritten class.
    pub(super) fn refused(&self) {
        self.left_out.lock().refused += 1;
    }

    /// Returns the number of a method that does not belong to the program.
    pub(super) fn own_method(&self) -> u32 {
        let strings = &self.tables.strings;
        let class = strings.intern(&text(TRACKER.tracker).replace('/', "."));
        let object = || self.tables.objects.add();
        let class = self.tables.classes.intern(LoaderId::BOOT, class, object);
        let method = frame::Method {
            class: class.id(),
            name: strings.intern("calibrate"),
            signature: strings.intern("()V"),
            source_file: None,
        };
        let frame = Frame {
            method,
            line: Line::Unknown,
        };
        self.tables.frames.intern(frame).index()
    }

    /// Describes the methods that are not timed: a line for each reason.
    pub(super) fn left_out(&self) -> Vec<String> {
        let left_out = self.left_out.lock();
        let mut lines = Vec::new();
        for (reason, methods) in &left_out.methods {
            let mut line = format!("not timed: {} methods, {reason}", methods.len());
            if methods.len() <= NAMED && *reason != Reason::Native.text() {
                let mut names: Vec<String> = methods
                    .iter()
                    .map(|method| self.full_name(method))
                    .collect();
                names.sort_unstable();
                line = format!("{line}: {}", names.join(" "));
            }
            lines.push(line);
        }
        for (classes, why) in [
            (left_out.unreadable, "whose files cannot be read"),
            (left_out.refused, "that the VM does not define anew"),
        ] {
            if classes > 0 {
                lines.push(format!("not timed: {classes} classes {why}"));
            }
        }
        lines
    }

    fn full_name(&self, &(class, name, signature): &(ClassId, StringId, StringId)) -> String {
        let strings = &self.tables.strings;
        let class = strings.get(self.tables.classes.get(class).name);
        format!("{class}.{}{}", strings.get(name), strings.get(signature))
    }
}

impl MethodNaming<'_> {
    fn frame(&mut self, method: &Method<'_>) -> Option<u32> {
        let ClassRewriter {
            ref tables,
            line_numbers,
            ..
        } = *self.rewriter;
        let method_name = frame::Method {
            class: self.class()?,
            name: tables.strings.intern(&text(method.name)),
            signature: tables.strings.intern(&text(method.descriptor)),
            source_file: self.source_file,
        };
        let line = match method.first_line() {
            Some(line) if line_numbers => Line::Number(line.into()),
            _ => Line::Unknown,
        };
        let frame = Frame {
            method: method_name,
            line,
        };
        let frame = tables.frames.intern(frame);
        let is_counted = !self.rewriter.over_budget.lock().contains_key(&frame);
        is_counted.then(|| frame.index())
    }

    /// Returns the class, if its loader can still be asked for it.
    fn class(&mut self) -> Option<ClassId> {
        if self.class.is_none() {
            let ClassRewriter { stacks, tables, .. } = self.rewriter;
            let loader = self.file.loader;
            self.class = stacks.class_named(self.jni, loader, self.name).ok();
            self.source_file = hprof_instrument::source_file(self.file.bytes)
                .map(|file| tables.strings.intern(&text(file)));
        }
        self.class
    }
}

fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    simd_cesu8::mutf8::decode_lossy(bytes)
}
