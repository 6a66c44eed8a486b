//! The content of the screen, and the effect of keys.

use std::sync::Arc;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::client::Measured;
use super::memory;
use super::model::Model;
use super::page::{PageRow, View, safe};
use super::watch::Seen;

/// The most letters of a filter.
const LONGEST_FILTER: usize = 100;

/// The action that a key asks for beyond the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    None,
    /// The end.
    Quit,
    /// The profile as a file.
    Write,
    /// A heap dump as a file.
    Dump,
    /// A new session that measures more.
    Measure(Measured),
    /// The stack of this thread.
    Stack(u32),
}

/// The window over the page.
#[derive(Clone, Debug, PartialEq)]
pub enum Over {
    /// Nothing.
    Nothing,
    /// The filter is being typed.
    Filter,
    /// A text: the stacks of a row, or the help.
    Text {
        /// Its heading.
        title: String,
        /// Its lines: what is never cut, and a name, which loses its beginning if it is too long.
        lines: Vec<(String, String)>,
        /// The first line that is shown.
        top: usize,
    },
}

/// The state of the screen.
pub struct App {
    /// The program.
    pub title: String,
    /// The measurements of the session.
    pub measured: Measured,
    /// The page.
    pub view: View,
    /// The column by which each page is ordered.
    pub sort: [usize; View::ALL.len()],
    /// Only rows with this in their name are shown.
    pub filter: String,
    /// `true` while the page is paused.
    pub is_paused: bool,
    /// The window over the page.
    pub over: Over,
    /// The rows of the page.
    pub rows: Vec<PageRow>,
    /// The sums of the interval.
    pub summary: String,
    /// The memory of the process.
    pub memory: Arc<Seen>,
    /// The number of the selected row.
    pub selected: usize,
    /// The number of rows that the screen has room for.
    pub height: usize,
    /// A message, until the next key.
    pub message: Option<String>,
}

const HELP: [&str; 22] = [
    "1 to 7, Tab       the pages: CPU, Allocation, Locks, Threads, Holders, Memory,",
    "                  Native",
    "Up Down PgUp PgDn Home End    select a row",
    "s                 order by the next column, marked with *",
    "/                 show only rows with a text; Enter keeps it, Esc removes it",
    "p, Space          pause, and continue; counting never pauses",
    "Enter             the callers of the selected row, since the beginning; of",
    "                  a thread its stack now: the program stops for a moment",
    "w                 write the profile since the beginning into a file here",
    "d                 dump the heap into a file here, by a forked copy of the program,",
    "                  which continues, as does counting",
    "a                 measure what the page shows, if it is not measured yet",
    "q, Ctrl-C         leave; nothing stays in the program",
    "",
    "CPU% is 100 for one CPU in full use; `with calls` includes the methods that are",
    "called, `so far` is the time since the beginning. Allocation is estimated from",
    "one object in 512 KiB. Live are objects made since the beginning that the last",
    "collection found alive, or that are newer than it. Locks are monitors",
    "(synchronized); Holders has the locks of java.util.concurrent, too. The parts of",
    "Memory add up to the resident set; each has its letter in the chart over time.",
    "Native is what native code (buffers, zip, the JVM) has allocated since the",
    "beginning and not freed; `old` has not been freed for 10 s.",
];

impl App {
    /// Creates the screen of a program.
    pub fn new(title: String, measured: Measured) -> Self {
        let view = match measured {
            Measured {
                allocation: true,
                locks: false,
                native: false,
            } => View::Allocation,
            Measured {
                allocation: false,
                locks: true,
                native: false,
            } => View::Locks,
            Measured {
                allocation: false,
                locks: false,
                native: true,
            } => View::Native,
            _ => View::Cpu,
        };
        Self {
            title,
            measured,
            view,
            sort: [0; View::ALL.len()],
            filter: String::new(),
            is_paused: false,
            over: Over::Nothing,
            rows: Vec::new(),
            summary: String::new(),
            memory: Arc::default(),
            selected: 0,
            height: 1,
            message: None,
        }
    }

    /// Creates the screen of another session in this program, with the same page.
    pub fn again(self, measured: Measured) -> Self {
        Self {
            view: self.view,
            sort: self.sort,
            filter: self.filter,
            ..Self::new(self.title, measured)
        }
    }

    /// Returns `true` if the session measures what the page shows.
    pub fn is_measured(&self) -> bool {
        match self.view {
            View::Cpu | View::Threads | View::Memory => true,
            View::Allocation => self.measured.allocation,
            View::Locks | View::Holders => self.measured.locks,
            View::Native => self.measured.native,
        }
    }

