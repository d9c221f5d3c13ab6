//! Textures, samplers and argument buffers of a dispatch.
//!
//! A texture's texels lie in a buffer of ours, and Metal orders them in its own way: before the dispatches a command buffer
//! copies them into textures, after them another copies back what kernels may have written, so that neither is timed. An
//! argument buffer is given the addresses and ids of its members as 64-bit numbers, which is how GPUs of Metal 3 read it.

use super::driver::{Driver, RawBinding, RawDispatch, Resident};
use super::{MetalDevice, inside};
use crate::check;
use crate::dispatch::{Binding, Dispatch};
use crate::error::Error;
use crate::facts::PipelineFacts;
use crate::ids::BufferId;
use assay_ssa::{ArgumentAccess, Binding as Place};
use assay_texture::{Dimension, Layout, Sampler, Texel};

/// A run of texels that one copy moves: all of a slice of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it begins in the buffer.
    pub(crate) offset: u64,
    pub(crate) bytes_per_row: u64,
    pub(crate) bytes_per_image: u64,
    pub(crate) size: [u32; 3],
    pub(crate) slice: u32,
    pub(crate) level: u32,
}

/// The copies that move all texels of a layout, or why Metal cannot move them.
pub(super) fn pieces(layout: &Layout) -> Result<Vec<Piece>, String> {
    let shape = layout.shape;
    if shape.samples > 1 {
        return Err("textures of several samples are bound on the CPU device only".to_owned());
    }
    let faces = match shape.dimension {
        Dimension::Buffer => {
            return Err("texture buffers are bound on the CPU device only".to_owned());
        }
        Dimension::Cube => 6,
        _ => 1,
    };
    let mut found = Vec::new();
    for level in 0..shape.levels {
        let [width, height, depth] = shape.level(level);
        let bytes_per_row = u64::from(width) * u64::from(layout.format.bytes);
        for slice in 0..shape.layers.saturating_mul(faces) {
            let at = Texel {
                layer: slice / faces,
                z: slice % faces,
                level,
                ..Texel::default()
            };
            let offset = layout.offset(at).ok_or("a texel outside its texture")?;
            found.push(Piece {
                offset,
                bytes_per_row,
                bytes_per_image: bytes_per_row * u64::from(height),
                size: [width, height, depth],
                slice,
                level,
            });
        }
    }
    Ok(found)
}

/// A texture of a submission, and the buffer its texels come from.
pub(super) struct Bound<D: Driver + ?Sized> {
    buffer: BufferId,
    layout: Layout,
    texture: D::Texture,
    pieces: Vec<Piece>,
    /// Whether a kernel may write it.
    written: bool,
}

/// The textures of a submission.
pub(super) struct Resources<D: Driver + ?Sized> {
    textures: Vec<Bound<D>>,
}

/// Samplers, made once for a device. They outlive their submissions: Metal keeps what an encoder binds until the GPU is done, but not
/// what only an argument buffer names.
pub(super) struct Samplers<D: Driver + ?Sized>(Vec<(Sampler, D::Sampler)>);

impl<D: Driver + ?Sized> Default for Samplers<D> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<D: Driver> Samplers<D> {
    fn get(&self, sampler: &Sampler) -> Option<&D::Sampler> {
        let mut all = self.0.iter();
        all.find(|(known, _)| known == sampler)
            .map(|(_, made)| made)
    }
}

/// Which way texels are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    IntoTextures,
    IntoBuffers,
}

impl<D: Driver> Resources<D> {
    fn texture(&self, buffer: BufferId, layout: &Layout) -> Option<&D::Texture> {
        let mut all = self.textures.iter();
        all.find(|one| one.buffer == buffer && one.layout == *layout)
            .map(|one| &one.texture)
    }
}

/// Something that was to be made for the submission and is not there.
fn lost(kernel: &PipelineFacts, index: u32) -> Error {
    refused(
        kernel,
        index,
        "it was not made for the submission".to_owned(),
    )
}

fn refused(kernel: &PipelineFacts, index: u32, why: String) -> Error {
    Error::Binding {
        function: kernel.function.clone(),
        index,
        why,
    }
}

/// Makes what a binding needs, unless it is there.
fn make<D: Driver>(
    driver: &D,
    samplers: &mut Samplers<D>,
    made: &mut Resources<D>,
    (kernel, index): (&PipelineFacts, u32),
    (binding, written): (&Binding, bool),
) -> Result<(), Error> {
    let refuse = |why| refused(kernel, index, why);
    match binding {
        Binding::Texture { buffer, layout, .. } => {
            let mut all = made.textures.iter_mut();
            if let Some(one) = all.find(|one| one.buffer == *buffer && one.layout == *layout) {
                one.written |= written;
                return Ok(());
            }
            made.textures.push(Bound {
                buffer: *buffer,
                layout: *layout,
                texture: driver.texture(layout).map_err(refuse)?,
                pieces: pieces(layout).map_err(refuse)?,
                written,
            });
        }
        Binding::Sampler(sampler) if samplers.get(sampler).is_none() => {
            let state = driver.sampler(sampler).map_err(refuse)?;
            samplers.0.push((*sampler, state));
        }
        _ => {}
    }
    Ok(())
}

