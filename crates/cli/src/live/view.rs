//! Draws the screen: without colours, so that any terminal can show it.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::app::{App, Over};
use super::chart;
use super::memory;
use super::page::View;
use super::text;

const KEYS: &str = "q leave  s order  / filter  p pause  Enter callers  w write  ? help";
const KEYS_OF_TEXT: &str = "Esc back  Up Down PgUp PgDn scroll";

/// Draws the screen; `status` is at the right of the first line.
pub fn draw(frame: &mut Frame<'_>, app: &mut App, status: &str) {
    let area = frame.area();
    let [head, tabs, summary, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
    ])
    .areas(area);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    frame.render_widget(Paragraph::new(app.title.as_str()).style(bold), head);
    frame.render_widget(Paragraph::new(status).right_aligned(), head);
    frame.render_widget(Paragraph::new(pages(app.view)), tabs);
    let keys = match &app.over {
        Over::Text { .. } => KEYS_OF_TEXT,
        _ => KEYS,
    };
    let last = match (&app.over, &app.message) {
        (Over::Filter, _) => format!(
            "filter: {}_",
            text::ending(
                &super::page::safe(&app.filter),
                usize::from(area.width.saturating_sub(9))
            )
        ),
        (_, Some(message)) => message.clone(),
        (..) => keys.to_owned(),
    };
    frame.render_widget(Paragraph::new(last).style(reversed), foot);
    match &app.over {
        Over::Text { title, lines, top } => {
            frame.render_widget(Paragraph::new(title.as_str()).style(bold), summary);
            let width = usize::from(body.width);
            let rows = lines.iter().skip(*top).map(|(fixed, name)| {
                let room = width.saturating_sub(fixed.chars().count());
                Line::raw(format!("{fixed}{}", text::ending(name, room)))
            });
            let rows: Vec<Line<'_>> = rows.take(usize::from(body.height)).collect();
            frame.render_widget(Paragraph::new(rows), body);
            app.height = usize::from(body.height).max(1);
        }
        _ => {
            frame.render_widget(Paragraph::new(summary_of(app)), summary);
            let table = match app.view {
                View::Memory => over_memory(frame, app, body),
                _ => body,
            };
            rows(frame, app, table);
        }
    }
}

/// Returns the names of the pages, with the current one marked.
fn pages(current: View) -> Line<'static> {
    let spans = View::ALL.into_iter().enumerate().map(|(place, view)| {
        let name = format!(" {} {} ", place + 1, view.name());
        match view == current {
            true => Span::styled(name, Style::new().add_modifier(Modifier::REVERSED)),
            false => Span::raw(name),
        }
    });
    Line::from_iter(spans)
}

fn summary_of(app: &App) -> String {
    let mut parts = vec![app.summary.clone()];
    if !app.filter.is_empty() {
        parts.push(format!("only with `{}`", app.filter));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

/// Draws the verdict on the memory, and its parts over time; returns the area that is left.
fn over_memory(frame: &mut Frame<'_>, app: &App, area: Rect) -> Rect {
    let width = usize::from(area.width);
    let verdict = memory::verdict_lines(&app.memory);
    let verdict: Vec<String> = verdict
        .iter()
        .flat_map(|line| wrapped(line, width))
        .collect();
    let lines = u16::try_from(verdict.len()).unwrap_or(u16::MAX);
    let of_verdict = lines.min(area.height / 3);
    let of_chart = (area.height - of_verdict) / 2;
    let [text, areas, table] = Layout::vertical([
        Constraint::Length(of_verdict),
        Constraint::Length(of_chart),
        Constraint::Min(1),
    ])
    .areas(area);
    let as_lines =
        |lines: Vec<String>| Paragraph::new(lines.into_iter().map(Line::raw).collect::<Vec<_>>());
    frame.render_widget(as_lines(verdict), text);
    let drawn = chart::areas(app.memory.course.accounts(), width, usize::from(of_chart));
    frame.render_widget(as_lines(drawn), areas);
    table
}

/// Returns a text as lines that fit, of which all but the first are indented.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        let fits = line.chars().count() + word.chars().count() < width;
        match (line.is_empty(), fits) {
            (true, _) => line.push_str(word),
            (false, true) => {
                line.push(' ');
                line.push_str(word);
            }
            (false, false) => lines.push(format!("  {word}")),
        }
    }
    lines
}

