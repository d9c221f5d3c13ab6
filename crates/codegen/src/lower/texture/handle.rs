//! Which texture and which sampler an instruction names.
//!
//! The texture of an argument is the state register of its index, a sampler likewise; `constexpr` samplers follow the bound
//! ones. An element of an array of arguments is a state register whose number is in a register of 16 bits. Another texture
//! that is chosen while the kernel runs, such as a member of an argument buffer, is known by its handle, and named as Mesa
//! names bindless textures: a heap of descriptors, whose address is in a uniform, and a byte offset there in a 32-bit
//! register, the low word of the handle. Such a sampler is named by a 16-bit register with its index in the heap of samplers,
//! the low half of its handle. Which bits of a handle these are is chosen here: what Apple's driver puts into argument
//! buffers is not publicly known.

use super::array::Elements;
use crate::lower::integer::arithmetic::OR;
use crate::lower::memory::layout::Carrier;
use crate::lower::operand::{Src, uniform, used};
use crate::lower::select::{Done, Lowerer};
use crate::mir::{Inst, Operand, Slice};
use assay_agx::{Field, Modifiers, Operand as Fixed, Width};
use assay_ssa::builtin::{Builtin, Family};
use assay_ssa::{
    Binding, Callee, CastOp, Function, InstData, IntCond, Kernel, Space, Value, ValueDef,
};

/// Texture and sampler state registers there are.
pub(super) const TEXTURES: u32 = 128;
const SAMPLERS: u32 = 64;
/// Choices that are looked through to find where a sampler comes from.
const MOST_CHOICES: u32 = 16;

/// What an instruction names a texture by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Texture {
    /// A state register.
    State(u32),
    /// A register with the number of a state register.
    Indexed(Slice),
    /// The uniform with the address of a heap, and a register with a byte offset there.
    Heap(u16, Slice),
}

impl Texture {
    /// An instruction that names the texture.
    pub(super) fn named_by(self, inst: Inst) -> Inst {
        match self {
            Texture::State(index) => {
                inst.with(Field::Texture, Operand::Fixed(Fixed::Texture(index as u8)))
            }
            Texture::Indexed(number) => inst.with(Field::Texture, used(number)),
            Texture::Heap(base, offset) => inst
                .with(Field::Heap, uniform(base, Width::W64, Modifiers::NONE))
                .with(Field::Texture, used(offset)),
        }
    }
}

/// The argument behind a value, through conversions.
pub(super) fn argument_behind(
    kernel: &Kernel,
    function: &Function,
    mut value: Value,
) -> Option<Binding> {
    loop {
        if let ValueDef::Param(block, index) = function.def(value) {
            let own = Some(block) == function.entry();
            let argument = kernel.argument_of_param(index).filter(|_| own);
            return argument.map(|argument| argument.binding);
        }
        match function.def_data(value)? {
            InstData::Cast {
                op: CastOp::Bitcast | CastOp::SpaceCast | CastOp::PtrToInt,
                arg,
                ..
            } => value = *arg,
            _ => return None,
        }
    }
}

/// The state register of a texture that is an argument.
fn state_register(kernel: &Kernel, function: &Function, handle: Value) -> Option<u32> {
    match argument_behind(kernel, function, handle) {
        Some(Binding::Texture(index)) if index < TEXTURES => Some(index),
        _ => None,
    }
}

/// Returns true if an instruction of the function names a texture by its handle.
fn needs_heap(kernel: &Kernel, function: &Function, elements: &Elements) -> bool {
    let named = |builtin| {
        matches!(
            builtin,
            Builtin::TextureRead
                | Builtin::TextureWrite
                | Builtin::TextureSample
                | Builtin::TextureSampleCompare
                | Builtin::TextureGather
                | Builtin::TextureGatherCompare
        )
    };
    let mut insts = function.all_insts();
    insts.any(|inst| match function.inst(inst) {
        InstData::Call {
            callee: Callee::Builtin(call),
            args,
            ..
        } if call.info().family == Family::Texture && named(call.builtin) => {
            let handle = function.list_values(*args).first();
            handle.is_some_and(|handle| {
                state_register(kernel, function, *handle).is_none()
                    && !elements.contains_key(handle)
            })
        }
        _ => false,
    })
}

