use std::io::{self, Read};

use hprof_format::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::Config;

fn received(bytes: &[u8]) -> Vec<Received> {
    let mut commands = Commands::new(bytes);
    std::iter::from_fn(|| commands.receive()).collect()
}

fn raw(tag: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag, 0, 0, 0, 7];
    bytes.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

fn one(tag: u8, payload: &[u8]) -> Received {
    let received = received(&raw(tag, payload));
    assert_eq!(received.len(), 1, "{received:?}");
    received[0]
}

fn refusal(tag: u8, payload: &[u8]) -> String {
    match one(tag, payload) {
        Received::Refused(refused) => refused.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_tag_has_its_command() {
    use Command::*;
    let cases: &[(u8, &[u8], Command)] = &[
        (1, &[], ForceGc),
        (2, &[], DumpHeap),
        (
            3,
            &[0, 5, 0x3f, 0, 0, 0],
            AllocSites {
                flags: 5,
                cutoff: 0.5,
            },
        ),
        (4, &[], HeapSummary),
        (5, &[], Exit),
        (6, &[], DumpTraces),
        (7, &[9, 9, 0x3f, 0x80, 0, 0], CpuSamples { cutoff: 1.0 }),
        (8, &[0, 1], Control(hprof_format::Control::StartAllocations)),
        (8, &[0, 2], Control(hprof_format::Control::StopAllocations)),
        (
            8,
            &[0, 3, 0, 0, 0, 0, 0, 0, 0, 0],
            Control(hprof_format::Control::StartSamples(Threads::All)),
        ),
        (
            8,
            &[0, 4, 0, 0, 0, 0, 0, 6, 0x1a, 0x80],
            Control(hprof_format::Control::StopSamples(Threads::One(ObjectId(
                400_000,
            )))),
        ),
        (8, &[0, 5], Control(hprof_format::Control::ClearSamples)),
        (8, &[0, 6], Control(hprof_format::Control::ClearSites)),
        (8, &[0, 6, 0, 9], Control(hprof_format::Control::Depth(9))),
        (8, &[0, 7, 1, 0], Control(hprof_format::Control::Depth(256))),
    ];
    for &(tag, payload, command) in cases {
        assert_eq!(one(tag, payload), Received::Command(command));
        assert_eq!(command.tag(), tag);
    }
}

#[test]
fn ids_of_four_bytes_are_taken_too() {
    let command = Command::Control(Control::StartSamples(Threads::One(ObjectId(0x1234_5678))));
    assert_eq!(
        one(8, &[0, 3, 0x12, 0x34, 0x56, 0x78]),
        Received::Command(command)
    );
}

#[test]
fn what_is_no_command_is_named_and_skipped() {
    assert_eq!(
        refusal(0x42, &[1, 2, 3]),
        "command 0x42 is unknown (3 bytes skipped); 0x01 to 0x08 and 0xff are known"
    );
    assert_eq!(
        refusal(3, &[0, 1, 2]),
        "command 0x03 has 3 bytes of payload, and needs 6"
    );
    assert_eq!(
        refusal(8, &[]),
        "command 0x08 has 0 bytes of payload, and needs 2"
    );
    assert_eq!(
        refusal(8, &[0, 7]),
        "command 0x08 has 2 bytes of payload, and needs 4"
    );
    assert_eq!(
        refusal(8, &[0, 3, 0]),
        "command 0x08 has 3 bytes of payload, and needs 6"
    );
    assert_eq!(
        refusal(8, &[0, 9]),
        "control 9 is unknown; 1 to 7 are known"
    );
    assert_eq!(
        refusal(7, &[0, 0, 0xbf, 0x80, 0, 0]),
        "command 0x07 has the cutoff -1; it must be a number, 0 or more"
    );
    assert_eq!(
        refusal(7, &[0, 0, 0x7f, 0xc0, 0, 0]),
        "command 0x07 has the cutoff NaN; it must be a number, 0 or more"
    );
}

#[test]
fn the_end_needs_neither_serial_nor_length() {
    let mut bytes = Command::ForceGc.encode(1);
    bytes.push(0xff);
    bytes.extend(Command::Exit.encode(2));
    assert_eq!(received(&bytes), [Received::Command(Command::ForceGc)]);
}

/// Supplies the requested bytes without end, but never remembers more than a small buffer's worth.
struct Endless;

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        assert!(
            buffer.len() <= 64 * 1024,
            "the payload is skipped, not kept"
        );
        buffer.fill(0);
        Ok(buffer.len())
    }
}

