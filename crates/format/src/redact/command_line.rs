//! The words of command lines in the head of a profile: those that look like secrets are replaced, and redaction hides all
//! that may be content.
//!
//! What counts as a secret, and that the whole word is replaced, is as in JDK 27's flight recordings (JEP 536); a
//! password in a URL counts here, too.

/// The text that replaces a word that looks like a secret.
const REPLACEMENT: &str = "[REDACTED]";
/// A word with one of these in it is a secret. The value of an option whose name ends in one is, too.
const SECRETS: [&str; 13] = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "token",
    "secret",
    "credential",
    "api-key",
    "api_key",
    "apikey",
    "private-key",
    "private_key",
    "privatekey",
];

/// Values of the VM's flags and of the agent's options that say how something is done, and the names of the latter.
#[rustfmt::skip]
const KNOWN: &[&str] = &[
    // Of both.
    "all", "auto", "false", "jvmti", "n", "none", "off", "on", "true", "vm", "y",
    // `-Xlog`: tags, levels, outputs and decorations.
    "age", "alloc", "attach", "barrier", "cds", "class", "classhisto", "codecache", "compilation",
    "cpu", "debug", "error", "ergo", "exceptions", "file", "filecount", "filesize", "gc", "heap",
    "hostname", "info", "init", "jfr", "jit", "jni", "l", "level", "load", "marking",
    "metaspace", "module", "monitorinflation", "nmt", "oopmap", "os", "pagesize", "p", "phases",
    "pid", "redefine", "ref", "region", "remset", "safepoint", "start", "stats", "stderr",
    "stdout", "stringdedup", "t", "tags", "task", "tg", "thread", "ti", "tid", "time", "tlab",
    "tn", "trace", "tracing", "u", "un", "unload", "uptime", "utctime", "verification", "warning",
    // Other flags.
    "adaptive", "aggressive", "compact", "detail", "dump", "generational", "iu", "passive",
    "preserve", "remote", "satb", "static", "summary",
    // The agent's options: names and values.
    "a", "allocated", "async", "b", "blackbox", "budget", "bytes", "clock", "compress", "cutoff",
    "depth", "doe", "dumper", "engine", "every", "exclude", "fold", "force", "format", "gc_okay",
    "include", "interval", "keep", "lifetimes", "lineno", "live", "logflags", "monitor", "msa",
    "native", "net", "net_exit", "objects", "old", "oom", "oom_count", "primarrays", "primfields",
    "redact", "rotate", "sample", "samples", "sites", "sort", "stacks", "timeout", "times",
    "verbose", "vmthreads", "walk", "wall",
];

/// A line of the head whose words may be content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Program,
    Flags,
    Options,
}

impl Line {
    /// Returns the kind of a fact, and the length of its label.
    fn of(fact: &[u8]) -> Option<(Line, usize)> {
        let lines = [
            ("Program: ", Line::Program),
            ("Flags: ", Line::Flags),
            ("Options: ", Line::Options),
        ];
        let found = lines
            .into_iter()
            .find(|(label, _)| fact.starts_with(label.as_bytes()));
        found.map(|(label, line)| (line, label.len()))
    }
}

/// Returns the value of a fact about a run, such as `Program`, without what redaction hides.
#[must_use]
pub fn redacted_fact(label: &str, value: &str) -> String {
    let mut fact = format!("{label}: {value}").into_bytes();
    hide(&mut fact, false);
    String::from_utf8_lossy(&fact[label.len() + 2..]).into_owned()
}

/// Hides the words of a command line. What stays are the main class unless names go, the names of the VM's own flags and of the
/// agent's options, and values that are numbers, sizes or known words.
pub(super) fn hide(fact: &mut [u8], removes_names: bool) {
    let Some((line, length)) = Line::of(fact) else {
        return;
    };
    let words = fact[length..].split_mut(|&byte| byte == b' ');
    for (number, word) in words.enumerate() {
        match line {
            Line::Program if number == 0 && !removes_names => {}
            Line::Program => cover(word),
            Line::Flags => hide_in_flag(word),
            Line::Options => word.split_mut(|&byte| byte == b',').for_each(hide_unknown),
        }
    }
}

fn hide_in_flag(word: &mut [u8]) {
    // The last one of an environment variable ends with a parenthesis.
    let word = match word {
        [word @ .., b')'] => word,
        word => word,
    };
    if !word.starts_with(b"-X") {
        return cover(word);
    }
    let is_separator = |&byte: &u8| byte == b'=' || byte == b':';
    let Some(name) = word.iter().position(is_separator) else {
        return;
    };
    let (name, value) = word.split_at_mut(name + 1);
    // Of -XX:+Flag and -XX:Flag=value the name of the flag stays, too.
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-_".contains(byte);
    let end = value.iter().position(|byte| !is_of_name(byte));
    match (&*name == b"-XX:", end) {
        (true, None) => {}
        (true, Some(end)) if value[end] == b'=' => hide_unknown(&mut value[end + 1..]),
        _ => hide_unknown(value),
    }
}

/// Hides what follows the first piece that is neither a number nor a size nor a known word.
fn hide_unknown(text: &mut [u8]) {
    let is_of_piece = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.%".contains(byte);
    let mut start = 0;
    while start < text.len() {
        let rest = &text[start..];
        let length = rest.iter().position(|byte| !is_of_piece(byte));
        let (piece, separator) = match length {
            Some(length) => (&rest[..length], rest.get(length)),
            None => (rest, None),
        };
        let is_separator = separator.is_none_or(|byte| b"=:,+*".contains(byte));
        if !is_separator || !(piece.is_empty() || is_harmless(piece)) {
            return cover(&mut text[start..]);
        }
        start += piece.len() + 1;
    }
}