fn rows(frame: &mut Frame<'_>, app: &mut App, area: Rect) {
    if !app.is_measured() {
        let note = vec![
            Line::raw(format!("{} is not measured yet.", app.view.name())),
            Line::raw(match app.view {
                View::Allocation => {
                    "Press a to measure it too: one object in 512 KiB is looked at, and no collection forced."
                }
                View::Native => {
                    "Press a to measure it too: one allocation in 512 KiB is looked at, of every library."
                }
                _ => {
                    "Press a to measure it too: each wait for a monitor costs a few microseconds more."
                }
            }),
            Line::raw("The session begins anew with that, and so do all counts."),
        ];
        frame.render_widget(Paragraph::new(note), area);
        return;
    }
    let height = usize::from(area.height).saturating_sub(1).max(1);
    app.height = height;
    let top = (app.selected + 1).saturating_sub(height);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let reversed = Style::new().add_modifier(Modifier::REVERSED);
    let mut lines = vec![Line::styled(text::heads(app.view, app.sorted_by()), bold)];
    let width = usize::from(area.width);
    let shown = app.rows.iter().enumerate().skip(top).take(height);
    lines.extend(shown.map(|(place, row)| {
        let line = text::line(app.view, row, width);
        match place == app.selected {
            true => Line::styled(format!("{line:<width$}"), reversed),
            false => Line::raw(line),
        }
    }));
    if app.rows.is_empty() {
        lines.push(Line::raw(match app.summary.is_empty() {
            true => "waiting for the first snapshot",
            false => "nothing in this interval",
        }));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::super::app::tests::after;
    use super::*;

    fn screen(app: &mut App, width: u16, height: u16) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
        terminal
            .draw(|frame| draw(frame, app, "0:00:04  every 2 s"))
            .expect("it draws");
        let buffer = terminal.backend().buffer().clone();
        let lines = buffer.content().chunks(usize::from(width));
        lines
            .map(|line| line.iter().map(|cell| cell.symbol()).collect::<String>())
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    #[test]
    fn a_page_fits_small_and_large_screens() {
        for (width, height) in [(80, 24), (200, 60), (20, 6), (1, 1)] {
            for keys in ["", "2", "3", "4", "5", "6", "6\n", "?", "\n", "/sh"] {
                let mut app = after(keys, "all").0;
                assert_eq!(screen(&mut app, width, height).len(), usize::from(height));
            }
        }
        let lines = screen(&mut after("", "cpu").0, 80, 24);
        let status = "0:00:04  every 2 s";
        assert_eq!(lines[0], format!("{:<62}{status}", "Shop (process 4711)"));
        assert_eq!(
            lines[1],
            " 1 CPU  2 Allocation  3 Locks  4 Threads  5 Holders  6 Memory  7 Native"
        );
        assert_eq!(lines[2], "50 % of a CPU in 2.0 s, by 100 samples");
        assert_eq!(lines[3], " *CPU% with calls    so far  method");
        assert_eq!(lines[4], "  50.0       50.0    1.10 s  Shop.tax");
        assert_eq!(lines[23], KEYS);
    }

    #[test]
    fn what_is_not_measured_says_how_it_would_be() {
        let lines = screen(&mut after("2", "cpu").0, 80, 24);
        assert_eq!(lines[3], "Allocation is not measured yet.");
        assert!(lines[4].starts_with("Press a "));
    }

    #[test]
    fn hostile_names_stay_in_their_row() {
        let mut app = after("", "cpu").0;
        app.rows[0].name = super::super::page::safe("x\x1b[2J\n\u{202e}y");
        app.title = "t".repeat(500);
        let lines = screen(&mut app, 80, 24);
        assert_eq!(lines[4], "  50.0       50.0    1.10 s  x?[2J??y");
        assert!(lines[5].ends_with("Shop.price"));
    }

    #[test]
    fn the_selected_row_stays_on_the_screen() {
        let mut app = after("vv", "cpu").0;
        let lines = screen(&mut app, 80, 7);
        assert_eq!(lines[3], " *CPU% with calls    so far  method");
        assert!(lines[4].ends_with("Shop.price"), "{lines:?}");
        assert!(lines[5].ends_with("Shop.main"));
    }
}
