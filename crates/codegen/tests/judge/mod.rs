//! The judge of generated code: a kernel's program run by the executor, and its machine
//! code run by the emulator, on the same buffers. Both must leave the same bytes, or
//! both must stop.
//!
//! The emulator runs strictly: a register read before its load was waited for, after it
//! was given up, or without ever having been written stops it. So a wait that is missing
//! is found even where the result happens to be right.

pub(crate) mod inputs;
pub(crate) mod load;
pub(crate) mod printed;
pub(crate) mod random;
pub(crate) mod recipes;
mod run;
pub(crate) mod values;

use inputs::{Inputs, MORE_TRIALS, TRIALS};

use assay_codegen::ErrorKind;
use assay_ssa::{Argument, Binding, Kernel, Module};
use run::{Ended, emulate, execute};

/// What became of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Every trial left the same bytes, or stopped on both sides.
    Same {
        /// Trials that ran to their end.
        finished: usize,
        /// Trials that both sides stopped.
        stopped: usize,
        /// Trials whose result Metal does not define.
        undefined: usize,
        /// Trials that were given up because they took too long.
        too_long: usize,
        /// Why trials did not run to their end.
        why: Vec<String>,
    },
    /// Apple's GPUs make no pipeline of it.
    NoPipeline(String),
    /// The generator cannot do it; the reason groups kernels.
    Unsupported(String),
    /// The executor cannot run it, so there is nothing to compare with.
    NotExecuted(String),
    /// The two disagree: what was seen first.
    Differs(String),
}

/// Judges one kernel of an optimised module with inputs made from `seed`.
pub(crate) fn judge(module: &Module, kernel: &str, seed: u64) -> Verdict {
    let Some(found) = module.kernel(kernel) else {
        return Verdict::NotExecuted("the module has no such kernel".to_owned());
    };
    let handle =
        |argument: &Argument| matches!(argument.binding, Binding::Texture(_) | Binding::Sampler(_));
    if found.arguments.iter().any(handle) {
        // The emulator has no textures.
        return Verdict::NotExecuted("a texture".to_owned());
    }
    let program = match assay_exec::Program::compile(module, kernel, &Default::default()) {
        Ok(program) => program,
        Err(error) => return Verdict::NotExecuted(reason_not_executed(&error)),
    };
    let code = match assay_codegen::generate(module, kernel, &Default::default()) {
        Ok(code) => code,
        Err(error) => return refused(&error),
    };
    let mut why = Vec::new();
    let (mut finished, mut stopped, mut undefined, mut too_long) = (0, 0, 0, 0);
    for trial in 0..TRIALS + MORE_TRIALS {
        if trial >= TRIALS && finished > 0 {
            break;
        }
        let mut inputs = Inputs::new(module, found, trial, seed);
        match compare(&program, &code, &mut inputs) {
            Compared::Equal => finished += 1,
            Compared::BothStopped(message) => {
                stopped += 1;
                why.push(message);
            }
            Compared::Undefined(message) => {
                undefined += 1;
                why.push(format!("undefined in the kernel: {message}"));
            }
            Compared::TooLong => {
                too_long += 1;
                why.push("too long".to_owned());
            }
            Compared::Different(what) => {
                let subject = Subject {
                    module,
                    kernel: found,
                    program: &program,
                    code: &code,
                };
                return Verdict::Differs(subject.explain(inputs, trial, &what));
            }
        }
    }
    Verdict::Same {
        finished,
        stopped,
        undefined,
        too_long,
        why,
    }
}

/// Whether there is code for a kernel: no trial is run, so a kernel with code counts as finished.
pub(crate) fn generate(module: &Module, kernel: &str) -> Verdict {
    match assay_codegen::generate(module, kernel, &Default::default()) {
        Ok(_) => Verdict::Same {
            finished: 1,
            stopped: 0,
            undefined: 0,
            too_long: 0,
            why: Vec::new(),
        },
        Err(error) => refused(&error),
    }
}

fn reason_not_executed(error: &assay_exec::CompileError) -> String {
    use assay_exec::CompileError;
    match error {
        CompileError::Unsupported { what, .. } => what.clone(),
        CompileError::Control { reason, .. } => format!("control flow: {reason}"),
        other => other.to_string(),
    }
}

/// A limit of the machine is a reason; a mistake of the generator's own is a difference.
fn refused(error: &assay_codegen::Error) -> Verdict {
    match &error.kind {
        ErrorKind::Unsupported(what) => Verdict::Unsupported(what.clone()),
        ErrorKind::TooLarge {
            what, available, ..
        } if *what == assay_codegen::THREADGROUP_MEMORY => {
            Verdict::NoPipeline(format!("more than {available} {what}"))
        }
        ErrorKind::TooLarge { what, .. } => Verdict::Unsupported(format!("too many {what}")),
        _ => Verdict::Differs(error.to_string()),
    }
}

/// How two runs compare.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Compared {
    Equal,
    BothStopped(String),
    Undefined(String),
    TooLong,
    Different(Difference),
}

/// What was different first.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Difference {
    /// One side stopped, the other did not, or for a reason only code can have.
    Stopped(String),
    /// A byte of a buffer.
    Byte {
        buffer: u32,
        offset: usize,
        expected: Vec<u8>,
        got: Vec<u8>,
        count: usize,
    },
}

