//! `hprof recv --dir` with agents played by the test.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use hprof_format::{
    BinaryEncoder, Command as Order, Commands, Encoder, Micros, Millis, Received, Record, StringId,
    StringRecord,
};
use hprof_testing::{empty_folder, skip};
use serde_json::Value;

/// Returns a profile that no other agent has.
fn profile(agent: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = BinaryEncoder::new();
    encoder.start(Millis(0), &mut bytes);
    for id in 1..=200 {
        let record = Record::String(StringRecord {
            id: StringId(id),
            text: format!("text {id} of agent {agent}").into_bytes().into(),
        });
        encoder.record(Micros(0), &record, &mut bytes);
    }
    bytes
}

struct Receiver {
    child: Child,
    stdin: Option<ChildStdin>,
    events: BufReader<ChildStdout>,
    address: String,
    folder: PathBuf,
}

impl Receiver {
    fn start(test: &str, arguments: &[&str]) -> Receiver {
        Receiver::again(empty_folder!(Path::new("many").join(test)), arguments)
    }

    /// Starts a receiver in an existing folder.
    fn again(folder: PathBuf, arguments: &[&str]) -> Receiver {
        let tool = Command::new(env!("CARGO_BIN_EXE_hprof"));
        Receiver::spawn(tool, folder, arguments)
    }

    fn spawn(mut tool: Command, folder: PathBuf, arguments: &[&str]) -> Receiver {
        let mut child = tool
            .args(["recv", "--dir"])
            .arg(&folder)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool starts");
        let mut receiver = Receiver {
            stdin: child.stdin.take(),
            events: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
            address: String::new(),
            folder,
        };
        let listening = receiver.event("listening");
        receiver.address = text(&listening, "address").to_owned();
        receiver
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&*self.address).expect("it listens")
    }

    /// Returns the next event of a kind; others in between are skipped.
    fn event(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            let count = self.events.read_line(&mut line).expect("UTF-8");
            assert!(count > 0, "it has ended without {kind}");
            let event: Value = serde_json::from_str(&line).expect("each line is JSON");
            assert!(
                event["time"]
                    .as_u64()
                    .is_some_and(|time| time > 1_700_000_000_000)
            );
            if event["event"] == kind {
                return event;
            }
        }
    }

    fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("a pipe");
        stdin.write_all(line.as_bytes()).expect("it reads");
    }

    fn signal(&self, signal: &str) {
        let kill = Command::new("kill")
            .args(["-s", signal, &self.child.id().to_string()])
            .status();
        assert!(kill.expect("kill").success());
    }

    /// Interrupts it; returns the events and messages since.
    fn stop(mut self) -> (Vec<Value>, String) {
        self.signal("TERM");
        let mut rest = String::new();
        self.events.read_to_string(&mut rest).expect("UTF-8");
        let output = self.child.wait_with_output().expect("it ends");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(0), "{said}");
        let events = rest
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        (events.collect(), said)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.join(name)).expect("a file")
    }
}

fn text<'a>(event: &'a Value, field: &str) -> &'a str {
    event[field]
        .as_str()
        .unwrap_or_else(|| panic!("no {field} in {event}"))
}

