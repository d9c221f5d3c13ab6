//! Textures: loads, samples and writes of G13, and sizes as uniforms.
//!
//! The encodings are those that Mesa and applegpu know; `handle` says which texture and sampler an instruction names. An
//! operation without a known encoding is a placeholder (`unencoded`). What the emulator cannot run it says so: machine code
//! of textures is for looking at and for costs, and its results are not judged.
//!
//! Faces of cubes that are read or written are layers of a two-dimensional array, as Mesa has them.

mod array;
mod handle;
mod unencoded;

use super::operand::{Src, choice, imm, used};
use super::select::{Done, Lowerer, element};
use crate::mir::{Inst, Memory, Operand, Slice};
use assay_agx::{Field, List, Op, Operand as Fixed, SystemValue, Width};
use assay_ssa::builtin::{Builtin, BuiltinCall, TextureKind};
use assay_ssa::{ArgumentAccess, Binding, Scalar, Value};
use handle::Texture;

pub(super) use array::{Elements, index_arrays};

/// Dimensions by the numbers of the instruction set.
mod dimension {
    pub(super) const D1: u8 = 0;
    pub(super) const D1_ARRAY: u8 = 1;
    pub(super) const D2: u8 = 2;
    pub(super) const D2_ARRAY: u8 = 3;
    pub(super) const D2_MS: u8 = 4;
    pub(super) const D3: u8 = 5;
    pub(super) const CUBE: u8 = 6;
    pub(super) const CUBE_ARRAY: u8 = 7;
}

/// How the level of detail is given, by the numbers of the instruction set.
mod lod_mode {
    pub(super) const AUTO: u8 = 0;
    pub(super) const GRADIENT: u8 = 4;
    pub(super) const BIAS: u8 = 5;
    pub(super) const LEVEL: u8 = 6;
}

const ALL_COMPONENTS: u8 = 15;

/// The dimension of a kind of texture, and the axes of its coordinates: for a sample, and for a read or write.
fn dimensions(kind: TextureKind) -> Option<[(u8, u32); 2]> {
    use TextureKind as K;
    use dimension as d;
    Some(match kind {
        K::Texture1d => [(d::D1, 1); 2],
        K::Texture1dArray => [(d::D1_ARRAY, 1); 2],
        K::Texture2d | K::Depth2d => [(d::D2, 2); 2],
        K::Texture2dArray | K::Depth2dArray => [(d::D2_ARRAY, 2); 2],
        K::Texture2dMs | K::Depth2dMs => [(d::D2_MS, 2); 2],
        K::Texture3d => [(d::D3, 3); 2],
        K::TextureCube | K::DepthCube => [(d::CUBE, 3), (d::D2_ARRAY, 2)],
        K::TextureCubeArray | K::DepthCubeArray => [(d::CUBE_ARRAY, 3), (d::D2_ARRAY, 2)],
        K::TextureBuffer1d | K::Texture2dMsArray | K::Depth2dMsArray => return None,
    })
}

fn is_cube(kind: TextureKind) -> bool {
    use TextureKind as K;
    matches!(
        kind,
        K::TextureCube | K::DepthCube | K::TextureCubeArray | K::DepthCubeArray
    )
}

