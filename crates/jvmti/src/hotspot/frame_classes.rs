//! The classes of the methods in frames that a signal handler finds, or that the VM shows of another thread, each by its
//! address in the VM's memory.
//!
//! Nothing keeps a class once its frame has returned, and the VM must not be asked about a method whose class may be gone:
//! not all versions notice. So the agent has a weak reference to each class, made when the class was prepared, before any
//! of its methods could run. A question is asked only while a strong reference made from that one keeps the class.
//!
//! The VM makes ids for the methods of such a class alone, when one of them has been found in a frame: it never frees
//! an id.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::super::env::{Env, MethodId};
use super::super::error::JvmtiError;
use super::super::jni::{Jni, LocalRef, Object, WeakRef};
use super::class_addresses::ClassAddresses;
use super::cpu_timers::samples_begun;
use super::stack_walk::{ClassMethod, MethodIds, MethodLayout};
use locks::{Mutex, rank};
use memory::{List, Map, OrStop};

/// The classes that have been prepared since the last look, while they are wanted.
static PREPARED: Mutex<PreparedClasses, rank::PreparedClasses> = Mutex::new(PreparedClasses {
    taken: 0,
    classes: List::new(),
});
/// What to do with a class that has been prepared.
static WANTED: AtomicU8 = AtomicU8::new(NOTHING);

/// The values of [`WANTED`].
const NOTHING: u8 = 0;
const REFERENCES: u8 = 1;
const IDS: u8 = 2;

/// The least number of classes of which one sweep looks whether they are gone.
const LEAST_SWEPT: usize = 20_000;

/// The classes that have been prepared since the last look.
struct PreparedClasses {
    /// The number of those before them.
    taken: u64,
    classes: List<Arc<PreparedClass>>,
}

struct PreparedClass {
    class: Arc<WeakRef>,
    /// The number of samples before it.
    since: u64,
}

/// The classes that are loaded.
pub struct FrameClasses {
    env: Env,
    addresses: ClassAddresses,
    methods: MethodLayout,
    ids: MethodIds,
    known: Mutex<KnownClasses, rank::FrameClasses>,
}

#[derive(Default)]
struct KnownClasses {
    by_address: Map<usize, KnownClass>,
    /// All addresses, in the order in which they are swept, the place of the next one, and how many are new since the
    /// last sweep.
    order: List<usize>,
    next: usize,
    new: usize,
    /// The number of classes that were ever known.
    seen: u64,
    /// The number of prepared classes that were taken.
    prepared: u64,
}

struct KnownClass {
    class: Arc<WeakRef>,
    /// The number of samples before it was prepared: those are of another class at this address.
    since: u64,
    /// The number of classes that were known before.
    number: u64,
    /// The numbers of its methods and their ids, once one has been found in a frame.
    methods: Option<Box<[(u16, MethodId)]>>,
    /// `true` if the VM has been asked for the methods since the last sweep.
    is_asked: bool,
}

/// The classes that were known at some moment: a later one may be at the address of one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassesSeen(u64);

impl ClassesSeen {
    /// No classes: in a VM that does not tell them.
    pub const NONE: Self = Self(0);
}

/// A method that was found in a frame.
pub enum FoundMethod<'a, T> {
    /// What the caller knows of it.
    Known(T),
    /// The VM's id. The VM may be asked about it while the reference keeps its class.
    Held(MethodId, LocalRef<'a>),
}

impl FrameClasses {
    /// Has the VM's classes known from now on, if the VM reports each that it prepares; `None` in a VM that does not tell
    /// their addresses.
    pub fn begin(env: Env, jni: Jni<'_>) -> Result<Option<Self>, JvmtiError> {
        let find = || {
            let methods = MethodLayout::find(env.vm_structs()?)?;
            Some((
                ClassAddresses::find(env, jni)?,
                methods,
                MethodIds::find(env)?,
            ))
        };
        let Some((addresses, methods, ids)) = find() else {
            return Ok(None);
        };
        let classes = Self {
            env,
            addresses,
            methods,
            ids,
            known: Mutex::new(KnownClasses::default()),
        };
        let taken = PREPARED.lock().taken;
        classes.known.lock().prepared = taken;
        WANTED.store(REFERENCES, Ordering::SeqCst);
        let loaded = env.loaded_classes(jni)?;
        let new = loaded.iter().filter_map(|class| {
            let reference = WeakRef::new(jni, class.object())?;
            let address = classes.addresses.of(jni, class.object())?;
            Some((address, Arc::new(reference)))
        });
        let new: Vec<_> = new.collect();
        let mut known = classes.known.lock();
        let replaced = new.into_iter();
        let replaced: Vec<_> = replaced
            .filter_map(|(address, class)| known.add(address, class, 0))
            .collect();
        // References are freed without the lock.
        drop(known);
        drop(replaced);
        Ok(Some(classes))
    }

