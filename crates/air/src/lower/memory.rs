//! Addresses, loads, stores, allocations, atomics, aliasing.

use super::function::FunctionLowering;
use super::function_constants::global_behind;
use super::{LowerError, Lowered};
use crate::llvm::{self, Constant, MetadataId, Op, TypeId, ValueId};
use assay_ssa::{
    Access, AliasId, AliasSet, AtomicOp, BinaryOp, Builtin, CastOp, Flags, InstData, IntCond,
    Ordering, Scope, Type, Value,
};

/// The alias scopes of a function, as bits.
#[derive(Default)]
pub(super) struct AliasScopes {
    /// Scope and its domain; the position is the bit.
    scopes: Vec<(MetadataId, Option<MetadataId>)>,
    /// Pairs of `alias.scope` and `noalias` lists met so far.
    known: Vec<(AliasLists, AliasId)>,
}

/// The `alias.scope` and `noalias` lists of an instruction.
type AliasLists = (Option<MetadataId>, Option<MetadataId>);

/// A function of the form knows this many scopes; further ones are not told apart.
const MAX_SCOPES: usize = 64;

/// The name under which an allocation of variable size is kept.
const VARIABLE_ALLOCA: &str = "alloca of variable size";

/// An address computation has at most this many variable indices.
const MAX_INDICES: usize = 64;

