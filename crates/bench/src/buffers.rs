//! The buffers of a case, between guards.
//!
//! Every buffer lies between two stretches of a pattern that is NaN in every floating-point type: a kernel that writes
//! beside its buffer changes the pattern, one that reads beside it gets NaN. Outputs and scratch memory start as
//! another such pattern, so what is not written is seen. Inputs must be as they were.
//!
//! [`Contents`] are the bytes that all buffers hold before a run, guards included. Buffers are all the memory that a
//! kernel can keep from one run to the next, so writing the contents again takes away whatever a run left for later
//! ones.

use crate::oracle::Tensor;
use crate::registry::{Case, CaseRole};
use assay_device::{Binding, BufferId, Device, Error, Finished, Storage};
use assay_launch::fill::Fill;
use std::sync::Arc;

/// Bytes of the pattern before and behind each buffer. Keeps the alignment that Metal gives buffers.
pub const GUARD: usize = 256;
/// The pattern around buffers: NaN as f32, f16 and bf16.
const AROUND: [u8; 2] = 0x7fe5_u16.to_le_bytes();
/// The pattern inside outputs and scratch memory before a run: NaN too.
const UNWRITTEN: [u8; 2] = 0x7fda_u16.to_le_bytes();
/// The same as a rule.
pub(crate) const UNWRITTEN_FILL: Fill = Fill::Word(0x7fda_7fda);

/// What lies around buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guards {
    /// The pattern.
    Pattern,
    /// Nothing: a device that checks bounds then sees even reads whose value is not used.
    None,
}

/// What came out of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The bytes of each output, in order.
    pub outputs: Vec<Vec<u8>>,
    /// Arguments beside which something was written, and inputs that were changed.
    pub damage: Vec<Damage>,
    /// How long it took.
    pub finished: Finished,
}

/// A write where none belongs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// Beside a buffer.
    #[error("wrote {place} \"{argument}\"")]
    Beside {
        /// The argument.
        argument: String,
        /// `before` or `behind`.
        place: &'static str,
    },
    /// Into an input.
    #[error("changed the input \"{argument}\"")]
    Input {
        /// The argument.
        argument: String,
    },
}

/// Returns true if an element's bytes are those that were there before the run.
pub fn is_unwritten(element: &[u8]) -> bool {
    element.chunks(2).all(|half| half == UNWRITTEN)
}

/// What the buffers of a case hold before a run, guards included. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Contents {
    /// By argument; scalars have none.
    by_argument: Vec<Option<Arc<[u8]>>>,
    /// Bytes before and behind each.
    guard: usize,
}

impl Contents {
    /// Inputs in place, everything else unwritten.
    pub fn new(case: &Case, inputs: &[Tensor], guards: Guards) -> Self {
        let guard = match guards {
            Guards::Pattern => GUARD,
            Guards::None => 0,
        };
        let mut inputs = inputs.iter();
        let arguments = case.arguments.iter();
        let by_argument = arguments.map(|argument| {
            let content = match argument.role {
                CaseRole::Scalar { .. } => None,
                CaseRole::Input { .. } => inputs
                    .next()
                    .map(|tensor| argument.dtype.encode(&tensor.values)),
                CaseRole::Output { .. } | CaseRole::Scratch { .. } => {
                    let bytes = argument.elements().saturating_mul(argument.dtype.size());
                    Some(UNWRITTEN.into_iter().cycle().take(bytes).collect())
                }
            };
            content.map(|content| guarded(&content, guard).into())
        });
        Self {
            by_argument: by_argument.collect(),
            guard,
        }
    }

    /// Other inputs; everything that is not an input is shared with these contents.
    pub fn with_inputs(&self, case: &Case, inputs: &[Tensor]) -> Self {
        let mut inputs = inputs.iter();
        let old = case.arguments.iter().zip(&self.by_argument);
        let by_argument = old.map(|(argument, old)| match argument.role {
            CaseRole::Input { .. } => inputs
                .next()
                .map(|tensor| argument.dtype.encode(&tensor.values))
                .map(|content| guarded(&content, self.guard).into()),
            _ => old.clone(),
        });
        Self {
            by_argument: by_argument.collect(),
            guard: self.guard,
        }
    }

    /// Bytes of all buffers together.
    pub fn bytes(&self) -> u64 {
        let all = self.by_argument.iter().flatten();
        all.map(|content| content.len() as u64).sum()
    }
}

/// The buffers of a case, guards and all.
#[derive(Debug)]
pub struct Buffers {
    /// By argument; scalars have none.
    held: Vec<Option<BufferId>>,
    /// What was in them before the run.
    before: Contents,
}

impl Buffers {
    /// Buffers with inputs in place, everything else unwritten.
    pub fn new(
        device: &mut dyn Device,
        case: &Case,
        inputs: &[Tensor],
        guards: Guards,
    ) -> Result<Self, Error> {
        Self::holding(device, Contents::new(case, inputs, guards))
    }

