//! The judge of the printer: a kernel's program, and the Metal printed from it compiled again, run by the executor on the
//! same buffers.

use super::inputs::{Inputs, MORE_TRIALS, TRIALS};
use super::run::{self, Ended, execute};
use super::{Verdict, first_difference, load, reason_not_executed};
use assay_front::{Form, Kernel, Source};
use std::path::Path;

/// Judges the text of one kernel, function constants set to `number`.
pub(crate) fn judge(kernel: &Kernel, number: u64, seed: u64) -> Verdict {
    let module = match load::program_with(kernel, number) {
        Ok(module) => module,
        Err(message) => return Verdict::NotExecuted(format!("not read: {message}")),
    };
    let name = &kernel.name;
    let Some(found) = module.kernel(name) else {
        return Verdict::NotExecuted("the module has no such kernel".to_owned());
    };
    let program = match assay_exec::Program::compile(&module, name, &Default::default()) {
        Ok(program) => program,
        Err(error) => return Verdict::NotExecuted(reason_not_executed(&error)),
    };
    let text = match text(kernel, number) {
        Ok(text) => text,
        Err(reason) => return Verdict::Unsupported(reason),
    };
    let again = match compiled(&text, name) {
        Ok(program) => program,
        Err(message) => return Verdict::Differs(message),
    };
    let (mut finished, mut stopped, mut undefined, mut too_long) = (0, 0, 0, 0);
    let mut why = Vec::new();
    for trial in 0..TRIALS + MORE_TRIALS {
        if trial >= TRIALS && finished > 0 {
            break;
        }
        let mut inputs = Inputs::new(&module, found, trial, seed);
        let expected = execute(&program, &mut inputs);
        let got = execute(&again, &mut inputs);
        match (expected, got) {
            (Ended::TooLong, _) | (_, Ended::TooLong) => too_long += 1,
            (Ended::Finished(expected), Ended::Finished(got)) => {
                match first_difference(&expected, &got) {
                    None => finished += 1,
                    Some(difference) => match run::undefined(&program, &inputs) {
                        Some(reason) => {
                            undefined += 1;
                            why.push(format!("undefined in the kernel: {reason}"));
                        }
                        None => return Verdict::Differs(format!("trial {trial}: {difference:?}")),
                    },
                }
            }
            (Ended::Finished(_), ended) => {
                return Verdict::Differs(format!("only the printed text stopped: {}", ended.why()));
            }
            (ended, Ended::Finished(_)) => {
                undefined += 1;
                why.push(ended.why().to_owned());
            }
            (ended, _) => {
                stopped += 1;
                why.push(ended.why().to_owned());
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

/// The kernel as Metal, loops as they were written.
pub(crate) fn text(kernel: &Kernel, number: u64) -> Result<String, String> {
    let module = load::program_as(kernel, number, Form::LoopsKept)?;
    assay_rewrite::print(&module, &kernel.name).map_err(|error| error.to_string())
}

/// Printed Metal, compiled.
pub(super) fn compiled(text: &str, name: &str) -> Result<assay_exec::Program, String> {
    let source = Source {
        path: Path::new("printed.metal"),
        text: text.as_bytes(),
    };
    let fail = |error: String| format!("the text does not compile: {error}\n{text}");
    let library = load::compiled(source, &load::Build::default()).map_err(fail)?;
    let kernel = library
        .kernel(name)
        .map_err(|error| fail(error.to_string()))?;
    let module = load::program_with(kernel, 0).map_err(fail)?;
    assay_exec::Program::compile(&module, name, &Default::default())
        .map_err(|error| fail(error.to_string()))
}