impl FunctionLowering<'_, '_, '_> {
    /// `getelementptr`: byte offsets added to a pointer.
    pub(super) fn address(
        &mut self,
        source: TypeId,
        flags: u8,
        operands: &[u32],
    ) -> Lowered<Value> {
        let (&base, indices) = operands
            .split_first()
            .ok_or_else(|| LowerError::new("an address without a base"))?;
        let mut base = self.value(ValueId(base))?;
        let base_type = self.function.ty(base);
        if !base_type.is_pointer() {
            return Err(LowerError::new(format!(
                "an address computed from {base_type}"
            )));
        }
        let mut offset = 0i64;
        let mut steps: Vec<(Value, u32)> = Vec::new();
        let mut inner = source;
        for (position, &index) in indices.iter().enumerate() {
            let index = ValueId(index);
            let (stride, element) = self.step(inner, position == 0, index, &mut offset)?;
            inner = element;
            let Some(stride) = stride else { continue };
            match self.constant_int(index) {
                Some(number) => {
                    let bytes = number.wrapping_mul(stride as i64);
                    offset = offset.wrapping_add(bytes);
                }
                None => {
                    let scale = u32::try_from(stride);
                    let scale = scale.map_err(|_| LowerError::new("an element of 4 GB or more"))?;
                    steps.push((self.index(index)?, scale));
                }
            }
        }
        if steps.len() > MAX_INDICES {
            return Err(LowerError::new("an address with too many indices"));
        }
        let flag = |bit: u8, flag: Flags| if flags & bit != 0 { flag } else { Flags::NONE };
        let flags = flag(1, Flags::INBOUNDS) | flag(4, Flags::NUW);
        let last = steps.len().saturating_sub(1);
        for (position, &(index, scale)) in steps.iter().enumerate() {
            let offset = if position == last { offset } else { 0 };
            base = self
                .builder()
                .ptr_add(base, Some(index), scale, offset, flags);
        }
        if steps.is_empty() && offset != 0 {
            base = self.builder().ptr_add(base, None, 1, offset, flags);
        }
        Ok(base)
    }

    /// How far one step of an index goes and what it arrives at. A struct's field adds its offset and has
    /// no stride.
    fn step(
        &self,
        ty: TypeId,
        first: bool,
        index: ValueId,
        offset: &mut i64,
    ) -> Lowered<(Option<u64>, TypeId)> {
        let types = &self.lowering.source.types;
        let unknown = || self.lowering.no_such_type(ty);
        if first {
            return Ok((Some(types.layout(ty).ok_or_else(unknown)?.size), ty));
        }
        match types.get(ty) {
            Some(llvm::Type::Struct { .. }) => {
                let field = self
                    .constant_int(index)
                    .and_then(|field| usize::try_from(field).ok());
                let field = field.ok_or_else(|| LowerError::new("a field that is no number"))?;
                let missing = || LowerError::new("a field that does not exist");
                let bytes = types.field_offset(ty, field).ok_or_else(missing)?;
                *offset = offset.wrapping_add(bytes as i64);
                Ok((None, types.element(ty, field as u64).ok_or_else(missing)?))
            }
            Some(llvm::Type::Array(_, element)) => Ok((
                Some(types.layout(*element).ok_or_else(unknown)?.size),
                *element,
            )),
            Some(llvm::Type::Vector(_, element)) => Ok((
                Some(types.bits(*element).ok_or_else(unknown)?.div_ceil(8)),
                *element,
            )),
            _ => Err(unknown()),
        }
    }

    fn constant_int(&self, id: ValueId) -> Option<i64> {
        match self.body.constant(self.lowering.source, id)?.0 {
            Constant::Int(number) => Some(*number),
            Constant::Null => Some(0),
            _ => None,
        }
    }

    fn index(&mut self, id: ValueId) -> Lowered<Value> {
        let ty = self.llvm_value(id)?.ty;
        let value = self.value(id)?;
        let lowered = self.function.ty(value);
        if !matches!(lowered.kind(), assay_ssa::TypeKind::Scalar(scalar) if scalar.is_int()) {
            return Err(LowerError::new(format!(
                "an address with an index of type {lowered}"
            )));
        }
        match self.lowering.odd_width(ty) {
            Some(_) => Err(LowerError::new("an address with an index of odd width")),
            None => Ok(value),
        }
    }

    pub(super) fn alloca(
        &mut self,
        ty: TypeId,
        count: ValueId,
        align: u32,
        pointer: TypeId,
    ) -> Lowered<Value> {
        let element = self.lowering.ty(ty)?;
        let number = self.constant_int(count);
        let ty = match number.and_then(|number| u32::try_from(number).ok()) {
            Some(1) => element,
            Some(number) => self.lowering.target.types.array(element, number),
            None => return self.variable_alloca(element, count),
        };
        let address = self.entry_alloca(ty, align);
        let wanted = self.lowering.ty(pointer)?;
        if self.function.ty(address) == wanted {
            return Ok(address);
        }
        Ok(self
            .builder()
            .cast(CastOp::SpaceCast, address, wanted, Flags::NONE))
    }

    /// Thread memory whose size only Apple's back end knows (a tensor's, asked from an unknown builtin): an
    /// unknown callee that takes the number of bytes.
    fn variable_alloca(&mut self, element: Type, count: ValueId) -> Lowered<Value> {
        let count = self.value(count)?;
        let stride = self.lowering.target.types.stride(element);
        let size = match stride {
            1 => count,
            stride => {
                let ty = self.function.ty(count);
                let stride = self.function.constant(ty, u64::from(stride));
                self.builder()
                    .binary(BinaryOp::Mul, count, stride, Flags::NONE)
            }
        };
        let symbol = self.lowering.target.symbol(VARIABLE_ALLOCA);
        let pointer = Type::pointer(assay_ssa::Space::Thread);
        let address = self.builder().unknown(symbol, &[size], pointer);
        Ok(match address {
            Some(address) => address,
            None => self.function.undef(pointer),
        })
    }

    /// Thread memory for the whole function: it stands at the start of the entry block.
    pub(super) fn entry_alloca(&mut self, ty: Type, align: u32) -> Value {
        let align = match align {
            0 => self.lowering.target.types.align(ty).next_power_of_two(),
            align => align,
        };
        let pointer = Type::pointer(assay_ssa::Space::Thread);
        let data = InstData::Alloca { ty, align };
        let inst = self.function.make_inst(data, pointer, self.location);
        if let Some(entry) = self.function.entry() {
            self.function.insert_at(entry, self.allocas, inst);
            self.allocas += 1;
        }
        match self.function.result(inst) {
            Some(value) => value,
            None => self.function.undef(pointer),
        }
    }

    pub(super) fn load(&mut self, index: u32, op: &Op) -> Lowered<Value> {
        let Op::Load {
            ty,
            pointer,
            align,
            volatile,
            ordering,
            scope,
        } = *op
        else {
            return Err(LowerError::new("not a load"));
        };
        if let Some(value) = self.function_constant_load(pointer, ty)? {
            return Ok(value);
        }
        let guard = self.is_guard(pointer);
        let odd = self.lowering.odd_width(ty);
        let ty = self.lowering.ty(ty)?;
        if guard {
            return Ok(self.builder().constant(ty, 1));
        }
        let pointer = self.value(pointer)?;
        if let Some(address) = self.table_load(pointer, ty)? {
            return Ok(address);
        }
        if let Some(width) = odd {
            let access = self.access(index, Type::I8, align, volatile);
            return self.load_odd(pointer, ty, width, access);
        }
        let mut access = self.access(index, ty, align, volatile);
        (access.ordering, access.scope) = order(ordering, scope);
        Ok(self.builder().load(ty, pointer, access))
    }

    pub(super) fn store(&mut self, index: u32, op: &Op) -> Lowered<()> {
        let Op::Store {
            pointer,
            value,
            align,
            volatile,
            ordering,
            scope,
        } = *op
        else {
            return Err(LowerError::new("not a store"));
        };
        if self.is_guard(pointer) {
            return Ok(());
        }
        let odd = self.llvm_value(value)?.ty;
        let odd = self.lowering.odd_width(odd);
        let (pointer, value) = (self.value(pointer)?, self.value(value)?);
        let ty = self.function.ty(value);
        if let Some(width) = odd {
            let access = self.access(index, Type::I8, align, volatile);
            return self.store_odd(pointer, value, width, access);
        }
        let mut access = self.access(index, ty, align, volatile);
        (access.ordering, access.scope) = order(ordering, scope);
        self.builder().store(pointer, value, access);
        Ok(())
    }

    fn is_guard(&self, pointer: ValueId) -> bool {
        let global = global_behind(self.lowering.source, self.body, pointer);
        global.is_some_and(|global| self.lowering.is_threadgroup_guard(global))
    }

    fn access(&mut self, index: u32, ty: Type, align: u32, volatile: bool) -> Access {
        let align = match align {
            0 => self.lowering.target.types.align(ty),
            align => align,
        };
        let kinds = self.lowering.kinds;
        let attached = self.body.attachments(index);
        let invariant = attached
            .iter()
            .any(|entry| Some(entry.1) == kinds.invariant);
        Access {
            volatile,
            invariant,
            alias: self.alias(index),
            ..Access::aligned(align)
        }
    }

    /// The alias set of an instruction, from its attachments.
    pub(super) fn alias(&mut self, index: u32) -> Option<AliasId> {
        let kinds = self.lowering.kinds;
        let attached = self.body.attachments(index);
        let find = |kind: Option<u32>| {
            let found = attached.iter().find(|entry| Some(entry.1) == kind);
            found.map(|entry| entry.2)
        };
        let key = (find(kinds.alias_scope), find(kinds.noalias));
        if key == (None, None) {
            return None;
        }
        if let Some((_, known)) = self.aliases.known.iter().find(|(known, _)| *known == key) {
            return Some(*known);
        }
        let scopes = key.0.map_or(0, |list| self.scope_bits(list));
        let noalias = key.1.map_or(0, |list| self.scope_bits(list));
        let id = self.function.alias_set(AliasSet { scopes, noalias });
        self.aliases.known.push((key, id));
        Some(id)
    }

    fn scope_bits(&mut self, list: MetadataId) -> u64 {
        let source = self.lowering.source;
        let body = self.body;
        let (pool, local) = body.metadata_pool(source, list);
        let mut bits = 0;
        for &scope in pool.node(local).iter().flatten() {
            let known = self
                .aliases
                .scopes
                .iter()
                .position(|(known, _)| *known == scope);
            let bit = match known {
                Some(bit) => bit,
                None if self.aliases.scopes.len() < MAX_SCOPES => {
                    let (pool, local) = body.metadata_pool(source, scope);
                    let domain = pool.node(local).get(1).copied().flatten();
                    self.aliases.scopes.push((scope, domain));
                    let bit = self.aliases.scopes.len() - 1;
                    self.enter_domain(domain, bit);
                    bit
                }
                None => continue,
            };
            bits |= 1 << bit;
        }
        bits
    }

    /// Adds a scope to its domain's mask; domains are in the order of their first scopes.
    fn enter_domain(&mut self, domain: Option<MetadataId>, bit: usize) {
        let mut domains: Vec<Option<MetadataId>> = Vec::new();
        for (_, known) in &self.aliases.scopes {
            if !domains.contains(known) {
                domains.push(*known);
            }
        }
        let position = domains
            .iter()
            .position(|known| *known == domain)
            .unwrap_or(0);
        let masks = &mut self.function.alias_domains;
        if position >= masks.len() {
            masks.resize(position + 1, 0);
        }
        if let Some(mask) = masks.get_mut(position) {
            *mask |= 1 << bit;
        }
    }

    pub(super) fn atomic(&mut self, op: &Op, type_id: Option<TypeId>) -> Lowered<Option<Value>> {
        match *op {
            Op::AtomicRmw {
                operation,
                pointer,
                value,
                volatile,
                ordering,
                scope,
            } => {
                let Some(op) = atomic_operation(operation) else {
                    return Err(LowerError::new(format!("atomic operation {operation}")));
                };
                let (pointer, value) = (self.value(pointer)?, self.value(value)?);
                let access = self.atomic_access(value, volatile, ordering, scope);
                let ty = self.function.ty(value);
                Ok(self.builder().atomic_rmw(op, pointer, value, access, ty))
            }
            Op::CompareExchange {
                operands,
                volatile,
                ordering,
                scope,
            } => {
                let [ptr, expected, desired] = operands.map(|operand| self.value(operand));
                let (ptr, expected, desired) = (ptr?, expected?, desired?);
                let access = self.atomic_access(expected, volatile, ordering, scope);
                let ty = self.function.ty(expected);
                let data = InstData::AtomicCompareExchange {
                    ptr,
                    expected,
                    desired,
                    access,
                };
                let old = self.result_of(data, ty);
                let same = self.builder().icmp(IntCond::Eq, old, expected);
                let to = type_id.ok_or_else(|| LowerError::new("an exchange without result"))?;
                let to = self.lowering.ty(to)?;
                Ok(Some(self.builder().construct(to, &[old, same])))
            }
            Op::Fence { ordering, scope } => {
                let (ordering, scope) = order(ordering, scope);
                let number = match ordering {
                    Ordering::Plain | Ordering::Relaxed => 0,
                    Ordering::Acquire => 2,
                    Ordering::Release => 3,
                    Ordering::AcqRel => 4,
                    Ordering::SeqCst => 5,
                };
                let scope = if scope == Scope::Thread { 0 } else { 2 };
                // Device and threadgroup memory.
                let args = [3, number, scope].map(|number| self.function.i32(number));
                self.builder()
                    .builtin(Builtin::AtomicFence.call(), &args, Type::VOID);
                Ok(None)
            }
            _ => Err(LowerError::new("not an atomic instruction")),
        }
    }

    fn atomic_access(&self, value: Value, volatile: bool, ordering: u8, scope: u8) -> Access {
        let bytes = self
            .lowering
            .target
            .types
            .store_size(self.function.ty(value));
        let (ordering, scope) = order(ordering.max(2), scope);
        Access {
            ordering,
            scope,
            volatile,
            ..Access::aligned(bytes)
        }
    }
}

/// LLVM's numbers of ordering and scope; scope 0 is the thread itself.
fn order(ordering: u8, scope: u8) -> (Ordering, Scope) {
    let ordering = match ordering {
        0 => return (Ordering::Plain, Scope::Thread),
        1 | 2 => Ordering::Relaxed,
        3 => Ordering::Acquire,
        4 => Ordering::Release,
        5 => Ordering::AcqRel,
        _ => Ordering::SeqCst,
    };
    let scope = if scope == 0 {
        Scope::Thread
    } else {
        Scope::Device
    };
    (ordering, scope)
}

fn atomic_operation(number: u8) -> Option<AtomicOp> {
    Some(match number {
        0 => AtomicOp::Exchange,
        1 => AtomicOp::Add,
        2 => AtomicOp::Sub,
        3 => AtomicOp::And,
        5 => AtomicOp::Or,
        6 => AtomicOp::Xor,
        7 => AtomicOp::SMax,
        8 => AtomicOp::SMin,
        9 => AtomicOp::UMax,
        10 => AtomicOp::UMin,
        11 => AtomicOp::FAdd,
        12 => AtomicOp::FSub,
        13 => AtomicOp::FMax,
        14 => AtomicOp::FMin,
        _ => return None,
    })
}
