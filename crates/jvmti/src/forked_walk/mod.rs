//! A heap walk in a forked child: the program is stopped for the fork, and continues while its child walks over the memory
//! of that instant.
//!
//! The first callback of FollowReferences forks. It runs on the VM's thread, so this is the thread that the child has,
//! with the walk on its stack. In the parent the callback ends the walk; the child continues it. The child's thread
//! must not return from the walk: the VM would then wake threads that the child does not have. So the child has to know
//! the last object. HotSpot visits the objects on a stack, from 11 to 28: what it pushes first it visits last. The first
//! root is always the object of the first thread in the VM's list. The child lets the VM follow this reference to it and
//! no later one, so once the VM visits it, everything else has been visited. There the child ends. The object itself must
//! be known without the walk, and so must what it refers to, by other references.

mod messages;

use std::ffi::c_int;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::fields::Primitive;
use super::heap_walk::{
    HeapVisitor, PrimitiveField, Referee, Reference, Referrer, RootReference, Tags, Visit,
    WantedValues,
};
use super::jni::LocalRef;
use super::prepared_classes::PreparedClasses;

pub use messages::{ChildMessage, ForkedVisitor, NoChild};

/// The seconds after which a child without progress is ended by the kernel.
const PATIENCE: u32 = 10;

/// The callbacks after which the child has made progress.
const PROGRESS: u64 = 1 << 16;

/// The longest time that the child waits for a parent that takes nothing, as its own output may hang.
const PARENT_PATIENCE: Duration = Duration::from_secs(60);

/// The time between two checks whether the child may continue.
const CHECK: Duration = Duration::from_millis(100);

/// The checks in a row without anything from the child, after which the parent ends it: about a minute in which the parent
/// itself runs. A debugger may hold the child, whose own alarm then waits, too.
const SILENT_CHECKS: u32 = 600;

/// The checks in a row that find a child asleep which has sent nothing. It waits for a lock that another thread held when
/// it was forked, and which nobody will ever release in the child. The allocator of the VM's temporary memory has such a lock,
/// and compilers use it all the time.
const ASLEEP_CHECKS: u32 = 5;

/// The longest time that the parent waits for the end of a child that has nothing more to send.
const REAPING: Duration = Duration::from_secs(30);

/// The most bytes of a message, more than those of the largest record.
const MOST_BYTES: u64 = 1 << 33;

/// The connection between the program and its child.
pub struct ChildLink {
    parent: UnixStream,
    child: UnixStream,
    is_child: AtomicBool,
}

const CONTENT: u8 = 0;
const QUESTION: u8 = 1;
const LAST: u8 = 2;

impl ChildLink {
    /// Creates the connection, before the fork.
    pub fn new() -> io::Result<Self> {
        let (parent, child) = UnixStream::pair()?;
        parent.set_read_timeout(Some(CHECK))?;
        child.set_write_timeout(Some(PARENT_PATIENCE))?;
        child.set_read_timeout(Some(PARENT_PATIENCE))?;
        Ok(Self {
            parent,
            child,
            is_child: AtomicBool::new(false),
        })
    }

    /// Returns `true` in the child.
    pub fn is_child(&self) -> bool {
        self.is_child.load(Ordering::Relaxed)
    }

    /// Sends content from the child. Returns `false` if nobody takes it.
    pub fn send_content(&self, content: &[u8]) -> bool {
        self.send(CONTENT, content)
    }

    /// Asks the parent from the child, and waits for its answer.
    pub fn ask(&self, question: &[u8]) -> Option<u32> {
        let mut answer = [0; 4];
        let is_answered = self.send(QUESTION, question)
            && waiting(|| (&self.child).read_exact(&mut answer)).is_ok();
        is_answered.then(|| u32::from_ne_bytes(answer))
    }

    /// Answers a question of the child.
    pub fn answer(&self, answer: u32) -> io::Result<()> {
        (&self.parent).write_all(&answer.to_ne_bytes())
    }

    fn send(&self, kind: u8, content: &[u8]) -> bool {
        let mut head = [kind; 9];
        head[1..].copy_from_slice(&(content.len() as u64).to_ne_bytes());
        let send = || {
            (&self.child).write_all(&head)?;
            (&self.child).write_all(content)
        };
        waiting(send).is_ok()
    }
}

/// Waits for the parent, which may take its time, without the child's alarm.
fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    // SAFETY: the alarm is the child's own.
    unsafe { libc::alarm(0) };
    let answer = wait();
    // SAFETY: as above.
    unsafe { libc::alarm(PATIENCE) };
    answer
}

/// The child, seen from the program.
pub struct Child<'l> {
    link: &'l ChildLink,
    process: Process,
    is_reaped: bool,
    last_check: Instant,
}

