//! Why a run failed: the program, or the question.

use crate::{Error, Kind, Launched};
use assay_agx::{Binding, BoundValue, Program};
use assay_emu::{EmuError, FaultKind};

/// The buffer that would have set the uniform a fault is about.
fn missing_buffer(kind: &FaultKind, program: &Program) -> Option<u32> {
    let FaultKind::UnsetUniform { half } = kind else {
        return None;
    };
    let holds = |binding: &&Binding| {
        let first = binding.first_half;
        (first..first.saturating_add(binding.halves)).contains(half)
    };
    let mut bindings = program.bindings.iter().filter(holds);
    bindings.find_map(|binding| match binding.value {
        BoundValue::BufferAddress { index } | BoundValue::BufferBytes { index, .. } => Some(index),
        _ => None,
    })
}

/// A failed run, as a verdict on the program or as a mistake in the command line.
pub fn failure(error: &EmuError, program: &Program, launched: &Launched) -> Error {
    match error {
        EmuError::Launch(error) => Error::usage(error.to_string()),
        EmuError::Interrupted => Error::new(Kind::Verdict, error.to_string()),
        EmuError::Fault(fault) => {
            let missing = missing_buffer(&fault.kind, program);
            if let Some(mistake) = missing.and_then(|it| launched.missing(&program.name, it)) {
                return mistake.into();
            }
            let line = match fault.at.constant_program {
                true => None,
                false => program
                    .line_at(fault.at.offset)
                    .filter(|line| line.line > 0),
            };
            let place = line.and_then(|line| {
                let file = program.files.get(line.file as usize)?;
                Some(format!("\n  source: {file}:{}", line.line))
            });
            let error = Error::new(
                Kind::Verdict,
                format!("{fault}{}", place.unwrap_or_default()),
            );
            match missing {
                Some(index) => error.advice(format!(
                    "that is [[buffer({index})]]: give it with --arg b{index}=buffer:FILE.npy"
                )),
                None => error,
            }
        }
    }
}