    /// Returns the column by which the page is ordered.
    pub fn sorted_by(&self) -> usize {
        self.sort[self.view as usize]
    }

    /// Makes the rows anew. The selection stays at its place.
    pub fn refresh(&mut self, model: &Model) {
        if model.snapshots == 0 {
            return;
        }
        self.rows = self.view.rows(model, self.sorted_by(), &self.filter);
        self.summary = self.view.summary(model);
        self.memory = model.memory.clone();
        self.selected = self.selected.min(self.rows.len().saturating_sub(1));
    }

    /// Shows a text over the page.
    pub fn show(&mut self, title: String, lines: Vec<(String, String)>) {
        let lines = match lines.is_empty() {
            true => vec![("nothing is known about it".to_owned(), String::new())],
            false => lines,
        };
        self.over = Over::Text {
            title,
            lines,
            top: 0,
        };
    }

    /// Follows a key.
    pub fn key(&mut self, key: KeyEvent, model: &Model) -> Action {
        self.message = None;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && matches!(key.code, KeyCode::Char('c')) {
            return Action::Quit;
        }
        match &mut self.over {
            Over::Filter => {
                self.key_of_filter(key.code);
                self.refresh(model);
                Action::None
            }
            Over::Text { lines, top, .. } => {
                let last = lines.len().saturating_sub(1);
                match key.code {
                    KeyCode::Esc | KeyCode::Enter | KeyCode::Backspace | KeyCode::Char('q') => {
                        self.over = Over::Nothing;
                    }
                    code => *top = moved(*top, code, self.height, last),
                }
                Action::None
            }
            Over::Nothing => self.key_of_page(key.code, model),
        }
    }

    fn key_of_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.over = Over::Nothing,
            KeyCode::Esc => {
                self.filter.clear();
                self.over = Over::Nothing;
            }
            KeyCode::Backspace => drop(self.filter.pop()),
            KeyCode::Char(letter) if self.filter.chars().count() < LONGEST_FILTER => {
                self.filter.push(letter);
            }
            _ => {}
        }
    }

    fn key_of_page(&mut self, code: KeyCode, model: &Model) -> Action {
        let place = View::ALL.iter().position(|&view| view == self.view);
        let place = place.unwrap_or_default();
        let count = View::ALL.len();
        match code {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('w') => return Action::Write,
            KeyCode::Char('d') => return Action::Dump,
            KeyCode::Char('a') if !self.is_measured() => {
                let mut more = self.measured;
                more.allocation |= self.view == View::Allocation;
                more.locks |= matches!(self.view, View::Locks | View::Holders);
                more.native |= self.view == View::Native;
                return Action::Measure(more);
            }
            KeyCode::Char(digit @ '1'..='7') => {
                self.turn_to(View::ALL[digit as usize - '1' as usize]);
            }
            KeyCode::Tab | KeyCode::Right => self.turn_to(View::ALL[(place + 1) % count]),
            KeyCode::BackTab | KeyCode::Left => {
                self.turn_to(View::ALL[(place + count - 1) % count]);
            }
            KeyCode::Char('s') => {
                let columns = self.view.columns().len();
                self.sort[place] = (self.sort[place] + 1) % columns;
                self.selected = 0;
            }
            KeyCode::Char('/') => self.over = Over::Filter,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Char('p' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('?' | 'h') => {
                let help = HELP.map(|line| (line.to_owned(), String::new())).to_vec();
                self.show("Keys, and what the numbers mean".to_owned(), help);
            }
            KeyCode::Enter => return self.open(model),
            code => {
                let last = self.rows.len().saturating_sub(1);
                self.selected = moved(self.selected, code, self.height, last);
                return Action::None;
            }
        }
        self.refresh(model);
        Action::None
    }

    fn turn_to(&mut self, view: View) {
        self.view = view;
        self.selected = 0;
        self.rows.clear();
    }

    /// Opens the stacks of the selected row.
    fn open(&mut self, model: &Model) -> Action {
        let Some(row) = self.rows.get(self.selected) else {
            return Action::None;
        };
        if let Some(thread) = row.thread {
            return Action::Stack(thread);
        }
        if self.view == View::Memory {
            let basis = memory::basis(&row.name).unwrap_or_default();
            let lines = vec![(basis.to_owned(), String::new())];
            self.show(format!("How the part is known: {}", row.name), lines);
            return Action::None;
        }
        let tree = self.view.tree(model, row).into_iter();
        let lines = tree.map(|(share, depth, name)| {
            let indent = "  ".repeat(depth);
            (format!("{share:>5.1} %  {indent}"), name)
        });
        let class = if row.class.is_empty() { "" } else { " " };
        let title = format!("Callers of {}{class}{}", row.class, row.name);
        self.show(title, lines.collect());
        Action::None
    }

    /// Shows what the VM has said of a thread.
    pub fn show_stack(&mut self, lines: Vec<String>) {
        let lines = lines.iter().map(|line| safe(&line.replace('\t', "    ")));
        let lines = lines.map(|line| (line, String::new()));
        self.show("A thread at this moment".to_owned(), lines.collect());
    }
}

