//! What a job may say: a table of commands and flags.
//!
//! A job can compile and run kernels and nothing else. Its line is one word per flag (`--flag=value`), each a row of the
//! table; what is not in the table is refused, by the submitter's program and again by the worker. A flag that names a
//! file names an input of the job. The process that runs the line is confined to an empty folder besides.

use crate::job::Refusal;
use std::collections::BTreeSet;

/// What a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// A word that names no file.
    Word,
    /// A word, if it is said at all.
    MaybeWord,
    /// One of these.
    OneOf(&'static [&'static str]),
    /// The name of an input.
    Input,
    /// `INDEX=WHAT`: a generator (`random:…`) or the name of an input.
    Contents,
    /// `NAME=WHAT`: the same, or a value.
    Argument,
    /// An equation: `y[i] = 2 * x[i]`, and neither a program nor a file.
    Equation,
}

/// A flag of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// With its dashes.
    pub name: &'static str,
    /// Its other spelling.
    pub short: &'static str,
    /// What it takes.
    pub takes: Takes,
}

/// What may stand without a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Names of kernels of the registry.
    Kernels,
    /// One input.
    Input,
    /// One input, or the name of a kernel of the registry.
    InputOrKernel,
}

/// A command that jobs may use.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// What stands without a flag.
    pub names: Names,
    /// Words that would be commands of their own where a name stands.
    pub subcommands: &'static [&'static str],
    groups: &'static [&'static [Flag]],
}

impl Command {
    /// Its flags.
    pub fn flags(&self) -> impl Iterator<Item = &'static Flag> + use<> {
        self.groups.iter().copied().flatten()
    }
}

const fn flag(name: &'static str, takes: Takes) -> Flag {
    Flag {
        name,
        short: "",
        takes,
    }
}

/// Which kernel of an input, and how it is dispatched.
const LAUNCH: &[Flag] = &[
    Flag {
        name: "--function",
        short: "-f",
        takes: Takes::Word,
    },
    flag("--size", Takes::Word),
    flag("--grid", Takes::Word),
    flag("--groups", Takes::Word),
    flag("--threadgroup", Takes::Word),
    flag("--arg", Takes::Argument),
    flag("--buffer", Takes::Contents),
    flag("--bytes", Takes::Word),
    flag("--tgmem", Takes::Word),
    flag("--const", Takes::Word),
    flag("--std", Takes::Word),
];

/// Everything a job may say.
pub const COMMANDS: [Command; 3] = [
    Command {
        name: "bench",
        names: Names::Kernels,
        subcommands: &["new", "mutants", "help"],
        groups: &[&[
            flag("--quick", Takes::Nothing),
            flag(
                "--sizes",
                Takes::OneOf(&["reference", "quick", "odd", "held_out"]),
            ),
            flag("--iters", Takes::Word),
            flag("--warmup", Takes::Word),
            flag("--cold-start", Takes::Nothing),
            flag(
                "--reference",
                Takes::OneOf(&[
                    "auto",
                    "none",
                    "oracle",
                    "mlx",
                    "mlx-compiled",
                    "torch",
                    "torch-compiled",
                ]),
            ),
            flag("--target", Takes::Word),
            flag("--profile", Takes::Nothing),
            flag("--predict", Takes::Word),
            flag("--timeout", Takes::Word),
            flag("--no-time", Takes::Nothing),
            flag("--dtype", Takes::OneOf(&["f32", "f16", "bf16"])),
            flag("--seed", Takes::Word),
            flag("--source", Takes::Input),
            flag("--format", Takes::OneOf(&["json"])),
        ]],
    },
    Command {
        name: "run",
        names: Names::Input,
        subcommands: &[],
        groups: &[
            LAUNCH,
            &[
                flag("--texture", Takes::Contents),
                flag("--sampler", Takes::Word),
                flag("--print", Takes::Word),
                flag("--repeat", Takes::Word),
                flag("--check", Takes::MaybeWord),
                flag("--counts", Takes::Nothing),
                flag("--by", Takes::Word),
                flag("--sample", Takes::Word),
                flag("--threads", Takes::Word),
                flag("--max-steps", Takes::Word),
                flag("--format", Takes::OneOf(&["json", "text"])),
            ],
        ],
    },
    // One candidate of a search: the search itself stays with whoever asks.
    Command {
        name: "tune",
        names: Names::InputOrKernel,
        subcommands: &["replay", "help"],
        groups: &[
            LAUNCH,
            &[
                flag("--knob", Takes::Word),
                flag("--restrict", Takes::Word),
                flag("--chip", Takes::Word),
                flag("--oracle", Takes::Equation),
                flag("--tolerance", Takes::Word),
                flag("--no-fast-math", Takes::Nothing),
                flag("--candidate", Takes::Word),
                flag("--prove", Takes::OneOf(&["quick", "full", "held-out"])),
                flag("--format", Takes::OneOf(&["json"])),
            ],
        ],
    },
];

