//! Variables of the module: threadgroup memory, constant data, and what constructors make.

use super::{Dialect, LowerError, Lowered, Lowering};
use crate::llvm::{Constant, Type as LlvmType, TypeId, ValueId, ValueKind};
use assay_ssa::{Global, GlobalData, GlobalId, Space};

/// The section our headers put static threadgroup memory into.
const THREADGROUP_SECTION: &str = "assay.threadgroup";

/// Start of the names of clang's guards: the flags that say a static variable is constructed.
const GUARD: &str = "_ZGV";

/// Start of the names of C++'s variables.
const MANGLED: &str = "_Z";

/// Constant data larger than this is not believed.
const MAX_BYTES: u64 = 1 << 26;

/// Nor is data made of more parts than this.
const MAX_PARTS: u32 = 1 << 24;

const MAX_NESTING: u32 = 64;

impl Lowering<'_, '_> {
    /// The space a global lives in.
    pub(crate) fn global_space(&self, index: u32) -> Space {
        let Some(global) = self.source.globals.get(index as usize) else {
            return Space::Constant;
        };
        let threadgroup = match self.dialect {
            Dialect::Apple => global.space == 3,
            Dialect::Clang => self.source.section(global.section) == THREADGROUP_SECTION,
        };
        if threadgroup {
            Space::Threadgroup
        } else if self.is_constructed(index) {
            Space::Thread
        } else {
            Space::Constant
        }
    }

    /// Returns true if code of the module gives a global its contents, which are zero until then.
    fn is_constructed(&self, index: u32) -> bool {
        let Some(global) = self.source.globals.get(index as usize) else {
            return false;
        };
        let initializer = global.initializer.and_then(|id| self.source.constant(id));
        let zero = matches!(
            initializer,
            Some(Constant::Null | Constant::Undef | Constant::Int(0) | Constant::Float(0))
        );
        zero && (!global.constant || self.constants.is_derived(index))
    }

    /// Whether a global is the guard of a threadgroup variable's constructor. Metal never constructs threadgroup memory:
    /// such a guard counts as set.
    pub(crate) fn is_threadgroup_guard(&self, index: u32) -> bool {
        let source = self.source;
        let global = source.globals.get(index as usize);
        let guarded = global.and_then(|global| global.name.strip_prefix(GUARD));
        let (Dialect::Clang, Some(guarded)) = (self.dialect, guarded) else {
            return false;
        };
        let variable = source
            .globals
            .iter()
            .position(|global| global.name.strip_prefix(MANGLED) == Some(guarded));
        variable.is_none_or(|index| self.global_space(index as u32) == Space::Threadgroup)
    }

    /// The guards among the globals made so far.
    pub(crate) fn guards(&self) -> Vec<GlobalId> {
        let is_guard = |name: &str| self.dialect == Dialect::Clang && name.starts_with(GUARD);
        let globals = self.target.globals.iter();
        let guards =
            globals.filter(|(_, global)| global.space == Space::Thread && is_guard(&global.name));
        guards.map(|(id, _)| id).collect()
    }

    /// The form's global for a variable of the module, made when first asked for.
    pub(crate) fn global(&mut self, index: u32) -> Lowered<GlobalId> {
        if let Some(Some(known)) = self.global_ids.get(index as usize) {
            return Ok(*known);
        }
        let source = self.source;
        let global = source.globals.get(index as usize);
        let global = global.ok_or_else(|| LowerError::new("a variable that does not exist"))?;
        let space = self.global_space(index);
        let ty = self.ty(global.ty)?;
        let data = match (space, global.initializer) {
            (Space::Threadgroup, _) | (_, None) => GlobalData::Undefined,
            (Space::Thread, _) => GlobalData::Zero,
            (_, Some(initializer)) => self.global_data(global.ty, initializer)?,
        };
        let natural = self.target.types.align(ty);
        let id = self.target.globals.push(Global {
            name: global.name.to_string(),
            space,
            ty,
            align: if global.align == 0 {
                natural
            } else {
                global.align
            },
            data,
        });
        if let Some(slot) = self.global_ids.get_mut(index as usize) {
            *slot = Some(id);
        }
        Ok(id)
    }

