//! Builtins: the functions a kernel calls that no kernel defines.
//!
//! There is one table. Everything else asks it: what a builtin reads and writes, whether threads must call it
//! together, whether its result is the same for all of them, what it folds to. Nobody else matches names.
//! Names enter through [`resolve`], which understands Apple's (`air.simd_sum.f32`), the space-neutral ones of our
//! own headers (`air.atomic.add.u.i32`) and LLVM's intrinsics (`llvm.smin.i32`).
//!
//! ```
//! use assay_ssa::builtin::{self, Builtin, Resolved, Sign};
//! let Resolved::Builtin(call) = builtin::resolve("air.simd_min.u.i32") else { panic!() };
//! assert_eq!((call.builtin, call.sign), (Builtin::SimdMin, Sign::Unsigned));
//! assert!(call.info().convergent);
//! assert_eq!(call.to_string(), "simd_min.u");
//! assert_eq!(builtin::resolve("air.no_such_thing.f32"), Resolved::Unknown);
//! ```

mod names;
pub mod signature;
mod table;

pub use names::{AtomicName, Resolved, resolve};
pub use table::Builtin;

use crate::analysis::Uniformity;
use std::fmt;

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinInfo {
    /// Its id.
    pub builtin: Builtin,
    /// Its name in the text form, without variations.
    pub name: &'static str,
    /// What it is about.
    pub family: Family,
    /// Parameter and result types; see [`signature`].
    pub signature: &'static str,
    /// What it does to memory.
    pub effects: Effects,
    /// Whether the threads of a group must execute it together: it may not be moved across control flow.
    pub convergent: bool,
    /// How uniform its result is.
    pub uniformity: UniformityRule,
    /// What it may be replaced by.
    pub fold: Fold,
}

/// What a builtin is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    /// Float mathematics.
    Math,
    /// Tests of floats and truth values.
    Relational,
    /// Integers.
    Integer,
    /// Across the elements of one vector.
    Vector,
    /// Vectors as geometry.
    Geometric,
    /// Packed formats.
    Pack,
    /// Across a simdgroup.
    Simd,
    /// Across a quadgroup.
    Quad,
    /// Simdgroup matrices.
    Matrix,
    /// Barriers and fences.
    Barrier,
    /// Positions and sizes.
    Position,
    /// About the program itself.
    Query,
    /// Textures.
    Texture,
}

/// What a builtin does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Effects {
    /// Nothing.
    Pure,
    /// Reads through its pointer argument.
    ReadsArgument,
    /// Writes through its pointer argument.
    WritesArgument,
    /// Reads and writes through its pointer arguments.
    ReadsWritesArguments,
    /// Reads a texture.
    ReadsTexture,
    /// Writes a texture.
    WritesTexture,
    /// Orders memory accesses of several threads.
    Barrier,
}

impl Effects {
    /// Whether memory may be read.
    pub const fn reads(self) -> bool {
        !matches!(
            self,
            Self::Pure | Self::WritesArgument | Self::WritesTexture
        )
    }

    /// Whether memory may be written (a barrier makes writes of others visible).
    pub const fn writes(self) -> bool {
        matches!(
            self,
            Self::WritesArgument | Self::ReadsWritesArguments | Self::WritesTexture | Self::Barrier
        )
    }
}

/// How uniform the result of a builtin is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UniformityRule {
    /// As its least uniform operand.
    Operands,
    /// This, always.
    Fixed(Uniformity),
    /// Different in each thread.
    Lane,
    /// One value in a simdgroup, which depends on how many of its threads take part.
    Reduction,
    /// One value in a simdgroup; as uniform as the first operand when that is more uniform.
    Broadcast,
    /// The first operand, if that is uniform; one value in a simdgroup if the index (second operand) is uniform.
    Shuffle,
    /// The first operand, if that is uniform; else different in each thread.
    QuadLocal,
}

/// What a call may be replaced by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fold {
    /// Nothing.
    Never,
    /// A constant, when all operands are constants (the arithmetic is `assay-num`'s).
    Constant,
    /// Its first operand, when that is uniform in the simdgroup.
    UniformIdentity,
    /// This number.
    Number(u64),
}

/// How the integers of a call are read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Sign {
    /// Not integers, or it makes no difference.
    #[default]
    None,
    /// As signed numbers.
    Signed,
    /// As unsigned numbers.
    Unsigned,
}

/// The shape of the texture a texture builtin works on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
#[allow(missing_docs, reason = "Metal's own names")]
pub enum TextureKind {
    Texture1d,
    Texture1dArray,
    Texture2d,
    Texture2dArray,
    Texture2dMs,
    Texture2dMsArray,
    Texture3d,
    TextureCube,
    TextureCubeArray,
    TextureBuffer1d,
    Depth2d,
    Depth2dArray,
    Depth2dMs,
    Depth2dMsArray,
    DepthCube,
    DepthCubeArray,
}