/// Words of one line.
const MOST_WORDS: usize = 256;
/// Bytes of one word.
const LONGEST_WORD: usize = 4096;

/// Words that begin contents that are made and not read.
const GENERATORS: [&str; 7] = ["zeros", "iota", "random", "index", "empty", "same", "out"];

/// A command by its name.
pub fn command(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name == name)
}

/// Refuses a line that says anything that is not in the table, or names a file that is no input.
pub fn check(line: &[String], inputs: &BTreeSet<&str>) -> Result<(), Refusal> {
    let forbidden = |what: &str| Err(Refusal::Forbidden(what.to_owned()));
    if line.len() > MOST_WORDS || line.iter().any(|word| word.len() > LONGEST_WORD) {
        return Err(Refusal::TooLarge("the command line is too long".to_owned()));
    }
    let Some((name, words)) = line.split_first() else {
        return Err(Refusal::Malformed("the command line is empty".to_owned()));
    };
    let Some(command) = command(name) else {
        return forbidden(&format!("assay {name}"));
    };
    let mut names = 0;
    for word in words {
        if word.chars().any(char::is_control) {
            return forbidden("control characters");
        }
        if word.starts_with('-') {
            check_flag(command, word, inputs)?;
            continue;
        }
        names += 1;
        let fine = match command.names {
            Names::Kernels => crate::names::is_token(word),
            Names::Input => names == 1 && inputs.contains(word.as_str()),
            Names::InputOrKernel => {
                let token = crate::names::is_token(word);
                names == 1 && (token || inputs.contains(word.as_str()))
            }
        };
        if !fine || command.subcommands.contains(&word.as_str()) {
            return forbidden(word);
        }
    }
    let evaluates = |word: &String| word.starts_with("--candidate=");
    if command.name == "tune" && !words.iter().any(evaluates) {
        return forbidden("tune without a candidate");
    }
    // A bench without names would be about nothing, and about everything with a flag.
    if names == 0 {
        return Err(Refusal::Malformed(format!(
            "assay {name} without a kernel or file"
        )));
    }
    Ok(())
}

fn check_flag(command: &Command, word: &str, inputs: &BTreeSet<&str>) -> Result<(), Refusal> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    let forbidden = || Refusal::Forbidden(format!("{} {word}", command.name));
    let flag = command.flags().find(|flag| flag.name == name);
    let flag = flag.ok_or_else(forbidden)?;
    let fine = match (flag.takes, value) {
        (Takes::Nothing | Takes::MaybeWord, None) => true,
        (Takes::Word | Takes::MaybeWord, Some(value)) => !value.is_empty(),
        (Takes::OneOf(words), Some(value)) => words.contains(&value),
        (Takes::Input, Some(value)) => inputs.contains(value),
        (Takes::Contents, Some(value)) => contents(value)
            .is_some_and(|contents| is_generated(contents) || inputs.contains(file(contents))),
        (Takes::Argument, Some(value)) => contents(value).is_some_and(|contents| {
            is_generated(contents) || is_value(contents) || inputs.contains(file(contents))
        }),
        (Takes::Equation, Some(value)) => is_equation(value),
        _ => false,
    };
    if fine { Ok(()) } else { Err(forbidden()) }
}