#[test]
fn two_hundred_agents_have_a_file_each() {
    const AGENTS: usize = 200;
    let mut receiver = Receiver::start("each", &[]);
    let mut agents: Vec<TcpStream> = (0..AGENTS).map(|_| receiver.connect()).collect();
    let profiles: Vec<Vec<u8>> = (0..AGENTS).map(profile).collect();
    let peers: Vec<String> = agents
        .iter()
        .map(|agent| agent.local_addr().expect("an address").to_string())
        .collect();
    // All of them at once, in pieces that end anywhere.
    let longest = profiles.iter().map(Vec::len).max().expect("there are some");
    for start in (0..longest).step_by(777) {
        for (agent, profile) in agents.iter_mut().zip(&profiles) {
            let piece = profile.get(start..(start + 777).min(profile.len()));
            agent
                .write_all(piece.unwrap_or_default())
                .expect("it reads");
        }
    }
    drop(agents);
    let mut ended = BTreeMap::new();
    for _ in 0..AGENTS {
        let event = receiver.event("ended");
        assert_eq!(
            (&event["whole"], &event["records"]),
            (&true.into(), &200.into())
        );
        assert_eq!(event["reason"], "agent");
        ended.insert(
            text(&event, "peer").to_owned(),
            text(&event, "file").to_owned(),
        );
    }
    for (peer, profile) in peers.iter().zip(&profiles) {
        let name = &ended[peer];
        assert!(
            name.starts_with(&peer.replace(':', "-")),
            "{name} of {peer}"
        );
        assert_eq!(&receiver.read(name), profile);
        let mode = fs::metadata(receiver.folder.join(name))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let files = fs::read_dir(&receiver.folder).expect("a folder").count();
    assert_eq!(files, AGENTS, "nothing is left beside them");
    let (events, _) = receiver.stop();
    let stopped = events.last().expect("it says so");
    assert_eq!(
        (&stopped["event"], &stopped["agents"]),
        (&"stopped".into(), &AGENTS.into())
    );
}

#[test]
fn a_bad_agent_harms_no_other() {
    let mut receiver = Receiver::start("bad", &["--max-bytes", "64k", "--name", "{number}.hprof"]);
    let mut good = receiver.connect();
    let whole = profile(1);
    good.write_all(&whole[..100]).expect("it reads");
    assert_eq!(text(&receiver.event("begun"), "file"), "1.hprof");
    let silent = receiver.connect();
    let mut stranger = receiver.connect();
    stranger
        .write_all(b"GET / HTTP/1.1\r\n\r\n")
        .expect("it reads");
    assert_eq!(text(&receiver.event("refused"), "reason"), "no_agent");
    // One that sends endlessly, and one whose data expands a thousandfold.
    let mut endless = receiver.connect();
    let piece = profile(2);
    while endless.write_all(&piece).is_ok() {}
    let event = receiver.event("ended");
    assert_eq!(
        (text(&event, "reason"), text(&event, "file")),
        ("limit", "2.hprof")
    );
    assert!(
        event["bytes"]
            .as_u64()
            .is_some_and(|bytes| (65_536..300_000).contains(&bytes))
    );
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(b"JAVA PROFILE 1.0.2\0")
        .expect("memory takes all");
    gzip.write_all(&vec![0; 4 << 20]).expect("memory takes all");
    let mut bomb = receiver.connect();
    bomb.write_all(&gzip.finish().expect("memory takes all"))
        .expect("it reads");
    drop(bomb);
    assert_eq!(text(&receiver.event("ended"), "file"), "3.hprof");
    // An agent that reads no command does not keep the others from theirs.
    let mut deaf = receiver.connect();
    deaf.write_all(&profile(4)).expect("it reads");
    receiver.event("begun");
    for _ in 0..3_000 {
        receiver.send("@4 heap-summary\n");
        assert_eq!(receiver.event("sent")["agents"], 1);
    }
    receiver.send("@1 force-gc\n");
    let mut commands = Commands::new(good.try_clone().expect("a stream"));
    assert_eq!(commands.receive(), Some(Received::Command(Order::ForceGc)));
    good.write_all(&whole[100..]).expect("it reads");
    drop((commands, good));
    let event = loop {
        let event = receiver.event("ended");
        if event["agent"] == 1 {
            break event;
        }
    };
    assert_eq!(event["whole"], true);
    assert_eq!(receiver.read("1.hprof"), whole);
    drop((silent, deaf));
    receiver.stop();
}

#[test]
fn limits_hold_for_all_together() {
    let mut receiver = Receiver::start("limits", &["--max-agents", "2", "--max-all-bytes", "10k"]);
    let mut agents: Vec<TcpStream> = Vec::new();
    for number in 0..2 {
        let mut agent = receiver.connect();
        agent
            .write_all(&profile(number)[..2_000])
            .expect("it reads");
        receiver.event("begun");
        agents.push(agent);
    }
    let mut third = receiver.connect();
    let _ = third.write_all(&profile(3)[..100]);
    assert_eq!(text(&receiver.event("refused"), "reason"), "too_many");
    agents[0]
        .write_all(&[&profile(0)[2_000..], &profile(7)].concat())
        .expect("it reads");
    assert_eq!(text(&receiver.event("ended"), "reason"), "limit_of_all");
    let _fourth = receiver.connect();
    assert_eq!(text(&receiver.event("refused"), "reason"), "limit_of_all");
    receiver.stop();
}

#[test]
fn commands_go_to_all_or_to_one() {
    let mut receiver = Receiver::start("commands", &["--send", "force-gc"]);
    let mut agents = Vec::new();
    for number in 1..=3 {
        let mut agent = receiver.connect();
        agent.write_all(&profile(number)).expect("it reads");
        assert_eq!(receiver.event("begun")["agent"], number);
        let commands = Commands::new(agent.try_clone().expect("a stream"));
        agents.push((agent, commands));
    }
    receiver.send("@2 heap-summary\ncpu-samples\n@9 exit\n@x exit\nno such thing\n");
    for number in 1..=3 {
        let commands = &mut agents[number - 1].1;
        let mut orders = vec![Order::ForceGc];
        if number == 2 {
            orders.push(Order::HeapSummary);
        }
        orders.push(Order::CpuSamples { cutoff: 0.0 });
        for order in orders {
            assert_eq!(
                commands.receive(),
                Some(Received::Command(order)),
                "{number}"
            );
        }
    }
    let counts: Vec<Value> = (0..3)
        .map(|_| receiver.event("sent")["agents"].clone())
        .collect();
    assert_eq!(counts, [1, 3, 0].map(Value::from));
    let (_, said) = receiver.stop();
    assert!(said.contains("invalid agent number '@x'"), "{said}");
    assert!(said.contains("no command 'no'"), "{said}");
}

#[test]
fn what_came_can_be_read_after_a_kill_and_a_stop_names_it() {
    let mut receiver = Receiver::start("kill", &["--name", "a.hprof"]);
    let whole = profile(1);
    let mut agent = receiver.connect();
    agent.write_all(&whole).expect("it reads");
    let path = receiver.folder.join("a.hprof.part");
    // Everything is in the file as soon as it has arrived.
    while fs::metadata(&path).map_or(0, |found| found.len()) < whole.len() as u64 {
        std::thread::yield_now();
    }
    receiver.signal("KILL");
    receiver.child.wait().expect("it ends");
    assert_eq!(fs::read(&path).expect("a file"), whole);
    // Another receiver continues in the same folder, and leaves that file unchanged.
    let mut receiver = Receiver::again(receiver.folder.clone(), &["--name", "a.hprof"]);
    let mut agent = receiver.connect();
    agent
        .write_all(&whole[..whole.len() - 1])
        .expect("it reads");
    assert_eq!(text(&receiver.event("begun"), "file"), "a-2.hprof");
    while fs::metadata(receiver.folder.join("a-2.hprof.part")).map_or(0, |found| found.len())
        < whole.len() as u64 - 1
    {
        std::thread::yield_now();
    }
    let folder = receiver.folder.clone();
    let (events, _) = receiver.stop();
    assert_eq!(text(&events[0], "file"), "a-2.hprof");
    assert_eq!(
        (text(&events[0], "reason"), &events[0]["whole"]),
        ("stopped", &false.into())
    );
    assert_eq!(
        fs::read(folder.join("a-2.hprof")).expect("a file"),
        whole[..whole.len() - 1]
    );
    assert_eq!(fs::read(&path).expect("a file"), whole);
}

#[test]
fn a_supervisor_that_reads_nothing_stops_nobody() {
    let receiver = Receiver::start("deaf", &["--name", "{number}.hprof"]);
    // More lines than a pipe and the queue hold.
    for _ in 0..12_000 {
        let mut stranger = receiver.connect();
        let _ = stranger.write_all(b"x");
    }
    let mut agent = receiver.connect();
    agent.write_all(&profile(1)).expect("it reads");
    drop(agent);
    let path = receiver.folder.join("1.hprof");
    while !path.exists() {
        std::thread::yield_now();
    }
    let (events, _) = receiver.stop();
    let lost = events.iter().filter_map(|event| event["lost"].as_u64());
    let told = events.len() as u64 + lost.sum::<u64>();
    // The refused callers, the agent that began and ended, and the end.
    assert_eq!(told, 12_000 + 3);
}

#[test]
fn what_cannot_work_is_said_at_once() {
    let cases: &[(&[&str], i32, &str)] = &[
        (
            &["--dir", "/dev/null/x"],
            1,
            "hprof: /dev/null/x: Not a directory",
        ),
        (&["--dir", "/dev/null"], 1, "hprof: /dev/null: is no folder"),
        (
            &["--dir", ".", "--name", "../x"],
            2,
            "error: invalid value '../x' for '--name <PATTERN>'",
        ),
        (
            &["--dir", ".", "--max-bytes", "0"],
            2,
            "error: invalid value '0' for '--max-bytes <BYTES>'",
        ),
        (
            &["--dir", ".", "-o", "x"],
            2,
            "error: the argument '--dir <FOLDER>' cannot be used with",
        ),
        (
            &["-o", "x", "--max-bytes", "1"],
            2,
            "error: the argument '--output <FILE>' cannot be used with",
        ),
    ];
    for (arguments, status, message) in cases {
        let output = Command::new(env!("CARGO_BIN_EXE_hprof"))
            .arg("recv")
            .args(*arguments)
            .stdin(Stdio::null())
            .output()
            .expect("the tool starts");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(*status), "{said}");
        assert!(said.starts_with(message), "{said}");
    }
}