    /// Has the VM make the ids of all methods instead, of those that are loaded and those to come.
    pub fn make_ids(env: Env, jni: Jni<'_>) -> Result<(), JvmtiError> {
        WANTED.store(IDS, Ordering::SeqCst);
        env.make_method_ids(jni)
    }

    /// Notes a class that has been prepared, or has the VM make the ids of its methods, as far as that is wanted.
    pub fn prepared(env: Env, jni: Jni<'_>, class: Object<'_>) {
        match WANTED.load(Ordering::SeqCst) {
            REFERENCES => {
                let Some(reference) = WeakRef::new(jni, class) else {
                    return;
                };
                let class = Arc::new(reference);
                let mut prepared = PREPARED.lock();
                let classes = &mut prepared.classes;
                let since = samples_begun();
                classes
                    .push(Arc::new(PreparedClass { class, since }))
                    .or_stop();
            }
            IDS => drop(env.methods_of(class)),
            _ => {}
        }
    }

    /// Stops both.
    pub fn end() {
        WANTED.store(NOTHING, Ordering::SeqCst);
        let prepared = PREPARED.lock().take();
        drop(prepared);
    }

    /// Adds the classes that have been prepared before this call.
    ///
    /// They are taken only when all are known: several threads may do the same at once, and one may be suspended meanwhile.
    pub fn refresh(&self, jni: Jni<'_>) {
        let (first, prepared) = {
            let prepared = PREPARED.lock();
            (prepared.taken, prepared.classes.clone())
        };
        if prepared.is_empty() {
            return;
        }
        let addresses = prepared.iter().map(|prepared| {
            let class = prepared.class.upgrade(jni)?;
            self.addresses.of(jni, class.object())
        });
        let addresses: Vec<_> = addresses.collect();
        let mut replaced = Vec::new();
        let mut known = self.known.lock();
        for ((number, prepared), address) in (first..).zip(&prepared).zip(addresses) {
            if number >= known.prepared {
                known.prepared = number + 1;
                // Types such as `int` have no class.
                let Some(address) = address else { continue };
                replaced.extend(known.add(address, prepared.class.clone(), prepared.since));
            }
        }
        let taken = known.prepared;
        drop(known);
        let done = PREPARED.lock().take_until(taken);
        // References are freed without the locks.
        drop((replaced, done));
    }

    /// Returns a method that the sample of that number found in a frame, if [`FrameClasses::refresh`] has been called since
    /// it was taken; `None` if its class is gone. The VM need not be asked about one that is
    /// `known_by_caller` by its id: then nothing is held. Without the VM, only those are returned.
    pub fn method<'a, T>(
        &self,
        jni: Option<Jni<'a>>,
        (wanted, sample): (ClassMethod, u64),
        known_by_caller: impl Fn(MethodId) -> Option<T>,
    ) -> Option<FoundMethod<'a, T>> {
        let class = {
            let known = self.known.lock();
            let known = known.by_address.get(&wanted.class)?;
            if sample < known.since {
                return None;
            }
            let id = known.id(wanted.number);
            if let Some(known) = id.and_then(known_by_caller) {
                return Some(FoundMethod::Known(known));
            }
            known.class.clone()
        };
        let held = class.upgrade(jni?)?;
        let method = self.id(wanted, &class, &held)?;
        Some(FoundMethod::Held(method, held))
    }

    /// Returns the id of a method of a class that is held, for which the VM is asked once.
    fn id(
        &self,
        wanted: ClassMethod,
        class: &Arc<WeakRef>,
        held: &LocalRef<'_>,
    ) -> Option<MethodId> {
        {
            let mut known = self.known.lock();
            let known = known.get_mut(wanted.class, class)?;
            let id = known.id(wanted.number);
            // A class that was redefined may have more.
            if id.is_some() || known.is_asked {
                return id;
            }
        }
        let methods = self.methods_of(wanted.class, held);
        let mut known = self.known.lock();
        let known = known.get_mut(wanted.class, class)?;
        known.is_asked = true;
        known.methods = Some(methods);
        known.id(wanted.number)
    }

    /// Returns the classes that are known now, all that have been prepared.
    pub fn seen(&self, jni: Jni<'_>) -> ClassesSeen {
        self.refresh(jni);
        ClassesSeen(self.known.lock().seen)
    }

    /// Returns what keeps the class of a method that was in a frame of another thread after these classes were seen; `None`
    /// if the class is gone.
    pub fn hold<'a>(
        &self,
        jni: Jni<'a>,
        method: MethodId,
        seen: ClassesSeen,
    ) -> Option<LocalRef<'a>> {
        if let MethodIds::Numbers(_) = self.ids {
            // The VM looks such an id up, and has none of a class that is gone.
            return self.env.method_class(jni, method).ok()?;
        }
        let address = self.methods.class_of(method.address())?;
        self.refresh(jni);
        let class = {
            let known = self.known.lock();
            let known = known.by_address.get(&address)?;
            // A class that has come since may be at the place of the one whose method it was.
            if known.number >= seen.0 && !self.methods.is_of_class(method.address()) {
                return None;
            }
            known.class.clone()
        };
        let class = class.upgrade(jni)?;
        // If the id is still of that class, it stays so while the class is kept.
        (self.methods.class_of(method.address()) == Some(address)).then_some(class)
    }

    /// Returns the methods of a class that is at this address and held.
    fn methods_of(&self, address: usize, class: &LocalRef<'_>) -> Box<[(u16, MethodId)]> {
        let ids = self.env.methods_of(class.object());
        let mut methods: Vec<(u16, MethodId)> = match self.ids {
            MethodIds::Addresses => ids
                .into_iter()
                .filter_map(|id| Some((self.methods.number_of(id.address())?, id)))
                .collect(),
            MethodIds::Numbers(numbered) => numbered
                .of_class(address)
                .into_iter()
                .map(|(number, id)| (number, MethodId::of_number(id)))
                .collect(),
        };
        memory::sort_by_numbers(&mut methods, |&(number, _)| [number.into(), 0]);
        methods.into_boxed_slice()
    }

    /// Forgets classes that are gone: looks at some of them each time, and at as many as there are new ones.
    pub fn sweep(&self, jni: Jni<'_>) {
        self.refresh(jni);
        let due = self.known.lock().take_due();
        let gone: Vec<_> = due
            .into_iter()
            .filter(|(_, class)| class.is_dead(jni))
            .collect();
        let mut known = self.known.lock();
        known.forget(&gone);
        // References are freed without the lock.
        drop(known);
        drop(gone);
    }
}

