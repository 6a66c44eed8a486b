//! Programs as users name them: by a process id, or by a part of the main class.

use std::convert::Infallible;
use std::str::FromStr;

use hprof_format::nearest;

use super::error::Error;
use super::perf_data;
use super::process::{self, Process};

/// The options of `java` whose value is the next argument.
const WITH_VALUE: [&str; 9] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--add-opens",
    "--add-exports",
];
/// The options of `java` whose value is the program.
const BEFORE_PROGRAM: [&str; 3] = ["-jar", "-m", "--module"];
/// The most programs that an error message lists.
const LISTED: usize = 8;

/// The name of a running program.
#[derive(Clone, Debug)]
pub struct Program(String);

impl FromStr for Program {
    type Err = Infallible;

    fn from_str(name: &str) -> Result<Self, Infallible> {
        Ok(Self(name.to_owned()))
    }
}

impl Program {
    /// Returns the one program of that name.
    pub(super) fn find(&self) -> Result<Process, Error> {
        if let Ok(pid) = self.0.parse() {
            return Process::find(pid);
        }
        let processes = process::ids().into_iter().flat_map(Process::find);
        let named: Vec<(String, Process)> = processes
            .map(|process| (main_class(&process), process))
            .collect();
        let running: Vec<String> = named.iter().map(|(class, _)| class.clone()).collect();
        let mut found = best(&self.0, named);
        match found.len() {
            0 => Err(Error::NoSuchProgram {
                nearest: like(&self.0, &running),
                name: self.0.clone(),
            }),
            1 => Ok(found.swap_remove(0).1),
            count => Err(Error::Ambiguous {
                name: self.0.clone(),
                programs: listed(&found, count),
            }),
        }
    }
}

fn listed(found: &[(String, Process)], count: usize) -> String {
    let shown = found.iter().take(LISTED);
    let mut programs: Vec<String> = shown
        .map(|(class, process)| format!("{} ({class})", process.pid()))
        .collect();
    if count > LISTED {
        programs.push(format!("and {} more", count - LISTED));
    }
    programs.join(", ")
}

/// Returns the programs that a name means: those that have exactly this name, or else those whose name contains it.
fn best<P>(name: &str, programs: Vec<(String, P)>) -> Vec<(String, P)> {
    let name = name.to_lowercase();
    let is_exact = |class: &str| {
        let class = class.to_lowercase();
        class == name || simple(&class) == name
    };
    let any_exact = programs.iter().any(|(class, _)| is_exact(class));
    let is_meant = |class: &str| match any_exact {
        true => is_exact(class),
        false => class.to_lowercase().contains(&name),
    };
    let programs = programs.into_iter();
    programs.filter(|(class, _)| is_meant(class)).collect()
}

/// Returns the running program that a name is probably meant for: one that is spelt almost like it, with or without its
/// package.
fn like(name: &str, running: &[String]) -> Option<String> {
    let names = || running.iter().map(String::as_str);
    let nearest_simple = || {
        let spelt = nearest(simple(name), names().map(simple))?;
        names().find(|class| simple(class) == spelt)
    };
    let like = nearest(name, names()).or_else(nearest_simple);
    like.filter(|class| !class.is_empty()).map(str::to_owned)
}

/// Returns the class without its package, or the jar without its suffix.
fn simple(class: &str) -> &str {
    match class.strip_suffix(".jar") {
        Some(jar) => jar,
        None => class.rsplit('.').next().unwrap_or(class),
    }
}

/// Returns the program's main class, or the name of its jar; empty if it cannot be determined.
pub fn main_class(process: &Process) -> String {
    let facts = perf_data::find(process);
    let program = match facts.get(perf_data::COMMAND) {
        Some(command) => command.split_whitespace().next().map(str::to_owned),
        None => in_command_line(&process.words()),
    };
    let program = program.unwrap_or_default();
    // Without the folders of a jar, or the module of a class.
    program.rsplit('/').next().unwrap_or_default().to_owned()
}

/// Returns the main class or the jar in the arguments of `java`.
fn in_command_line(words: &[String]) -> Option<String> {
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if BEFORE_PROGRAM.contains(&word.as_str()) {
            return words.next().cloned();
        }
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with(['-', '@']) {
            return Some(word.clone());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(name: &str) -> Vec<&'static str> {
        let classes = [
            "shop.Main",
            "shop.MainServer",
            "shop.Mainframe",
            "compiler.jar",
        ];
        let programs = classes.map(|class| (class.to_owned(), class));
        let found = best(name, programs.into());
        found.into_iter().map(|(_, class)| class).collect()
    }

    #[test]
    fn a_part_of_a_name_is_enough_and_the_exact_name_comes_first() {
        assert_eq!(meant("Server"), ["shop.MainServer"]);
        assert_eq!(meant("server"), ["shop.MainServer"]);
        assert_eq!(meant("Main"), ["shop.Main"]);
        assert_eq!(meant("shop.Main"), ["shop.Main"]);
        assert_eq!(meant("Mainf"), ["shop.Mainframe"]);
        assert_eq!(meant("shop.m").len(), 3);
        assert_eq!(meant("compiler"), ["compiler.jar"]);
        assert_eq!(meant("jar"), ["compiler.jar"]);
        assert!(meant("bank").is_empty());
    }

    #[test]
    fn a_misspelt_name_suggests_a_running_program() {
        let running = ["shop.MainServer", "compiler.jar", ""].map(str::to_owned);
        assert_eq!(
            like("MianServer", &running).as_deref(),
            Some("shop.MainServer")
        );
        assert_eq!(
            like("shop.MainSever", &running).as_deref(),
            Some("shop.MainServer")
        );
        assert_eq!(like("compilr", &running).as_deref(), Some("compiler.jar"));
        assert_eq!(like("bank", &running), None);
        assert_eq!(like("x", &running), None);
    }

    #[test]
    fn the_main_class_is_found_among_the_arguments() {
        let cases = [
            (
                "java -Xmx1g -cp a.jar:b.jar shop.Main --port 80",
                Some("shop.Main"),
            ),
            (
                "java -XX:-UsePerfData -jar /opt/a.jar x",
                Some("/opt/a.jar"),
            ),
            (
                "java @options -p mods -m shop/shop.Main",
                Some("shop/shop.Main"),
            ),
            ("java", None),
        ];
        for (line, program) in cases {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(in_command_line(&words).as_deref(), program, "{line}");
        }
    }
}
