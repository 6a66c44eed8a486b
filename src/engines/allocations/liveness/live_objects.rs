//! The tracked objects, and which of them are alive.
//!
//! New objects are in the nursery of the thread that allocated them. A full chunk goes to the sweeper, which examines
//! it after the next collection: all of its objects are counted at their sites as allocated; dead ones are counted as
//! dead and forgotten, the others join the cohort of their birth. A cohort is examined when its objects have survived so
//! many collections that they belong to another class of ages. In the end they are old, and all old objects are examined
//! each time they have doubled. So each object is examined only a few times in its life, however many there are. Without
//! `lifetimes=`, objects are old at once.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hprof_format::{BirthsHead, Fate, Millis};
use memory::{List, Map, OrStop};

use super::super::budget::Steps;
use super::super::lifetimes::{
    Before, Birth, Clock, Course, CourseReport, Deaths, Look, Moments, PeakObjects, PeakWatch,
};
use super::super::sites::{SiteId, Sites, Weight};
use super::cohorts::{Cohort, Cohorts};
use super::kind::Kind;
use super::nursery::{CHUNK, Chunk, Tracked};
use super::sweep::{Counted, Sweep};
use crate::engines::worker::Worker;
use jvmti::{Jni, ObjectRef};
use locks::{Mutex, rank};
use output::now;

/// The number of objects that may pile up without a collection before one is forced; if more objects than that are old,
/// their number. 2 million objects take 50 MB, here and in the VM.
const PILE: usize = 2_000_000;
/// The multiple of the limit at which allocating threads have to wait for the sweeper.
const TOO_MUCH: usize = 4;
/// The longest that a thread waits before it continues with its next chunk anyway.
const LONGEST_WAIT_MILLIS: u32 = 100;

/// The longest that a thread waits for another one that examines objects, which may be suspended.
pub(in super::super) const SWEEP_TIMEOUT: Duration = Duration::from_secs(60);

/// All tracked objects.
///
/// The VM may be called while `old` is held, but never while `full` is.
pub(in super::super) struct LiveObjects {
    full: Mutex<List<Chunk>, rank::PiledObjects>,
    /// The number of objects in `full`.
    piled: AtomicUsize,
    /// The most objects that may pile up.
    limit: AtomicUsize,
    collected: AtomicBool,
    old: Mutex<Old, rank::OldObjects>,
    /// The end of the last sweep, in milliseconds since 1970; 0 before the first.
    swept_at: AtomicU64,
    sweeper: Worker,
    clock: Clock,
}

/// The cohorts that are examined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// Those for which this says how long the dead ones lived, and the old ones if they have doubled.
    ByAge,
    All,
}

struct Old {
    objects: Cohorts,
    /// Chunks from the pile that have been counted at their sites but not examined.
    counted: List<Chunk>,
    /// The number of old objects after the last examination.
    looked_at: usize,
    moments: Moments,
    deaths: Deaths,
    /// The bytes of objects not known to be dead.
    bytes: u64,
    /// The bytes counted as allocated.
    made: u64,
    peak: PeakWatch,
    course: Course,
}

/// How long the objects of each site have lived.
pub(in super::super) struct ObjectAges {
    /// The number of collections since the profile began.
    pub(in super::super) collections: u32,
    /// The time since then.
    pub(in super::super) time: Duration,
    pub(in super::super) living: Map<(SiteId, Fate), Weight>,
    /// The dead ones that were not temporary.
    pub(in super::super) deaths: Deaths,
    /// The objects alive after the collection that left most.
    pub(in super::super) peak: Option<PeakObjects>,
    /// The objects alive over time.
    pub(in super::super) course: CourseReport,
}

impl LiveObjects {
    /// `every` is the least time between two points of the course.
    pub(in super::super) fn new(sweeper: Worker, every: Duration) -> Self {
        Self {
            full: Mutex::default(),
            piled: AtomicUsize::new(0),
            limit: AtomicUsize::new(PILE),
            collected: AtomicBool::new(false),
            old: Mutex::new(Old::new(every)),
            swept_at: AtomicU64::new(0),
            sweeper,
            clock: Clock::default(),
        }
    }

