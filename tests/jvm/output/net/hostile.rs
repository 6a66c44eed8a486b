//! Invalid commands.

use super::{TestReceiver, Waiting, said};
use crate::harness::Jvm;

/// The number of streams on each JVM.
const STREAMS: u64 = 10;
/// The number of commands in a stream.
const LENGTH: usize = 400;

/// A sequence that is the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn bytes(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    /// Returns a tag, a length and a payload, any of which may be wrong.
    fn command(&mut self) -> Vec<u8> {
        // No heap dumps: they take long without being wrong.
        let tags = [
            0x01, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x08, 0x00, 0x09, 0x80, 0xfe,
        ];
        let tag = tags[(self.next() % tags.len() as u64) as usize];
        let length = self.next() % 14;
        let mut bytes = vec![tag];
        bytes.extend(self.bytes(4));
        bytes.extend((length as u32).to_be_bytes());
        let mut payload = self.bytes(length);
        if let Some([high, low]) = payload.get_mut(..2) {
            (*high, *low) = (0, (self.next() % 9) as u8);
        }
        bytes.extend(payload);
        bytes
    }

    /// Returns many commands, then random bytes, then an end in the middle of a command with a huge payload.
    fn stream(&mut self) -> Vec<u8> {
        let mut stream: Vec<u8> = (0..LENGTH).flat_map(|_| self.command()).collect();
        match self.next() % 3 {
            0 => stream.extend(self.bytes(300)),
            1 => stream.extend([0x03, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]),
            _ => stream.extend([0x08, 0, 0]),
        }
        stream
    }
}

on_every_jvm!(no_stream_of_commands_hurts_the_program on 17 and 27);

fn no_stream_of_commands_hurts_the_program(jvm: &Jvm) {
    for seed in 1..=STREAMS {
        let waiting = Waiting::new();
        let run = waiting
            .program(jvm, "heap=sites,cpu=samples,format=b,net_exit=n", "Loud")
            .arg("10")
            .start();
        let receiver = TestReceiver::accept(&waiting);
        let stream = Random(seed).stream();
        // The program may have ended before it has read them all.
        let _ = std::io::Write::write_all(&mut &receiver.stream, &stream);
        let bytes = receiver.end();
        let run = run.wait();
        assert_eq!(run.stdout, "loud 10\n", "{seed}: {}", run.stderr);
        assert_eq!(run.status.code(), Some(5), "{seed}: {}", run.stderr);
        assert!(said(&run).len() <= 11, "{seed}: {}", run.stderr);
        hprof_format::check(std::io::Cursor::new(&bytes))
            .unwrap_or_else(|fault| panic!("{seed}: {fault}"));
    }
}

#[test]
fn a_million_unknown_commands_do_not_flood_the_terminal() {
    let jvm = crate::harness::any_jvm();
    let waiting = Waiting::new();
    let run = waiting
        .program(jvm, "cpu=samples,format=b", "Serve")
        .start();
    let receiver = TestReceiver::accept(&waiting);
    for _ in 0..1_000 {
        receiver.send_raw(&[0x42, 0, 0, 0, 0, 0, 0, 0, 0].repeat(1_000));
    }
    receiver.send(hprof_format::Command::Exit);
    receiver.end();
    let run = run.wait();
    assert_eq!(run.status.code(), Some(0));
    let lines = said(&run);
    assert_eq!(lines.len(), 12, "{lines:?}");
    assert_eq!(
        lines[0],
        "hprof: from the receiver: command 0x42 is unknown (0 bytes skipped); 0x01 to 0x08 and 0xff are known"
    );
    assert_eq!(
        lines[10],
        "hprof: from the receiver: more messages of this kind are not shown"
    );
}