impl PreparedClasses {
    fn take(&mut self) -> Vec<Arc<PreparedClass>> {
        self.taken += self.classes.len() as u64;
        std::mem::take(&mut self.classes).into_vec()
    }

    /// Takes those before that number.
    fn take_until(&mut self, number: u64) -> Vec<Arc<PreparedClass>> {
        let count = usize::try_from(number.saturating_sub(self.taken)).unwrap_or(usize::MAX);
        let count = count.min(self.classes.len());
        self.taken += count as u64;
        self.classes.take_first(count)
    }
}

impl KnownClass {
    fn id(&self, number: u16) -> Option<MethodId> {
        let methods = self.methods.as_deref()?;
        let place = methods.binary_search_by_key(&number, |&(number, _)| number);
        place.ok().map(|place| methods[place].1)
    }
}

impl KnownClasses {
    /// Adds a class; none that is at the same address is there any more: it is returned.
    fn add(&mut self, address: usize, class: Arc<WeakRef>, since: u64) -> Option<KnownClass> {
        self.order.reserve(1).or_stop();
        let new = KnownClass {
            class,
            since,
            number: self.seen,
            methods: None,
            is_asked: false,
        };
        self.seen += 1;
        self.new += 1;
        let before = self.by_address.insert(address, new).or_stop();
        if before.is_none() {
            self.order.push(address).or_stop();
        }
        before
    }

    /// Returns the class at an address, if it is still that one.
    fn get_mut(&mut self, address: usize, class: &Arc<WeakRef>) -> Option<&mut KnownClass> {
        let known = self.by_address.get_mut(&address);
        known.filter(|known| Arc::ptr_eq(&known.class, class))
    }

    /// Returns the classes that are looked at this time; the next time it is the turn of those after them.
    fn take_due(&mut self) -> Vec<(usize, Arc<WeakRef>)> {
        let most = LEAST_SWEPT.max(2 * self.new).min(self.order.len());
        self.new = 0;
        let mut due = Vec::new();
        for _ in 0..most {
            if self.next >= self.order.len() {
                self.next = 0;
            }
            let address = self.order[self.next];
            self.next += 1;
            if let Some(known) = self.by_address.get_mut(&address) {
                known.is_asked = false;
                due.push((address, known.class.clone()));
            }
        }
        due
    }

    fn forget(&mut self, gone: &[(usize, Arc<WeakRef>)]) {
        if gone.is_empty() {
            return;
        }
        for (address, class) in gone {
            if self.get_mut(*address, class).is_some() {
                self.by_address.remove(address);
            }
        }
        self.order
            .retain(|address| self.by_address.contains_key(address));
        self.next = self.next.min(self.order.len());
        if self.by_address.len() < self.by_address.capacity() / 8 {
            self.by_address.shrink_to_fit();
            self.order.shrink_to_fit();
        }
    }
}
