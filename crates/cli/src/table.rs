//! Tables that fit the terminal.

use std::env;
use std::io::{self, IsTerminal, Write};

use hprof_format::printable;
use hprof_os::terminal;

/// The width of a bar, in columns.
const BAR: usize = 10;
/// Block characters, in steps of an eighth.
const BLOCKS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// The least number of columns for a name.
const NARROWEST: usize = 20;

/// The properties of the standard output.
pub struct Style {
    /// The number of columns; `None` if it is not a terminal.
    width: Option<usize>,
    colours: bool,
}

impl Style {
    /// Determines the style of the standard output. `NO_COLOR` turns colours off.
    pub fn of_output() -> Style {
        let is_terminal = io::stdout().is_terminal();
        let width = is_terminal.then(terminal::width).flatten();
        let no_colour = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Style {
            width: width.filter(|&width| width > 0),
            colours: is_terminal && !no_colour && terminal::shows_colours(),
        }
    }

    /// Returns a name in the form that is printed after `used` columns.
    pub fn name(&self, name: &str, used: usize) -> String {
        let name = printable(name);
        let Some(width) = self.width else {
            return name.into_owned();
        };
        let room = width.saturating_sub(used).max(NARROWEST);
        let letters = name.chars().count();
        if letters <= room {
            return name.into_owned();
        }
        // The end says more, because it has the method.
        let kept = name.chars().skip(letters + 1 - room);
        std::iter::once('…').chain(kept).collect()
    }

    /// Returns a bar that shows `part` as a share of `whole`.
    pub fn bar(&self, part: u64, whole: u64) -> String {
        let eighths = match whole {
            0 => 0,
            _ => (u128::from(part) * (BAR as u128 * 8) / u128::from(whole)) as usize,
        };
        let eighths = eighths.min(BAR * 8);
        let mut bar = "█".repeat(eighths / 8);
        bar.extend(
            eighths
                .checked_rem(8)
                .filter(|&rest| rest > 0)
                .map(|rest| BLOCKS[rest - 1]),
        );
        let padding = " ".repeat(BAR - bar.chars().count());
        if !self.colours {
            return bar + &padding;
        }
        let colour = match eighths {
            40.. => 31,
            8.. => 33,
            _ => 32,
        };
        format!("\x1b[{colour}m{bar}\x1b[0m{padding}")
    }

    /// Returns emphasized text.
    pub fn bold(&self, text: &str) -> String {
        if self.colours {
            return format!("\x1b[1m{text}\x1b[0m");
        }
        text.to_owned()
    }
}

/// Rows of numbers with a name at the end; each column is as wide as its widest number.
pub struct Table {
    heads: Vec<String>,
    /// The numbers of each row, and the lines of its name.
    rows: Vec<(Vec<String>, Vec<String>)>,
}

impl Table {
    /// Creates a table with these columns, the name's last.
    pub fn new(heads: &[&str]) -> Table {
        Table {
            heads: heads.iter().map(|&head| head.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row with a name of one line, whatever is in it.
    pub fn row(&mut self, numbers: Vec<String>, name: String) {
        self.rows.push((numbers, vec![name]));
    }

    /// Adds a row with a stack, whose frames stand below each other.
    pub fn stack(&mut self, numbers: Vec<String>, frames: &str) {
        let frames = frames.split('\n').map(str::to_owned).collect();
        self.rows.push((numbers, frames));
    }

    /// Writes the table.
    pub fn write(&self, style: &Style, out: &mut dyn Write) -> io::Result<()> {
        let Some((name_head, heads)) = self.heads.split_last() else {
            return Ok(());
        };
        let mut widths: Vec<usize> = heads.iter().map(String::len).collect();
        for (numbers, _) in &self.rows {
            for (width, number) in widths.iter_mut().zip(numbers) {
                *width = (*width).max(visible(number));
            }
        }
        let used: usize = widths.iter().map(|width| width + 2).sum();
        let pad = |text: &str, width: usize| " ".repeat(width - visible(text)) + text;
        let mut line: String = heads
            .iter()
            .zip(&widths)
            .map(|(head, &width)| pad(head, width) + "  ")
            .collect();
        line.push_str(name_head);
        writeln!(out, "{}", style.bold(line.trim_end()))?;
        for (numbers, name) in &self.rows {
            let columns = numbers.iter().zip(&widths);
            let columns: String = columns
                .map(|(number, &width)| pad(number, width) + "  ")
                .collect();
            let mut lines = name.iter();
            let first = lines.next().map_or("", String::as_str);
            writeln!(out, "{columns}{}", style.name(first, used))?;
            for name in lines {
                writeln!(out, "{}  {}", " ".repeat(used), style.name(name, used + 2))?;
            }
        }
        Ok(())
    }
}

/// Returns the width of a text in columns, without its colour codes.
fn visible(text: &str) -> usize {
    let mut count = 0;
    let mut escaped = false;
    for character in text.chars() {
        match character {
            '\x1b' => escaped = true,
            'm' if escaped => escaped = false,
            _ if escaped => {}
            _ => count += 1,
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Style = Style {
        width: None,
        colours: false,
    };

    #[test]
    fn bars_are_as_long_as_shares() {
        assert_eq!(PLAIN.bar(1, 1), "██████████");
        assert_eq!(PLAIN.bar(1, 2), "█████     ");
        assert_eq!(PLAIN.bar(1, 80), "▏         ");
        assert_eq!(PLAIN.bar(0, 0), "          ");
        assert_eq!(PLAIN.bar(u64::MAX, 1), "██████████");
    }

    #[test]
    fn a_line_in_a_name_is_no_row() {
        let mut table = Table::new(&["self", "method"]);
        let one = || vec!["1".to_owned()];
        table.row(one(), "a\n9  forged\r\nb".to_owned());
        table.stack(one(), "inner\nouter");
        let mut out = Vec::new();
        table.write(&PLAIN, &mut out).expect("memory takes all");
        let text = String::from_utf8(out).expect("UTF-8");
        assert_eq!(
            text,
            "self  method\n   1  a?9  forged??b\n   1  inner\n        outer\n"
        );
    }

    #[test]
    fn long_names_keep_their_end_on_a_terminal() {
        let narrow = Style {
            width: Some(40),
            colours: false,
        };
        assert_eq!(
            narrow.name("com.example.Foo.method", 30),
            "….example.Foo.method"
        );
        assert_eq!(PLAIN.name("a\x1b[31mb", 0), "a?[31mb");
    }
}
