//! Arguments of a launch, and the buffers that come back.

use super::program::Opened;
use super::{Args, number};
use crate::failure::Failure;
use crate::launch::{Disk, Launched};
use crate::output::Output;
use crate::prediction::task::too_large;
use assay_agx::{Binding, BoundValue, Program, SystemValue};
use assay_emu::{BufferId, DeviceMemory, Launch};
use assay_launch::element::Element;
use assay_launch::npy::Array;
use assay_launch::{Sizes, Written};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Where results go.
pub(super) struct Outputs {
    pub(super) files: Vec<(usize, PathBuf)>,
    pub(super) report: Option<PathBuf>,
}

/// A launch with its buffers.
pub(super) struct Setup {
    pub(super) launch: Launch,
    pub(super) memory: DeviceMemory,
    buffers: Vec<Bound>,
}

/// Where an argument goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    /// A half uniform.
    Half(u16),
    /// `[[buffer(n)]]` of a program that says where its buffers are.
    Buffer(u32),
}

impl std::fmt::Display for Slot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Slot::Half(half) => write!(f, "{half}"),
            Slot::Buffer(index) => write!(f, "b{index}"),
        }
    }
}

/// A buffer argument.
struct Bound {
    slot: Slot,
    buffer: BufferId,
    descr: String,
    shape: Vec<u64>,
}

/// Splits `U=rest`.
fn place<'t>(option: &str, text: &'t str) -> Result<(Slot, &'t str), Failure> {
    let wrong = || {
        Failure::usage(format!(
            "{option} {text}: expected U=…, U a number, or bN=… for a buffer of generated code"
        ))
    };
    let (slot, rest) = text.split_once('=').ok_or_else(wrong)?;
    if let Some(index) = slot.trim().strip_prefix('b') {
        let index = index.parse().map_err(|_| wrong())?;
        return Ok((Slot::Buffer(index), rest));
    }
    match number(slot.trim()) {
        Ok(half @ 0..512) => Ok((Slot::Half(half as u16), rest)),
        Ok(half) => Err(Failure::usage(format!(
            "{option} {text}: there is no uniform {half}; half uniforms go from 0 to 511"
        ))),
        Err(_) => Err(wrong()),
    }
}

/// Returns true if an argument of `--arg` says where it goes by the number of a uniform or as bN.
pub(super) fn is_slot(text: &str) -> bool {
    place("--arg", text).is_ok() || text.starts_with(|c: char| c.is_ascii_digit() || c == '=')
}

impl Setup {
    pub(super) fn new(
        args: &Args,
        uniforms: &[String],
        launched: &Launched,
        opened: &Opened,
        sizes: &Sizes,
    ) -> Result<Setup, Failure> {
        let program = &opened.program;
        let launch = &launched.launch;
        let (extent, threadgroup) = launch.geometry(sizes)?;
        let grid = extent.threads(threadgroup).ok_or_else(too_large)?;
        let mut setup = Setup {
            launch: Launch::new(grid, threadgroup),
            memory: DeviceMemory::new(),
            buffers: Vec::new(),
        };
        setup.launch.stack_bytes = args.scratch;
        setup.launch.max_steps = args.max_steps;
        setup.launch.lenient = args.lenient;
        setup.launch.count = args.counts;
        for argument in uniforms {
            let (slot, value) = place("--arg", argument)?;
            setup.argument(slot, value, argument, opened)?;
        }
        setup.inputs(launched, opened, sizes)?;
        for text in &args.uniforms {
            let (Slot::Half(half), hex) = place("--uniforms", text)? else {
                return Err(Failure::usage(format!(
                    "--uniforms {text}: U is the number of a uniform"
                )));
            };
            let bytes = unhex(hex).ok_or_else(|| {
                Failure::usage(format!("--uniforms {text}: expected hexadecimal bytes"))
            })?;
            setup.set(half, &bytes)?;
        }
        Self::refuse_textures(program)?;
        let in_all = launch.memory_in_all.as_ref();
        let in_all = in_all.map(|bytes| bytes.number_at(sizes)).transpose();
        let in_all = in_all.map_err(|error| Failure::usage(format!("--tgmem: {error}")))?;
        let of_arguments = Written {
            memory_in_all: None,
            ..launch.clone()
        };
        let memory = of_arguments.memory(&[], sizes)?;
        setup.threadgroup_memory(memory, in_all, program)?;
        let placed = setup.launch.place_data(program, &mut setup.memory);
        placed.map_err(|error| Failure::usage(error.to_string()))?;
        Ok(setup)
    }