impl<D: Driver> MetalDevice<D> {
    /// Checks the textures, samplers and members of a dispatch.
    pub(super) fn check_resource(
        &self,
        kernel: &PipelineFacts,
        index: u32,
        binding: &Binding,
    ) -> Result<(), Error> {
        match binding {
            Binding::Texture { buffer, layout, .. } => {
                let (size, needed) = (self.buffers.get(*buffer)?.bytes, layout.bytes());
                if size < needed {
                    let why = format!("a texture of {layout} has {needed} bytes, not {size}");
                    return Err(refused(kernel, index, why));
                }
                pieces(layout)
                    .map(|_| ())
                    .map_err(|why| refused(kernel, index, why))
            }
            Binding::Buffer { buffer, offset } => {
                let size = self.buffers.get(*buffer)?.bytes;
                check::binding(kernel, index, *offset, size)
            }
            Binding::Bytes(_) | Binding::ThreadgroupMemory(_) | Binding::Sampler(_) => Ok(()),
        }
    }

    /// Checks what an argument buffer is given.
    pub(super) fn check_members(
        &self,
        kernel: &PipelineFacts,
        dispatch: &Dispatch,
    ) -> Result<(), Error> {
        for member in &dispatch.members {
            match &member.binding {
                Binding::Buffer { buffer, offset } => {
                    inside(*offset, 0, self.buffers.get(*buffer)?.bytes)?;
                }
                Binding::Bytes(_) | Binding::ThreadgroupMemory(_) => {
                    let why = format!("{} is not a buffer, texture or sampler", member.name);
                    return Err(refused(kernel, member.index, why));
                }
                other => self.check_resource(kernel, member.index, other)?,
            }
            let end = member.offset.saturating_add(8);
            let holder = dispatch
                .bindings
                .iter()
                .find(|(index, binding)| binding.place(*index) == Place::Buffer(member.index));
            let size = match holder {
                Some((_, Binding::Buffer { buffer, offset })) => {
                    self.buffers.get(*buffer)?.bytes.saturating_sub(*offset)
                }
                Some((_, Binding::Bytes(bytes))) => bytes.len() as u64,
                _ => 0,
            };
            if end > size {
                let why = format!("{} lies outside the {size} bytes bound", member.name);
                return Err(refused(kernel, member.index, why));
            }
        }
        Ok(())
    }

    /// Makes the textures and samplers of a submission.
    pub(super) fn resources(&mut self, dispatches: &[Dispatch]) -> Result<Resources<D>, Error> {
        let mut made = Resources {
            textures: Vec::new(),
        };
        for dispatch in dispatches {
            let (_, kernel) = self.pipelines.get(dispatch.pipeline)?;
            let own = dispatch.bindings.iter().map(|(index, binding)| {
                let mut arguments = kernel.arguments.iter();
                let argument = arguments.find(|one| one.binding == binding.place(*index));
                let reads = argument.is_some_and(|one| one.access == ArgumentAccess::Read);
                (*index, binding, !reads)
            });
            let members = dispatch.members.iter();
            let members = members.map(|member| (member.index, &member.binding, true));
            for (index, binding, written) in own.chain(members) {
                make(
                    &self.driver,
                    &mut self.samplers,
                    &mut made,
                    (kernel, index),
                    (binding, written),
                )?;
            }
        }
        Ok(made)
    }

    /// Copies the texels of a submission; `None` when there are none to copy.
    pub(super) fn copy_texels(
        &self,
        made: &Resources<D>,
        way: Way,
    ) -> Result<Option<D::Commands>, Error> {
        let all = made.textures.iter();
        let mut all = all
            .filter(|one| way == Way::IntoTextures || one.written)
            .peekable();
        if all.peek().is_none() {
            return Ok(None);
        }
        let mut commands = self.commands("assay textures")?;
        for one in all {
            let buffer = &self.buffers.get(one.buffer)?.buffer;
            self.driver
                .encode_texels(
                    &mut commands,
                    buffer,
                    &one.texture,
                    &one.pieces,
                    way == Way::IntoTextures,
                )
                .map_err(Error::NoDevice)?;
        }
        Ok(Some(commands))
    }

