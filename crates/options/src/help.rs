//! The usage text, generated from the table.

use std::fmt::Write;

use crate::error::OptionError;
use crate::parse::find;
use crate::rows::ROWS;

/// Returns the usage text.
pub fn help() -> String {
    let mut help = String::from(
        "\
HPROF: shows where a Java program allocates objects and spends CPU time

usage: java -agentpath:/path/to/libhprof.so=<option>=<value>,... Main
       java -agentpath:/path/to/libhprof.so=help

Option                Description                               Default
--------------------- ----------------------------------------- ----------------
",
    );
    for row in ROWS.iter().filter(|row| !row.description.is_empty()) {
        let option = format!("{}={}", row.name, row.values);
        let meaning = format!("{option:<21} {}", row.description);
        // Writing to a String cannot fail.
        let _ = writeln!(help, "{meaning:<63} {}", row.default);
    }
    help.push_str(
        "
In file=, %p stands for the process id, %t for the start time, %h for the
host, %m for the main class, %{NAME} for an environment variable. Options
in the environment variable _JAVA_HPROF_OPTIONS come after those of the command
line.

To dump while the program runs: 'hprof dump <pid>', after which counting goes
on, or SIGQUIT, after which CPU samples, times and contention start from zero.

Example: all live objects, for MAT or VisualVM
  java -agentpath:/path/to/libhprof.so=heap=dump,format=b,file=a.hprof Main
Example: live objects and where they were allocated, 8 frames per trace
  java -agentpath:/path/to/libhprof.so=heap=sites,depth=8 Main
Example: a sample every 20 ms of CPU time, 8 frames per trace, as text
  java -agentpath:/path/to/libhprof.so=cpu=samples,interval=20,depth=8 Main
Example: every call of the methods of two packages, counted and timed
  java -agentpath:/path/to/libhprof.so=cpu=times,include=a.b.*:c.* Main
Example: a binary file, which 'hprof check' verifies and 'hprof text' prints
  java -agentpath:/path/to/libhprof.so=cpu=samples,format=b,file=a.hprof Main
Example: a file every ten minutes, keeping those of the last day
  java -agentpath:/path/to/libhprof.so=cpu=samples,rotate=10m,keep=144 Main
Example: send to a receiver, 'hprof recv --listen 127.0.0.1:9000 -o a.hprof'
  java -agentpath:/path/to/libhprof.so=heap=sites,net=127.0.0.1:9000 Main
",
    );
    help
}

/// Returns everything that the table says about one option.
///
/// # Errors
/// [`OptionError`], if there is no such option.
pub fn describe(name: &str) -> Result<String, OptionError> {
    let row = find(name, name)?;
    if row.description.is_empty() {
        return Ok(format!(
            "{}={}\n    accepted for old scripts, but has no effect\n",
            row.name, row.values
        ));
    }
    let mut text = format!("{}={}\n    {}\n", row.name, row.values, row.description);
    let allowed = row.allowed.unwrap_or(row.values);
    for (label, value) in [
        ("values", allowed),
        ("default", row.default),
        ("for", &*row.scope.needed()),
    ] {
        if !value.is_empty() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "    {:<9}{value}", format!("{label}:"));
        }
    }
    Ok(text)
}
