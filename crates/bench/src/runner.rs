//! Runs a case of a kernel on a device, between guards.
//!
//! Every buffer lies between two stretches of a pattern that is NaN in every floating-point type: a kernel that writes
//! beside its buffer changes the pattern, one that reads beside it gets NaN. Outputs and scratch memory start as
//! another such pattern, so what is not written is seen. Inputs must be as they were.

use crate::oracle::Tensor;
use crate::registry::{Case, CaseBinding, CaseExtent, CasePass, CaseRole};
use assay_device::{
    Binding, BufferId, CompileOptions, Constant, ConstantKey, Device, Dispatch, Error, Extent,
    Finished, LibraryId, PipelineId, Source, Storage,
};
use std::path::Path;

/// Bytes of the pattern before and behind each buffer. Keeps the alignment that Metal gives buffers.
pub const GUARD: usize = 256;
/// The pattern around buffers: NaN as f32, f16 and bf16.
const AROUND: [u8; 2] = 0x7fe5_u16.to_le_bytes();
/// The pattern inside outputs and scratch memory before a run: NaN too.
const UNWRITTEN: [u8; 2] = 0x7fda_u16.to_le_bytes();

/// A kernel's source on a device.
#[derive(Debug)]
pub struct Loaded {
    library: LibraryId,
    pipelines: Vec<Ready>,
}

/// A function with certain constants.
#[derive(Debug)]
struct Ready {
    function: String,
    constants: Vec<(u32, u32)>,
    pipeline: PipelineId,
}

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

/// Whether an element's bytes are those that were there before the run.
pub fn is_unwritten(element: &[u8]) -> bool {
    element.chunks(2).all(|half| half == UNWRITTEN)
}

impl Loaded {
    /// Compiles a source.
    pub fn compile(device: &mut dyn Device, path: &str, text: &str) -> Result<Self, Error> {
        let source = Source {
            path: Path::new(path),
            text,
        };
        let library = device.compile(source, &CompileOptions::default())?;
        Ok(Self {
            library,
            pipelines: Vec::new(),
        })
    }

    /// The pipeline of a function with certain constants, made when it is first needed.
    fn pipeline(
        &mut self,
        device: &mut dyn Device,
        function: &str,
        constants: &[(u32, u32)],
    ) -> Result<PipelineId, Error> {
        let mut known = self.pipelines.iter();
        let known = known.find(|ready| ready.function == function && ready.constants == constants);
        if let Some(ready) = known {
            return Ok(ready.pipeline);
        }
        let pipeline = device.pipeline(self.library, function, &given(constants))?;
        self.pipelines.push(Ready {
            function: function.to_owned(),
            constants: constants.to_vec(),
            pipeline,
        });
        Ok(pipeline)
    }

    /// The pipeline of a function that has no constants.
    pub fn alone(&self, device: &mut dyn Device, function: &str) -> Result<PipelineId, Error> {
        device.pipeline(self.library, function, &[])
    }

    /// The dispatches of a case, over buffers made by [`Buffers::new`].
    pub fn dispatches(
        &mut self,
        device: &mut dyn Device,
        case: &Case,
        buffers: &Buffers,
    ) -> Result<Vec<Dispatch>, Error> {
        let constants = numbers(case);
        let mut dispatches = Vec::with_capacity(case.passes.len());
        for pass in &case.passes {
            let pipeline = self.pipeline(device, &pass.function, &constants)?;
            dispatches.push(dispatch(pipeline, pass, case, buffers));
        }
        Ok(dispatches)
    }

    /// Runs a case once with fresh buffers.
    pub fn run(
        &mut self,
        device: &mut dyn Device,
        case: &Case,
        inputs: &[Tensor],
        guards: Guards,
    ) -> Result<Outcome, Error> {
        let buffers = Buffers::new(device, case, inputs, guards)?;
        let dispatches = self.dispatches(device, case, &buffers);
        let finished = dispatches.and_then(|dispatches| device.run(dispatches));
        let outcome = finished.and_then(|finished| buffers.collect(device, case, finished));
        buffers.release(device)?;
        outcome
    }
}

/// The function constants of a case, as devices and compilers are given them.
pub fn constants(case: &Case) -> Vec<Constant> {
    given(&numbers(case))
}

fn numbers(case: &Case) -> Vec<(u32, u32)> {
    let constants = case.constants.iter();
    constants
        .map(|(index, _, value)| (*index, *value))
        .collect()
}

fn given(constants: &[(u32, u32)]) -> Vec<Constant> {
    let given = constants.iter().map(|&(index, value)| Constant {
        key: ConstantKey::Index(index),
        ty: assay_ssa::Type::I32,
        elements: vec![u64::from(value)],
    });
    given.collect()
}

