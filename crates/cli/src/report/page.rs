//! The page: its parts combined into one file that needs no other.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

const STYLE: &str = concat!(
    include_str!("style.css"),
    include_str!("../heap/pages/style.css")
);
const BODY: &str = include_str!("body.html");
/// In the order in which they run.
const SCRIPT: &str = concat!(
    "'use strict';(() => {\n",
    include_str!("text.js"),
    include_str!("data.js"),
    include_str!("costs.js"),
    include_str!("tree.js"),
    include_str!("state.js"),
    include_str!("elements.js"),
    include_str!("flame.js"),
    include_str!("table.js"),
    include_str!("views.js"),
    include_str!("time.js"),
    include_str!("memory.js"),
    include_str!("heat.js"),
    include_str!("sites.js"),
    include_str!("waiting.js"),
    include_str!("heap.js"),
    include_str!("main.js"),
    "})();\n"
);

/// Writes the page around the data that `data` writes, with a part that is already markup: the heap dumps'.
///
/// The data are compressed and written using only letters, digits, `+`, `/` and `=`: no name in them can be markup.
pub fn write(
    out: &mut dyn Write,
    heaps: &str,
    data: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let (style, script) = (hash(STYLE), hash(SCRIPT));
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
         style-src '{style}'; script-src '{script}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>HPROF</title>\n\
         <style>{STYLE}</style>\n</head>\n{BODY}\n<template id=\"heaps\">{heaps}</template>\n\
         <script type=\"application/json\" id=\"profiles\">{{\"version\":1,\"gzip\":\""
    )?;
    let encoder = EncoderWriter::new(&mut *out, &BASE64);
    let mut compressor = GzEncoder::new(encoder, Compression::new(4));
    data(&mut compressor)?;
    compressor.finish()?.finish()?;
    writeln!(
        out,
        "\"}}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>"
    )
}

/// Returns the policy's hash of a text that may run.
fn hash(text: &str) -> String {
    format!("sha256-{}", BASE64.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small() {
        let mut page = Vec::new();
        write(&mut page, "", |_| Ok(())).expect("memory takes it");
        assert!(page.len() <= 300_000, "{}", page.len());
    }

    #[test]
    fn hashes_are_those_of_browsers() {
        // From the Content Security Policy specification, section 6.7.2.
        assert_eq!(
            hash("alert('Hello, world.');"),
            "sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng="
        );
    }
}