/// What a program leaves in its first buffer, run by the executor and as code by the emulator.
#[allow(dead_code, reason = "only some tests look at the bytes")]
pub(crate) fn left_in_first_buffer(
    module: &Module,
    kernel: &str,
    inputs: &mut Inputs,
) -> Result<[Vec<u8>; 2], String> {
    let program = assay_exec::Program::compile(module, kernel, &Default::default());
    let program = program.map_err(|error| error.to_string())?;
    let code = assay_codegen::generate(module, kernel, &Default::default());
    let code = code.map_err(|error| error.to_string())?;
    let first = |ended: Ended| match ended {
        Ended::Finished(buffers) => Ok(buffers.into_iter().next().unwrap_or_default().1),
        ended => Err(ended.why().to_owned()),
    };
    Ok([
        first(execute(&program, inputs))?,
        first(emulate(&code, inputs, true))?,
    ])
}

fn compare(
    program: &assay_exec::Program,
    code: &assay_agx::Program,
    inputs: &mut Inputs,
) -> Compared {
    let expected = match execute(program, inputs) {
        Ended::Finished(buffers) => Ok(buffers),
        Ended::Stopped(why) | Ended::Beyond { why, .. } => Err(why),
        Ended::TooLong => return Compared::TooLong,
        Ended::Undefined(why) | Ended::Overrun { why, .. } => return Compared::Undefined(why),
        Ended::Faulty(message) | Ended::Unwritten(message) => {
            return Compared::Different(Difference::Stopped(message));
        }
    };
    let different = |message: String| Compared::Different(Difference::Stopped(message));
    match (expected, emulate(code, inputs, true)) {
        (_, Ended::Faulty(message)) => different(message),
        (_, Ended::TooLong) => Compared::TooLong,
        (_, Ended::Undefined(why) | Ended::Overrun { why, .. }) => Compared::Undefined(why),
        (Ok(expected), Ended::Unwritten(why)) if run::uninitialised(program, inputs).is_some() => {
            let difference = Difference::Stopped(why);
            with_zeroed_memory(program, code, inputs, &expected, difference)
        }
        (_, Ended::Unwritten(why)) => different(why),
        (Err(why), Ended::Stopped(_) | Ended::Beyond { .. }) => Compared::BothStopped(why),
        (Err(why), Ended::Finished(_)) => different(format!("only the executor stopped: {why}")),
        (Ok(expected), Ended::Stopped(why) | Ended::Beyond { why, .. }) => {
            let difference = Difference::Stopped(format!("only the emulator stopped: {why}"));
            with_zeroed_memory(program, code, inputs, &expected, difference)
        }
        (Ok(expected), Ended::Finished(got)) => match first_difference(&expected, &got) {
            None => Compared::Equal,
            Some(difference) => with_zeroed_memory(program, code, inputs, &expected, difference),
        },
    }
}

/// Threadgroup and thread memory that nobody has written holds ones in a strict run and
/// zeros in the executor. A kernel that reads it must agree when it holds zeros on both sides
/// (variables of threads become registers; reading one that was never written is the same).
/// What else Metal leaves open (races, misaligned accesses), the executor's checks tell.
fn with_zeroed_memory(
    program: &assay_exec::Program,
    code: &assay_agx::Program,
    inputs: &Inputs,
    expected: &Buffers,
    difference: Difference,
) -> Compared {
    if let Ended::Finished(got) = emulate(code, inputs, false)
        && first_difference(expected, &got).is_none()
    {
        return Compared::Equal;
    }
    match run::undefined(program, inputs) {
        Some(why) => Compared::Undefined(why),
        None => Compared::Different(difference),
    }
}

type Buffers = Vec<(u32, Vec<u8>)>;

fn first_difference(expected: &Buffers, got: &Buffers) -> Option<Difference> {
    for ((buffer, expected), (_, got)) in expected.iter().zip(got) {
        let Some(at) = expected.iter().zip(got).position(|(a, b)| a != b) else {
            continue;
        };
        let word = at & !3;
        let show = |bytes: &[u8]| bytes.iter().skip(word).take(4).copied().collect();
        let words = expected.chunks(4).zip(got.chunks(4));
        return Some(Difference::Byte {
            buffer: *buffer,
            offset: word,
            expected: show(expected),
            got: show(got),
            count: words.filter(|(a, b)| a != b).count(),
        });
    }
    None
}

struct Subject<'a> {
    module: &'a Module,
    kernel: &'a Kernel,
    program: &'a assay_exec::Program,
    code: &'a assay_agx::Program,
}

impl Subject<'_> {
    /// Makes the dispatch as small as it still differs, and says what is seen then.
    fn explain(&self, mut inputs: Inputs, trial: usize, first: &Difference) -> String {
        let mut seen = first.clone();
        loop {
            let smaller = inputs.smaller().into_iter().find_map(|mut candidate| {
                match compare(self.program, self.code, &mut candidate) {
                    Compared::Different(what) => Some((candidate, what)),
                    _ => None,
                }
            });
            let Some((candidate, what)) = smaller else {
                break;
            };
            (inputs, seen) = (candidate, what);
        }
        let place = format!(
            "trial {trial}, grid {:?} in threadgroups of {:?}",
            inputs.grid, inputs.threadgroup
        );
        match seen {
            Difference::Stopped(message) => format!("{message} ({place})"),
            Difference::Byte {
                buffer,
                offset,
                expected,
                got,
                count,
            } => {
                let hex = |bytes: &[u8]| {
                    let digits = bytes.iter().rev().map(|byte| format!("{byte:02x}"));
                    format!("0x{}", digits.collect::<String>())
                };
                let lines = inputs::store_lines(self.module, self.kernel, buffer);
                format!(
                    "buffer {buffer} at byte {offset}: {} expected, {} found, {count} words differ \
                     ({place}); it is stored to at {}",
                    hex(&expected),
                    hex(&got),
                    match lines.is_empty() {
                        true => "unknown lines".to_owned(),
                        false => lines.join(", "),
                    }
                )
            }
        }
    }
}