/// A child process.
struct Process {
    pid: libc::pid_t,
    /// Means this process even when the number has been given to another. `None` in kernels before 5.3.
    descriptor: Option<OwnedFd>,
}

impl Child<'_> {
    /// Waits for the child's next message. An error says why there is none; it is of the kind [`io::ErrorKind::Deadlock`] if
    /// the child waits for a lock that was held when it was forked. `check` is called every 100 ms; if it returns an error, the
    /// child is ended.
    pub fn receive(&mut self, check: &dyn Fn() -> io::Result<()>) -> io::Result<ChildMessage> {
        let mut head = [0; 9];
        self.read(&mut head, check)?;
        let [kind, length @ ..] = head;
        let length = u64::from_ne_bytes(length);
        let length = usize::try_from(length.min(MOST_BYTES)).unwrap_or(usize::MAX);
        memory::need(length);
        let mut content = vec![0; length];
        self.read(&mut content, check)?;
        Ok(match kind {
            CONTENT => ChildMessage::Content(content),
            QUESTION => ChildMessage::Question(content),
            _ => ChildMessage::Last(content),
        })
    }

    fn read(&mut self, mut bytes: &mut [u8], check: &dyn Fn() -> io::Result<()>) -> io::Result<()> {
        let (mut silent, mut asleep) = (0, 0);
        while !bytes.is_empty() {
            if self.last_check.elapsed() >= CHECK {
                check().inspect_err(|_| self.kill())?;
                self.last_check = Instant::now();
            }
            match (&self.link.parent).read(bytes) {
                Ok(0) => return Err(self.ended()),
                Ok(count) => {
                    bytes = &mut bytes[count..];
                    (silent, asleep) = (0, 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // A process that the program forked meanwhile may keep the child's end open.
                    if let Some(ended) = self.reap() {
                        return Err(ended);
                    }
                    asleep = if self.is_asleep() { asleep + 1 } else { 0 };
                    if asleep == ASLEEP_CHECKS {
                        self.kill();
                        return Err(io::Error::new(
                            io::ErrorKind::Deadlock,
                            "it waits for a lock of the VM",
                        ));
                    }
                    silent += 1;
                    if silent > SILENT_CHECKS {
                        self.kill();
                        return Err(io::Error::other("it sent nothing for a minute"));
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns `true` if the child sleeps, by its letter in /proc (proc_pid_stat(5)). Reading from the disk and being stopped have
    /// other letters.
    fn is_asleep(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.pid));
        stat.is_ok_and(|stat| {
            stat.rsplit(") ")
                .next()
                .is_some_and(|rest| rest.starts_with('S'))
        })
    }

    /// Ends the child. Where the kernel has no descriptors for processes, it ends when it finds nobody to write to.
    fn kill(&self) {
        if let Some(process) = &self.process.descriptor {
            // SAFETY: the descriptor is that of the child; a null pointer stands for the usual information.
            unsafe {
                libc::syscall(
                    libc::SYS_pidfd_send_signal,
                    process.as_raw_fd(),
                    libc::SIGKILL,
                    std::ptr::null::<libc::siginfo_t>(),
                    0,
                );
            }
        }
    }

    /// Returns the way in which a child ended that has closed its connection.
    fn ended(&mut self) -> io::Error {
        let begin = Instant::now();
        loop {
            match self.reap() {
                Some(ended) => return ended,
                None if begin.elapsed() > REAPING => return io::Error::other("it does not end"),
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Reaps the child if it has ended, and returns how. Nothing else of the program's children is reaped.
    fn reap(&mut self) -> Option<io::Error> {
        let unknown = || io::Error::other("it has ended");
        if self.is_reaped {
            return Some(unknown());
        }
        let mut status = 0;
        // SAFETY: `status` receives the answer.
        let answer = unsafe { libc::waitpid(self.process.pid, &mut status, libc::WNOHANG) };
        match answer {
            0 => None,
            pid if pid == self.process.pid => {
                self.is_reaped = true;
                Some(io::Error::other(match libc::WIFSIGNALED(status) {
                    true if libc::WTERMSIG(status) == libc::SIGALRM => {
                        format!("it made no progress for {PATIENCE} seconds")
                    }
                    true => format!("signal {} ended it", libc::WTERMSIG(status)),
                    false => "it has given up".to_owned(),
                }))
            }
            _ if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => None,
            // Who ignores SIGCHLD, or waits for any child, leaves none to be waited for.
            _ => {
                self.is_reaped = true;
                Some(unknown())
            }
        }
    }
}

/// Leaves no zombie, and ends a child that has not finished.
impl Drop for Child<'_> {
    fn drop(&mut self) {
        let _ = self.link.parent.shutdown(std::net::Shutdown::Both);
        if !self.is_reaped {
            self.kill();
            self.ended();
        }
    }
}

impl Tags {
    /// Stops the program, forks, and lets it continue. The child reports everything to `visitor` as [`Tags::follow`] does,
    /// but for the references of the object with the tag `last`, which must be the first that the VM reports. There is no fork if
    /// `prepared` has noticed a class: its objects would mean nothing to the visitor.
    pub fn follow_in_child<'l, V: ForkedVisitor>(
        &self,
        wanted: WantedValues,
        visitor: &mut V,
        link: &'l ChildLink,
        last: u64,
        prepared: &PreparedClasses,
    ) -> Result<Child<'l>, NoChild> {
        let mut walk = ForkedWalk {
            visitor,
            link,
            last,
            prepared,
            callbacks: 0,
            forked: Err(NoChild::NoRoot),
        };
        self.follow(wanted, &mut walk)?;
        walk.forked.map(|process| Child {
            link,
            process,
            is_reaped: false,
            last_check: Instant::now(),
        })
    }
}

struct ForkedWalk<'v, V> {
    visitor: &'v mut V,
    link: &'v ChildLink,
    last: u64,
    prepared: &'v PreparedClasses,
    /// Those in the child.
    callbacks: u64,
    /// The child, in the parent.
    forked: Result<Process, NoChild>,
}

impl<V: ForkedVisitor> ForkedWalk<'_, V> {
    /// Calls the visitor, and ends the child if that has failed.
    fn call(&mut self, body: impl FnOnce(&mut V) -> Visit) -> Visit {
        self.callbacks += 1;
        if self.callbacks.is_multiple_of(PROGRESS) {
            // SAFETY: the alarm is the child's own.
            unsafe { libc::alarm(PATIENCE) };
        }
        match catch_unwind(AssertUnwindSafe(|| body(self.visitor))) {
            Ok(Visit::Stop) => self.finish(),
            Ok(visit) => visit,
            Err(_) => end(1),
        }
    }

    /// Calls the visitor for a reference to an object.
    fn call_for(&mut self, tag: u64, body: impl FnOnce(&mut V) -> Visit) -> Visit {
        let visit = self.call(body);
        match tag == self.last && self.callbacks > 1 {
            true => Visit::Pass,
            false => visit,
        }
    }

    /// Ends the child if the VM has come to the last object.
    fn check_end(&mut self, referrer: Referrer) {
        if referrer.tag == self.last {
            self.finish();
        }
    }

    fn finish(&mut self) -> ! {
        let answer = catch_unwind(AssertUnwindSafe(|| self.visitor.finish()));
        match answer {
            Ok(message) => end(c_int::from(!self.link.send(LAST, &message))),
            Err(_) => end(1),
        }
    }
}

impl<V: ForkedVisitor> HeapVisitor for ForkedWalk<'_, V> {
    fn root(&mut self, root: RootReference, referee: Referee<'_>) -> Visit {
        if !self.link.is_child() {
            if *referee.tag != self.last {
                self.forked = Err(NoChild::OtherThread);
                return Visit::Stop;
            }
            if self.prepared.has_any() {
                self.forked = Err(NoChild::OtherClasses);
                return Visit::Stop;
            }
            self.forked = fork(self.link).map_err(NoChild::Fork);
            if !self.link.is_child() {
                return Visit::Stop;
            }
        }
        let tag = *referee.tag;
        self.call_for(tag, |visitor| visitor.root(root, referee))
    }

    fn reference(
        &mut self,
        referrer: Referrer,
        reference: Reference,
        referee: Referee<'_>,
    ) -> Visit {
        self.check_end(referrer);
        let tag = *referee.tag;
        self.call_for(tag, |visitor| {
            visitor.reference(referrer, reference, referee)
        })
    }

    fn primitive_field(&mut self, field: PrimitiveField) -> Visit {
        self.check_end(field.holder);
        self.call(|visitor| visitor.primitive_field(field))
    }

    fn primitive_array(&mut self, array: Referrer, kind: Primitive, elements: &[u8]) -> Visit {
        self.call(|visitor| visitor.primitive_array(array, kind, elements))
    }
}

