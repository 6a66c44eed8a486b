//! The errors of options, each a message of one line.

/// An invalid option. The message is one line with the option, its value and the allowed values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// There is no such option.
    #[error("unknown option {0}: 'help' lists the options")]
    Unknown(String),
    /// There is no such option, but one with a similar name.
    #[error("unknown option {option}: did you mean {nearest}? 'help' lists the options")]
    Misspelt {
        /// The option as given.
        option: String,
        /// The option that was probably meant.
        nearest: &'static str,
    },
    /// Options after a verb that does not take them.
    #[error("unknown option {option}: '{verb}' takes {allowed}")]
    AfterVerb {
        /// The verb.
        verb: &'static str,
        /// What it takes.
        allowed: &'static str,
        /// The text after it.
        option: String,
    },
    /// The option does not take this value.
    #[error("option {name}={value}: must be {allowed}")]
    Value {
        /// The option.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// A description of the allowed values.
        allowed: String,
    },
    /// An option without a value.
    #[error("option {name}: needs a value, {name}={allowed}")]
    NoValue {
        /// The option.
        name: &'static str,
        /// A description of the allowed values.
        allowed: String,
    },
    /// The binary format has no records for another option.
    #[error("option format=b: must be a with {with}, which the binary format has no records for")]
    TextOnly {
        /// The other option.
        with: &'static str,
    },
    /// An option was given more than once.
    #[error("option {name}={value}: given twice; once is allowed")]
    Twice {
        /// The option.
        name: &'static str,
        /// The second value.
        value: String,
    },
    /// Both a file and a receiver were given.
    #[error("options net={net} and file={file} exclude each other; one is allowed")]
    FileAndNet {
        /// The receiver.
        net: String,
        /// The file.
        file: String,
    },
    /// An option that a session of `hprof live` cannot have.
    #[error(
        "option live={socket}: not with {with}; cpu=samples, heap=sites and monitor=y are allowed, as text and with one output"
    )]
    NotLive {
        /// The socket.
        socket: String,
        /// The other option.
        with: &'static str,
    },
    /// The VM's dumper was asked for, and a dump without content.
    #[error(
        "option dumper=vm: must be auto|jvmti with redact=y, for the VM's dumper puts all content on a disk first"
    )]
    DumperOfContent,
    /// `clock=samples` with `cpu=old`, which needs each call's time.
    #[error(
        "option clock=samples: must be cpu|wall with cpu=old, which needs the time of each call"
    )]
    OnlyCounts,
    /// An option that has no effect with the others.
    #[error("option {name}={value}: does nothing without {needed}")]
    DoesNothing {
        /// The option.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// The options that it needs with it.
        needed: String,
    },
    /// `%{NAME}` in a file name, but the environment has no such variable.
    #[error("option file={file}: the environment has no variable {variable}")]
    NoVariable {
        /// The file name as given.
        file: String,
        /// The variable's name.
        variable: String,
    },
    /// `%{` in a file name without the closing brace.
    #[error("option file={file}: '%{{' must be closed by '}}'")]
    OpenVariable {
        /// The file name as given.
        file: String,
    },
}
