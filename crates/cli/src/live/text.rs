//! Pages as lines of text, for the screen and for a pipe.

use std::io::{self, Write};

use super::client::Measured;
use super::model::Model;
use super::page::{PageRow, View};

/// The most rows of a page in a pipe.
const ROWS: usize = 20;

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
        View::Cpu | View::Threads => true,
        View::Allocation => measured.allocation,
        View::Locks | View::Holders => measured.locks,
    });
    for view in pages {
        writeln!(out, "\n{}: {}", view.name(), view.summary(model))?;
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
    use super::super::model::tests::two_snapshots;
    use super::*;

    #[test]
    fn a_pipe_gets_all_pages_as_text() {
        let mut out = Vec::new();
        let all = Measured::parse("all").expect("a word");
        write("Shop (process 4711)", &two_snapshots(false), all, &mut out).expect("memory");
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
";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_long_name_loses_its_beginning() {
        assert_eq!(ending("com.example.Shop.price", 11), "…Shop.price");
        assert_eq!(ending("Shop.price", 10), "Shop.price");
        assert_eq!(ending("Shop", 1), "…");
    }
}