    pub(in super::super) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Adds chunks from a nursery to the pile.
    pub(in super::super) fn add(&self, chunks: Vec<Chunk>) {
        let objects = chunks.iter().map(Chunk::len).sum();
        self.piled.fetch_add(objects, Ordering::Relaxed);
        self.full.lock().extend(chunks).or_stop();
    }

    /// As [`LiveObjects::add`], on the thread that allocated the objects, which may have to wait.
    pub(in super::super) fn pile_up(&self, full: Chunk) {
        // Counted before anybody can take it, so that the number never falls below zero.
        let piled = self.piled.fetch_add(CHUNK, Ordering::Relaxed) + CHUNK;
        self.full.lock().push(full).or_stop();
        let limit = self.limit.load(Ordering::Relaxed);
        if piled >= limit && piled - limit < CHUNK {
            self.sweeper.wake();
        }
        if piled >= TOO_MUCH * limit {
            self.wait_for_the_sweeper();
        }
    }

    /// Waits for the sweeper. Many threads can allocate objects faster than one can examine them, and only slowing them
    /// down bounds the memory. A thread waits in native code, so collections go on.
    fn wait_for_the_sweeper(&self) {
        self.sweeper.wake();
        for _ in 0..LONGEST_WAIT_MILLIS {
            let limit = self.limit.load(Ordering::Relaxed);
            if self.piled.load(Ordering::Relaxed) < TOO_MUCH * limit {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Notes that a collection is over.
    pub(in super::super) fn collected(&self) {
        self.collected.store(true, Ordering::Relaxed);
        self.sweeper.wake();
    }

    /// Returns `true` if there was a collection since the last sweep.
    pub(in super::super) fn is_due(&self) -> bool {
        self.collected.load(Ordering::Relaxed)
    }

    /// Returns `true` if so much has piled up since the last collection that the next one must be forced.
    pub(in super::super) fn is_overfull(&self) -> bool {
        !self.collected.load(Ordering::Relaxed)
            && self.piled.load(Ordering::Relaxed) >= self.limit.load(Ordering::Relaxed)
    }

    /// Examines the objects that are due, if there was a collection.
    pub(in super::super) fn sweep(&self, mut sweep: Sweep<'_>) {
        if self.collected.swap(false, Ordering::Relaxed) {
            let mut old = self.old.lock();
            self.sweep_young(&mut old, &mut sweep);
            self.sweep_cohorts(&mut old, &mut sweep, Due::ByAge);
            self.sweep_proven(&mut old, &mut sweep, 0);
            let most = old.bytes.saturating_add_signed(sweep.change());
            let began = old.moments.time();
            let may_be_peak = self.clock.is_running() && old.peak.is_due(most);
            let is_point = self.clock.is_running() && old.course.is_due(began);
            if may_be_peak || is_point {
                self.sweep_cohorts(&mut old, &mut sweep, Due::All);
                // With Shenandoah the dead objects found here may be the only sign of a collection.
                self.sweep_proven(&mut old, &mut sweep, 0);
                let is_point = is_point || old.course.is_worth_a_point(began);
                self.finish_with_look(&mut old, sweep, began, is_point);
            } else {
                old.finish(sweep);
            }
            self.note_sweep();
        }
    }

    /// Returns the end of the last sweep.
    pub(in super::super) fn swept_at(&self) -> Option<Millis> {
        let millis = self.swept_at.load(Ordering::Relaxed);
        (millis > 0).then_some(Millis(millis))
    }

    fn note_sweep(&self) {
        self.swept_at.store(now().0, Ordering::Relaxed);
    }

    /// Examines the objects that have survived a collection, which are otherwise examined only now and then.
    pub(in super::super) fn sweep_old(&self, mut sweep: Sweep<'_>) {
        let mut old = self.old.lock();
        self.sweep_cohorts(&mut old, &mut sweep, Due::All);
        self.sweep_proven(&mut old, &mut sweep, 0);
        old.finish(sweep);
    }

    /// Begins a new moment.
    pub(in super::super) fn tick(&self) {
        let mut old = self.old.lock();
        let Old {
            moments,
            objects,
            made,
            ..
        } = &mut *old;
        let have_changed = moments.add(Before {
            collections: self.clock.ended(),
            bytes: *made,
        });
        objects.join(moments, have_changed);
        self.clock.tick();
    }

    /// Examines all objects. At least `ended` collections have ended. If others hold the old generation for longer than
    /// `timeout`, only the most recent objects are counted, and the answer is `false`.
    pub(in super::super) fn sweep_all(
        &self,
        mut sweep: Sweep<'_>,
        ended: u32,
        timeout: Duration,
    ) -> bool {
        let Some(mut old) = self.old.try_lock_for(timeout) else {
            self.count_recent(sweep);
            return false;
        };
        self.sweep_old_and_young(&mut old, &mut sweep, ended);
        match self.clock.is_running() {
            true => {
                let began = old.moments.time();
                self.finish_with_look(&mut old, sweep, began, true);
            }
            false => old.finish(sweep),
        }
        self.note_sweep();
        true
    }

    /// As [`LiveObjects::sweep_all`], without a look at how long objects have lived.
    pub(in super::super) fn sweep_all_within(&self, mut sweep: Sweep<'_>, timeout: Duration) {
        match self.old.try_lock_for(timeout) {
            Some(mut old) => {
                self.sweep_old_and_young(&mut old, &mut sweep, 0);
                old.finish(sweep);
            }
            None => self.count_recent(sweep),
        }
    }

    fn count_recent(&self, mut sweep: Sweep<'_>) {
        for tracked in self.full.lock().iter().flat_map(Chunk::objects) {
            sweep.count(tracked);
        }
        sweep.finish();
    }

    /// Counts all objects allocated so far at their sites. If others hold the old generation for longer than `timeout`, nothing
    /// is counted, and the answer is `false`.
    pub(in super::super) fn count(&self, mut sweep: Sweep<'_>, timeout: Duration) -> bool {
        let Some(mut old) = self.old.try_lock_for(timeout) else {
            return false;
        };
        let new = std::mem::take(&mut *self.full.lock());
        for tracked in new.iter().flat_map(Chunk::objects) {
            sweep.count(tracked);
        }
        old.counted.extend(new).or_stop();
        old.finish(sweep);
        true
    }

    /// Forgets all objects and frees the references to them.
    pub(in super::super) fn give_back(&self, jni: Jni<'_>) {
        let mut old = self.old.lock();
        let young = std::mem::take(&mut *self.full.lock());
        let counted = std::mem::take(&mut old.counted);
        let young = young.into_iter().chain(counted).flat_map(Chunk::by_birth);
        let young = young.flat_map(|(_, objects)| objects);
        let objects = std::mem::take(&mut old.objects);
        let old = objects.into_iter().flat_map(|(_, objects)| objects);
        young.for_each(|tracked| tracked.object.delete(jni));
        old.for_each(|(_, object)| object.delete(jni));
    }

    /// Returns the number of objects at the last complete examination.
    pub(in super::super) fn len(&self) -> usize {
        self.old.lock().objects.len()
    }

    /// Returns how long objects have lived, as far as the last examination shows; `None` if others hold the old objects
    /// for longer than `timeout`.
    pub(in super::super) fn ages(&self, steps: &Steps, timeout: Duration) -> Option<ObjectAges> {
        let old = self.old.try_lock_for(timeout)?;
        let (ended, time) = (self.clock.ended(), old.moments.time());
        let mut living = Map::<(SiteId, Fate), Weight>::default();
        for (cohort, objects) in old.objects.cohorts() {
            let survived = cohort.survived_by_living(ended);
            let fate = Fate::Live(survived, old.moments.age(cohort.birth, time));
            for (kind, _) in objects {
                *living.get_or_default((kind.site(), fate)).or_stop() += kind.weight(steps);
            }
        }
        Some(ObjectAges {
            collections: self.clock.now().collections,
            time,
            living,
            deaths: old.deaths.clone(),
            peak: old.peak.peak().cloned(),
            course: old.course.report(),
        })
    }

    /// Calls `look` with each object that was alive at the last complete examination, and its moment. Returns the moment
    /// that begins with this, so that none of the objects is of it or a later one; 0 if the clock does not move.
    pub(in super::super) fn for_each(&self, look: &mut dyn FnMut(&ObjectRef, Kind, Birth)) -> u32 {
        let mut old = self.old.lock();
        let mut next = 0;
        if self.clock.is_running() {
            let before = Before {
                collections: self.clock.ended(),
                bytes: old.made,
            };
            next = old.moments.add_kept(before);
            self.clock.tick();
        }
        for (cohort, objects) in old.objects.cohorts() {
            objects.for_each(|(kind, object)| look(&object, kind, cohort.birth));
        }
        next
    }

    /// Calls `look` with each object that has been counted at its site and is not known to be dead; with none if others hold the old
    /// objects for longer than `timeout`.
    pub(in super::super) fn for_each_counted(
        &self,
        timeout: Duration,
        look: &mut dyn FnMut(&ObjectRef, Kind),
    ) {
        let Some(old) = self.old.try_lock_for(timeout) else {
            return;
        };
        for tracked in old.counted.iter().flat_map(Chunk::objects) {
            look(&tracked.object, tracked.kind);
        }
        for (_, objects) in old.objects.cohorts() {
            objects.for_each(|(kind, object)| look(&object, kind));
        }
    }

    /// Returns the moments up to now, for a file of births whose dump was listed when `next` began.
    pub(in super::super) fn births(&self, next: u32) -> BirthsHead {
        self.old.lock().moments.births(next)
    }

    /// Forgets all objects, so that the sites count from zero. An object that is being allocated right now may still be
    /// counted.
    pub(in super::super) fn clear(&self, sites: &Sites, mut sweep: Sweep<'_>) {
        let mut old = self.old.lock();
        for (chunk, counted) in self.take_young(std::mem::take(&mut old.counted)) {
            for tracked in chunk.by_birth().flat_map(|(_, objects)| objects) {
                if counted == Counted::No {
                    sweep.count(&tracked);
                }
                sweep.forget(tracked.kind, tracked.object);
            }
        }
        let objects = std::mem::take(&mut old.objects).into_iter();
        for (label, object) in objects.flat_map(|(_, objects)| objects) {
            sweep.forget(Kind::of_label(label), object);
        }
        old.looked_at = 0;
        sweep.finish();
        old.deaths = Deaths::default();
        (old.bytes, old.peak) = (0, PeakWatch::default());
        old.course = old.course.restarted();
        for (_, site) in sites.iter() {
            site.forget_dead();
        }
    }

    /// Takes the pile, chunk by chunk, those already counted at their sites first.
    fn take_young(&self, counted: List<Chunk>) -> impl Iterator<Item = (Chunk, Counted)> {
        let new = std::mem::take(&mut *self.full.lock());
        let counted = counted.into_iter().map(|chunk| (chunk, Counted::Yes));
        let chunks = counted.chain(new.into_iter().map(|chunk| (chunk, Counted::No)));
        chunks.inspect(|(chunk, _)| {
            self.piled.fetch_sub(chunk.len(), Ordering::Relaxed);
        })
    }

    fn sweep_old_and_young(&self, old: &mut Old, sweep: &mut Sweep<'_>, ended: u32) {
        self.sweep_cohorts(old, sweep, Due::All);
        self.sweep_young(old, sweep);
        self.sweep_proven(old, sweep, ended);
    }

    /// Notes that a collection has ended, if so many have or the dead objects tell it: the living ones have survived it.
    fn sweep_proven(&self, old: &mut Old, sweep: &mut Sweep<'_>, ended: u32) {
        if self.clock.is_new(ended.max(sweep.proven())) {
            // Others that it has removed may have been looked at just before.
            self.sweep_cohorts(old, sweep, Due::ByAge);
            self.clock.have_ended(ended.max(sweep.proven()));
            self.sweep_cohorts(old, sweep, Due::ByAge);
        }
    }

    /// Ends a sweep over all objects: takes what has survived the last collection for the peak, if it is more than ever before,
    /// and adds it to the course if it is to be a point. The look began at this time.
    fn finish_with_look(&self, old: &mut Old, sweep: Sweep<'_>, began: Duration, is_point: bool) {
        let sites = sweep.sites();
        // Few: what was made since the collection.
        let mut new = Map::<SiteId, Weight>::default();
        for (cohort, objects) in old.objects.cohorts() {
            if !cohort.has_survived() {
                for (kind, _) in objects {
                    *new.get_or_default(kind.site()).or_stop() += sweep.weight(kind);
                }
            }
        }
        old.finish(sweep);
        let known = sites.entries().map(|(id, _, site)| {
            // What died is read first, so that it never outnumbers what was made.
            let dead = site.dead();
            let made = site.made();
            let new = new.get(&id).copied().unwrap_or_default();
            (id, made.less(dead).less(new), made)
        });
        let look = Look {
            time: began,
            collections: self.clock.ended(),
            sites: List::collect(known).or_stop(),
        };
        old.peak.take(&look);
        if is_point {
            old.course.take(&look);
            let now = old.moments.time();
            old.course.took(now, now.saturating_sub(began));
        }
    }

    fn sweep_young(&self, old: &mut Old, sweep: &mut Sweep<'_>) {
        let ended = self.clock.ended();
        for (chunk, counted) in self.take_young(std::mem::take(&mut old.counted)) {
            for (birth, objects) in chunk.by_birth() {
                let cohort = Cohort::new(birth);
                let seen = self.seen_at(cohort, ended);
                let mut living = old.objects.take(seen);
                sweep.look(objects, counted, cohort, |Tracked { object, kind }| {
                    living.push(kind.label(), object).or_stop();
                });
                old.objects.put(seen, living);
            }
        }
        self.limit
            .store(old.objects.len().max(PILE), Ordering::Relaxed);
    }

    /// Examines the cohorts that are due, and the old objects if they have doubled.
    fn sweep_cohorts(&self, old: &mut Old, sweep: &mut Sweep<'_>, due: Due) {
        let (ended, begun) = (self.clock.ended(), self.clock.begun());
        let look_at_old = due == Due::All || old.objects.old() >= (2 * old.looked_at).max(PILE);
        let due = old.objects.take_if(|cohort| match cohort.is_old() {
            true => look_at_old,
            false => due == Due::All || cohort.is_due(begun),
        });
        for (cohort, mut objects) in due {
            sweep.look_again(&mut objects, cohort);
            old.objects.put(self.seen_at(cohort, ended), objects);
        }
        if look_at_old {
            old.looked_at = old.objects.old();
        }
    }

    fn seen_at(&self, cohort: Cohort, ended: u32) -> Cohort {
        match self.clock.is_running() {
            true => cohort.seen_at(ended),
            false => cohort.old(),
        }
    }
}

impl Old {
    fn new(every: Duration) -> Self {
        Self {
            objects: Cohorts::default(),
            counted: List::new(),
            looked_at: 0,
            moments: Moments::default(),
            deaths: Deaths::default(),
            bytes: 0,
            made: 0,
            peak: PeakWatch::default(),
            course: Course::new(every),
        }
    }

    /// Adds what a sweep has found.
    fn finish(&mut self, sweep: Sweep<'_>) {
        let swept = sweep.finish();
        self.deaths.append(swept.deaths);
        self.bytes = self.bytes.saturating_add_signed(swept.change);
        self.made += swept.made;
        self.objects.close();
    }
}
