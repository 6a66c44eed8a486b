//! `hprof push` with a collector played by the test.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{env, fs};

use hprof_testing::{skip, stderr};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::metrics::v1::{metric, number_data_point};
use opentelemetry_proto::tonic::profiles::v1development::ProfilesDictionary;
use prost::Message;
use serde_json::Value;

/// A request that a collector received: the first line, and the bytes.
struct Taken {
    line: String,
    body: Vec<u8>,
}

/// Starts a collector that sends these answers, one connection each, and returns the requests.
fn collector(answers: &'static [&'static str]) -> (String, JoinHandle<Vec<Taken>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let served = thread::spawn(move || {
        let answered = answers.iter().map(|answer| {
            let (stream, _) = listener.accept().expect("a caller");
            take(stream, answer)
        });
        answered.collect()
    });
    (url, served)
}

fn take(mut stream: TcpStream, answer: &str) -> Taken {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("a request");
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).expect("a header");
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a number");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let head = "content-length: 0\r\nconnection: close\r\n\r\n";
    write!(stream, "HTTP/1.1 {answer}\r\n{head}").expect("a caller who reads");
    Taken { line, body }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/profiles/alloc.hprof.gz")
}

fn push(url: &str, arguments: &[&str]) -> Output {
    push_file(url, arguments, &file())
}

fn push_file(url: &str, arguments: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hprof"))
        .args(["push", "--otlp", url])
        .args(arguments)
        .arg(file)
        // A proxy from the environment is not the host in the URL.
        .env("HTTP_PROXY", "http://127.0.0.1:1")
        .env("http_proxy", "http://127.0.0.1:1")
        .output()
        .expect("the tool starts")
}