    /// Buffers that hold certain contents.
    pub fn holding(device: &mut dyn Device, contents: Contents) -> Result<Self, Error> {
        let mut buffers = Self {
            held: Vec::with_capacity(contents.by_argument.len()),
            before: contents.clone(),
        };
        for content in &contents.by_argument {
            let held = match content {
                None => None,
                Some(content) => match device.buffer(content.len() as u64, Storage::Shared) {
                    Ok(buffer) => Some(buffer),
                    Err(error) => {
                        buffers.release(device)?;
                        return Err(error);
                    }
                },
            };
            buffers.held.push(held);
        }
        match buffers.write(device, contents) {
            Ok(()) => Ok(buffers),
            Err(error) => {
                buffers.release(device)?;
                Err(error)
            }
        }
    }

    /// Writes all buffers, guards included: nothing that an earlier run left stays.
    pub fn write(&mut self, device: &mut dyn Device, contents: Contents) -> Result<(), Error> {
        for (buffer, content) in self.held.iter().zip(&contents.by_argument) {
            if let (Some(buffer), Some(content)) = (buffer, content) {
                device.write(*buffer, 0, content)?;
            }
        }
        self.before = contents;
        Ok(())
    }

    /// The buffer of an argument, as dispatches bind it.
    pub(crate) fn binding(&self, argument: usize) -> Option<Binding> {
        let buffer = self.held.get(argument).copied().flatten()?;
        Some(Binding::Buffer {
            buffer,
            offset: self.before.guard as u64,
        })
    }

    /// Writes other inputs; everything else stays as the last run left it.
    pub fn replace_inputs(
        &mut self,
        device: &mut dyn Device,
        case: &Case,
        inputs: &[Tensor],
    ) -> Result<(), Error> {
        let fresh = self.before.with_inputs(case, inputs);
        let places = case.arguments.iter().zip(&self.held);
        let mut by_argument = Vec::with_capacity(self.held.len());
        for ((argument, buffer), content) in places.zip(fresh.by_argument) {
            by_argument.push(match (buffer, argument.role.clone()) {
                (None, _) => None,
                (Some(buffer), CaseRole::Input { .. }) => {
                    if let Some(content) = &content {
                        device.write(*buffer, 0, content)?;
                    }
                    content
                }
                (Some(buffer), _) => Some(device.contents(*buffer)?.into()),
            });
        }
        self.before.by_argument = by_argument;
        Ok(())
    }

    /// Reads outputs and looks for damage.
    pub fn collect(
        &self,
        device: &mut dyn Device,
        case: &Case,
        finished: Finished,
    ) -> Result<Outcome, Error> {
        let mut outcome = Outcome {
            outputs: Vec::new(),
            damage: Vec::new(),
            finished,
        };
        let guard = self.before.guard;
        let held = self.held.iter().zip(&self.before.by_argument);
        for (argument, (buffer, before)) in case.arguments.iter().zip(held) {
            let (Some(buffer), Some(before)) = (buffer, before) else {
                continue;
            };
            let mut after = device.contents(*buffer)?;
            let (Some((front, inside, back)), Some((old_front, old_inside, old_back))) =
                (parts(&after, guard), parts(before, guard))
            else {
                continue;
            };
            let name = || argument.name.clone();
            for (now, old, place) in [(front, old_front, "before"), (back, old_back, "behind")] {
                if now != old {
                    outcome.damage.push(Damage::Beside {
                        argument: name(),
                        place,
                    });
                }
            }
            match argument.role {
                CaseRole::Input { .. } if inside != old_inside => {
                    outcome.damage.push(Damage::Input { argument: name() });
                }
                CaseRole::Output { .. } => {
                    after.truncate(after.len().saturating_sub(guard));
                    outcome.outputs.push(after.split_off(guard));
                }
                _ => {}
            }
        }
        Ok(outcome)
    }

    /// Frees them.
    pub fn release(self, device: &mut dyn Device) -> Result<(), Error> {
        for buffer in self.held.into_iter().flatten() {
            device.release(buffer)?;
        }
        Ok(())
    }
}

/// The guard before, what lies between, the guard behind.
fn parts(bytes: &[u8], guard: usize) -> Option<(&[u8], &[u8], &[u8])> {
    let (front, rest) = bytes.split_at_checked(guard)?;
    let (inside, back) = rest.split_at_checked(rest.len().checked_sub(guard)?)?;
    Some((front, inside, back))
}

/// A buffer's content between its guards.
fn guarded(content: &[u8], guard: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(content.len() + 2 * guard);
    let pattern = || AROUND.into_iter().cycle().take(guard);
    bytes.extend(pattern());
    bytes.extend_from_slice(content);
    bytes.extend(pattern());
    bytes
}
