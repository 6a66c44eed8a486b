//! `hprof export --to parquet`: conversions of several inputs, and refusals. `crates/tables` tests the content of the
//! tables.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use hprof_testing::text;
use tempfile::TempDir;

fn profile(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/profiles")
        .join(name)
}

fn export(arguments: &[&str], files: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hprof"))
        .arg("export")
        .args(arguments)
        .args(files)
        .stdin(Stdio::null())
        .output()
        .expect("the tool starts")
}

/// Returns the number of runs that a table has.
fn runs(tables: &Path, table: &str) -> usize {
    fs::read_dir(tables.join(table)).map_or(0, |files| files.count())
}

#[test]
fn a_damaged_input_gets_one_line_and_the_others_are_converted() {
    let folder = TempDir::new().expect("a folder");
    let tables = folder.path().join("tables");
    let monitor = fs::read(profile("agent-monitor.txt")).expect("a profile");
    let samples = fs::read(profile("original-spin-samples-thread.txt")).expect("a profile");
    let [cut, other, missing] =
        ["cut.txt", "other.txt", "missing"].map(|name| folder.path().join(name));
    fs::write(&cut, &monitor[..monitor.len() / 2]).expect("a file");
    fs::write(&other, &samples[..samples.len() / 2]).expect("a file");
    let inputs = [
        &cut,
        &profile("alloc.hprof.gz"),
        &missing,
        &other,
        &profile("agent-calls-times.txt"),
    ];
    let arguments = ["--to", "parquet", "-o", tables.to_str().expect("UTF-8")];
    let output = export(&arguments, &inputs.map(PathBuf::as_path));
    assert_eq!(output.status.code(), Some(1));
    let said: Vec<&str> = text(&output.stderr).lines().collect();
    assert_eq!(said.len(), 3, "{said:?}");
    for (line, input) in said.iter().zip([&cut, &missing, &other]) {
        let start = format!("hprof: {}: ", input.display());
        assert!(line.starts_with(&start), "{line}");
    }
    let converted: Vec<&str> = text(&output.stdout).lines().collect();
    assert_eq!(converted.len(), 2, "{converted:?}");
    assert!(converted[0].contains(" alloc_site "), "{converted:?}");
    assert!(converted[1].contains(" call_time "), "{converted:?}");
    for table in ["run", "alloc_site", "object"] {
        assert_eq!(runs(&tables, table), 2, "{table}");
    }
    let hidden = fs::read_dir(&tables).expect("the tables").filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name.to_string_lossy().starts_with('.')
    });
    assert_eq!(hidden.count(), 0);
}

#[test]
fn a_folder_that_cannot_be_written_is_told_once() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "not a folder").expect("a file");
    let arguments = ["--to", "parquet", "-o", file.to_str().expect("UTF-8")];
    let profile = profile("alloc.hprof.gz");
    let output = export(&arguments, &[&profile, &profile]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    let start = format!("hprof: writing {}: ", file.display());
    assert!(
        said.starts_with(&start) && said.lines().count() == 1,
        "{said}"
    );
    assert_eq!(
        fs::read_to_string(&file).expect("it is there"),
        "not a folder"
    );
}

#[test]
fn what_is_for_tables_alone_is_refused_elsewhere() {
    let profile = profile("alloc.hprof.gz");
    let both = [profile.as_path(), profile.as_path()];
    for (arguments, files, said) in [
        (
            &["--to", "parquet"][..],
            &both[..1],
            "name a folder for them with -o",
        ),
        (
            &["--to", "json"],
            &both[..],
            "only tables take several files",
        ),
        (
            &["--to", "json", "--retained"],
            &both[..1],
            "are for tables: --to parquet",
        ),
        (
            &["--to", "json", "--label", "a=b"],
            &both[..1],
            "are for tables: --to parquet",
        ),
        (
            &[
                "--to", "parquet", "-o", "x", "--label", "a=b", "--label", "a=c",
            ],
            &both[..1],
            "--label a= is given twice",
        ),
    ] {
        let output = export(arguments, files);
        let found = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {found}");
        assert!(
            found.contains(said) && found.lines().count() == 1,
            "{found}"
        );
    }
    let usage = export(
        &["--to", "parquet", "-o", "x", "--label", "none"],
        &both[..1],
    );
    assert_eq!(usage.status.code(), Some(2));
    assert!(text(&usage.stderr).contains("a label is NAME=VALUE"));
}