    /// Buffers and values by the index of `[[buffer(n)]]`, as `assay run` takes them.
    fn inputs(
        &mut self,
        launched: &Launched,
        opened: &Opened,
        sizes: &Sizes,
    ) -> Result<(), Failure> {
        let inputs = launched.inputs(sizes)?.filled()?;
        for buffer in inputs.buffers {
            let array = Array {
                descr: buffer.element.descr.to_owned(),
                shape: vec![buffer.size() / buffer.element.size as u64],
                data: buffer.data().into_owned(),
            };
            self.buffer(Slot::Buffer(buffer.index), array, opened)?;
        }
        for (index, bytes) in inputs.bytes {
            self.buffer(Slot::Buffer(index), untyped(bytes), opened)?;
        }
        Ok(())
    }

    /// Refuses programs of textures, which the emulator does not have.
    fn refuse_textures(program: &Program) -> Result<(), Failure> {
        let texture = |binding: &Binding| {
            matches!(
                binding.value,
                BoundValue::System(
                    SystemValue::TextureSize(_) | SystemValue::TextureCounts(_),
                    _
                )
            )
        };
        match program.bindings.iter().any(texture) {
            true => Err(
                Failure::input("the program uses textures, which are not emulated")
                    .advice("assay run executes such kernels on the CPU"),
            ),
            false => Ok(()),
        }
    }

    /// Arguments of threadgroup memory come after what the program declares, in order.
    fn threadgroup_memory(
        &mut self,
        mut sizes: Vec<(u32, u32)>,
        in_all: Option<u32>,
        program: &Program,
    ) -> Result<(), Failure> {
        sizes.sort_unstable();
        self.launch.threadgroup_bytes = in_all;
        let mut end = 0u32;
        let mut offsets = Vec::new();
        for (argument, bytes) in sizes {
            offsets.push((argument, end));
            end = end.saturating_add(bytes).saturating_add(15) & !15;
        }
        if in_all.is_none() && !offsets.is_empty() {
            let declared = program.threadgroup_bytes.unwrap_or(0).next_multiple_of(16);
            self.launch.threadgroup_bytes = Some(declared.saturating_add(end));
        }
        let arguments = program
            .bindings
            .iter()
            .filter_map(|binding| match binding.value {
                BoundValue::System(SystemValue::ThreadgroupOffset(index), _) => {
                    Some((index, binding))
                }
                _ => None,
            });
        let only = arguments.clone().count() == 1;
        for (index, binding) in arguments {
            let offset = match offsets.iter().find(|(argument, _)| *argument == index) {
                Some((_, offset)) => *offset,
                None if only && in_all.is_some() => 0,
                None => {
                    let message = format!("nothing is given for [[threadgroup({index})]]");
                    return Err(Failure::usage(message).advice(format!("--tgmem {index}=BYTES")));
                }
            };
            let bytes = u64::from(offset).to_le_bytes();
            let halves = usize::from(binding.halves.min(4));
            self.set(binding.first_half, &bytes[..halves * 2])?;
        }
        Ok(())
    }

    fn set(&mut self, half: u16, bytes: &[u8]) -> Result<(), Failure> {
        let uniforms = &mut self.launch.uniforms;
        uniforms
            .set_bytes(half, bytes)
            .map_err(|error| Failure::usage(error.to_string()))
    }

    fn argument(
        &mut self,
        slot: Slot,
        value: &str,
        whole: &str,
        opened: &Opened,
    ) -> Result<(), Failure> {
        let unknown = || {
            Failure::usage(format!(
                "--arg {whole}: expected buffer:FILE, zeros:BYTES or TYPE:VALUE"
            ))
            .advice("types are u16 i16 u32 i32 u64 i64 f16 f32")
        };
        let (kind, text) = value.split_once(':').ok_or_else(unknown)?;
        let bad = |error: &dyn std::fmt::Display| Failure::usage(format!("--arg {whole}: {error}"));
        let bytes = match kind {
            "buffer" => {
                let array = assay_launch::inputs::array(&Disk::default(), text)?;
                return self.buffer(slot, array, opened);
            }
            "zeros" => {
                let bytes = number(text).map_err(|error| bad(&error))?;
                return self.buffer(slot, untyped(vec![0; bytes as usize]), opened);
            }
            _ => {
                let element = Element::named(kind).ok_or_else(unknown)?;
                element.parse(text).map_err(|error| bad(&error))?
            }
        };
        match slot {
            Slot::Half(half) => self.set(half, &bytes),
            // A value in a buffer of its own, as `constant T &` takes it.
            Slot::Buffer(_) => self.buffer(slot, untyped(bytes), opened),
        }
    }