impl Lowerer<'_> {
    /// Binds the heap of textures before other uniforms, if it is needed: only the first ones can be named.
    pub(in crate::lower) fn lay_out_textures(&mut self) {
        if needs_heap(self.kernel, self.function, &self.texture_elements) {
            self.layout.texture_heap();
        }
    }

    /// What names the texture of a handle.
    pub(super) fn texture_handle(&mut self, handle: Value) -> Done<Texture> {
        if let Some(index) = state_register(self.kernel, self.function, handle) {
            return Ok(Texture::State(index));
        }
        if let Some(number) = self.element_register(handle)? {
            return Ok(Texture::Indexed(number));
        }
        let base = match self.layout.texture_heap() {
            Carrier::Uniform(base) => base,
            Carrier::Unsupported(what) => return self.unsupported(what),
        };
        let word = self.scalar(handle)?.low();
        Ok(Texture::Heap(base, self.reg(word)))
    }

    /// A register with the number of the state register of an array's element, if a handle is one.
    pub(super) fn element_register(&mut self, handle: Value) -> Done<Option<Slice>> {
        let Some(element) = self.texture_elements.get(&handle).copied() else {
            return Ok(None);
        };
        let index = self.scalar(element.index)?.part(0, Width::W16);
        let number = match element.first as u16 {
            0 => self.reg(index),
            first => {
                let sum = self.temp(Width::W16);
                self.add_into(sum, index, Src::Const(u64::from(first), Width::W16));
                sum
            }
        };
        Ok(Some(number))
    }

    /// What names a sampler: its state register, or a register with its index in the heap.
    pub(super) fn sampler_handle(&mut self, state: Value) -> Done<Operand> {
        let register = |index: u32| {
            let number = index.min(SAMPLERS - 1) as u8;
            Operand::Fixed(Fixed::Sampler(number))
        };
        if let Some(Binding::Sampler(index)) = argument_behind(self.kernel, self.function, state) {
            return Ok(register(index));
        }
        let Some(bits) = self.src_if_known(state, 0)? else {
            let half = self.scalar(state)?.part(0, Width::W16);
            return Ok(used(self.reg(half)));
        };
        let arguments = self.kernel.arguments.iter();
        let bound = arguments.filter_map(|argument| match argument.binding {
            Binding::Sampler(index) => Some(index + 1),
            _ => None,
        });
        let first = bound.max().unwrap_or(0);
        let known = self.samplers.iter().position(|known| *known == bits);
        let place = known.unwrap_or_else(|| {
            self.samplers.push(bits);
            self.samplers.len() - 1
        });
        Ok(register(first + place as u32))
    }

    /// Returns true if an instruction can name a sampler: an argument, a `constexpr` one, or the handle of one that memory
    /// holds. What is chosen among others, such as `constexpr` samplers, has no index in the heap.
    pub(super) fn names_sampler(&mut self, state: Value) -> Done<bool> {
        let known = self.src_if_known(state, 0)?.is_some();
        Ok(known || self.is_handle(state, MOST_CHOICES))
    }

    /// Returns true if a sampler is an argument, from memory that the host fills, or a choice between such.
    fn is_handle(&self, state: Value, choices: u32) -> bool {
        let Some(left) = choices.checked_sub(1) else {
            return false;
        };
        match self.function.def_data(state) {
            Some(InstData::Load { ptr, .. }) => {
                let space = self.function.ty(*ptr).space();
                matches!(space, Some(Space::Device | Space::Constant))
            }
            Some(InstData::Select { args, .. }) => {
                args.iter().all(|&arg| self.is_handle(arg, left))
            }
            Some(InstData::Cast { arg, .. }) => self.is_handle(*arg, left),
            _ => {
                let argument = argument_behind(self.kernel, self.function, state);
                matches!(argument, Some(Binding::Sampler(_)))
            }
        }
    }

    /// Returns true if a value is a state register: an argument, which is in no register of a thread.
    pub(super) fn is_state(&self, handle: Value) -> bool {
        let argument = argument_behind(self.kernel, self.function, handle);
        matches!(argument, Some(Binding::Texture(_) | Binding::Sampler(_)))
    }

    /// Returns true if a texture is named by its handle.
    pub(super) fn is_chosen(&self, handle: Value) -> bool {
        state_register(self.kernel, self.function, handle).is_none()
    }

    /// Whether there is a texture: bound ones are, a handle is 0 if there is none.
    pub(super) fn texture_is_null(&mut self, handle: Value, result: Value) -> Done {
        for (_, dest) in self.needed(result) {
            if !self.is_chosen(handle) || self.texture_elements.contains_key(&handle) {
                self.copy(dest, Src::Const(0, dest.width));
                continue;
            }
            let handle = self.scalar(handle)?;
            let handle = self.reg(handle);
            let word = |half| {
                used(Slice {
                    half: handle.half + half,
                    width: Width::W32,
                    ..handle
                })
            };
            let either = self.temp(Width::W32);
            self.bitop(OR, either, word(0), word(2));
            let zero = Src::Const(0, Width::W32);
            let null = self.int_compare(IntCond::Eq, Src::Reg(either), zero);
            self.truth_into(dest, null);
        }
        Ok(())
    }
}