impl Lowerer<'_> {
    pub(super) fn texture(
        &mut self,
        call: BuiltinCall,
        args: &[Value],
        result: Option<Value>,
    ) -> Done {
        let (Some(kind), Some(&handle)) = (call.texture, args.first()) else {
            return self.unsupported(format!("the builtin {call}"));
        };
        if call.builtin == Builtin::TextureFence {
            self.memory_fence();
            return Ok(());
        }
        if let (Builtin::TextureIsNull, Some(result)) = (call.builtin, result) {
            return self.texture_is_null(handle, result);
        }
        if self.lacks_encoding(call.builtin, kind, args)? {
            return self.unencoded(call.builtin, args, result);
        }
        let texture = self.texture_handle(handle)?;
        match (call.builtin, result) {
            (Builtin::TextureRead, Some(result)) if args.len() == 6 => {
                self.texture_read(kind, texture, args, result)
            }
            (Builtin::TextureWrite, None) if args.len() == 7 => {
                self.texture_write(kind, texture, args)
            }
            (
                Builtin::TextureSample
                | Builtin::TextureSampleCompare
                | Builtin::TextureGather
                | Builtin::TextureGatherCompare,
                Some(result),
            ) if args.len() == 10 => self.texture_sample(call.builtin, kind, texture, args, result),
            (
                Builtin::TextureGetWidth
                | Builtin::TextureGetHeight
                | Builtin::TextureGetDepth
                | Builtin::TextureGetArraySize
                | Builtin::TextureGetNumMipLevels
                | Builtin::TextureGetNumSamples,
                Some(result),
            ) => self.texture_size(call.builtin, texture, args, result),
            _ => self.unsupported(format!("the builtin {}", call.info().name)),
        }
    }

    /// Coordinates of 32 bits each, and behind them a layer or sample of 16.
    fn coordinates(&mut self, axes: &[Src], extra: Option<Src>) -> Slice {
        let Some(extra) = extra else {
            return self.side_by_side(axes);
        };
        let count = axes.len() as u8 * 2 + 1;
        // Aligned as 32-bit numbers are.
        let reg = self.vreg(count, 2);
        let mut pairs = Vec::new();
        for (at, &axis) in (0u8..).zip(axes) {
            let slice = Slice {
                reg,
                half: at * 2,
                width: Width::W32,
                count: 1,
            };
            pairs.push((slice, axis));
        }
        let last = Slice {
            reg,
            half: count - 1,
            width: Width::W16,
            count: 1,
        };
        pairs.push((last, extra.part(0, Width::W16)));
        self.copies(&pairs);
        Slice {
            reg,
            half: 0,
            width: Width::W16,
            count,
        }
    }

    /// Where a read or write happens: its dimension and coordinates.
    fn texel_place(&mut self, kind: TextureKind, args: &[Value]) -> Done<(u8, Slice)> {
        let Some([_, (dimension, axes)]) = dimensions(kind) else {
            return self.unsupported(format!("a {}", kind.name()));
        };
        let mut sources = Vec::new();
        for &arg in args.iter().skip(1).take(axes as usize) {
            sources.push(self.scalar(arg)?);
        }
        let extra = match dimension {
            dimension::D2_ARRAY if is_cube(kind) => {
                let (face, layer) = (self.scalar(args[3])?, self.scalar(args[4])?);
                let both = self.temp(Width::W32);
                self.mul_add_into(both, layer, Src::Const(6, Width::W32), face);
                Some(Src::Reg(both))
            }
            dimension::D1_ARRAY | dimension::D2_ARRAY => Some(self.half_register(args[4])?),
            dimension::D2_MS => Some(self.half_register(args[5])?),
            _ => None,
        };
        Ok((dimension, self.coordinates(&sources, extra)))
    }

    /// A 32-bit number in a register, so that its low half can be taken.
    fn half_register(&mut self, value: Value) -> Done<Src> {
        let source = self.scalar(value)?;
        Ok(match source {
            Src::Const(bits, _) => Src::Const(bits, Width::W32),
            other => Src::Reg(self.reg(other)),
        })
    }

    fn width_of(&self, value: Value) -> Width {
        match self.scalar_type(value) {
            Some(Scalar::F16 | Scalar::I16) => Width::W16,
            _ => Width::W32,
        }
    }

    /// Nothing writes the texture of an argument that is only read.
    fn texture_memory(&self, texture: Texture) -> Memory {
        let Texture::State(index) = texture else {
            return Memory::default();
        };
        let mut arguments = self.kernel.arguments.iter();
        let argument = arguments.find(|argument| argument.binding == Binding::Texture(index));
        let read = argument.is_some_and(|argument| argument.access == ArgumentAccess::Read);
        Memory {
            invariant: read,
            ..Memory::default()
        }
    }

    /// An instruction that leaves the needed components of a result, and the copies to where they are needed.
    fn components(&mut self, mut inst: Inst, texture: Texture, result: Value) -> Done {
        let needed = self.needed(result);
        if needed.is_empty() {
            return Ok(());
        }
        let width = self.width_of(result);
        let mask = needed.iter().fold(0u8, |mask, (lane, _)| mask | 1 << lane);
        let data = self.group(width, needed.len() as u8);
        inst = inst
            .with(Field::Mask, choice(List::SampleMask, mask & ALL_COMPONENTS))
            .with(Field::Data, Operand::Def(data));
        inst.memory = Some(self.texture_memory(texture));
        self.push(inst);
        let copies: Vec<(Slice, Src)> = (0u8..)
            .zip(needed)
            .map(|(at, (_, dest))| (dest, Src::Reg(element(data, at))))
            .collect();
        self.copies(&copies);
        Ok(())
    }

    fn texture_read(
        &mut self,
        kind: TextureKind,
        texture: Texture,
        args: &[Value],
        result: Value,
    ) -> Done {
        if self.scalar_type(result) == Some(Scalar::I64) {
            return self.unsupported("a texture of 64-bit numbers");
        }
        let (dimension, coordinates) = self.texel_place(kind, args)?;
        let mut inst = texture
            .named_by(Inst::new(Op::TextureLoad))
            .with(Field::Sampler, Operand::Fixed(Fixed::Sampler(0)))
            .with(Field::Dimension, choice(List::Dimension, dimension))
            .with(Field::Coordinates, used(coordinates));
        let level = match dimension {
            dimension::D2_MS => Some(0),
            _ => self.src_if_known(args[5], 0)?,
        };
        inst = match level {
            Some(0) => inst
                .with(Field::LodMode, choice(List::LodMode, lod_mode::AUTO))
                .with(Field::Lod, imm(0)),
            _ => {
                let level = self.half_register(args[5])?;
                let half = self.temp(Width::W16);
                self.copy(half, level.part(0, Width::W16));
                inst.with(Field::LodMode, choice(List::LodMode, lod_mode::LEVEL))
                    .with(Field::Lod, used(half))
            }
        };
        self.components(inst, texture, result)
    }

    fn texture_write(&mut self, kind: TextureKind, texture: Texture, args: &[Value]) -> Done {
        let value = args[6];
        if self.scalar_type(value) == Some(Scalar::I64) {
            return self.unsupported("a texture of 64-bit numbers");
        }
        let (dimension, coordinates) = self.texel_place(kind, args)?;
        let lanes = u32::from(self.function.ty(value).lanes().max(1));
        let mut sources = Vec::new();
        for lane in 0..4 {
            sources.push(self.src(value, lane.min(lanes - 1))?);
        }
        let data = self.side_by_side(&sources);
        let mut inst = texture
            .named_by(Inst::new(Op::ImageWrite))
            .with(Field::Data, used(data))
            .with(Field::Coordinates, used(coordinates))
            .with(Field::Dimension, choice(List::Dimension, dimension))
            .with(Field::Round, choice(List::ImageRound, 0));
        inst = match self.src_if_known(args[5], 0)? {
            Some(level @ 0..=255) => inst.with(Field::Lod, imm(level as i64)),
            _ => {
                let level = self.half_register(args[5])?;
                let half = self.temp(Width::W16);
                self.copy(half, level.part(0, Width::W16));
                inst.with(Field::Lod, used(half))
            }
        };
        inst.memory = Some(Memory::default());
        self.push(inst);
        Ok(())
    }

    fn texture_sample(
        &mut self,
        builtin: Builtin,
        kind: TextureKind,
        texture: Texture,
        args: &[Value],
        result: Value,
    ) -> Done {
        let Some([(dimension, axes), _]) = dimensions(kind) else {
            return self.unsupported(format!("a {}", kind.name()));
        };
        let sampler = self.sampler_handle(args[1])?;
        let mut sources = Vec::new();
        for axis in 0..axes {
            sources.push(self.src(args[2], axis)?);
        }
        let layered = matches!(
            dimension,
            dimension::D1_ARRAY | dimension::D2_ARRAY | dimension::CUBE_ARRAY
        );
        let layer = match layered {
            true => Some(self.half_register(args[3])?),
            false => None,
        };
        let coordinates = self.coordinates(&sources, layer);
        let Some(options) = self.src_if_known(args[4], 0)? else {
            return self.unsupported("options of a sample that are chosen while the kernel runs");
        };
        let mut inst = texture
            .named_by(Inst::new(Op::TextureSample))
            .with(Field::Sampler, sampler)
            .with(Field::Dimension, choice(List::Dimension, dimension))
            .with(Field::Coordinates, used(coordinates));
        inst = self.sample_level(inst, options, axes, args)?;
        let offset = self.sample_offset(args[7], axes)?;
        let gathers = matches!(
            builtin,
            Builtin::TextureGather | Builtin::TextureGatherCompare
        );
        let compares = matches!(
            builtin,
            Builtin::TextureSampleCompare | Builtin::TextureGatherCompare
        );
        if compares {
            let reference = self.src(args[2], 3)?;
            let reference = Src::Reg(self.reg(reference));
            // The offset comes behind what is compared with.
            let both = match offset {
                Some(offset) => self.coordinates(&[reference], Some(Src::Reg(offset))),
                None => self.side_by_side(&[reference]),
            };
            inst = inst
                .with(Field::Compare, imm(1))
                .with(Field::CompareOffset, used(both));
        } else if let Some(offset) = offset {
            inst = inst.with(Field::CompareOffset, used(offset));
        }
        if gathers {
            let component = (options >> 8 & 3) as u8;
            inst = inst.with(Field::Gather, choice(List::Gather, 2 + 4 * component));
        }
        self.components(inst, texture, result)
    }

    /// The level of a sample: none in a kernel is level 0.
    fn sample_level(&mut self, inst: Inst, options: u64, axes: u32, args: &[Value]) -> Done<Inst> {
        if options & 4 != 0 {
            return self.unsupported("min_lod_clamp");
        }
        let known = self.src_if_known(args[5], 0)?;
        let mode = match options & 3 {
            0 => lod_mode::AUTO,
            1 if known == Some(0) => lod_mode::AUTO,
            1 => lod_mode::LEVEL,
            2 => lod_mode::BIAS,
            _ => lod_mode::GRADIENT,
        };
        let inst = inst.with(Field::LodMode, choice(List::LodMode, mode));
        Ok(match mode {
            lod_mode::AUTO => inst.with(Field::Lod, imm(0)),
            lod_mode::GRADIENT => {
                let mut sources = Vec::new();
                for axis in 0..axes {
                    sources.push(self.src(args[8], axis)?);
                    sources.push(self.src(args[9], axis)?);
                }
                let both = self.side_by_side(&sources);
                inst.with(Field::Lod, used(both))
            }
            _ => {
                let level = self.float(args[5], 0)?;
                let half = self.temp(Width::W16);
                self.float_move(half, level);
                inst.with(Field::Lod, used(half))
            }
        })
    }

    /// Offsets of a sample, four bits each, if they are not zero.
    fn sample_offset(&mut self, offsets: Value, axes: u32) -> Done<Option<Slice>> {
        let mut packed = 0;
        for axis in 0..axes {
            match self.src_if_known(offsets, axis)? {
                Some(offset) => packed |= (offset & 15) << (4 * axis),
                None => {
                    return self.unsupported("an offset that is chosen while the kernel runs");
                }
            }
        }
        if packed == 0 {
            return Ok(None);
        }
        let half = self.temp(Width::W16);
        self.copy(half, Src::Const(packed, Width::W16));
        Ok(Some(half))
    }

    /// Sizes: uniforms that the host fills, shifted by the level.
    fn texture_size(
        &mut self,
        builtin: Builtin,
        texture: Texture,
        args: &[Value],
        result: Value,
    ) -> Done {
        let Texture::State(index) = texture else {
            return self.unencoded(builtin, args, Some(result));
        };
        let (value, axis) = match builtin {
            Builtin::TextureGetWidth => (SystemValue::TextureSize(index), 0),
            Builtin::TextureGetHeight => (SystemValue::TextureSize(index), 1),
            Builtin::TextureGetDepth => (SystemValue::TextureSize(index), 2),
            Builtin::TextureGetArraySize => (SystemValue::TextureCounts(index), 0),
            Builtin::TextureGetNumMipLevels => (SystemValue::TextureCounts(index), 1),
            _ => (SystemValue::TextureCounts(index), 2),
        };
        let Some(half) = self.layout.system(value, axis) else {
            return self.unsupported("more sizes of textures than uniforms hold");
        };
        let size = Src::Uniform(half, Width::W32);
        let level = args.get(1).copied();
        for (_, dest) in self.needed(result) {
            let known = match level {
                Some(level) => self.src_if_known(level, 0)?,
                None => Some(0),
            };
            match (known, level) {
                (None | Some(1..), Some(level)) => {
                    let amount = self.scalar(level)?;
                    let shifted = self.temp(Width::W32);
                    self.shr_into(shifted, size, amount);
                    let one = Src::Const(1, Width::W32);
                    let small = self.int_compare(assay_ssa::IntCond::Ult, Src::Reg(shifted), one);
                    self.select_into(dest, small, one, Src::Reg(shifted));
                }
                _ => self.copy(dest, size),
            }
        }
        Ok(())
    }
}
