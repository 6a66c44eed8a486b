//! Heap dumps of programs that were killed while they wrote them: `java-tests/killed`. `scripts/stress --dumps` does the same at random
//! moments, with dumps of the VM's own, too.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::{Jvm, Program, cli};

const ITEMS: u64 = 60_000;
/// The lengths of the file from which on the program is killed. A whole dump has more than 5 MB.
const LENGTHS: [u64; 4] = [1, 1 << 20, 2 << 20, 4 << 20];
const QUESTIONS: [&[&str]; 6] = [
    &["summary"],
    &["leaks"],
    &["histogram"],
    &["retained", "--by", "class"],
    &["threads"],
    &["loaders"],
];

/// Returns the answer of a question as JSON, its status, and what it says on stderr.
fn ask(question: &[&str], file: &Path) -> (String, Option<i32>, String) {
    let mut command = Command::new(cli());
    command.arg("heap").args(question);
    command.args(["--json", "--no-index"]);
    let output = command.arg(file).output().expect("hprof");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (
        text(output.stdout),
        output.status.code(),
        text(output.stderr),
    )
}

fn items(histogram: &str) -> u64 {
    let histogram: serde_json::Value = serde_json::from_str(histogram).expect("JSON");
    let rows = histogram["rows"].as_array().expect("rows");
    let items = rows.iter().find(|row| row["name"] == "Killed$Item");
    items.map_or(0, |row| row["objects"].as_u64().expect("a count"))
}

on_every_jvm!(a_killed_dump_says_that_it_is_cut, and 17);

fn a_killed_dump_says_that_it_is_cut(jvm: &Jvm) {
    for least in LENGTHS {
        let options = "heap=dump,format=b,verbose=n,file=x.hprof";
        let program = Program::java(jvm, options, &["-Xmx256m"]).program("killed", "Killed");
        // Its input has ended, so that it ends, too, and the agent writes the dump.
        let run = program.arg(ITEMS.to_string()).start();
        let file = run.path("x.hprof");
        let length = || fs::metadata(&file).map_or(0, |file| file.len());
        run.wait_until(|| length() >= least);
        run.try_send("KILL");
        let run = run.wait();
        let is_killed = run.signal() == Some(9);
        let mut all = 0;
        for question in QUESTIONS {
            let (answer, status, said) = ask(question, &run.path("x.hprof"));
            let about = format!("{question:?} from {least} bytes on: {status:?}: {said}");
            assert!(status == Some(0) || is_killed, "{about}");
            match status {
                Some(0) => assert_eq!(said, "", "{about}"),
                Some(1) => assert!(said.starts_with("hprof: "), "{about}"),
                _ => panic!("{about}"),
            }
            if question == ["histogram"] && !answer.is_empty() {
                all = items(&answer);
                assert!(all <= ITEMS, "{about}");
                assert!(status == Some(1) || all == ITEMS, "{about}: {all} items");
            }
        }
        // Objects of the JDK come first.
        assert!(least < LENGTHS[3] || all > 0, "from {least} bytes on");
    }
}
