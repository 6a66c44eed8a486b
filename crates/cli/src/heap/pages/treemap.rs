//! The dominator tree as nested boxes, each proportional to its retained size, and as a tree that can be expanded.

use hprof_heap::Area;

use super::html::Html;
use super::{Links, bytes, class_page, number, object_page, percent, size};

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 560.0;
/// The height reserved for the name of a box that contains others, in pixels.
const HEAD: f64 = 15.0;
const GAP: f64 = 2.0;
/// The size in pixels below which boxes are omitted.
const SMALLEST: f64 = 3.0;
/// The width and height in pixels from which a box has its name.
const NAMED: (f64, f64) = (60.0, 13.0);
/// The approximate width of a letter, in pixels.
const LETTER: f64 = 6.3;
/// The most levels of the expandable tree, and the most rows of each.
const LEVELS: u32 = 12;
const ROWS: usize = 25;

#[derive(Clone, Copy)]
struct Rectangle {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// Draws the treemap.
pub fn treemap(area: &Area, links: Links<'_>) -> Html {
    let mut out = Html::default();
    out.markup("<svg viewBox=\"0 0 ")
        .number(WIDTH)
        .markup(" ")
        .number(HEIGHT);
    out.markup("\" role=\"img\" aria-label=\"Treemap of the dominator tree\">\n");
    let whole = Rectangle {
        x: 0.0,
        y: 0.0,
        width: WIDTH,
        height: HEIGHT,
    };
    draw(area, whole, 0, area.retained, links, &mut out);
    out.markup("</svg>\n");
    out
}

fn draw(area: &Area, at: Rectangle, level: u32, whole: u64, links: Links<'_>, out: &mut Html) {
    if at.width < SMALLEST || at.height < SMALLEST {
        return;
    }
    let draw_box = |out: &mut Html| self::draw_box(area, at, level, whole, out);
    match page_of(area) {
        // The outermost box is the page's own object.
        Some(page) if level > 0 => links.link(out, &page, draw_box),
        _ => draw_box(out),
    }
    out.markup("\n");
    let inside = Rectangle {
        x: at.x + GAP,
        y: at.y + HEAD,
        width: at.width - 2.0 * GAP,
        height: at.height - HEAD - GAP,
    };
    if inside.width > SMALLEST && inside.height > SMALLEST {
        for (child, at) in lay_out(&area.below, area.retained, inside) {
            draw(child, at, level + 1, whole, links, out);
        }
    }
}

/// Returns the page of an object or of a class; `None` for the area of everything alive.
fn page_of(area: &Area) -> Option<String> {
    match area.id {
        Some(id) => Some(object_page(id)),
        None if area.below.is_empty() => Some(class_page(&area.label)),
        None => None,
    }
}

fn draw_box(area: &Area, at: Rectangle, level: u32, whole: u64, out: &mut Html) {
    let class = match (area.id, level) {
        (None, 1..) => "many",
        _ => ["l0", "l1", "l2", "l3", "l4", "l5"][level as usize % 6],
    };
    out.markup("<rect class=\"").markup(class);
    for (name, value) in [
        ("\" x=\"", at.x),
        ("\" y=\"", at.y),
        ("\" width=\"", at.width),
        ("\" height=\"", at.height),
    ] {
        out.markup(name).number(value);
    }
    let title = describe(area, whole);
    out.markup("\"><title>")
        .text(&title)
        .markup("</title></rect>");
    if at.width >= NAMED.0 && at.height >= NAMED.1 {
        out.markup("<text x=\"").number(at.x + 3.0);
        out.markup("\" y=\"").number(at.y + 11.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a width of a few thousand, at least NAMED"
        )]
        let letters = ((at.width - 6.0) / LETTER) as usize;
        let shown: String = title.chars().take(letters).collect();
        out.markup("\">").text(&shown).markup("</text>");
    }
}

/// Formats, for example, `java.util.HashMap @ 0x7f00: 7.0 MB, 83.1 %`.
fn describe(area: &Area, whole: u64) -> String {
    let (size, share) = (size(area.retained), percent(area.retained, whole));
    match area.objects {
        1 => format!("{}: {size}, {share:.1} %", area.label),
        several => {
            let several = number(several);
            format!("{several} × {}: {size}, {share:.1} %", area.label)
        }
    }
}

