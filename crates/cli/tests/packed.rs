//! Dumps and profiles in archives, and compressed in every way that people use: they are read as if they were not.

use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use hprof_testing::{run_in, stderr};
use lzma_rust2::{XzOptions, XzWriter};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A profile of the JDK's agent, as text.
const PROFILE: &[u8] = include_bytes!("profiles/original-spin-samples-thread.txt");

/// A dump of one array of 1,000 bytes, which a root holds.
fn dump() -> Vec<u8> {
    const ARRAY: [u8; 4] = [0, 0, 0, 9];
    let mut objects = vec![0x23];
    objects.extend(ARRAY);
    objects.extend([0, 0, 0, 0, 0, 0, 0x03, 0xE8, 8]);
    objects.extend([7; 1_000]);
    objects.push(0x05);
    objects.extend(ARRAY);
    let mut bytes = b"JAVA PROFILE 1.0.2\0\0\0\0\x04".to_vec();
    bytes.extend([0; 8]);
    // The stack of objects without one.
    bytes.extend([0x05, 0, 0, 0, 0, 0, 0, 0, 12]);
    bytes.extend([0; 12]);
    bytes.extend([0x1C, 0, 0, 0, 0, 0, 0]);
    bytes.extend((objects.len() as u16).to_be_bytes());
    bytes.extend(objects);
    bytes.extend([0x2C, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).expect("a vector has room");
    encoder.finish().expect("a vector has room")
}

fn bzip2(content: &[u8]) -> Vec<u8> {
    let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(content).expect("a vector has room");
    encoder.finish().expect("a vector has room")
}

fn xz(content: &[u8]) -> Vec<u8> {
    let options = XzOptions::with_preset(0);
    let mut encoder = XzWriter::new(Vec::new(), options).expect("they are sound");
    encoder.write_all(content).expect("a vector has room");
    encoder.finish().expect("a vector has room")
}

/// Two frames, with one between them that is to be skipped.
fn zstd(content: &[u8]) -> Vec<u8> {
    let frame = |content| {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        ruzstd::encoding::compress_to_vec(content, level)
    };
    let (first, second) = content.split_at(content.len() / 3);
    let skipped = b"\x50\x2A\x4D\x18\x03\0\0\0abc";
    [frame(first), skipped.to_vec(), frame(second)].concat()
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    archive
        .add_directory("folder/", options)
        .expect("a vector has room");
    for (name, content) in files {
        archive
            .start_file(*name, options)
            .expect("a vector has room");
        archive.write_all(content).expect("a vector has room");
    }
    archive.finish().expect("a vector has room").into_inner()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        archive
            .append_data(&mut header, name, *content)
            .expect("a vector has room");
    }
    archive.into_inner().expect("a vector has room")
}

/// Returns a file packed in all ways.
fn packed(content: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let only = [("folder/file", content), ("__MACOSX/._file", b"x")];
    let archive = tar(&only);
    vec![
        ("gzip", gzip(content)),
        ("bzip2", bzip2(content)),
        ("xz", xz(content)),
        ("zstd", zstd(content)),
        ("zip", zip(&only)),
        ("tar.gz", gzip(&archive)),
        ("tar.zst", zstd(&archive)),
        ("zip of gzip", zip(&[("file.gz", &gzip(content))])),
        ("tar", archive),
    ]
}

fn hprof(folder: &Path, arguments: &[&str]) -> Output {
    run_in(folder, env!("CARGO_BIN_EXE_hprof"), arguments)
}

#[test]
fn what_is_packed_is_read_as_if_it_were_not() {
    let folder = TempDir::new().expect("room for it");
    let dump = dump();
    for (content, arguments) in [
        (PROFILE, &["top"][..]),
        (&dump, &["heap", "histogram"]),
        (&dump, &["check"]),
    ] {
        let asked = |content: &[u8]| {
            fs::write(folder.path().join("file"), content).expect("room for it");
            hprof(folder.path(), &[arguments, &["file"]].concat())
        };
        let plain = asked(content);
        assert!(plain.status.success(), "{}", stderr(&plain));
        for (way, packed) in packed(content) {
            let output = asked(&packed);
            assert!(output.status.success(), "{way}: {}", stderr(&output));
            assert_eq!(output.stdout, plain.stdout, "{way}");
        }
    }
}

#[test]
fn a_pipe_may_carry_an_archive() {
    let folder = TempDir::new().expect("room for it");
    fs::write(folder.path().join("plain"), PROFILE).expect("room for it");
    let plain = hprof(folder.path(), &["top", "plain"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_hprof"));
    command.args(["top", "-"]).stdin(Stdio::piped());
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().expect("it has one");
    input
        .write_all(&zip(&[("file", PROFILE)]))
        .expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.stdout, plain.stdout);
}

#[test]
fn what_is_cut_or_damaged_says_where() {
    let folder = TempDir::new().expect("room for it");
    let asked = |content: &[u8]| {
        fs::write(folder.path().join("file"), content).expect("room for it");
        let output = hprof(folder.path(), &["top", "file"]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        stderr(&output)
    };
    for (way, packed) in [
        ("compressed by bzip2", bzip2(PROFILE)),
        ("compressed by xz", xz(PROFILE)),
        ("compressed by zstd", zstd(PROFILE)),
        ("a tar archive", tar(&[("file", PROFILE)])),
    ] {
        let half = packed.len() / 2;
        let error = asked(&packed[..half]);
        let expected = format!("file: is {way}, and ends too early, at byte {half}\n");
        assert!(error.contains(&expected), "{error}");
    }
    for (way, mut packed) in [
        ("compressed by bzip2", bzip2(PROFILE)),
        ("compressed by xz", xz(PROFILE)),
        ("a zip archive", zip(&[("file", PROFILE)])),
    ] {
        let half = packed.len() / 2;
        packed[half] ^= 0xFF;
        let error = asked(&packed);
        let expected = format!("file: is {way}, and damaged at or before byte ");
        assert!(error.contains(&expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

#[test]
fn an_archive_of_several_files_is_refused() {
    let folder = TempDir::new().expect("room for it");
    let two = [("one", PROFILE), ("two", PROFILE)];
    for (content, what) in [
        (zip(&two), "is a zip archive with 2 files; "),
        (tar(&two), "is a tar archive with 2 files; "),
        (zip(&[]), "is a zip archive with no file; "),
    ] {
        fs::write(folder.path().join("file"), content).expect("room for it");
        for arguments in [&["top", "file"][..], &["heap", "leaks", "file"]] {
            let output = hprof(folder.path(), arguments);
            assert_eq!(output.status.code(), Some(1));
            assert!(stderr(&output).contains(what), "{}", stderr(&output));
        }
    }
}

#[test]
fn what_is_packed_without_end_is_refused() {
    let folder = TempDir::new().expect("room for it");
    let mut content = PROFILE.to_vec();
    for _ in 0..6 {
        content = zip(&[("file", &content)]);
    }
    fs::write(folder.path().join("file"), content).expect("room for it");
    let output = hprof(folder.path(), &["top", "file"]);
    assert_eq!(output.status.code(), Some(1));
    let error = stderr(&output);
    assert!(error.contains("is packed more than 4 times"), "{error}");
}