/// What an argument is filled with: what follows `INDEX=`.
pub fn contents(value: &str) -> Option<&str> {
    value.split_once('=').map(|(_, contents)| contents)
}

/// The file that contents name: a texture's may have its format behind it, `photo.png:rgba8Unorm`.
pub fn file(contents: &str) -> &str {
    contents.split(':').next().unwrap_or(contents)
}

/// Returns true if an oracle is an equation; others are programs that would be run.
pub fn is_equation(value: &str) -> bool {
    value.contains('=') && !value.trim_end().ends_with(".py")
}

/// Returns true if contents are made and not read from a file.
pub fn is_generated(contents: &str) -> bool {
    contents == "out" || contents.contains(':') && GENERATORS.contains(&file(contents))
}

/// Returns true if an argument is a number or a formula, and no file: `n=4096`, `bias=f32:0.5`.
pub fn is_value(contents: &str) -> bool {
    let part_of_one = |c: char| c.is_ascii_alphanumeric() || "_.,:+-*%()".contains(c);
    let is_array = contents.ends_with(".npy") || contents.ends_with(".png");
    !contents.is_empty() && contents.chars().all(part_of_one) && !is_array
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(line: &str) -> Result<(), Refusal> {
        let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
        check(&line, &BTreeSet::from(["k.metal", "x.npy"]))
    }

    #[test]
    fn kernels_may_be_compiled_and_run() {
        for line in [
            "bench softmax --quick --sizes=reference --dtype=f16 --source=k.metal",
            "bench relu --reference=oracle --format=json --seed=7",
            "run k.metal --grid=64 --threadgroup=32 --buffer=0=x.npy --buffer=1=zeros:f32:64",
            "run k.metal --grid=64 --threadgroup=32 --arg=n=64 --arg=x=x.npy --arg=y=out --arg=b=f32:0.5",
            "run k.metal --check --function=f",
            "run k.metal --check=arithmetic",
            "tune k.metal --grid=64 --knob=TM=1,2 --candidate={} --format=json",
            "tune softmax --candidate={} --prove=held-out --oracle=y[i]=x[i]",
        ] {
            assert_eq!(said(line), Ok(()), "{line}");
        }
    }

    #[test]
    fn nothing_else_may_be_done() {
        for line in [
            "gate",
            "mcp",
            "fleet worker",
            "trace record -- /bin/sh",
            "bench",
            "bench softmax --reference=cmd:/bin/sh",
            "bench softmax --kernels=/tmp",
            "bench softmax --board=/tmp/b.db",
            "bench softmax --all",
            "bench new x",
            "bench --quick mutants",
            "bench help",
            "bench softmax --source=/etc/passwd",
            "bench softmax --source=../k.metal",
            "bench softmax --source",
            "bench ../x",
            "bench softmax -o out",
            "bench softmax --out=x",
            "run /etc/passwd",
            "run k.metal k.metal",
            "run k.metal --buffer=0=/etc/passwd",
            "run k.metal --arg=x=/etc/passwd",
            "run k.metal --arg=x=y.npy",
            "run k.metal --buffer=0=random",
            "run k.metal --out=1=x.npy",
            "run k.metal --include=/etc",
            "run k.metal --device=metal",
            "run -",
            "tune softmax",
            "tune softmax --quick --candidate={}",
            "tune /etc/passwd --candidate={}",
            "tune replay --candidate={}",
            "tune softmax relu --candidate={}",
            "tune softmax --candidate={} --oracle=cat",
            "tune softmax --candidate={} --oracle=/tmp/a=b.py",
            "tune softmax --candidate={} --source=k.metal",
            "tune softmax --candidate={} --llm-command=sh",
            "tune softmax --candidate={} --attempts=x.db",
            "bench softmax --quick=yes",
            "bench softmax \u{1b}[2J",
        ] {
            assert!(said(line).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_panics(line in proptest::collection::vec(".{0,20}", 0..6)) {
            let _ = check(&line, &BTreeSet::new());
        }
    }
}
