//! A dispatch: program, geometry, arguments.

use crate::error::Error;
use crate::footprint::Buffers;
use assay_agx::{BoundValue, Program, SystemValue};
use assay_emu::{BufferId, DeviceMemory, Fill, Launch};
use assay_launch::{Inputs, Start};

/// A buffer of a [`Memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buffer(u32);

/// Device memory that the dispatches of a command buffer share.
///
/// ```
/// use assay_emu::Fill;
/// use assay_predict::Memory;
/// let mut memory = Memory::new();
/// let weights = memory.add_on_touch(1 << 30, Fill::Float32 { seed: 1 })?;
/// let table = memory.add(&[1, 2, 3, 4])?;
/// assert_ne!(weights, table);
/// # Ok::<(), assay_predict::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Memory {
    device: DeviceMemory,
    /// Of each buffer of `device`: the number given out for it, if one was, and its length.
    buffers: Vec<(Option<u32>, u64)>,
    ids: Vec<BufferId>,
}

impl Memory {
    /// No buffers.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Adds a buffer with these contents.
    pub fn add(&mut self, contents: &[u8]) -> Result<Buffer, Error> {
        let id = self
            .device
            .add(contents)
            .map_err(assay_emu::NoBuffer::from)?;
        Ok(self.give_out(id, contents.len() as u64))
    }

    /// Adds a buffer whose contents are made from a rule when they are touched; what is
    /// never touched takes no memory.
    pub fn add_on_touch(&mut self, bytes: u64, fill: Fill) -> Result<Buffer, Error> {
        let id = self.device.add_on_touch(bytes, fill)?;
        Ok(self.give_out(id, bytes))
    }

    /// The arguments of a launch, with their buffers added.
    pub fn bind(&mut self, inputs: &Inputs) -> Result<Vec<(u32, Argument)>, Error> {
        let mut arguments = Vec::new();
        for buffer in &inputs.buffers {
            let added = match &buffer.start {
                Start::Fill(fill) => self.add_on_touch(buffer.size(), *fill)?,
                Start::Bytes(bytes) => self.add(bytes)?,
            };
            arguments.push((buffer.index, Argument::Buffer(added, 0)));
        }
        for (index, of) in &inputs.aliases {
            let bound = arguments.iter().find(|(known, _)| known == of);
            if let Some(shared) = bound.map(|(_, argument)| argument.clone()) {
                arguments.push((*index, shared));
            }
        }
        let bytes = inputs.bytes.iter();
        arguments.extend(bytes.map(|(index, bytes)| (*index, Argument::Bytes(bytes.clone()))));
        Ok(arguments)
    }

    fn give_out(&mut self, id: BufferId, bytes: u64) -> Buffer {
        let number = self.ids.len() as u32;
        self.buffers.push((Some(number), bytes));
        self.ids.push(id);
        Buffer(number)
    }

    /// The contents of a buffer, as dispatches left them.
    pub fn contents(&self, buffer: Buffer) -> Vec<u8> {
        let id = self.ids.get(buffer.0 as usize);
        id.map_or_else(Vec::new, |&id| self.device.bytes(id))
    }

    /// The memory of the emulator, to run whole dispatches on.
    pub fn device(&self) -> &DeviceMemory {
        &self.device
    }

    fn address(&self, buffer: Buffer) -> Option<u64> {
        let id = self.ids.get(buffer.0 as usize)?;
        Some(self.device.address(*id))
    }
}

impl Buffer {
    /// Its number: buffers are counted from 0 in the order they were added.
    pub fn number(self) -> u32 {
        self.0
    }
}

impl Buffers for Memory {
    fn buffer_at(&self, address: u64) -> Option<(u32, u64)> {
        let (index, _) = self.device.buffer_at(address)?;
        let &(number, bytes) = self.buffers.get(index as usize)?;
        // Arguments by value and constant data belong to no buffer of the caller.
        Some((number.unwrap_or(u32::MAX), bytes))
    }
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// A buffer, from a byte offset on.
    Buffer(Buffer, u64),
    /// Bytes given by value.
    Bytes(Vec<u8>),
}

/// A dispatch of one kernel.
#[derive(Clone, Debug)]
pub struct Dispatch<'a> {
    /// The machine code.
    pub program: &'a Program,
    /// Threads along each axis.
    pub grid: [u32; 3],
    /// Threads of a threadgroup along each axis.
    pub threadgroup: [u32; 3],
    /// Arguments by index of `[[buffer(index)]]`.
    pub arguments: Vec<(u32, Argument)>,
    /// Sizes in bytes of `[[threadgroup(index)]]` arguments.
    pub threadgroup_memory: Vec<(u32, u32)>,
}

