//! The answer of a recording at its end: what costs most, what was lost, and where there is more.

use std::cmp::Reverse;
use std::fs::{self, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hprof_format::printable;
use hprof_profile::{By, Cost, Metric, OwnCode, Profile, costs, growth};
use rustix::fs::OFlags;
use signal_hook::low_level::signal_name;

use super::files::Files;
use super::page;
use super::units::quoted;
use super::what::What;
use super::{kept, units};
use crate::about;
use crate::amounts::{Amounts, Sizes, number, percent, size, time};
use crate::attach;
use crate::autopsy::END_OF_BLACK_BOX;
use crate::failure::Failure;
use crate::growth::whole;
use crate::profile::{Opened, open, write_remarks};

/// The most rows of the answer, and of each of its two tables if it has two.
const ROWS: usize = 5;
const ROWS_OF_TWO: usize = 3;
/// One's own code has a table of its own if the first rows of other code have at least one part of so many.
const LITTLE: u64 = 10;
/// A part of the memory has grown if it has so many bytes more.
const GROWN: u64 = 16 << 20;
/// The head of the table of one's own code, after `method`.
const OF_OWN_CODE: &str = " of your code, with what it calls";
/// The most files that it names.
const NAMED: usize = 10;

/// The head of the table of what lets a thread wait.
const WAITS: &str = "who waited, while who held which lock";

/// The files of a recording, and how it ended.
pub struct Answer<'a> {
    what: &'a What,
    recording: &'a Files,
    files: Vec<PathBuf>,
    /// The code that is charged with what it calls; `None` if the answer is also about other code.
    own: Option<&'a OwnCode>,
    /// The end of the command that was run, if it was one.
    command: Option<CommandEnd>,
}

/// The end of a command.
#[derive(Clone, Copy)]
pub struct CommandEnd {
    /// The signal that ended it.
    pub signal: Option<i32>,
}

/// A table of the answer.
struct AnswerTable {
    head: String,
    rows: Vec<Cost>,
}

/// A profile with the value that the answer is about.
struct Chosen {
    file: PathBuf,
    opened: Opened,
    metric: Metric,
    total: u64,
    /// The time of threads that waited for work, which is left out.
    idle: u64,
}

impl<'a> Answer<'a> {
    /// Looks which files there are.
    pub fn new(
        what: &'a What,
        recording: &'a Files,
        own: Option<&'a OwnCode>,
        command: Option<CommandEnd>,
    ) -> Self {
        Self {
            what,
            recording,
            files: recording.found().into_iter().map(or_black_box).collect(),
            own,
            command,
        }
    }

    /// Returns the files.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Prints the answer.
    pub fn write(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let mut text = Vec::new();
        let written = self.compose(&mut text);
        written
            .and_then(|()| out.write_all(&text))
            .and_then(|()| out.flush())
            .map_err(|error| Failure::writing(Path::new("the answer"), &error))
    }

