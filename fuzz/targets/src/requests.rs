//! Requests of users and receivers to the agent.

use hprof_format::{Commands, Received};
use hprof_options::{Request, Surroundings, command, forks, parse};

/// Parses the command line and, after a NUL, the environment. Accepted values are in their ranges; refusals have one
/// line.
pub fn options(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (line, environment) = match text.split_once('\0') {
        Some((line, environment)) => (line, Some(environment)),
        None => (&*text, None),
    };
    let command = command(line);
    assert!(line.ends_with(command.options));
    let refused = forks(&command).err();
    let error = match parse(command.options, environment) {
        Ok(Request::Help) => None,
        Ok(Request::Profile(options)) => {
            assert!((0.0..=1.0).contains(&options.cutoff));
            assert!((1..=0x7fff_ffff).contains(&options.interval.as_millis()));
            assert!(options.heap.is_some() || options.cpu.is_some() || options.monitors);
            assert!(!options.file.is_empty());
            surroundings().expand(&options.file).err()
        }
        Err(error) => Some(error),
    };
    for error in refused.into_iter().chain(error) {
        let message = error.to_string();
        assert!(message.contains("option"), "{message}");
        assert!(!message.contains('\n') || text.contains('\n'), "{message}");
    }
}

fn surroundings() -> Surroundings {
    Surroundings {
        pid: 4711,
        start_time: "20261120-103911".to_owned(),
        host: "host".to_owned(),
        program: "Main".to_owned(),
        variable: |name| name.starts_with('A').then(|| name.to_owned()),
    }
}

/// Parses a receiver's commands. An accepted command is the same when it is sent again.
pub fn commands(data: &[u8]) {
    let mut commands = Commands::new(data);
    while let Some(received) = commands.receive() {
        match received {
            Received::Command(command) => {
                let bytes = command.encode(7);
                let again = Commands::new(&*bytes).receive();
                assert_eq!(again, Some(Received::Command(command)));
            }
            Received::Refused(why) => assert!(!why.to_string().contains('\n')),
        }
    }
}