/// Returns the place to which a key leads.
fn moved(from: usize, code: KeyCode, page: usize, last: usize) -> usize {
    let to = match code {
        KeyCode::Up | KeyCode::Char('k') => from.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => from.saturating_add(1),
        KeyCode::PageUp => from.saturating_sub(page),
        KeyCode::PageDown => from.saturating_add(page),
        KeyCode::Home => 0,
        KeyCode::End => last,
        _ => from,
    };
    to.min(last)
}

#[cfg(test)]
pub mod tests {
    use super::super::model::tests::two_snapshots;
    use super::*;

    /// A screen after these keys; `\n` is Enter, `\x1b` Escape.
    pub fn after(keys: &str, measured: &str) -> (App, Vec<Action>) {
        let model = two_snapshots(false);
        let measured = Measured::parse(measured).expect("a word");
        let mut app = App::new("Shop (process 4711)".to_owned(), measured);
        app.refresh(&model);
        let code = |letter| match letter {
            '\n' => KeyCode::Enter,
            '\x1b' => KeyCode::Esc,
            'v' => KeyCode::Down,
            letter => KeyCode::Char(letter),
        };
        let keys = keys.chars().map(|letter| KeyEvent::from(code(letter)));
        let actions = keys.map(|key| app.key(key, &model)).collect();
        (app, actions)
    }

    fn names(app: &App) -> Vec<&str> {
        app.rows.iter().map(|row| row.name.as_str()).collect()
    }

    #[test]
    fn keys_turn_to_pages_and_order_them() {
        let (app, _) = after("4", "all");
        assert_eq!(
            (app.view, names(&app)),
            (View::Threads, vec!["main", "new"])
        );
        let (app, _) = after("ss", "cpu");
        assert_eq!(app.sorted_by(), 2);
        assert_eq!(names(&app), ["Shop.tax", "Shop.price", "Shop.main"]);
        assert_eq!(after("sss", "cpu").0.sorted_by(), 0);
        assert_eq!(
            App::new(String::new(), Measured::parse("locks").expect("it")).view,
            View::Locks
        );
    }

    #[test]
    fn a_filter_is_typed_kept_and_removed() {
        let (app, actions) = after("/pq\x1b/pri\n", "cpu");
        assert_eq!(names(&app), ["Shop.price"]);
        assert_eq!(app.over, Over::Nothing);
        assert!(
            actions.iter().all(|&action| action == Action::None),
            "q is a letter"
        );
        assert_eq!(after("/pri\n\x1b", "cpu").0.rows.len(), 3);
    }

    #[test]
    fn the_selected_row_opens() {
        let (app, _) = after("v\n", "cpu");
        let Over::Text { title, lines, .. } = app.over else {
            panic!("nothing is open");
        };
        assert_eq!(title, "Callers of Shop.price");
        let line = |name: &str| ("100.0 %  ".to_owned(), name.to_owned());
        assert_eq!(lines, [line("Shop.price"), line("Shop.main")]);
        assert_eq!(after("v\nq", "cpu").0.over, Over::Nothing);
        assert_eq!(after("4v\n", "cpu").1[2], Action::Stack(2));
        assert!(matches!(after("?", "cpu").0.over, Over::Text { .. }));
    }

    #[test]
    fn what_is_not_measured_is_measured_only_when_asked() {
        let (app, actions) = after("2a", "locks");
        assert!(!app.is_measured());
        assert_eq!(
            actions,
            [
                Action::None,
                Action::Measure(Measured {
                    allocation: true,
                    locks: true,
                    native: false
                })
            ]
        );
        assert_eq!(after("2a", "all").1[1], Action::None);
        assert_eq!(
            after("wqp", "cpu").1,
            [Action::Write, Action::Quit, Action::None]
        );
        assert_eq!(after("d", "cpu").1, [Action::Dump]);
        assert!(after("p", "cpu").0.is_paused);
    }
}