impl Dispatch<'_> {
    /// The launch of the emulator; adds arguments given by value to the memory.
    pub fn launch(&self, memory: &mut Memory, max_steps: u64) -> Result<Launch, Error> {
        if let Some(placeholder) = self.program.placeholders.first() {
            return Err(Error::Unencoded(placeholder.operation.kind));
        }
        let mut launch = Launch::new(self.grid, self.threadgroup);
        // Checks of waits and hints are for tests of compilers.
        launch.lenient = true;
        launch.max_steps = max_steps;
        let fixed = self.program.threadgroup_bytes.unwrap_or(0);
        let mut end = fixed.next_multiple_of(16);
        let mut offsets = Vec::new();
        for &(index, bytes) in &self.threadgroup_memory {
            offsets.push((index, end - fixed.next_multiple_of(16)));
            end = end.saturating_add(bytes.next_multiple_of(16));
        }
        launch.threadgroup_bytes = match self.threadgroup_memory.is_empty() {
            true => self.program.threadgroup_bytes,
            false => Some(end),
        };
        let before = memory.device.len();
        launch.place_data(self.program, &mut memory.device)?;
        if memory.device.len() > before {
            memory.buffers.push((None, self.program.data.len() as u64));
        }
        for binding in &self.program.bindings {
            let bytes = match binding.value {
                BoundValue::BufferAddress { index } => {
                    self.address(memory, index)?.to_le_bytes().to_vec()
                }
                BoundValue::BufferBytes { index, offset } => {
                    self.bytes(memory, index, offset, usize::from(binding.halves) * 2)?
                }
                BoundValue::System(SystemValue::ThreadgroupOffset(index), _) => {
                    let found = offsets.iter().find(|(known, _)| *known == index);
                    let (_, offset) = found.ok_or(Error::MissingThreadgroupMemory { index })?;
                    let bytes = u64::from(*offset).to_le_bytes();
                    bytes[..usize::from(binding.halves.min(4)) * 2].to_vec()
                }
                BoundValue::System(
                    SystemValue::TextureSize(_) | SystemValue::TextureCounts(_),
                    _,
                ) => return Err(Error::Unsupported("textures")),
                BoundValue::DescriptorHeap
                | BoundValue::TextureHandle { .. }
                | BoundValue::SamplerHandle { .. } => {
                    return Err(Error::Unsupported("a heap of texture descriptors"));
                }
                BoundValue::DataAddress { .. } | BoundValue::System(..) => continue,
            };
            launch.uniforms.set_bytes(binding.first_half, &bytes)?;
        }
        Ok(launch)
    }

    fn argument(&self, index: u32) -> Result<&Argument, Error> {
        let found = self.arguments.iter().find(|(known, _)| *known == index);
        found
            .map(|(_, argument)| argument)
            .ok_or(Error::MissingBuffer { index })
    }

    fn address(&self, memory: &mut Memory, index: u32) -> Result<u64, Error> {
        match self.argument(index)? {
            Argument::Buffer(buffer, offset) => {
                let address = memory.address(*buffer);
                let address = address.ok_or(Error::MissingBuffer { index })?;
                Ok(address.wrapping_add(*offset))
            }
            Argument::Bytes(bytes) => {
                let added = memory.device.add(bytes);
                let id = added.map_err(assay_emu::NoBuffer::from)?;
                memory.buffers.push((None, bytes.len() as u64));
                Ok(memory.device.address(id))
            }
        }
    }

    fn bytes(
        &self,
        memory: &Memory,
        index: u32,
        offset: u32,
        count: usize,
    ) -> Result<Vec<u8>, Error> {
        let (start, end) = (offset as usize, offset as usize + count);
        let contents = match self.argument(index)? {
            Argument::Bytes(bytes) => bytes.clone(),
            Argument::Buffer(buffer, skipped) => {
                let contents = memory.contents(*buffer);
                contents
                    .get(*skipped as usize..)
                    .unwrap_or_default()
                    .to_vec()
            }
        };
        let found = contents.get(start..end).map(<[u8]>::to_vec);
        found.ok_or(Error::ShortBuffer {
            index,
            given: contents.len() as u64,
            needed: end as u64,
        })
    }
}