/// Ends the child, and runs nothing that the program registered for its own end.
fn end(status: c_int) -> ! {
    // SAFETY: the process is the child.
    unsafe { libc::_exit(status) }
}

/// Forks. Returns the child in the parent.
fn fork(link: &ChildLink) -> io::Result<Process> {
    let parent = process::id();
    // SAFETY: the child uses the VM's walk, which takes no lock that a thread of the program keeps over a safepoint, the
    // allocator, which the C library mends, and its own end of the connection. It never returns from the walk.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            link.is_child.store(true, Ordering::Relaxed);
            if become_child(link.child.as_raw_fd(), parent).is_none() {
                end(1);
            }
            Ok(Process {
                pid: 0,
                descriptor: None,
            })
        }
        pid => Ok(Process {
            pid,
            descriptor: descriptor_of(pid),
        }),
    }
}

fn descriptor_of(pid: libc::pid_t) -> Option<OwnedFd> {
    // SAFETY: the numbers are passed as words. The kernel closes the descriptor when another program is executed.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let descriptor = RawFd::try_from(descriptor).ok().filter(|&fd| fd >= 0)?;
    // SAFETY: the descriptor is new, and nobody else's.
    Some(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Gives up what the child has in common with the program. `None` if it cannot.
fn become_child(connection: RawFd, parent: u32) -> Option<()> {
    // The kernel takes the child, and never the program, when memory is short.
    let file = c"/proc/self/oom_score_adj";
    // SAFETY: the path ends with a zero byte; the descriptor is the one just opened; the content has four bytes.
    unsafe {
        let file = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, c"1000".as_ptr().cast(), 4);
            libc::close(file);
        }
    }
    take_default_signals();
    close_all_but(connection);
    // SAFETY: the limits are plain numbers, for this process alone; the kernel ends the child with its parent.
    unsafe {
        let none = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // What the VM would write to files when it fails must not appear next to the program's.
        libc::setrlimit(libc::RLIMIT_FSIZE, &none);
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::alarm(PATIENCE);
        // It may have ended before the request.
        (libc::getppid().cast_unsigned() == parent).then_some(())
    }
}