impl TextureKind {
    /// All kinds with their names in AIR.
    pub const NAMES: &'static [(Self, &'static str)] = &[
        (Self::Texture1d, "texture_1d"),
        (Self::Texture1dArray, "texture_1d_array"),
        (Self::Texture2d, "texture_2d"),
        (Self::Texture2dArray, "texture_2d_array"),
        (Self::Texture2dMs, "texture_2d_ms"),
        (Self::Texture2dMsArray, "texture_2d_ms_array"),
        (Self::Texture3d, "texture_3d"),
        (Self::TextureCube, "texture_cube"),
        (Self::TextureCubeArray, "texture_cube_array"),
        (Self::TextureBuffer1d, "texture_buffer_1d"),
        (Self::Depth2d, "depth_2d"),
        (Self::Depth2dArray, "depth_2d_array"),
        (Self::Depth2dMs, "depth_2d_ms"),
        (Self::Depth2dMsArray, "depth_2d_ms_array"),
        (Self::DepthCube, "depth_cube"),
        (Self::DepthCubeArray, "depth_cube_array"),
    ];

    /// The name in AIR.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .get(self as usize)
            .map_or("texture", |(_, name)| name)
    }
}

/// A builtin with the variations a call can carry; six bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BuiltinCall {
    /// Which.
    pub builtin: Builtin,
    /// Signed or unsigned.
    pub sign: Sign,
    /// The `fast::` version; the others are `precise::`.
    pub fast: bool,
    /// The kind of texture, for those.
    pub texture: Option<TextureKind>,
}

impl Builtin {
    /// Its row of the table.
    #[inline]
    pub fn info(self) -> &'static BuiltinInfo {
        &table::TABLE[self as usize]
    }

    /// The builtin with this name in the text form.
    pub fn from_name(name: &str) -> Option<Self> {
        names::by_name(name)
    }

    /// A call of it without variations.
    pub const fn call(self) -> BuiltinCall {
        BuiltinCall {
            builtin: self,
            sign: Sign::None,
            fast: false,
            texture: None,
        }
    }

    /// A call of it on signed numbers.
    pub const fn signed(self) -> BuiltinCall {
        BuiltinCall {
            sign: Sign::Signed,
            ..self.call()
        }
    }

    /// A call of it on unsigned numbers.
    pub const fn unsigned(self) -> BuiltinCall {
        BuiltinCall {
            sign: Sign::Unsigned,
            ..self.call()
        }
    }

    /// A call of its `fast::` version.
    pub const fn fast(self) -> BuiltinCall {
        BuiltinCall {
            fast: true,
            ..self.call()
        }
    }
}

impl BuiltinCall {
    /// Its row of the table.
    #[inline]
    pub fn info(self) -> &'static BuiltinInfo {
        self.builtin.info()
    }

    /// Reads the form [`Display`](fmt::Display) writes: `exp.fast`, `min.s`, `sample.texture_2d`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let mut call = Builtin::from_name(parts.next()?)?.call();
        for part in parts {
            match part {
                "fast" => call.fast = true,
                "s" => call.sign = Sign::Signed,
                "u" => call.sign = Sign::Unsigned,
                _ => {
                    let kind = TextureKind::NAMES.iter().find(|(_, name)| *name == part)?;
                    call.texture = Some(kind.0);
                }
            }
        }
        Some(call)
    }
}

impl fmt::Display for BuiltinCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().name)?;
        if let Some(texture) = self.texture {
            write!(f, ".{}", texture.name())?;
        }
        if self.fast {
            f.write_str(".fast")?;
        }
        match self.sign {
            Sign::None => Ok(()),
            Sign::Signed => f.write_str(".s"),
            Sign::Unsigned => f.write_str(".u"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_stands_at_its_number_and_has_its_own_name() {
        let mut names = Vec::new();
        for (index, &builtin) in Builtin::ALL.iter().enumerate() {
            assert_eq!(builtin.info().builtin, builtin);
            assert_eq!(builtin as usize, index);
            assert_eq!(Builtin::from_name(builtin.info().name), Some(builtin));
            names.push(builtin.info().name);
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Builtin::ALL.len());
    }

    #[test]
    fn a_call_reads_back_from_its_text() {
        let calls = [
            Builtin::Exp.fast(),
            Builtin::Min.signed(),
            Builtin::SimdMax.unsigned(),
            BuiltinCall {
                texture: Some(TextureKind::Depth2d),
                ..Builtin::TextureSample.call()
            },
        ];
        for call in calls {
            assert_eq!(BuiltinCall::parse(&call.to_string()), Some(call));
        }
        assert_eq!(BuiltinCall::parse("exp.slow"), None);
    }
}