    fn compose(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(signal) = self.command.and_then(|command| command.signal) {
            let name =
                signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned);
            writeln!(
                out,
                "hprof: {name} ended the command; this is what was written until then"
            )?;
        }
        if self.files.is_empty() {
            return writeln!(
                out,
                "hprof: no profile was written: the command started no JVM, or none that could load the agent"
            );
        }
        // A dump that was written because memory ran out has allocation sites, too, and the question is what is alive.
        let chosen = match self.what {
            What::Heap { .. } => None,
            _ => self.chosen(),
        };
        let shown = match chosen {
            Some(chosen) => {
                self.costs(&chosen, out)?;
                Some(chosen.file)
            }
            None => self.without_costs(out)?,
        };
        self.names(shown.as_deref(), out)
    }

    /// Returns the profile with the largest total.
    fn chosen(&self) -> Option<Chosen> {
        let profiles = self.files.iter().filter_map(|file| {
            let mut opened = open(file, None).ok()?;
            let idle = opened.profile.remove_idle();
            let profile = &opened.profile;
            let has_some = |metric: &&Metric| profile.total(**metric) > 0;
            // Of options that were given as they are, what was measured and found.
            let measured = profile.metrics();
            let mut metrics = self.what.metrics().iter().chain(&measured);
            let metric = metrics.find(has_some).or(measured.first()).copied()?;
            let total = profile.total(metric);
            let idle = idle.iter().filter(|(of, _)| *of == metric);
            let idle = idle.fold(0_u64, |sum, (_, value)| sum.saturating_add(*value));
            Some(Chosen {
                file: file.clone(),
                opened,
                metric,
                total,
                idle,
            })
        });
        let chosen =
            profiles.reduce(|one, other| if other.total > one.total { other } else { one });
        chosen.filter(|chosen| chosen.total > 0)
    }

    fn costs(&self, chosen: &Chosen, out: &mut dyn Write) -> io::Result<()> {
        let Chosen {
            opened,
            metric,
            total,
            idle,
            ..
        } = chosen;
        let (profile, metric, total, idle) = (&opened.profile, *metric, *total, *idle);
        let amounts = Amounts::of(metric, profile, Sizes::default());
        let of = |value| amounts.cell(value);
        let sum = units::sentence(total, metric, amounts);
        writeln!(out, "{}: {sum}", self.title(&chosen.file))?;
        if let Some(about) = about::profile_of_known(profile) {
            writeln!(out, "{about}")?;
        }
        let tables = self.tables(profile, metric);
        let values = tables.iter().flat_map(|table| &table.rows);
        let widest = values.map(|row| of(row.own).chars().count()).max();
        let width = widest.unwrap_or(0).max("self".len());
        for AnswerTable { head, rows } in tables {
            writeln!(out, "  {:>width$}      %  total %  {head}", "self")?;
            for row in rows {
                writeln!(
                    out,
                    "  {:>width$} {:>6.1} {:>8.1}  {}",
                    of(row.own),
                    percent(row.own, total),
                    percent(row.total, total),
                    printable(&row.name)
                )?;
            }
        }
        let contention = profile.total(Metric::Contention);
        if metric == Metric::LockWait && contention > 0 {
            let types = costs(profile, Metric::Contention, By::Type);
            let most = types.first().map_or("", |cost| &cost.name);
            writeln!(
                out,
                "of monitors (`synchronized`), each wait counted: {} (contentions: {}), most of it for {}",
                time(contention as f64 / 1e9),
                number(profile.total(Metric::Contentions)),
                printable(most),
            )?;
        }
        if idle > 0 {
            writeln!(
                out,
                "{} of threads that waited for work, or ran no Java, are left out; --idle of `hprof top` shows them",
                amounts.text(idle)
            )?;
        }
        let remarks = opened.remarks(metric);
        write_remarks(&remarks, out)?;
        if remarks.is_empty() && opened.fault().is_none() {
            writeln!(out, "nothing was lost")?;
        }
        self.other_cpu(profile, metric, total, out)?;
        self.little_made(chosen, out)?;
        Self::growth(profile, &chosen.file, out)?;
        memory(profile, out)?;
        if let Some(fault) = opened.fault() {
            writeln!(out, "the file is not whole: {}", printable(fault))?;
        }
        Ok(())
    }

    /// Returns what the measurement is about.
    fn tables(&self, profile: &Profile, metric: Metric) -> Vec<AnswerTable> {
        let own = self.own.cloned().unwrap_or_default();
        let of_own_code = || {
            let profile = profile.clone().of_own_code(&own);
            methods(&profile, metric, OF_OWN_CODE)
        };
        let tables = match metric {
            // Nearly every thread that waits does so in the same few methods of the JDK; its state and the program's own code
            // tell more.
            Metric::Wall | Metric::Blocked | Metric::Parked | Metric::Pinned => {
                vec![AnswerTable::of(profile, metric, By::State), of_own_code()]
            }
            Metric::LockWait => vec![AnswerTable {
                head: WAITS.to_owned(),
                rows: costs(profile, metric, By::Wait),
            }],
            Metric::Contention | Metric::Contentions => {
                vec![AnswerTable::of(profile, metric, By::Type), of_own_code()]
            }
            _ if self.own.is_some() => vec![of_own_code()],
            _ => {
                let all = methods(profile, metric, "");
                let listed = all.rows.iter().take(ROWS);
                let of_others = listed.filter(|row| !own.has_frame(&row.name));
                let of_others: u64 = of_others.map(|row| row.own).sum();
                match of_others < profile.total(metric) / LITTLE {
                    true => vec![all],
                    false => vec![of_own_code(), all],
                }
            }
        };
        let tables = tables.into_iter().filter(|table| !table.rows.is_empty());
        let mut tables: Vec<AnswerTable> = tables.collect();
        let most = if tables.len() > 1 { ROWS_OF_TWO } else { ROWS };
        for table in &mut tables {
            table.rows.truncate(most);
        }
        tables
    }

    /// The answer where no file has costs: that of a heap dump, or why there is none. Returns the file that it shows.
    fn without_costs(&self, out: &mut dyn Write) -> io::Result<Option<PathBuf>> {
        let size = |file: &&PathBuf| fs::metadata(file).map_or(0, |found| found.len());
        let Some(largest) = self.files.iter().max_by_key(size) else {
            return Ok(None);
        };
        let title = self.title(largest);
        match kept::write(largest, &title, out)? {
            true => return Ok(Some(largest.clone())),
            false if let Some((nothing, metric, profile)) = self.nothing_measured(largest) => {
                writeln!(out, "{title}: {nothing}")?;
                self.other_cpu(&profile, metric, 0, out)?;
            }
            false if self.may_run(largest) => writeln!(
                out,
                "{title}: the JVM runs on; its profile is written when it ends, or by `hprof dump` and `hprof stop`"
            )?,
            false => writeln!(
                out,
                "{title}: the profile is empty: the JVM ended before it could write what it had counted"
            )?,
        }
        Ok(None)
    }

    /// Returns why a whole file has no costs, and which command would show some; `None` if it is not whole, or has no section
    /// for them.
    fn nothing_measured(&self, file: &Path) -> Option<(String, Metric, Profile)> {
        let mut opened = open(file, None).ok()?;
        let idle = opened.profile.remove_idle();
        let metrics = opened.profile.metrics();
        let wanted = self.what.metrics().iter();
        let metric = wanted.copied().find(|metric| metrics.contains(metric));
        let metric = metric.or(metrics.first().copied())?;
        if opened.fault().is_some() {
            return None;
        }
        let seconds = Duration::from_micros(opened.profile.length).as_secs_f64();
        let time = match seconds > 0.0 {
            true => format!(" in {}", time(seconds)),
            false => String::new(),
        };
        let again = self.again(file);
        let why = match metric {
            Metric::Cpu => format!(
                "the program used no CPU{time}, as far as samples show; `hprof record wall{again}` shows where its threads wait"
            ),
            Metric::Wall | Metric::Blocked | Metric::Parked | Metric::Pinned => {
                let idle = idle.iter().filter(|(of, _)| *of == metric);
                let idle = idle.fold(0_u64, |sum, (_, value)| sum.saturating_add(*value));
                if idle == 0 {
                    format!("no sample was taken{time}; the agent's messages may say why")
                } else {
                    let idle = Amounts::of(metric, &opened.profile, Sizes::default()).text(idle);
                    let file = quoted(file);
                    format!(
                        "all threads waited for work, or ran no Java: {idle}{time}; `hprof top {file} --idle` shows where"
                    )
                }
            }
            Metric::Contention | Metric::Contentions | Metric::LockWait => format!(
                "no thread waited for a monitor (`synchronized`){time}, and no sample found one that waited for a lock \
                 of java.util.concurrent; `hprof record wall{again}` shows where threads wait for something else"
            ),
            Metric::AllocBytes
            | Metric::AllocObjects
            | Metric::LiveBytes
            | Metric::LiveObjects
            | Metric::TemporaryBytes
            | Metric::TemporaryObjects
            | Metric::SurvivedBytes
            | Metric::SurvivedObjects
            | Metric::PeakBytes
            | Metric::PeakObjects => format!("nothing was allocated{time}, and nothing was alive"),
            Metric::NativeLiveBytes
            | Metric::NativeLiveBlocks
            | Metric::NativeOldBytes
            | Metric::NativeOldBlocks
            | Metric::NativeBytes
            | Metric::NativeBlocks => {
                format!("no sample found native code that allocates{time}")
            }
            Metric::Time | Metric::InclusiveTime | Metric::Calls => {
                format!("no method was called{time} that is counted")
            }
        };
        Some((why, metric, opened.profile))
    }

    /// Writes how much CPU time the JVM used that the samples of the program's threads do not have.
    fn other_cpu(
        &self,
        profile: &Profile,
        metric: Metric,
        samples: u64,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let (Metric::Cpu, Some(used), Some(interval)) =
            (metric, profile.process_cpu, profile.interval())
        else {
            return Ok(());
        };
        let used = used.as_secs_f64();
        let other = used - samples as f64 * interval.as_secs_f64();
        if other < (used / LITTLE as f64).max(interval.as_secs_f64()) {
            return Ok(());
        }
        let start = match self.command {
            Some(_) => ", and while it started",
            None => "",
        };
        let advice = match self.what.value_of("vmthreads") {
            Some("y") => "",
            _ => "; `cpu=samples,vmthreads=y` samples those, too",
        };
        writeln!(
            out,
            "the JVM used {} of CPU time: {} of it in its own threads, such as compilers and collectors{start}{advice}",
            time(used),
            time(other),
        )
    }

    /// Writes that the program made next to nothing of what was counted, if so, and which command shows more.
    fn little_made(&self, chosen: &Chosen, out: &mut dyn Write) -> io::Result<()> {
        let (profile, metric) = (&chosen.opened.profile, chosen.metric);
        let made = profile.made_by_program(metric);
        if metric != Metric::AllocBytes || made >= chosen.total / LITTLE * 2 {
            return Ok(());
        }
        let made = match made {
            0 => "nothing".to_owned(),
            made => Amounts::of(metric, profile, Sizes::default()).text(made),
        };
        let again = self.again(&chosen.file);
        writeln!(
            out,
            "the program itself allocated {made}; `hprof record heap{again}` shows what is alive, `hprof record wall{again}` where \
             its threads wait"
        )
    }

    /// Returns the process with which a command names a program that runs on and can be looked at again.
    fn again(&self, file: &Path) -> String {
        match (&self.command, self.recording.process(file)) {
            (None, Some(process)) => format!(" {process}"),
            _ => String::new(),
        }
    }

    /// Writes which sites keep what they make, of a profile that knows its course.
    fn growth(profile: &Profile, file: &Path, out: &mut dyn Write) -> io::Result<()> {
        let Ok(judgement) = growth(profile) else {
            return Ok(());
        };
        let Some(fastest) = judgement.growing.first() else {
            return Ok(());
        };
        let class = profile.labels(fastest.labels).class;
        let class = class.map_or("<unknown>", |class| profile.names.text(class));
        let frames = profile.stacks.frames(fastest.stack);
        let made_in = frames.first().map(|&frame| profile.method(frame));
        let more = match judgement.growing.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        let line = format!(
            "keeps what it makes: {class}, made in {}, {} a minute{more}",
            made_in.unwrap_or_default(),
            size(whole(fastest.bytes_per_minute)),
        );
        writeln!(out, "{}\n  hprof growth {}", printable(&line), quoted(file))
    }

    /// Names the files, and the commands that show more of one of them.
    fn names(&self, shown: Option<&Path>, out: &mut dyn Write) -> io::Result<()> {
        let first = shown.or(self.files.first().map(PathBuf::as_path));
        let Some(first) = first else {
            return Ok(());
        };
        let others = self.files.iter().filter(|file| *file != first);
        writeln!(out, "{}", self.named("profile", first))?;
        let process = self.recording.process(first);
        for file in others.clone().take(NAMED) {
            let whose = match self.recording.process(file) == process {
                true => "also of this JVM",
                false => "another JVM's",
            };
            writeln!(out, "{}", self.named(whose, file))?;
        }
        match others.count().saturating_sub(NAMED) {
            0 => {}
            more => writeln!(out, "and {more} other files")?,
        }
        if shown.is_none() {
            return Ok(());
        }
        let (file, page) = (quoted(first), quoted(&page::path_of(first)));
        if is_black_box(first) {
            return writeln!(
                out,
                "that is the black box of a program that was killed\n  hprof autopsy {file}\n  hprof top {file}"
            );
        }
        match self.what {
            What::Heap { .. } => writeln!(out, "  hprof heap leaks {file}\n  hprof browse {file}"),
            What::Alloc => writeln!(out, "  hprof tree {file}\n  hprof report {file} -o {page}"),
            What::Locks => writeln!(
                out,
                "  hprof top {file} --by type\n  hprof report {file} -o {page}"
            ),
            _ => writeln!(
                out,
                "  hprof top {file} --total\n  hprof report {file} -o {page}"
            ),
        }
    }

    fn named(&self, what: &str, file: &Path) -> String {
        let length = fs::metadata(file).map_or(0, |found| found.len());
        let running = if self.may_run(file) {
            ", which is still running"
        } else {
            ""
        };
        let name = file.display().to_string();
        format!("{what}: {} ({}{running})", printable(&name), size(length))
    }

    fn title(&self, file: &Path) -> String {
        let name = self.recording.program(file).unwrap_or_default();
        match self.recording.process(file) {
            Some(process) => format!("{name} (process {process})"),
            None => name,
        }
    }

    /// Returns `true` if a JVM has outlived its command, so that its profile is not finished.
    fn may_run(&self, file: &Path) -> bool {
        let process = self.recording.process(file);
        self.command.is_some() && process.is_some_and(attach::is_profiled)
    }
}

