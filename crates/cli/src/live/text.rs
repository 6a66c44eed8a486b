//! Pages as lines of text, for the screen and for a pipe.

use std::io::{self, Write};

use super::chart;
use super::client::Measured;
use super::memory;
use super::model::Model;
use super::page::{PageRow, View};

/// The most rows of a page in a pipe.
const ROWS: usize = 20;
/// The columns and the lines of the chart of memory.
const CHART: (usize, usize) = (80, 12);

/// Returns the heads of the columns; the one that orders the page is marked.
pub fn heads(view: View, sort: usize) -> String {
    let columns = view.columns().iter().enumerate();
    let heads = columns.map(|(place, column)| {
        let mark = if place == sort { "*" } else { "" };
        format!(
            "{:>width$} ",
            format!("{mark}{}", column.head),
            width = column.width
        )
    });
    format!("{} {}", heads.collect::<String>(), view.names())
}

/// Returns a row in so many columns. A name that is too long loses its beginning, the package.
pub fn line(view: View, row: &PageRow, width: usize) -> String {
    let columns = view.columns().iter().zip(&row.values);
    let numbers = columns.map(|(column, &value)| {
        format!("{:>width$} ", (column.format)(value), width = column.width)
    });
    let mut line = format!("{} ", numbers.collect::<String>());
    let room = width.saturating_sub(line.chars().count());
    if !row.class.is_empty() {
        line.push_str(&ending(&row.class, room / 3));
        line.push_str("  ");
    }
    let room = width.saturating_sub(line.chars().count());
    line.push_str(&ending(&row.name, room));
    line
}

/// Returns the end of a text that fits.
pub fn ending(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count - width.saturating_sub(1)).collect();
    format!("…{end}")
}

/// Prints the pages of what is measured.
pub fn write(
    title: &str,
    model: &Model,
    measured: Measured,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{title}")?;
    let pages = View::ALL.into_iter().filter(|view| match view {
        View::Cpu | View::Threads | View::Memory => true,
        View::Allocation => measured.allocation,
        View::Locks | View::Holders => measured.locks,
        View::Native => measured.native,
    });
    for view in pages {
        writeln!(out, "\n{}: {}", view.name(), view.summary(model))?;
        if view == View::Memory {
            let (width, height) = CHART;
            let lines = memory::verdict_lines(&model.memory).into_iter();
            let chart = chart::areas(model.memory.course.accounts(), width, height);
            for line in lines.chain(chart) {
                writeln!(out, "{line}")?;
            }
        }
        writeln!(out, "{}", heads(view, 0))?;
        let rows = view.rows(model, 0, "");
        let (shown, others) = rows.split_at(rows.len().min(ROWS));
        for row in shown {
            writeln!(out, "{}", line(view, row, usize::MAX))?;
        }
        if !others.is_empty() {
            writeln!(out, "and {} more", others.len())?;
        }
    }
    out.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::model::tests::two_snapshots;
    use super::*;

    #[test]
    fn a_pipe_gets_all_pages_as_text() {
        let mut out = Vec::new();
        let all = Measured::parse("all").expect("a word");
        let mut model = two_snapshots(false);
        model.memory = Arc::new(memory::tests::seen());
        write("Shop (process 4711)", &model, all, &mut out).expect("memory");
        let text = String::from_utf8(out).expect("UTF-8");
        let expected = "\
Shop (process 4711)

CPU: 50 % of a CPU in 2.0 s, by 100 samples
 *CPU% with calls    so far  method
  50.0       50.0    1.10 s  Shop.tax
   0.0       50.0    0.20 s  Shop.price
   0.0       50.0    0.00 s  Shop.main

Allocation: 4.0 KB/s, estimated; 3.0 KB live since the last collection of those made here
  *bytes/s  objects/s       live   growth/s  class and the method that allocates it
    4.0 KB          4     3.0 KB     1.0 KB  byte[]  Shop.price

Locks: 3.5 waits/s, 25 % of a thread's time; synchronized only
*waiting%  waits/s    so far  class of the monitor, and the method that waits
    25.0      3.5    0.50 s  Shop  Shop.price

Threads: 95 % of a CPU, 2 threads
 *CPU%    so far  thread
  95.0    3.90 s        1  main
   0.0    0.04 s        2  new

Holders: 30 % of a thread's time, by samples; the holder is known for 83 % of it
*waiting%    so far  the method that waits, the one that holds the lock, and the lock
    25.0    0.50 s  Shop.price, while Shop.tax (called by Shop.price, Shop.main) held Shop@1b2c
     5.0    0.10 s  Shop.price, while <no holder seen> held Shop@1b2c

Memory: a look every 2.00 s, 0.10 % of a CPU; 500.0 MB resident; 520.0 MB of a limit of 1.0 GB: Java heap 50.0 MB used of \
                        120.0 MB committed, direct buffers 400.0 MB
direct buffers: 400.0 MB, grown from 100.0 MB to 400.0 MB, 300.0 MB a minute
cannot tell yet when the heap is full: 1 collection in 0 s show no steady growth
cannot tell yet when the limit is reached: 2 looks in 60.0 s show no steady growth
swapped out: 2.0 MB
";
        let (page, memory) = text.split_at(expected.len().min(text.len()));
        assert_eq!(page, expected);
        for line in [
            "=1.0 GB ",
            "         60.0 s ago to now",
            " *resident     %  committed  growth/min  letter in the chart, and part",
            "  400.0 MB  80.0   120.0 MB    300.0 MB  D  direct buffers",
        ] {
            assert!(memory.contains(line), "{line}: {memory}");
        }
    }

    #[test]
    fn a_long_name_loses_its_beginning() {
        assert_eq!(ending("com.example.Shop.price", 11), "…Shop.price");
        assert_eq!(ending("Shop.price", 10), "Shop.price");
        assert_eq!(ending("Shop", 1), "…");
    }
}
