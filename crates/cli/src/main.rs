//! `hprof`: reads the binary files that the HPROF agent writes, and receives what it sends.

#![forbid(unsafe_code)]

mod check;
mod failure;
mod input;
mod recv;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;

#[derive(Parser)]
#[command(
    version,
    about = "Checks, prints and receives HPROF files: profiles of Java programs in the binary format (format=b)",
    long_about = "\
The HPROF agent writes what it sees of a running Java program into a file: call
stacks, CPU samples, allocation sites, heap dumps. With format=b that file is
compact and made for tools. hprof tells whether such a file is whole and sound,
and turns it into the text that format=a would have written. It also receives
what an agent with net=HOST:PORT sends, and commands it.",
    after_help = "\
Examples:
  java -agentlib:hprof=cpu=samples,format=b,file=java.hprof Main
  hprof check java.hprof          is the file sound? what is in it?
  hprof text java.hprof | less    the profile as text
  hprof check old.hprof.gz        compressed files are read as they are
  hprof recv -l 127.0.0.1:9000 -o java.hprof      an agent with net=localhost:9000

A program that was killed leaves a file that ends in the middle of a record.
`hprof check` then says at which byte the last whole record ends, and
`hprof text` prints everything up to there.

Exit status: 0 the file is sound; 1 it is not, or could not be read or written;
2 wrong usage."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Arguments),
    Text(text::Arguments),
    Recv(recv::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Text(arguments) => text::run(&arguments),
        Command::Recv(arguments) => recv::run(&arguments),
    };
    match result {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            // Nobody is left to tell where even this fails.
            let _ = writeln!(io::stderr(), "hprof: {message}");
            ExitCode::FAILURE
        }
    }
}