/// Asserts that an agent that connects now is accepted, and its profile is complete.
fn let_in(receiver: &mut Receiver, number: usize) {
    let mut agent = receiver.connect();
    let peer = agent.local_addr().expect("an address").to_string();
    agent.write_all(&profile(number)).expect("it reads");
    drop(agent);
    let event = loop {
        let event = receiver.event("ended");
        if text(&event, "peer") == peer {
            break event;
        }
    };
    assert_eq!(event["whole"], true);
    assert_eq!(receiver.read(text(&event, "file")), profile(number));
}

#[test]
fn silent_connections_keep_no_agent_out() {
    let mut receiver = Receiver::start("silent", &["--max-agents", "10"]);
    let silent: Vec<TcpStream> = (0..50).map(|_| receiver.connect()).collect();
    for number in 0..10 {
        let_in(&mut receiver, number);
    }
    drop(silent);
    receiver.stop();
}

#[test]
fn silent_connections_do_not_take_all_descriptors() {
    let folder = empty_folder!("many/descriptors");
    let mut limited = Command::new("sh");
    let script = r#"ulimit -n 64 && exec "$0" "$@""#;
    limited.args(["-c", script, env!("CARGO_BIN_EXE_hprof")]);
    let mut receiver = Receiver::spawn(limited, folder, &[]);
    let silent: Vec<TcpStream> = (0..70).map(|_| receiver.connect()).collect();
    for number in 0..10 {
        let_in(&mut receiver, number);
    }
    drop(silent);
    let (events, _) = receiver.stop();
    assert!(
        events.iter().all(|event| event["event"] != "failed"),
        "{events:?}"
    );
}

