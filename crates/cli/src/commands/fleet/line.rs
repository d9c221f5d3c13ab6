//! A command line for other machines: what of it is sent, what stays here, and which files go along.

use super::access::FleetArgs;
use crate::failure::Failure;
use crate::input;
use assay_fleet::allow::{self, Command, Names, Takes};
use assay_fleet::{Input, Job, PROTOCOL, Priority, Submission};
use std::ffi::OsString;
use std::path::Path;

/// Flags that are about here and not about the job; true if a value follows.
const LOCAL: [(&str, bool); 20] = [
    ("--fleet", true),
    ("--pools", true),
    ("--fresh", false),
    ("--runs", true),
    ("--priority", true),
    ("--job-timeout", true),
    ("--key", true),
    ("--trust-workers", true),
    ("--user", true),
    ("--ca", true),
    ("--board", true),
    ("--no-save", false),
    ("--quiet", false),
    ("--verbose", false),
    ("-q", false),
    ("-v", false),
    ("--set", true),
    ("--all", false),
    ("--detach", false),
    ("--on-interrupt", true),
];

/// The same for `assay tune`, whose search stays here.
const LOCAL_TO_TUNE: [(&str, bool); 25] = [
    ("--only", true),
    ("--evaluations", true),
    ("--budget", true),
    ("--seed", true),
    ("--reference", true),
    ("--resume", false),
    ("--attempts", true),
    ("--source", true),
    ("--patch", true),
    ("--format", true),
    ("--llm", true),
    ("--llm-command", true),
    ("--llm-mode", true),
    ("--llm-url", true),
    ("--llm-key-file", true),
    ("--llm-plain", false),
    ("--llm-record", true),
    ("--rounds", true),
    ("--jobs", true),
    ("--max-calls", true),
    ("--max-tokens", true),
    ("--max-cost", true),
    ("--price", true),
    ("--answer-tokens", true),
    ("--report", true),
];

/// Returns true with what a flag is that stays here: whether a value follows.
fn stays_here(command: &str, flag: &str) -> Option<bool> {
    let own: &[(&str, bool)] = match command {
        "tune" => &LOCAL_TO_TUNE,
        _ => &[],
    };
    let found = own.iter().chain(&LOCAL).find(|(name, _)| *name == flag);
    found.map(|(_, takes)| *takes)
}

/// A command line for other machines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// Flags in the form of jobs, `--flag=value`.
    pub(crate) flags: Vec<String>,
    /// What stood without a flag.
    pub(crate) names: Vec<String>,
    /// Files, by the names that the job gives them.
    pub(crate) inputs: Vec<Input>,
    /// Bytes of those that are large.
    pub(crate) objects: Vec<Vec<u8>>,
}

