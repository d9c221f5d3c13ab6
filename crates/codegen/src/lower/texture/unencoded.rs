//! Accesses of textures whose encoding is not publicly known.
//!
//! Atomic operations: Mesa computes the address of a texel and has an atomic of device memory there, which needs the layout
//! of the texture; what Apple's compiler does is not public. Buffers of texels and layers of multisampled textures have no
//! known number of a dimension. Sizes of a texture that is chosen while the kernel runs are in its descriptor. Each is one
//! placeholder that reads and writes the registers of its operands.

use super::dimensions;
use crate::lower::operand::Src;
use crate::lower::select::{Done, Lowerer};
use crate::mir::{Inst, Slice};
use assay_agx::{Unencoded, UnencodedKind as Kind};
use assay_ssa::builtin::{Builtin, TextureKind};
use assay_ssa::{Scalar, Value};

/// Texels that atomic operations change have one channel, in the lowest element of a vector.
const ONE_CHANNEL: u32 = 1;

/// What a builtin is without an encoding, if it accesses a texture.
fn kind_of(builtin: Builtin) -> Option<Kind> {
    Some(match builtin {
        Builtin::TextureAtomic => Kind::TextureAtomic,
        Builtin::TextureRead => Kind::TextureRead,
        Builtin::TextureWrite => Kind::TextureWrite,
        Builtin::TextureSample
        | Builtin::TextureSampleCompare
        | Builtin::TextureGather
        | Builtin::TextureGatherCompare => Kind::TextureSample,
        Builtin::TextureGetWidth
        | Builtin::TextureGetHeight
        | Builtin::TextureGetDepth
        | Builtin::TextureGetArraySize
        | Builtin::TextureGetNumMipLevels
        | Builtin::TextureGetNumSamples => Kind::TextureSize,
        _ => return None,
    })
}

impl Lowerer<'_> {
    /// Returns true if no encoding of an operation is publicly known.
    pub(super) fn lacks_encoding(
        &mut self,
        builtin: Builtin,
        kind: TextureKind,
        args: &[Value],
    ) -> Done<bool> {
        let Some(access) = kind_of(builtin) else {
            return Ok(false);
        };
        Ok(match (access, args) {
            (Kind::TextureAtomic, _) => true,
            (Kind::TextureSize, [handle, ..]) => self.is_chosen(*handle),
            (Kind::TextureSample, [_, sampler, ..]) => {
                dimensions(kind).is_none() || !self.names_sampler(*sampler)?
            }
            _ => dimensions(kind).is_none(),
        })
    }

    /// A placeholder for an operation of a texture.
    pub(super) fn unencoded(
        &mut self,
        builtin: Builtin,
        args: &[Value],
        result: Option<Value>,
    ) -> Done {
        let Some(access) = kind_of(builtin) else {
            return self.unsupported(format!("the builtin {}", builtin.info().name));
        };
        let defs: Vec<Slice> = match result {
            Some(result) => self
                .needed(result)
                .into_iter()
                .map(|(_, dest)| dest)
                .collect(),
            None => Vec::new(),
        };
        let changes = matches!(access, Kind::TextureAtomic | Kind::TextureWrite);
        if defs.is_empty() && !changes {
            return Ok(());
        }
        let atomic = access == Kind::TextureAtomic;
        let mut uses = Vec::new();
        for &arg in args {
            if self.is_state(arg) {
                continue;
            }
            if let Some(number) = self.element_register(arg)? {
                uses.push(number);
                continue;
            }
            let elements = u32::from(self.function.ty(arg).lanes().max(1));
            let elements = if atomic { ONE_CHANNEL } else { elements };
            for element in 0..elements {
                if let Src::Reg(slice) = self.src(arg, element)? {
                    uses.push(slice);
                }
            }
        }
        // A texel of an atomic operation is as large as the number it is changed by.
        let bytes = atomic.then(|| {
            let changed = args.last().and_then(|&value| self.scalar_type(value));
            if changed == Some(Scalar::I64) { 8 } else { 4 }
        });
        let operation = Unencoded {
            kind: access,
            bytes,
        };
        self.push(Inst::placeholder(operation, &defs, &uses));
        Ok(())
    }
}