#[test]
fn one_origin_leaves_places_to_the_others() {
    if TcpListener::bind("[::1]:0").is_err() {
        skip("agents of two origins: this machine has no IPv6");
        return;
    }
    let mut receiver = Receiver::start("origins", &["--max-agents", "8", "--listen", "[::]:0"]);
    let port = receiver
        .address
        .rsplit(':')
        .next()
        .expect("a port")
        .to_owned();
    let begins = |address: &str| {
        let mut agent = TcpStream::connect(address).expect("it listens");
        agent.write_all(&profile(0)[..100]).expect("it reads");
        agent
    };
    let v4 = format!("127.0.0.1:{port}");
    let mut agents: Vec<TcpStream> = (0..7).map(|_| begins(&v4)).collect();
    for _ in 0..7 {
        receiver.event("begun");
    }
    let _refused = begins(&v4);
    let event = receiver.event("refused");
    assert_eq!(text(&event, "reason"), "too_many_of_origin");
    agents.push(begins(&format!("[::1]:{port}")));
    assert!(text(&receiver.event("begun"), "peer").starts_with("[::1]:"));
    drop(agents);
    receiver.stop();
}

#[test]
fn a_connection_that_breaks_between_two_records_leaves_no_whole_profile() {
    let mut receiver = Receiver::start("reset", &["--send", "force-gc"]);
    let mut agent = receiver.connect();
    agent.write_all(&profile(1)).expect("it reads");
    // An unread command would make the system reset the connection instead of closing it.
    let mut command = [0];
    while agent.peek(&mut command).expect("a connection") == 0 {}
    drop(agent);
    let event = receiver.event("ended");
    assert_eq!(
        (&event["whole"], text(&event, "reason")),
        (&false.into(), "connection")
    );
    assert_eq!(event["records"], 200);
    receiver.stop();
}
