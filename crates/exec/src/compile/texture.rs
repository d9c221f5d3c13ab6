//! Calls of texture builtins.

use super::{Compiler, Done};
use crate::code::Op;
use crate::texture::{TextureOp, What};
use assay_ssa::builtin::{Builtin, BuiltinCall};
use assay_ssa::{Scalar, Value};

/// Registers of the arguments before a value that is written, by what is done.
const PLACE: usize = 6;
/// Registers of a sample's arguments: texture, sampler, coordinates, layer, options, levels, offsets, gradients.
const SAMPLE: usize = 2 + 4 + 2 + 2 + 4 + 8;

impl Compiler<'_> {
    pub(super) fn texture(
        &mut self,
        call: BuiltinCall,
        args: &[Value],
        result: Option<Value>,
    ) -> Done {
        let what = match call.builtin {
            Builtin::TextureRead => What::Read,
            Builtin::TextureWrite => What::Write,
            Builtin::TextureSample => What::Sample,
            Builtin::TextureSampleCompare => What::SampleCompare,
            Builtin::TextureGather => What::Gather,
            Builtin::TextureGatherCompare => What::GatherCompare,
            Builtin::TextureAtomic => What::Atomic,
            Builtin::TextureGetWidth => What::Width,
            Builtin::TextureGetHeight => What::Height,
            Builtin::TextureGetDepth => What::Depth,
            Builtin::TextureGetArraySize => What::Layers,
            Builtin::TextureGetNumMipLevels => What::Levels,
            Builtin::TextureGetNumSamples => What::Samples,
            Builtin::TextureIsNull => What::IsNull,
            Builtin::TextureFence => What::Fence,
            _ => return self.unsupported(format!("builtin {call}")),
        };
        let Some(kind) = call.texture else {
            return self.unsupported(format!("builtin {call}"));
        };
        let texel = match what {
            What::Write => args.last().copied(),
            _ => result,
        };
        let element = texel.and_then(|texel| self.function.ty(texel).lane_type());
        let mut given = Vec::new();
        for &arg in args {
            given.extend(self.regs(arg)?);
        }
        let results = match result {
            Some(result) => self.define(result)?,
            None => Vec::new(),
        };
        let components = match what {
            What::Write => given.len().saturating_sub(PLACE),
            What::Width | What::Height | What::Depth => 1,
            _ => results.len(),
        };
        let suits = match what {
            What::Read => given.len() == PLACE,
            What::Write | What::Fence | What::IsNull => true,
            What::Atomic => given.len() == PLACE + 2 * results.len(),
            What::Width | What::Height | What::Depth => given.len() == 2,
            What::Layers | What::Levels | What::Samples => given.len() == 1,
            _ => given.len() == SAMPLE,
        };
        let whole = matches!(components, 1 | 4) || what == What::Fence;
        let handle = given.first().is_some_and(|reg| reg.wide);
        if !suits || !whole || !handle {
            let types: Vec<String> = args
                .iter()
                .map(|&arg| self.function.ty(arg).to_string())
                .collect();
            return self.unsupported(format!("builtin {call} of ({})", types.join(", ")));
        }
        if what == What::Atomic {
            self.program.in_turn = true;
            self.program.in_order = true;
        }
        let (args, results) = (self.list(&given), self.list(&results));
        self.program.textures.push(TextureOp {
            what,
            kind,
            scalar: element.unwrap_or(Scalar::I32),
            sign: call.sign,
            args,
            results,
        });
        let index = self.program.textures.len() as u32 - 1;
        self.emit(Op::Texture { index });
        Ok(())
    }
}