    fn buffer(&mut self, slot: Slot, array: Array, opened: &Opened) -> Result<(), Failure> {
        let buffer = self
            .memory
            .add(&array.data)
            .map_err(|error| Failure::usage(error.to_string()))?;
        let address = self.memory.address(buffer).to_le_bytes();
        match slot {
            Slot::Half(half) => self.set(half, &address)?,
            Slot::Buffer(index) => self.bind(index, &address, &array.data, opened)?,
        }
        self.buffers.push(Bound {
            slot,
            buffer,
            descr: array.descr,
            shape: array.shape,
        });
        Ok(())
    }

    /// Puts a buffer where the program says it finds it; one it never looks at is no mistake.
    fn bind(
        &mut self,
        index: u32,
        address: &[u8],
        data: &[u8],
        opened: &Opened,
    ) -> Result<(), Failure> {
        let known = opened.arguments.as_ref().map(|arguments| {
            let buffers = arguments.iter().filter_map(|it| match it.binding {
                assay_ssa::Binding::Buffer(index) => Some(index),
                _ => None,
            });
            buffers.collect::<Vec<u32>>()
        });
        match &known {
            Some(known) if !known.contains(&index) => {
                let failure = Failure::usage(format!(
                    "--arg b{index}=…: the kernel has no [[buffer({index})]]"
                ));
                let known: Vec<String> = known.iter().map(|known| format!("b{known}")).collect();
                return Err(failure.advice(match known.is_empty() {
                    true => "it has no buffers".to_owned(),
                    false => format!("there are {}", known.join(", ")),
                }));
            }
            None if opened.program.bindings.is_empty() => {
                return Err(Failure::usage(format!(
                    "--arg b{index}=…: this program does not say where its buffers are"
                ))
                .advice("name uniforms instead: --arg 0=buffer:FILE.npy"));
            }
            _ => {}
        }
        for binding in &opened.program.bindings {
            match binding.value {
                BoundValue::BufferAddress { index: found } if found == index => {
                    self.set(binding.first_half, address)?;
                }
                BoundValue::BufferBytes {
                    index: found,
                    offset,
                } if found == index => {
                    let bytes = data.iter().skip(offset as usize).copied();
                    let bytes: Vec<u8> = bytes.take(usize::from(binding.halves) * 2).collect();
                    self.set(binding.first_half, &bytes)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn outputs(&self, args: &Args) -> Result<Outputs, Failure> {
        let mut outputs = Outputs {
            files: Vec::new(),
            report: None,
        };
        for text in &args.outputs {
            let shown = text.display().to_string();
            if !shown.contains('=') {
                outputs.report = Some(text.clone());
                continue;
            }
            let (slot, path) = place("--out", &shown)?;
            let found = self.buffers.iter().position(|bound| bound.slot == slot);
            let index = found.ok_or_else(|| {
                Failure::usage(format!("--out {shown}: argument {slot} is no buffer"))
                    .advice(format!("give it one with --arg {slot}=buffer:FILE.npy"))
            })?;
            outputs.files.push((index, PathBuf::from(path)));
        }
        Ok(outputs)
    }

    pub(super) fn save(&self, index: usize, path: &Path) -> Result<(), Failure> {
        let Some(bound) = self.buffers.get(index) else {
            return Ok(());
        };
        let array = Array {
            descr: bound.descr.clone(),
            shape: bound.shape.clone(),
            data: self.memory.bytes(bound.buffer),
        };
        let mut output = Output::open(Some(path))?;
        output.write_all(&array.to_bytes())?;
        output.finish()
    }
}

fn untyped(data: Vec<u8>) -> Array {
    Array {
        descr: "|u1".to_owned(),
        shape: vec![data.len() as u64],
        data,
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text
        .chars()
        .filter(|character| !character.is_whitespace() && *character != '_')
        .map(|character| character.to_digit(16))
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    let pairs = digits.chunks_exact(2);
    Some(pairs.map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}