impl AnswerTable {
    fn of(profile: &Profile, metric: Metric, by: By) -> Self {
        AnswerTable {
            head: by.to_string(),
            rows: costs(profile, metric, by),
        }
    }
}

/// Writes how large the process was at its largest, and what had grown by then.
fn memory(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let looks = &profile.history.memory;
    let most = looks.iter().max_by_key(|look| look.resident());
    let (Some(first), Some(most)) = (looks.first(), most) else {
        return Ok(());
    };
    let before = |name: &str| {
        let mut parts = first.parts.iter();
        let part = parts.find(|part| part.name == name);
        part.map_or(0, |part| part.resident)
    };
    let grown = most.parts.iter().map(|part| {
        let grown = part.resident.saturating_sub(before(&part.name));
        (grown, &part.name)
    });
    let mut grown: Vec<(u64, &String)> = grown.filter(|(bytes, _)| *bytes > GROWN).collect();
    if grown.is_empty() {
        return Ok(());
    }
    grown.sort_by_key(|(bytes, _)| Reverse(*bytes));
    let parts: Vec<String> = grown
        .into_iter()
        .map(|(bytes, name)| format!("{} {}", printable(name), size(bytes)))
        .collect();
    let limit = most.limit.map(|limit| {
        let (used, limit) = (size(limit.used), size(limit.limit));
        format!(" ({used} of a limit of {limit})")
    });
    writeln!(
        out,
        "the process grew from {} in RAM to {}{}, {} into the profile: {}",
        size(first.resident()),
        size(most.resident()),
        limit.unwrap_or_default(),
        time(most.after.as_secs_f64()),
        parts.join(", ")
    )
}