    /// Writes the addresses and ids of members into the argument buffers of a dispatch.
    pub(super) fn fill_argument_buffers(
        &mut self,
        dispatch: &mut Dispatch,
        made: &Resources<D>,
    ) -> Result<(), Error> {
        let mut outside: Vec<(BufferId, u64, u64)> = Vec::new();
        let (_, kernel) = self.pipelines.get(dispatch.pipeline)?;
        for member in &dispatch.members {
            let lost = || lost(kernel, member.index);
            let number = match &member.binding {
                Binding::Buffer { buffer, offset } => {
                    self.driver.address(&self.buffers.get(*buffer)?.buffer) + offset
                }
                Binding::Texture { buffer, layout, .. } => self
                    .driver
                    .texture_id(made.texture(*buffer, layout).ok_or_else(lost)?),
                Binding::Sampler(sampler) => self
                    .driver
                    .sampler_id(self.samplers.get(sampler).ok_or_else(lost)?),
                Binding::Bytes(_) | Binding::ThreadgroupMemory(_) => return Err(lost()),
            };
            let place = Place::Buffer(member.index);
            let mut all = dispatch.bindings.iter_mut();
            let holder = all.find(|(index, binding)| binding.place(*index) == place);
            match holder {
                Some((_, Binding::Bytes(bytes))) => {
                    let start = usize::try_from(member.offset).unwrap_or(usize::MAX);
                    let end = start.saturating_add(8);
                    let into = bytes.get_mut(start..end).ok_or_else(lost)?;
                    into.copy_from_slice(&number.to_le_bytes());
                }
                Some((_, Binding::Buffer { buffer, offset })) => {
                    outside.push((*buffer, *offset + member.offset, number));
                }
                _ => return Err(lost()),
            }
        }
        for (buffer, offset, number) in outside {
            crate::Device::write(self, buffer, offset, &number.to_le_bytes())?;
        }
        Ok(())
    }

    /// A checked dispatch with Metal's objects in place of ids.
    pub(super) fn raw<'a>(
        &'a self,
        dispatch: &'a Dispatch,
        made: &'a Resources<D>,
    ) -> Result<RawDispatch<'a, D>, Error> {
        let (pipeline, kernel) = self.pipelines.get(dispatch.pipeline)?;
        let bindings = dispatch.bindings.iter().map(|(index, binding)| {
            let lost = || lost(kernel, *index);
            let raw = match binding {
                Binding::Buffer { buffer, offset } => RawBinding::Buffer {
                    buffer: &self.buffers.get(*buffer)?.buffer,
                    offset: *offset,
                },
                Binding::Bytes(bytes) => RawBinding::Bytes(bytes),
                // Metal wants multiples of 16.
                Binding::ThreadgroupMemory(bytes) => {
                    RawBinding::ThreadgroupMemory(bytes.next_multiple_of(16))
                }
                Binding::Texture { buffer, layout, .. } => {
                    RawBinding::Texture(made.texture(*buffer, layout).ok_or_else(lost)?)
                }
                Binding::Sampler(sampler) => {
                    RawBinding::Sampler(self.samplers.get(sampler).ok_or_else(lost)?)
                }
            };
            Ok((*index, raw))
        });
        let resident = dispatch.members.iter().map(|member| {
            let lost = || lost(kernel, member.index);
            Ok(match &member.binding {
                Binding::Buffer { buffer, .. } => {
                    Some(Resident::Buffer(&self.buffers.get(*buffer)?.buffer))
                }
                Binding::Texture { buffer, layout, .. } => Some(Resident::Texture(
                    made.texture(*buffer, layout).ok_or_else(lost)?,
                )),
                _ => None,
            })
        });
        let resident: Vec<_> = resident.collect::<Result<_, Error>>()?;
        Ok(RawDispatch {
            label: &kernel.function,
            pipeline,
            bindings: bindings.collect::<Result<_, Error>>()?,
            resident: resident.into_iter().flatten().collect(),
            extent: dispatch.extent,
            threadgroup: dispatch.threadgroup,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, pieces};
    use assay_texture::{Dimension, Format, Layout, Shape};

    fn layout(shape: Shape) -> Layout {
        let format = Format::named("rgba8Unorm").expect("a format");
        Layout { shape, format }
    }

    #[test]
    fn levels_and_faces_follow_each_other_without_gaps() {
        let cube = Shape {
            dimension: Dimension::Cube,
            levels: 2,
            layers: 2,
            ..Shape::flat(4, 4)
        };
        let layout = layout(cube);
        let found = pieces(&layout).expect("copies");
        assert_eq!(found.len(), 24);
        let mut end = 0;
        for piece in &found {
            assert_eq!(piece.offset, end, "{piece:?}");
            end += piece.bytes_per_image * u64::from(piece.size[2]);
        }
        assert_eq!(end, layout.bytes());
        assert_eq!((found[7].slice, found[7].level), (7, 0));
        assert_eq!((found[12].slice, found[12].level), (0, 1));
    }

    #[test]
    fn a_box_is_one_copy() {
        let shape = Shape {
            dimension: Dimension::D3,
            depth: 5,
            ..Shape::flat(3, 2)
        };
        let whole = Piece {
            offset: 0,
            bytes_per_row: 12,
            bytes_per_image: 24,
            size: [3, 2, 5],
            slice: 0,
            level: 0,
        };
        assert_eq!(pieces(&layout(shape)), Ok(vec![whole]));
    }

    #[test]
    fn what_metal_cannot_copy_is_refused() {
        let samples = Shape {
            samples: 4,
            ..Shape::flat(4, 4)
        };
        let row = Shape {
            dimension: Dimension::Buffer,
            ..Shape::flat(4, 1)
        };
        for shape in [samples, row] {
            let why = pieces(&layout(shape)).expect_err("refused");
            assert!(why.contains("CPU device"), "{why}");
        }
    }
}