/// Leaves no signal to the program's handlers: those that report faults end the child, SIGALRM, too, others wait.
fn take_default_signals() {
    let own = [
        libc::SIGALRM,
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGILL,
        libc::SIGFPE,
        libc::SIGABRT,
        libc::SIGTRAP,
    ];
    // SAFETY: the set is initialized by `sigfillset`; the default action needs no function.
    unsafe {
        let mut others = std::mem::zeroed();
        libc::sigfillset(&mut others);
        for signal in own {
            libc::signal(signal, libc::SIG_DFL);
            libc::sigdelset(&mut others, signal);
        }
        // Blocked, SIGPIPE is an error of the write.
        libc::pthread_sigmask(libc::SIG_SETMASK, &others, std::ptr::null_mut());
    }
}

fn close_all_but(kept: RawFd) {
    let kept = kept.cast_unsigned();
    let close_range = |first: u32, last: u32| {
        // SAFETY: nothing in the child uses the other descriptors; three numbers are passed as words.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) == 0 }
    };
    let below = kept == 0 || close_range(0, kept - 1);
    if below && close_range(kept + 1, u32::MAX) {
        return;
    }
    // A kernel before 5.9.
    // SAFETY: `sysconf` only answers; as above for the descriptors.
    unsafe {
        let most = c_int::try_from(libc::sysconf(libc::_SC_OPEN_MAX)).unwrap_or(1 << 16);
        for descriptor in (0..most).filter(|&descriptor| descriptor.cast_unsigned() != kept) {
            libc::close(descriptor);
        }
    }
}

/// Returns an error if a fork would not keep the heap as it is: a mapping that is shared stays in common. `object` is any
/// object in the heap.
pub fn check_heap_is_private(object: &LocalRef<'_>) -> Result<(), &'static str> {
    // SAFETY: HotSpot's local references are the addresses of words with the objects' addresses, which the collector may
    // change at any time; the value is only compared.
    let address = unsafe { object.object().raw.cast::<usize>().read_volatile() };
    let maps =
        fs::read_to_string("/proc/self/maps").map_err(|_| "/proc/self/maps cannot be read")?;
    match is_private(&maps, address) {
        Some(true) => Ok(()),
        Some(false) => Err("the heap is mapped shared"),
        None => Err("the collector marks addresses, as ZGC does with a heap that is mapped shared"),
    }
}

fn is_private(maps: &str, address: usize) -> Option<bool> {
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let from = usize::from_str_radix(from, 16).ok()?;
        let to = usize::from_str_radix(to, 16).ok()?;
        let is_here = (from..to).contains(&address);
        is_here.then(|| rest.as_bytes().get(3) == Some(&b'p'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mapping_of_an_address_is_found() {
        let maps = "7f00-7fff rw-p 00000000 00:00 0\n\
            8000-9000 rw-s 00000000 00:01 77 /memfd:java_heap (deleted)\n";
        assert_eq!(is_private(maps, 0x7f10), Some(true));
        assert_eq!(is_private(maps, 0x8000), Some(false));
        assert_eq!(is_private(maps, 0x9000), None);
    }
}
