//! Each option with each measurement: it changes it, or is refused or named.

use std::path::Path;

use super::{error, name, options};
use crate::page::LIVE;
use crate::rows::{PAGES, ROWS};
use crate::{OptionError, parse};

/// The options that measure something, each alone.
const ASKED: [&str; 11] = [
    "heap=sites",
    "heap=dump",
    "heap=all",
    "cpu=samples",
    "cpu=samples,engine=jvmti",
    "cpu=times",
    "cpu=old",
    "monitor=y",
    "cpu=samples,net=h:1",
    "wall=y",
    "native=malloc",
];

/// The options with a scope that the original had.
const ORIGINALS: [&str; 9] = [
    "depth",
    "interval",
    "cutoff",
    "lineno",
    "thread",
    "force",
    "primfields",
    "primarrays",
    "logflags",
];

#[test]
fn an_option_that_does_nothing_with_the_others_is_refused_or_named() {
    for (row, page) in ROWS.iter().zip(PAGES) {
        let has_scope = !row.scope.uses().is_empty();
        assert_eq!(page.scoped.is_some(), has_scope, "{}", row.name);
        let Some((option, changed)) = page.scoped else {
            continue;
        };
        assert_eq!(name(option), row.name);
        let changed: Vec<&str> = changed.split_whitespace().collect();
        let unknown = changed.iter().find(|asked| !ASKED.contains(asked));
        assert_eq!(unknown, None, "{option}");
        let is_original = ORIGINALS.contains(&row.name);
        for asked in ASKED {
            let given = format!("{option},{asked}");
            let parsed = parse(&given, None);
            match (changed.contains(&asked), is_original) {
                (true, _) => assert!(options(&given).without_effect.is_empty(), "{given}"),
                (false, true) => {
                    assert_eq!(options(&given).without_effect, [name(option)], "{given}");
                }
                (false, false) => assert!(
                    matches!(parsed, Err(OptionError::DoesNothing { .. })),
                    "{given}: {parsed:?}"
                ),
            }
        }
    }
}

#[test]
fn a_live_session_has_what_can_be_sent_every_second() {
    let beside = "cpu=samples,heap=sites,sample=512k,budget=20%,monitor=y,fold=y";
    let live = options(&format!("{beside},{LIVE}"));
    let socket = LIVE.strip_prefix("live=").map(Path::new);
    assert_eq!(live.live.as_deref(), socket);
    assert_eq!(
        error("live=s"),
        "option live=s: must be the absolute path of a socket"
    );
    for (given, with) in [
        ("cpu=samples,file=x", "file="),
        ("cpu=samples,net=h:1", "net="),
        ("cpu=samples,rotate=1m", "rotate="),
        ("cpu=samples,thread=y", "thread=y"),
        ("cpu=samples,compress=y", "compress=y"),
        ("cpu=samples,format=b", "format=b"),
        ("cpu=times", "cpu=times"),
        ("cpu=old", "cpu=old"),
        ("heap=dump", "heap=dump"),
        ("", "heap=all"),
    ] {
        let message = error(&format!("{given},{LIVE}"));
        assert!(
            message.starts_with(&format!("option {LIVE}: not with {with}; ")),
            "{message}"
        );
    }
}