fn is_harmless(piece: &[u8]) -> bool {
    let digits = piece
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || **byte == b'.')
        .count();
    let is_number = piece.first().is_some_and(u8::is_ascii_digit);
    let unit = &piece[digits..];
    let is_unit = unit.len() <= 2
        && unit
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || *byte == b'%');
    is_number && is_unit || KNOWN.iter().any(|known| known.as_bytes() == piece)
}

fn cover(bytes: &mut [u8]) {
    bytes.fill(b'*');
}

/// Replaces the words that look like secrets.
#[must_use]
pub fn without_secrets<Word: AsRef<str>>(words: &[Word]) -> Vec<String> {
    let mut is_value_of_secret = false;
    let replaced = words.iter().map(|word| {
        let lower = word.as_ref().to_ascii_lowercase();
        let is_secret = is_value_of_secret || looks_secret(&lower);
        let names_secret = || SECRETS.iter().any(|secret| lower.ends_with(secret));
        is_value_of_secret = lower.starts_with("--") && names_secret();
        match is_secret {
            true => REPLACEMENT.to_owned(),
            false => word.as_ref().to_owned(),
        }
    });
    replaced.collect()
}

fn looks_secret(lower: &str) -> bool {
    let names_login = lower
        .split_once("jaas")
        .is_some_and(|(_, rest)| rest.contains("config"));
    // As in https://user:password@host.
    let has_password = lower.split("://").skip(1).any(|rest| {
        let host = rest.split('/').next().unwrap_or_default();
        let user = host.rsplit_once('@').map(|(user, _)| user);
        user.is_some_and(|user| user.contains(':'))
    });
    names_login || has_password || SECRETS.iter().any(|secret| lower.contains(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_flag_its_name_stays_and_a_value_that_is_no_content() {
        for (flags, redacted) in [
            ("-Xmx1g -Xint -Xss512k", "-Xmx1g -Xint -Xss512k"),
            (
                "-XX:+UseG1GC -XX:MaxRAMPercentage=75.0",
                "-XX:+UseG1GC -XX:MaxRAMPercentage=75.0",
            ),
            (
                "-XX:ReservedCodeCacheSize=240m",
                "-XX:ReservedCodeCacheSize=240m",
            ),
            ("-Xshare:auto -Xcheck:jni", "-Xshare:auto -Xcheck:jni"),
            (
                "-XX:OnOutOfMemoryError=curl?key=12345",
                "-XX:OnOutOfMemoryError=**************",
            ),
            ("-XX:HeapDumpPath=/a/b", "-XX:HeapDumpPath=****"),
            (
                "-XX:StartFlightRecording:filename=x",
                "-XX:*******************************",
            ),
            (
                "-Xlog:gc*=debug:file=/a/12.log:time,uptime",
                "-Xlog:gc*=debug:file=*********************",
            ),
            (
                "-Xrunjdwp:transport=dt_socket,address=db:5005",
                "-Xrunjdwp:***********************************",
            ),
            ("-Xbootclasspath/a:/x/y.jar", "-Xbootclasspath/a:********"),
            ("-Dkey=1 -javaagent:x -cp a", "******* ************ *** *"),
            (
                "(JAVA_TOOL_OPTIONS: -Xmx1g -XX:ErrorFile=7x)",
                "******************* -Xmx1g -XX:ErrorFile=7x)",
            ),
        ] {
            assert_eq!(redacted_fact("Flags", flags), redacted, "{flags}");
        }
    }

    #[test]
    fn of_the_agents_options_go_paths_hosts_and_names() {
        for (options, redacted) in [
            (
                "heap=dump,format=b,file=/a/b.hprof",
                "heap=dump,format=b,file=**********",
            ),
            (
                "heap=sites,sample=512k,budget=20%",
                "heap=sites,sample=512k,budget=20%",
            ),
            (
                "net=db:9000,include=com.acme.*",
                "net=*******,include=**********",
            ),
            ("file=a,key=5,interval=10", "file=a,*****,interval=10"),
        ] {
            assert_eq!(redacted_fact("Options", options), redacted, "{options}");
        }
    }

    #[test]
    fn the_main_class_stays_unless_names_go() {
        let hidden = |names| {
            let mut fact = *b"Program: Main a=1 2";
            hide(&mut fact, names);
            String::from_utf8(fact.to_vec()).expect("ASCII")
        };
        assert_eq!(hidden(false), "Program: Main *** *");
        assert_eq!(hidden(true), "Program: **** *** *");
        assert_eq!(redacted_fact("Collector", "G1 x"), "G1 x");
    }

    #[test]
    fn words_that_look_like_secrets_are_replaced() {
        let words = [
            "-Ddb.Password=1",
            "-Dplain=2",
            "-Djava.security.auth.login.jaas.config=x",
            "--port",
            "80",
            "--db-passwd",
            "3",
            "--author",
            "4",
            "api_key=5",
            "https://host/a:b@c",
            "jdbc:db://me:6@host/x",
            "--secret",
        ];
        let replaced = without_secrets(&words).join(" ");
        assert_eq!(
            replaced,
            "[REDACTED] -Dplain=2 [REDACTED] --port 80 [REDACTED] [REDACTED] --author 4 [REDACTED] https://host/a:b@c \
             [REDACTED] [REDACTED]"
        );
    }
}