#[test]
fn a_collector_that_has_no_time_is_asked_again() {
    let (url, served) = collector(&["503 Busy\r\nretry-after: 0", "429 Slow", "200 OK"]);
    let output = push(&url, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let taken = served.join().expect("a collector");
    assert_eq!(taken[0].line, "POST /v1development/profiles HTTP/1.1\r\n");
    assert!(taken[1].body == taken[0].body && taken[2].body == taken[0].body);
    assert!(!taken[0].body.is_empty());
}

#[test]
fn what_is_refused_for_good_is_told_in_one_line() {
    for (answer, told) in [
        ("400 Bad", "answered 400"),
        (
            "307 Elsewhere\r\nlocation: http://127.0.0.1:1/",
            "answered 307",
        ),
        ("503 Busy\r\nretry-after: 3600", "answered 503"),
    ] {
        let answers = Box::leak(Box::new([answer]));
        let (url, served) = collector(answers);
        let output = push(&url, &[]);
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        assert!(said.contains(told), "{said}");
        assert!(said.contains("it has taken 0 of 1 requests"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        served.join().expect("a collector");
    }
}

#[test]
fn nobody_at_the_url_is_told_in_one_line() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let output = push(&url, &["--retry", "0"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
}

#[test]
fn a_limit_too_small_sends_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let output = push(&url, &["--max-request", "100"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("--max-request"),
        "{}",
        stderr(&output)
    );
    assert!(listener.accept().is_err());
}

/// OpenTelemetry's own collector, which forwards what it receives.
struct Collector {
    process: Child,
    url: String,
}

impl Collector {
    /// Starts it; `None` if $HPROF_OTELCOL does not name one.
    fn start(sends_to: &str) -> Option<Self> {
        let Some(command) = env::var_os("HPROF_OTELCOL") else {
            skip("pushing to OpenTelemetry's collector: $HPROF_OTELCOL is not set");
            return None;
        };
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("an address").to_string();
        drop(free);
        let settings = format!(
            "receivers: {{otlp: {{protocols: {{http: {{endpoint: \"{address}\"}}}}}}}}\n\
             exporters: {{otlp_http: {{profiles_endpoint: \"{sends_to}/v1development/profiles\", \
             metrics_endpoint: \"{sends_to}/v1/metrics\", \
             compression: none, sending_queue: {{enabled: false}}}}}}\n\
             service: {{telemetry: {{metrics: {{level: none}}}}, pipelines: {{profiles: \
             {{receivers: [otlp], exporters: [otlp_http]}}, metrics: \
             {{receivers: [otlp], exporters: [otlp_http]}}}}}}\n"
        );
        // The port is that of one collector.
        let port = address.rsplit(':').next().unwrap_or_default();
        let path = env::temp_dir().join(format!("hprof-otelcol-{port}.yaml"));
        fs::write(&path, settings).expect("a writable folder");
        let mut process = Command::new(command)
            .arg("--config")
            .arg(&path)
            .args(["--feature-gates", "service.profilesSupport"])
            .stderr(Stdio::null())
            .spawn()
            .expect("the collector starts");
        while TcpStream::connect(&address).is_err() {
            let ended = process.try_wait().expect("a child");
            assert!(ended.is_none(), "the collector ended: {ended:?}");
            thread::sleep(Duration::from_millis(50));
        }
        let _ = fs::remove_file(path);
        let url = format!("http://{address}");
        Some(Self { process, url })
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sums by value and stack.
type Sums = BTreeMap<(String, Vec<String>), i64>;

fn sums_of_request(request: &ExportProfilesServiceRequest) -> Sums {
    let dictionary = request.dictionary.as_ref().expect("a dictionary");
    let scopes = request
        .resource_profiles
        .iter()
        .flat_map(|of| &of.scope_profiles);
    let mut sums = Sums::new();
    for profile in scopes.flat_map(|scope| &scope.profiles) {
        let kind = profile.sample_type.as_ref().expect("a type").type_strindex;
        for sample in &profile.samples {
            let value = dictionary.string_table[kind as usize].clone();
            let stack = stack_of(dictionary, sample.stack_index);
            *sums.entry((value, stack)).or_default() += sample.values.iter().sum::<i64>();
        }
    }
    sums
}

/// Returns the method and line of each frame, innermost first.
fn stack_of(dictionary: &ProfilesDictionary, index: i32) -> Vec<String> {
    let stack = &dictionary.stack_table[index as usize];
    let frame = |&location: &i32| {
        let location = &dictionary.location_table[location as usize];
        let (function, line) = location
            .lines
            .first()
            .map_or((0, 0), |line| (line.function_index, line.line));
        let name = dictionary.function_table[function as usize].name_strindex;
        format!("{}:{line}", dictionary.string_table[name as usize])
    };
    stack.location_indices.iter().map(frame).collect()
}

/// Returns the same sums from `hprof export --to json`.
fn sums_of_file() -> Sums {
    let output = Command::new(env!("CARGO_BIN_EXE_hprof"))
        .args(["export", "--to", "json"])
        .arg(file())
        .output()
        .expect("the tool starts");
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let number = |value: &Value| value.as_i64().unwrap_or(0);
    let name = |value: &Value| {
        json["names"][number(value) as usize]
            .as_str()
            .expect("a name")
    };
    let frame = |index: &Value| {
        let frame = &json["frames"][number(index) as usize];
        let method = match frame[5].as_str() {
            Some("marker") => name(&frame[1]).to_owned(),
            _ => format!("{}.{}", name(&frame[0]), name(&frame[1])),
        };
        format!("{method}:{}", number(&frame[4]))
    };
    let all = |value: &'_ Value| value.as_array().expect("an array").clone();
    let mut sums = Sums::new();
    for table in all(&json["tables"]) {
        for sample in all(&table["samples"]) {
            let stack: Vec<String> = all(&json["stacks"][number(&sample[0]) as usize])
                .iter()
                .map(frame)
                .collect();
            for (value, amount) in all(&table["values"]).iter().zip(all(&sample[2])) {
                let value = value["name"].as_str().expect("a name").to_owned();
                if number(&amount) != 0 {
                    *sums.entry((value, stack.clone())).or_default() += number(&amount);
                }
            }
        }
    }
    sums
}

#[test]
fn what_an_agent_has_sent_is_sent_on_when_it_is_whole() {
    let (url, served) = collector(&["200 OK"]);
    let folder = tempfile::tempdir().expect("a folder");
    let mut receiver = Command::new(env!("CARGO_BIN_EXE_hprof"))
        .arg("recv")
        .arg("--dir")
        .arg(folder.path())
        .args(["--otlp", &url])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let mut events = BufReader::new(receiver.stdout.take().expect("a pipe"))
        .lines()
        .map(|line| serde_json::from_str::<Value>(&line.expect("a line")).expect("JSON"));
    let first = events.next().expect("an event");
    let mut agent =
        TcpStream::connect(first["address"].as_str().expect("an address")).expect("recv");
    let packed = fs::File::open(file()).expect("a file");
    std::io::copy(&mut flate2::read::MultiGzDecoder::new(packed), &mut agent).expect("recv");
    drop(agent);
    let forwarded = events.find(|event| event["event"] == "forwarded");
    assert!(forwarded.is_some());
    let taken = served.join().expect("a collector");
    receiver.kill().expect("a child");
    receiver.wait().expect("a child");
    let request = ExportProfilesServiceRequest::decode(taken[0].body.as_slice());
    assert!(sums_of_request(&request.expect("a request")) == sums_of_file());
}

#[test]
fn what_a_real_collector_has_received_is_what_the_file_holds() {
    let (sends_to, served) = collector(&["200 OK"]);
    let Some(collector) = Collector::start(&sends_to) else {
        return;
    };
    let output = push(&collector.url, &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let taken = served.join().expect("what the collector sends on");
    let request = ExportProfilesServiceRequest::decode(taken[0].body.as_slice());
    let sums = sums_of_request(&request.expect("a request"));
    assert!(sums.len() > 1000, "{}", sums.len());
    assert!(sums == sums_of_file());
}

/// Writes a profile of a run whose memory was looked at twice.
fn file_with_looks(folder: &Path) -> PathBuf {
    let path = folder.join("looks.txt");
    let profile = "JAVA PROFILE 1.0.1, created Fri Nov 20 10:39:11 2026\n\n\
         --------\n\
         TRACE 1:\n\tp.A.go(A.java:7)\n\
         CPU SAMPLES BEGIN (total = 5) Fri Nov 20 10:39:25 2026\n\
         rank   self  accum   count trace method\n\
         \x20  1 100.00% 100.00%       5     1 p.A.go\n\
         CPU SAMPLES END\n\
         (memory after 1.000 s: 80000000 bytes resident: Java heap 60000000, malloc 20000000)\n\
         (memory after 11.500 s: 310000000 bytes resident: Java heap 70000000, direct buffers 220000000, \
         what later versions know 20000000; 330000000 of a limit of 400000000 bytes)\n";
    fs::write(&path, profile).expect("a writable folder");
    path
}

/// The gauge with its unit, the part, the milliseconds since the first moment, and the value.
type Reading = (String, Option<String>, u64, i64);

/// Returns the values of requests.
fn values_of<'a>(requests: impl IntoIterator<Item = &'a Taken>) -> Vec<Reading> {
    let mut values = Vec::new();
    for taken in requests {
        assert_eq!(taken.line, "POST /v1/metrics HTTP/1.1\r\n");
        let request = ExportMetricsServiceRequest::decode(taken.body.as_slice());
        let request = request.expect("a request");
        let of_resource = &request.resource_metrics[0];
        let attributes = &of_resource.resource.as_ref().expect("a program").attributes;
        assert!(attributes.iter().any(|known| known.key == "service.name"));
        for metric in &of_resource.scope_metrics[0].metrics {
            let Some(metric::Data::Gauge(gauge)) = &metric.data else {
                panic!("no gauge: {metric:?}");
            };
            let name = format!("{} {}", metric.name, metric.unit);
            values.extend(gauge.data_points.iter().map(|point| {
                let part = point.attributes.first().map(|attribute| {
                    assert_eq!(attribute.key, "part");
                    let text = attribute.value.as_ref().and_then(|any| any.value.as_ref());
                    match text {
                        Some(any_value::Value::StringValue(text)) => text.clone(),
                        other => panic!("{other:?}"),
                    }
                });
                match point.value {
                    Some(number_data_point::Value::AsInt(value)) => {
                        (name.clone(), part, point.time_unix_nano / 1_000_000, value)
                    }
                    other => panic!("{other:?}"),
                }
            }));
        }
    }
    let first = values.iter().map(|value| value.2).min().unwrap_or(0);
    for value in &mut values {
        value.2 -= first;
    }
    values.sort();
    values
}

/// Returns what the file of [`file_with_looks`] says.
fn values_of_file() -> Vec<Reading> {
    let value = |name: &str, part: &str, after, value| {
        let part = (!part.is_empty()).then(|| part.to_owned());
        (format!("{name} By"), part, after, value)
    };
    let parts = "hprof.memory.resident";
    vec![
        value("hprof.cgroup.limit", "", 10_500, 400_000_000),
        value("hprof.cgroup.used", "", 10_500, 330_000_000),
        value(parts, "direct_buffers", 10_500, 220_000_000),
        value(parts, "java_heap", 0, 60_000_000),
        value(parts, "java_heap", 10_500, 70_000_000),
        value(parts, "malloc", 0, 20_000_000),
        value(parts, "what later versions know", 10_500, 20_000_000),
        value("hprof.resident", "", 0, 80_000_000),
        value("hprof.resident", "", 10_500, 310_000_000),
    ]
}

#[test]
fn the_memory_over_time_is_sent_as_gauges() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = file_with_looks(folder.path());
    let (url, served) = collector(&["200 OK", "503 Busy\r\nretry-after: 0", "200 OK"]);
    let output = push_file(&url, &[], &file);
    assert!(output.status.success(), "{}", stderr(&output));
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        told.contains("1 samples and memory at 2 moments in 2 requests"),
        "{told}"
    );
    assert!(
        told.ends_with(&format!(" and {url}/v1/metrics\n")),
        "{told}"
    );
    let taken = served.join().expect("a collector");
    assert_eq!(taken[0].line, "POST /v1development/profiles HTTP/1.1\r\n");
    assert!(taken[1].body == taken[2].body);
    assert_eq!(values_of(&taken[2..]), values_of_file());
}

#[test]
fn moments_that_do_not_fit_together_are_sent_one_by_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = file_with_looks(folder.path());
    let (url, served) = collector(&["200 OK", "200 OK", "200 OK"]);
    let output = push_file(&url, &["--max-request", "600"], &file);
    assert!(output.status.success(), "{}", stderr(&output));
    let taken = served.join().expect("a collector");
    assert!(taken.iter().all(|taken| taken.body.len() <= 600));
    assert_eq!(values_of(&taken[1..]), values_of_file());
}

#[test]
fn a_collector_without_metrics_gets_the_profile() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = file_with_looks(folder.path());
    let (url, served) = collector(&["200 OK", "404 Not Found"]);
    let output = push_file(&url, &[], &file);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("/v1/metrics does not exist"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    served.join().expect("a collector");
}

#[test]
fn a_real_collector_reads_the_gauges() {
    let (sends_to, served) = collector(&["200 OK", "200 OK"]);
    let Some(collector) = Collector::start(&sends_to) else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let output = push_file(&collector.url, &[], &file_with_looks(folder.path()));
    assert!(output.status.success(), "{}", stderr(&output));
    let taken = served.join().expect("what the collector sends on");
    assert_eq!(values_of(&taken[1..]), values_of_file());
}