impl Line {
    /// From the words after the command's name. Files that are named are read.
    pub(crate) fn read(command: &str, words: &[OsString]) -> Result<Self, Failure> {
        let command = allow::command(command)
            .ok_or_else(|| Failure::usage(format!("assay {command} cannot be sent elsewhere")))?;
        let mut line = Self::default();
        let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            if !word.starts_with('-') || word == "-" {
                line.name(command, &word)?;
                continue;
            }
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None => (word.clone(), None),
            };
            if let Some(takes) = stays_here(command.name, &flag) {
                if takes && value.is_none() {
                    words.next();
                }
                continue;
            }
            let known = command
                .flags()
                .find(|one| one.name == flag || one.short == flag);
            let Some(known) = known.filter(|_| !flag.is_empty()) else {
                return Err(Failure::usage(format!("{flag} cannot be sent to another machine"))
                    .advice("a job can only compile and run kernels; leave it out, or run it here without --fleet"));
            };
            let takes = !matches!(known.takes, Takes::Nothing | Takes::MaybeWord);
            let value = if takes {
                value.or_else(|| words.next())
            } else {
                value
            };
            line.flag(known.name, known.takes, value)?;
        }
        Ok(line)
    }

    fn name(&mut self, command: &Command, word: &str) -> Result<(), Failure> {
        let name = match command.names {
            Names::Kernels => word.to_owned(),
            Names::Input => self.file(Path::new(word))?,
            Names::InputOrKernel => {
                let path = Path::new(word);
                if path.is_file() || path.extension().is_some() {
                    self.file(path)?
                } else {
                    word.to_owned()
                }
            }
        };
        self.names.push(name);
        Ok(())
    }

    fn flag(&mut self, name: &str, takes: Takes, value: Option<String>) -> Result<(), Failure> {
        let Some(value) = value else {
            self.flags.push(name.to_owned());
            return Ok(());
        };
        let value = match takes {
            Takes::Input => self.file(Path::new(&value))?,
            Takes::Contents | Takes::Argument => match allow::contents(&value) {
                Some(contents) if takes == Takes::Argument && allow::is_value(contents) => value,
                Some(contents) if !allow::is_generated(contents) => {
                    let file = allow::file(contents);
                    let sent = self.file(Path::new(file))?;
                    let start = value.len() - contents.len();
                    let rest = contents.get(file.len()..).unwrap_or_default();
                    format!("{}{sent}{rest}", value.get(..start).unwrap_or_default())
                }
                _ => value,
            },
            Takes::Equation if !allow::is_equation(&value) => {
                return Err(Failure::usage(format!(
                    "{name} {value} is a program, and none is sent to another machine"
                ))
                .advice(
                    "write an equation: y[r] = sum(c < C: x[r, c]); or run it here without --fleet",
                ));
            }
            _ => value,
        };
        self.flags.push(format!("{name}={value}"));
        Ok(())
    }

    /// Takes a file along, and returns the name it has in the job.
    fn file(&mut self, path: &Path) -> Result<String, Failure> {
        let bytes = input::open(path)?;
        let ending = path.extension().map_or(String::new(), |ending| {
            format!(".{}", ending.to_string_lossy())
        });
        let name = format!("input{}{ending}", self.inputs.len());
        self.bytes(&name, &bytes);
        Ok(name)
    }

    /// Takes bytes along.
    pub(crate) fn bytes(&mut self, name: &str, bytes: &[u8]) {
        let input = Input::new(name, bytes);
        if input.inline.is_none() {
            self.objects.push(bytes.to_vec());
        }
        self.inputs.push(input);
    }

    /// A job of it.
    pub(crate) fn job(&self, args: &FleetArgs, words: Vec<String>, pool: &str) -> Submission {
        Submission {
            job: Job {
                protocol: PROTOCOL,
                id: String::new(),
                submitter: String::new(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                pool: pool.to_owned(),
                priority: args.priority.map_or(Priority::Normal, Into::into),
                line: words,
                inputs: self.inputs.clone(),
                extra: String::new(),
                timeout: args.job_timeout.unwrap_or(600),
                fresh: args.fresh || args.runs > 1,
            },
            objects: self.objects.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Line, Failure> {
        let words: Vec<OsString> = text.split(' ').map(Into::into).collect();
        Line::read("bench", &words)
    }

    #[test]
    fn what_is_about_here_stays_here() {
        let read = line("softmax --quick --fleet nats://h --pools m1,m2 --sizes odd --iters=3 -q")
            .unwrap();
        assert_eq!(read.names, ["softmax"]);
        assert_eq!(read.flags, ["--quick", "--sizes=odd", "--iters=3"]);
        assert!(read.inputs.is_empty());
    }

    #[test]
    fn flags_of_fleets_do_not_meet_those_of_their_commands() {
        use clap::CommandFactory;
        crate::app::Cli::command().debug_assert();
    }

    /// A word that clap takes for a command of its own would not be a kernel's name.
    #[test]
    fn commands_below_those_that_jobs_use_are_known() {
        use clap::CommandFactory;
        let program = crate::app::Cli::command();
        for known in &allow::COMMANDS {
            let command = program.find_subcommand(known.name).expect("a command");
            for below in command.get_subcommands() {
                let name = below.get_name();
                assert!(known.subcommands.contains(&name), "{} {name}", known.name);
            }
        }
    }

    /// A flag that nobody has thought about would be refused, or worse, understood as a file.
    #[test]
    fn every_flag_of_a_search_is_sent_or_stays_or_is_refused() {
        use clap::CommandFactory;
        const REFUSED: [&str; 8] = [
            "-I",
            "--include",
            "-D",
            "--kernels",
            "--program",
            "--allow-slower",
            "--chips",
            "--link",
        ];
        let program = crate::app::Cli::command();
        let tune = program.find_subcommand("tune").expect("a command");
        let sent = allow::command("tune").expect("a row");
        let mut undecided = Vec::new();
        for argument in tune.get_arguments().filter(|one| !one.is_positional()) {
            let long = argument.get_long().map(|name| format!("--{name}"));
            let short = argument.get_short().map(|name| format!("-{name}"));
            let name = long.or(short).expect("a name");
            if ["--help", "--version"].contains(&name.as_str()) {
                continue;
            }
            let is_sent = sent.flags().any(|flag| flag.name == name);
            let stays = stays_here("tune", &name);
            let is_format = name == "--format";
            let known = usize::from(is_sent)
                + usize::from(stays.is_some())
                + usize::from(REFUSED.contains(&name.as_str()));
            if known != 1 && !is_format {
                undecided.push(name.clone());
            }
            if let Some(takes) = stays {
                assert_eq!(takes, argument.get_action().takes_values(), "{name}");
            }
        }
        assert!(undecided.is_empty(), "{undecided:?}");
    }

    #[test]
    fn what_is_more_than_a_kernel_is_refused() {
        for text in [
            "softmax --kernels /tmp",
            "softmax --device metal",
            "softmax --resume",
        ] {
            let failure = line(text).unwrap_err();
            assert!(
                failure.message.contains("another machine"),
                "{}",
                failure.message
            );
        }
    }
}