/// Assigns rectangles, largest areas first, each time dividing the longer side; the remainder stays empty.
fn lay_out(areas: &[Area], whole: u64, mut room: Rectangle) -> Vec<(&Area, Rectangle)> {
    let mut left = whole.max(1) as f64;
    let mut placed = Vec::new();
    let mut rest = areas;
    while !rest.is_empty() && room.width > SMALLEST && room.height > SMALLEST {
        let is_wide = room.width >= room.height;
        let count = strip(rest, left, room);
        let (row, others) = rest.split_at(count);
        rest = others;
        let sum: f64 = row.iter().map(|area| area.retained as f64).sum();
        let share = (sum / left).min(1.0);
        left -= sum;
        let (across, along) = match is_wide {
            true => (room.width * share, room.height),
            false => (room.height * share, room.width),
        };
        let mut start = 0.0;
        for area in row {
            let length = along * area.retained as f64 / sum;
            let at = match is_wide {
                true => Rectangle {
                    x: room.x,
                    y: room.y + start,
                    width: across,
                    height: length,
                },
                false => Rectangle {
                    x: room.x + start,
                    y: room.y,
                    width: length,
                    height: across,
                },
            };
            placed.push((area, at));
            start += length;
        }
        if is_wide {
            room.x += across;
            room.width -= across;
        } else {
            room.y += across;
            room.height -= across;
        }
    }
    placed
}

/// Returns the number of areas in one strip for which the worst aspect ratio is nearest to a square.
fn strip(areas: &[Area], left: f64, room: Rectangle) -> usize {
    let (long, short) = (room.width.max(room.height), room.width.min(room.height));
    let mut best = f64::INFINITY;
    let mut sum = 0.0;
    for (count, area) in areas.iter().enumerate() {
        sum += area.retained as f64;
        let across = long * sum / left;
        let least = short * area.retained as f64 / sum;
        let most = short * areas[0].retained as f64 / sum;
        let ratio = |length: f64| (across / length).max(length / across);
        let worst = ratio(least).max(ratio(most));
        if worst > best {
            return count;
        }
        best = worst;
    }
    areas.len()
}

/// Adds the same as a tree.
pub fn tree(area: &Area, links: Links<'_>) -> Html {
    let mut out = Html::default();
    rows(area, area.retained, 0, links, &mut out);
    out
}

fn rows(area: &Area, whole: u64, level: u32, links: Links<'_>, out: &mut Html) {
    let has_more = !area.below.is_empty() && level < LEVELS;
    let (open, close) = match (has_more, level) {
        (true, 0) => ("<details open><summary>", "</summary>\n"),
        (true, _) => ("<details><summary>", "</summary>\n"),
        (false, _) => ("<div>", "</div>\n"),
    };
    out.markup(open);
    bytes(out, area.retained);
    let share = percent(area.retained, whole);
    out.text(&format!(", {share:.1} %  "));
    if area.objects > 1 {
        out.text(&format!("{} × ", number(area.objects)));
    }
    match page_of(area) {
        Some(page) => links.link(out, &page, |out| {
            out.text(&area.label);
        }),
        None => {
            out.text(&area.label);
        }
    }
    out.markup(close);
    if has_more {
        for child in area.below.iter().take(ROWS) {
            rows(child, whole, level + 1, links, out);
        }
        out.markup("</details>\n");
    }
}

#[cfg(test)]
mod tests {
    use hprof_format::ObjectId;

    use super::*;

    fn area(retained: u64, below: Vec<Area>) -> Area {
        Area {
            label: format!("<{retained}>"),
            id: Some(ObjectId(retained)),
            objects: 1,
            retained,
            below,
        }
    }

    #[test]
    fn boxes_are_as_large_as_their_shares_and_do_not_overlap() {
        let sizes = [500, 200, 100, 60, 40, 30, 20, 5];
        let areas: Vec<Area> = sizes.map(|size| area(size, Vec::new())).into();
        let room = Rectangle {
            x: 10.0,
            y: 20.0,
            width: 300.0,
            height: 200.0,
        };
        let placed = lay_out(&areas, 1000, room);
        assert_eq!(placed.len(), sizes.len());
        for (index, (area, at)) in placed.iter().enumerate() {
            let share = at.width * at.height / (300.0 * 200.0);
            assert!((share - area.retained as f64 / 1000.0).abs() < 1e-9);
            assert!(at.x >= 10.0 - 1e-9 && at.x + at.width <= 310.0 + 1e-9);
            assert!(at.y >= 20.0 - 1e-9 && at.y + at.height <= 220.0 + 1e-9);
            for (_, other) in &placed[..index] {
                let apart = at.x + at.width <= other.x + 1e-9
                    || other.x + other.width <= at.x + 1e-9
                    || at.y + at.height <= other.y + 1e-9
                    || other.y + other.height <= at.y + 1e-9;
                assert!(apart);
            }
        }
    }

    #[test]
    fn names_in_boxes_stay_text() {
        let map = treemap(&area(9, vec![area(8, Vec::new())]), Links::None);
        assert!(map.as_str().contains("&lt;8&gt;: 8 B"));
        assert!(!map.as_str().contains("<8>"));
    }
}
