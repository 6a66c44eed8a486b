//! The files that options name.

use super::*;

#[test]
fn a_compressed_file_has_a_suffix() {
    assert_eq!(options("cpu=samples").compress, None);
    let compressed = options("cpu=samples,compress=y");
    assert_eq!(
        (compressed.compress, &*compressed.file),
        (Some(true), "java.hprof.txt.gz")
    );
    assert_eq!(
        options("cpu=samples,compress=y,format=b").file,
        "java.hprof.gz"
    );
    assert_eq!(options("cpu=samples,compress=y,file=x").file, "x");
}

#[test]
fn the_binary_file_has_no_suffix() {
    assert_eq!(options("format=b,cpu=samples").file, "java.hprof");
    assert_eq!(options("format=b,cpu=samples,file=a.txt").file, "a.txt");
}

#[test]
fn the_name_of_the_file_decides_on_the_format() {
    for (given, format) in [
        ("cpu=samples,file=x.hprof", Format::Binary),
        ("cpu=samples,file=/a/%p.hprof.gz", Format::Binary),
        ("cpu=samples,file=x.txt", Format::Text),
        ("cpu=samples,file=x.hprof.txt", Format::Text),
        ("cpu=samples,file=x", Format::Text),
        ("cpu=samples,file=hprof", Format::Text),
        ("cpu=samples", Format::Text),
        ("cpu=samples,file=x.hprof,format=a", Format::Text),
        ("cpu=samples,format=b,file=x.txt", Format::Binary),
        // The binary format has no records for these.
        ("cpu=times,file=x.hprof", Format::Text),
        ("monitor=y,file=x.hprof", Format::Text),
    ] {
        assert_eq!(options(given).format, format, "{given}");
    }
}

#[test]
fn periods_have_a_length_and_an_end() {
    let options = options("rotate=10m,keep=7,timeout=2h");
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    assert_eq!(options.rotate, Some(Rotate::Every(minutes(10))));
    assert_eq!(options.keep, Some(7));
    assert_eq!(options.timeout, Some(minutes(120)));
    assert_eq!(
        error("keep=7"),
        "option keep=7: does nothing without rotate= and a file"
    );
    for (option, allowed) in [
        (
            "rotate=10",
            "a time like 500ms, 30s, 10m or 2h, or a size like 512kb, 64mb or 2gb",
        ),
        ("keep=0", "a whole number of files from 1 to 1000000"),
        ("timeout=5mb", "a time like 500ms, 30s, 10m or 2h"),
    ] {
        assert_eq!(error(option), format!("option {option}: must be {allowed}"));
    }
}