fn dispatch(pipeline: PipelineId, pass: &CasePass, case: &Case, buffers: &Buffers) -> Dispatch {
    let extent = match pass.extent {
        CaseExtent::Threads(threads) => Extent::Threads(threads),
        CaseExtent::Groups(groups) => Extent::Groups(groups),
    };
    let mut dispatch = Dispatch::new(pipeline, extent, pass.threadgroup);
    for (index, binding) in (0..).zip(&pass.bindings) {
        let binding = match binding {
            CaseBinding::Number(value) => Binding::Bytes(value.to_le_bytes().to_vec()),
            CaseBinding::Argument(place) => {
                match (case.arguments.get(*place), buffers.held.get(*place)) {
                    (Some(argument), _) if matches!(argument.role, CaseRole::Scalar { .. }) => {
                        let CaseRole::Scalar { value } = argument.role else {
                            continue;
                        };
                        Binding::Bytes(argument.dtype.encode(&[value]))
                    }
                    (_, Some(Some(held))) => Binding::Buffer {
                        buffer: held.buffer,
                        offset: buffers.guard as u64,
                    },
                    _ => continue,
                }
            }
        };
        dispatch = dispatch.bind(index, binding);
    }
    for (index, bytes) in (0..).zip(&pass.threadgroup_memory) {
        dispatch = dispatch.bind(index, Binding::ThreadgroupMemory(*bytes));
    }
    dispatch
}

/// The buffers of a case, guards and all.
#[derive(Debug)]
pub struct Buffers {
    /// By argument; scalars have none.
    held: Vec<Option<Held>>,
    /// Bytes before and behind each.
    guard: usize,
}

#[derive(Debug)]
struct Held {
    buffer: BufferId,
    /// What was in it before the run, guards included.
    before: Vec<u8>,
}

impl Buffers {
    /// Buffers with inputs in place, everything else unwritten.
    pub fn new(
        device: &mut dyn Device,
        case: &Case,
        inputs: &[Tensor],
        guards: Guards,
    ) -> Result<Self, Error> {
        let mut inputs = inputs.iter();
        let mut buffers = Self {
            held: Vec::new(),
            guard: match guards {
                Guards::Pattern => GUARD,
                Guards::None => 0,
            },
        };
        for argument in &case.arguments {
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
            let held = match content {
                None => None,
                Some(content) => match Held::new(device, &content, buffers.guard) {
                    Ok(held) => Some(held),
                    Err(error) => {
                        buffers.release(device)?;
                        return Err(error);
                    }
                },
            };
            buffers.held.push(held);
        }
        Ok(buffers)
    }

    /// The same buffers with other inputs in them; everything else stays as the last run left it.
    pub fn replace_inputs(
        &self,
        device: &mut dyn Device,
        case: &Case,
        inputs: &[Tensor],
    ) -> Result<Self, Error> {
        let mut inputs = inputs.iter();
        let mut held = Vec::with_capacity(self.held.len());
        for (argument, old) in case.arguments.iter().zip(&self.held) {
            let Some(old) = old else {
                held.push(None);
                continue;
            };
            let fresh = match argument.role {
                CaseRole::Input { .. } => inputs.next(),
                _ => None,
            };
            let before = match fresh {
                Some(tensor) => guarded(&argument.dtype.encode(&tensor.values), self.guard),
                None => device.contents(old.buffer)?,
            };
            device.write(old.buffer, 0, &before)?;
            held.push(Some(Held {
                buffer: old.buffer,
                before,
            }));
        }
        Ok(Self {
            held,
            guard: self.guard,
        })
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
        for (argument, held) in case.arguments.iter().zip(&self.held) {
            let Some(held) = held else { continue };
            let after = device.contents(held.buffer)?;
            let parts = |bytes: &[u8]| -> Option<[Vec<u8>; 3]> {
                let (front, rest) = bytes.split_at_checked(self.guard)?;
                let (inside, back) = rest.split_at_checked(rest.len().checked_sub(self.guard)?)?;
                Some([front.to_vec(), inside.to_vec(), back.to_vec()])
            };
            let (Some([front, inside, back]), Some([old_front, old_inside, old_back])) =
                (parts(&after), parts(&held.before))
            else {
                continue;
            };
            let name = || argument.name.clone();
            if front != old_front {
                outcome.damage.push(Damage::Beside {
                    argument: name(),
                    place: "before",
                });
            }
            if back != old_back {
                outcome.damage.push(Damage::Beside {
                    argument: name(),
                    place: "behind",
                });
            }
            match argument.role {
                CaseRole::Input { .. } if inside != old_inside => {
                    outcome.damage.push(Damage::Input { argument: name() });
                }
                CaseRole::Output { .. } => outcome.outputs.push(inside),
                _ => {}
            }
        }
        Ok(outcome)
    }

    /// Frees them.
    pub fn release(self, device: &mut dyn Device) -> Result<(), Error> {
        for held in self.held.into_iter().flatten() {
            device.release(held.buffer)?;
        }
        Ok(())
    }
}

impl Held {
    fn new(device: &mut dyn Device, content: &[u8], guard: usize) -> Result<Self, Error> {
        let before = guarded(content, guard);
        let buffer = device.buffer(before.len() as u64, Storage::Shared)?;
        device.write(buffer, 0, &before)?;
        Ok(Self { buffer, before })
    }
}

/// A buffer's content between its guards.
fn guarded(content: &[u8], guard: usize) -> Vec<u8> {
    let guard = || AROUND.into_iter().cycle().take(guard);
    guard()
        .chain(content.iter().copied())
        .chain(guard())
        .collect()
}