/// Returns the methods with own costs; `of` is the end of the head.
fn methods(profile: &Profile, metric: Metric, of: &str) -> AnswerTable {
    let mut table = AnswerTable::of(profile, metric, By::Method);
    table.head.push_str(of);
    let is_method = |row: &Cost| row.own > 0 && !is_placeholder(&row.name);
    table.rows.retain(is_method);
    table
}

/// Returns the black box next to a profile, which is there if the program was killed; otherwise the profile.
fn or_black_box(profile: PathBuf) -> PathBuf {
    let mut name = profile.clone().into_os_string();
    name.push(END_OF_BLACK_BOX);
    let black_box = PathBuf::from(name);
    // A pipe in its place is not waited for.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(&black_box);
    let is_left = opened.is_ok_and(|file| {
        let is_written = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        file.metadata().is_ok_and(|found| found.is_file()) && !is_written
    });
    match is_left {
        true => black_box,
        false => profile,
    }
}

fn is_black_box(file: &Path) -> bool {
    let name = file.as_os_str().as_encoded_bytes();
    name.ends_with(END_OF_BLACK_BOX.as_bytes())
}

/// Returns `true` for the name of a row that is no method: `<not listed>`, `java.lang.Thread.<unsampled>`.
fn is_placeholder(name: &str) -> bool {
    let method = name.strip_prefix("java.lang.Thread.").unwrap_or(name);
    method.starts_with('<') && !matches!(method, "<init>" | "<clinit>")
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode, mkfifoat};
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_black_box_takes_the_place_of_the_profile_if_it_was_left() {
        let folder = TempDir::new().expect("a folder");
        let profile = folder.path().join("x.txt");
        let black_box = folder.path().join(format!("x.txt{END_OF_BLACK_BOX}"));
        assert_eq!(or_black_box(profile.clone()), profile, "there is none");
        let mode = Mode::RUSR | Mode::WUSR;
        mkfifoat(CWD, &black_box, mode).expect("a pipe");
        assert_eq!(or_black_box(profile.clone()), profile, "nothing waits");
        fs::remove_file(&black_box).expect("it is ours");
        fs::write(&black_box, "").expect("a file");
        let writer = fs::File::open(&black_box).expect("it is there");
        writer.lock().expect("nobody has it");
        assert_eq!(or_black_box(profile.clone()), profile, "it is written");
        drop(writer);
        assert_eq!(or_black_box(profile), black_box);
    }
}
