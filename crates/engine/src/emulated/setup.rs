//! Arguments of a launch, and the buffers that come back.

use super::program::Opened;
use crate::Error;
use crate::Launched;
use crate::execution::too_large;
use assay_agx::{Binding, BoundValue, Program, SystemValue};
use assay_emu::{BufferId, DeviceMemory, Launch};
use assay_launch::element::Element;
use assay_launch::npy::Array;
use assay_launch::{Sizes, Written};

/// How a program is emulated.
#[derive(Clone, Debug)]
pub struct Options {
    /// Values of uniforms, as `U=CONTENTS` or `bN=CONTENTS`.
    pub arguments: Vec<String>,
    /// Bytes of uniforms, as `U=HEX`.
    pub uniforms: Vec<String>,
    /// Stack in bytes per thread.
    pub scratch: Option<u32>,
    /// Instructions one simdgroup may execute.
    pub max_steps: u64,
    /// Without checks of waits, hints, unwritten registers, unset uniforms and mask nesting.
    pub lenient: bool,
    /// Counts how often each instruction is executed.
    pub counts: bool,
}

/// A launch with its buffers.
pub struct Setup {
    /// The launch.
    pub launch: Launch,
    /// Its memory.
    pub memory: DeviceMemory,
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
fn place<'t>(option: &str, text: &'t str) -> Result<(Slot, &'t str), Error> {
    let wrong = || {
        Error::usage(format!(
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
        Ok(half) => Err(Error::usage(format!(
            "{option} {text}: there is no uniform {half}; half uniforms go from 0 to 511"
        ))),
        Err(_) => Err(wrong()),
    }
}

/// Returns true if an argument of `--arg` says where it goes by the number of a uniform or as bN.
pub fn is_slot(text: &str) -> bool {
    place("--arg", text).is_ok() || text.starts_with(|c: char| c.is_ascii_digit() || c == '=')
}

impl Setup {
    /// Binds what a launch says, at certain sizes.
    pub fn new(
        options: &Options,
        launched: &Launched,
        opened: &Opened,
        sizes: &Sizes,
    ) -> Result<Setup, Error> {
        let program = &opened.program;
        let launch = &launched.launch;
        let (extent, threadgroup) = launch.geometry(sizes)?;
        let grid = extent.threads(threadgroup).ok_or_else(too_large)?;
        let mut setup = Setup {
            launch: Launch::new(grid, threadgroup),
            memory: DeviceMemory::new(),
            buffers: Vec::new(),
        };
        setup.launch.stack_bytes = options.scratch;
        setup.launch.max_steps = options.max_steps;
        setup.launch.lenient = options.lenient;
        setup.launch.count = options.counts;
        for argument in &options.arguments {
            let (slot, value) = place("--arg", argument)?;
            setup.argument((slot, value), argument, opened, launched)?;
        }
        setup.inputs(launched, opened, sizes)?;
        for text in &options.uniforms {
            let (Slot::Half(half), hex) = place("--uniforms", text)? else {
                return Err(Error::usage(format!(
                    "--uniforms {text}: U is the number of a uniform"
                )));
            };
            let bytes = unhex(hex).ok_or_else(|| {
                Error::usage(format!("--uniforms {text}: expected hexadecimal bytes"))
            })?;
            setup.set(half, &bytes)?;
        }
        Self::refuse_textures(program)?;
        let in_all = launch.memory_in_all.as_ref();
        let in_all = in_all.map(|bytes| bytes.number_at(sizes)).transpose();
        let in_all = in_all.map_err(|error| Error::usage(format!("--tgmem: {error}")))?;
        let of_arguments = Written {
            memory_in_all: None,
            ..launch.clone()
        };
        let memory = of_arguments.memory(&[], sizes)?;
        setup.threadgroup_memory(memory, in_all, program)?;
        let placed = setup.launch.place_data(program, &mut setup.memory);
        placed.map_err(|error| Error::usage(error.to_string()))?;
        Ok(setup)
    }

    /// Buffers and values by the index of `[[buffer(n)]]`, as `assay run` takes them.
    fn inputs(&mut self, launched: &Launched, opened: &Opened, sizes: &Sizes) -> Result<(), Error> {
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
        for (index, of) in inputs.aliases {
            let same = self.buffers.iter().find(|it| it.slot == Slot::Buffer(of));
            if let Some(&Bound { buffer, .. }) = same {
                let (address, data) = (self.memory.address(buffer), self.memory.bytes(buffer));
                self.bind(index, &address.to_le_bytes(), &data, opened)?;
            }
        }
        Ok(())
    }

    /// Refuses programs of textures, which the emulator does not have.
    fn refuse_textures(program: &Program) -> Result<(), Error> {
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
                Error::input("the program uses textures, which are not emulated")
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
    ) -> Result<(), Error> {
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
                    return Err(Error::usage(message).advice(format!("--tgmem {index}=BYTES")));
                }
            };
            let bytes = u64::from(offset).to_le_bytes();
            let halves = usize::from(binding.halves.min(4));
            self.set(binding.first_half, &bytes[..halves * 2])?;
        }
        Ok(())
    }

    fn set(&mut self, half: u16, bytes: &[u8]) -> Result<(), Error> {
        let uniforms = &mut self.launch.uniforms;
        uniforms
            .set_bytes(half, bytes)
            .map_err(|error| Error::usage(error.to_string()))
    }

    fn argument(
        &mut self,
        (slot, value): (Slot, &str),
        whole: &str,
        opened: &Opened,
        launched: &Launched,
    ) -> Result<(), Error> {
        let unknown = || {
            Error::usage(format!(
                "--arg {whole}: expected buffer:FILE, zeros:BYTES or TYPE:VALUE"
            ))
            .advice("types are u16 i16 u32 i32 u64 i64 f16 f32")
        };
        let (kind, text) = value.split_once(':').ok_or_else(unknown)?;
        let bad = |error: &dyn std::fmt::Display| Error::usage(format!("--arg {whole}: {error}"));
        let bytes = match kind {
            "buffer" => {
                let array = assay_launch::inputs::array(&*launched.files, text)?;
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

    fn buffer(&mut self, slot: Slot, array: Array, opened: &Opened) -> Result<(), Error> {
        let buffer = self
            .memory
            .add(&array.data)
            .map_err(|error| Error::usage(error.to_string()))?;
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
    ) -> Result<(), Error> {
        let known = opened.arguments.as_ref().map(|arguments| {
            let buffers = arguments.iter().filter_map(|it| match it.binding {
                assay_ssa::Binding::Buffer(index) => Some(index),
                _ => None,
            });
            buffers.collect::<Vec<u32>>()
        });
        match &known {
            Some(known) if !known.contains(&index) => {
                let failure = Error::usage(format!(
                    "--arg b{index}=…: the kernel has no [[buffer({index})]]"
                ));
                let known: Vec<String> = known.iter().map(|known| format!("b{known}")).collect();
                return Err(failure.advice(match known.is_empty() {
                    true => "it has no buffers".to_owned(),
                    false => format!("there are {}", known.join(", ")),
                }));
            }
            None if opened.program.bindings.is_empty() => {
                return Err(Error::usage(format!(
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

    /// The buffer that `U=FILE` of an option names, and the file.
    pub fn output<'t>(&self, option: &str, text: &'t str) -> Result<(usize, &'t str), Error> {
        let (slot, path) = place(option, text)?;
        let found = self.buffers.iter().position(|bound| bound.slot == slot);
        let index = found.ok_or_else(|| {
            Error::usage(format!("{option} {text}: argument {slot} is no buffer"))
                .advice(format!("give it one with --arg {slot}=buffer:FILE.npy"))
        })?;
        Ok((index, path))
    }

    /// What a buffer holds, with the type and shape it came with.
    pub fn array(&self, index: usize) -> Option<Array> {
        let bound = self.buffers.get(index)?;
        Some(Array {
            descr: bound.descr.clone(),
            shape: bound.shape.clone(),
            data: self.memory.bytes(bound.buffer),
        })
    }
}

/// A whole number, hexadecimal behind 0x.
pub fn number(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| format!("`{text}`: {error}"))
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