    /// The variable of the module that became a global.
    pub(super) fn global_number(&self, id: GlobalId) -> Option<usize> {
        self.global_ids.iter().position(|known| *known == Some(id))
    }

    fn global_data(&self, ty: TypeId, initializer: ValueId) -> Lowered<GlobalData> {
        match self.source.constant(initializer) {
            Some(Constant::Null) => return Ok(GlobalData::Zero),
            Some(Constant::Undef | Constant::Poison) => return Ok(GlobalData::Undefined),
            _ => {}
        }
        let layout = self
            .source
            .types
            .layout(ty)
            .ok_or_else(|| self.no_such_type(ty))?;
        if layout.size > MAX_BYTES {
            return Err(LowerError::new(format!(
                "{} bytes of constant data",
                layout.size
            )));
        }
        let mut bytes = vec![0; layout.size as usize];
        let mut budget = MAX_PARTS;
        // Addresses in constant data have no number yet; such data is not known.
        Ok(
            match self.write_constant(ty, initializer, &mut bytes, &mut budget, 0) {
                Some(()) => GlobalData::Bytes(bytes),
                None => GlobalData::Undefined,
            },
        )
    }

    /// Writes a constant as it lies in memory; nothing when it cannot be known.
    fn write_constant(
        &self,
        ty: TypeId,
        id: ValueId,
        out: &mut [u8],
        budget: &mut u32,
        depth: u32,
    ) -> Option<()> {
        *budget = budget.checked_sub(1)?;
        if depth > MAX_NESTING {
            return None;
        }
        let types = &self.source.types;
        let pool = &self.source.constants;
        let ValueKind::ModuleConstant(index) = self.source.value(id)?.kind else {
            return None;
        };
        match pool.get(index)? {
            Constant::Null | Constant::Undef | Constant::Poison => Some(()),
            Constant::Int(number) => write_bits(*number as u64, out),
            Constant::Float(bits) => write_bits(*bits, out),
            Constant::Data(span) | Constant::String(span) => {
                let element = types.element(ty, 0)?;
                let stride = self.element_stride(ty, element)?;
                for (position, &bits) in pool.data(*span).iter().enumerate() {
                    write_bits(bits, slice(out, position as u64 * stride, stride)?)?;
                }
                Some(())
            }
            Constant::Aggregate(span) => {
                for (position, &part) in pool.operands(*span).iter().enumerate() {
                    let element = types.element(ty, position as u64)?;
                    let size = types.layout(element)?.size;
                    let offset = match types.get(ty)? {
                        LlvmType::Struct { .. } => types.field_offset(ty, position)?,
                        _ => position as u64 * self.element_stride(ty, element)?,
                    };
                    let place = slice(out, offset, size)?;
                    self.write_constant(element, part, place, budget, depth + 1)?;
                }
                Some(())
            }
            _ => None,
        }
    }

    /// Bytes from one element of an array or vector to the next.
    fn element_stride(&self, ty: TypeId, element: TypeId) -> Option<u64> {
        match self.source.types.get(ty)? {
            LlvmType::Vector(..) => Some(self.source.types.bits(element)?.div_ceil(8)),
            _ => Some(self.source.types.layout(element)?.size),
        }
    }

    /// The text of a constant string of the module (zero-terminated or not), reached by its address.
    pub(crate) fn string_at(module: &crate::llvm::Module<'_>, pointer: ValueId) -> Option<String> {
        let ValueKind::Global(index) = module.value(pointer)?.kind else {
            return None;
        };
        let initializer = module.globals.get(index as usize)?.initializer?;
        let (Constant::String(span) | Constant::Data(span)) = module.constant(initializer)? else {
            return None;
        };
        let characters = module
            .constants
            .data(*span)
            .iter()
            .map(|&character| character as u8);
        let bytes: Vec<u8> = characters.take_while(|&byte| byte != 0).collect();
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn slice(out: &mut [u8], offset: u64, len: u64) -> Option<&mut [u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(len).ok()?)?;
    out.get_mut(start..end)
}

fn write_bits(bits: u64, out: &mut [u8]) -> Option<()> {
    for (slot, byte) in out.iter_mut().zip(bits.to_le_bytes()) {
        *slot = byte;
    }
    Some(())
}