#[test]
fn a_huge_payload_is_skipped_in_bounded_memory() {
    let mut head = vec![0x42, 0, 0, 0, 1];
    head.extend_from_slice(&300_000_000_u32.to_be_bytes());
    let mut commands = Commands::new(
        head.chain(Endless.take(300_000_000))
            .chain(&[6, 0, 0, 0, 2, 0, 0, 0, 0][..]),
    );
    assert!(matches!(
        commands.receive(),
        Some(Received::Refused(Refused::Unknown { .. }))
    ));
    assert_eq!(
        commands.receive(),
        Some(Received::Command(Command::DumpTraces))
    );
    assert_eq!(commands.receive(), None);
}

fn command() -> impl Strategy<Value = Command> {
    let cutoff = || prop_oneof![Just(0.0_f32), 0.0_f32..2.0, Just(f32::INFINITY)];
    let threads = || {
        any::<u64>().prop_map(|id| {
            if id == 0 {
                Threads::All
            } else {
                Threads::One(ObjectId(id))
            }
        })
    };
    prop_oneof![
        Just(Command::ForceGc),
        Just(Command::DumpHeap),
        (any::<u16>(), cutoff()).prop_map(|(flags, cutoff)| Command::AllocSites { flags, cutoff }),
        Just(Command::HeapSummary),
        Just(Command::Exit),
        Just(Command::DumpTraces),
        cutoff().prop_map(|cutoff| Command::CpuSamples { cutoff }),
        Just(Command::Control(Control::StartAllocations)),
        Just(Command::Control(Control::StopAllocations)),
        threads().prop_map(|threads| Command::Control(Control::StartSamples(threads))),
        threads().prop_map(|threads| Command::Control(Control::StopSamples(threads))),
        Just(Command::Control(Control::StartSamples(Threads::All))),
        Just(Command::Control(Control::ClearSamples)),
        Just(Command::Control(Control::ClearSites)),
        any::<u16>().prop_map(|depth| Command::Control(Control::Depth(depth))),
    ]
}

/// The parts of a stream: commands, unknown commands, and commands with more payload than they need.
fn part() -> impl Strategy<Value = (Option<Command>, Vec<u8>)> {
    let junk =
        (9_u8..0xff, vec(any::<u8>(), 0..40)).prop_map(|(tag, payload)| (None, raw(tag, &payload)));
    let long =
        vec(any::<u8>(), 0..40).prop_map(|payload| (Some(Command::DumpTraces), raw(6, &payload)));
    prop_oneof![
        3 => (command(), any::<u32>()).prop_map(|(command, serial)| (Some(command), command.encode(serial))),
        1 => junk,
        1 => long,
    ]
}

fn commands_in(received: &[Received]) -> Vec<Command> {
    let command = |received: &Received| match *received {
        Received::Command(command) => Some(command),
        Received::Refused(_) => None,
    };
    received.iter().filter_map(command).collect()
}

proptest! {
    #![proptest_config(Config { cases: 10_000, ..Config::default() })]

    #[test]
    fn any_bytes_give_an_end(bytes in vec(any::<u8>(), 0..300)) {
        // The shortest command has 9 bytes.
        prop_assert!(received(&bytes).len() <= bytes.len() / 9);
    }

    #[test]
    fn near_misses_give_an_end(bytes in vec(prop_oneof![4 => 0_u8..10, 1 => any::<u8>()], 0..300)) {
        prop_assert!(received(&bytes).len() <= bytes.len() / 9);
    }

    #[test]
    fn what_was_sent_arrives_as_far_as_it_is_whole(parts in vec(part(), 0..8), cut in any::<prop::sample::Index>()) {
        let bytes: Vec<u8> = parts.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        let sent: Vec<Command> = parts.iter().filter_map(|(command, _)| *command).collect();
        prop_assert_eq!(commands_in(&received(&bytes)), sent);

        let cut = cut.index(bytes.len() + 1);
        let mut end = 0;
        let whole = parts.iter().take_while(|(_, bytes)| { end += bytes.len(); end <= cut });
        let whole: Vec<Command> = whole.filter_map(|(command, _)| *command).collect();
        prop_assert_eq!(commands_in(&received(&bytes[..cut])), whole);
    }
}
