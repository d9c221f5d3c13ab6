//! Removes writes to thread memory that nobody reads.
//!
//! Thread memory ends with the thread, so a write to an array of its own matters only if a
//! read of that array may follow. Arrays whose address goes anywhere but into loads, stores
//! and copies are left alone.
//!
//! Two kinds of writes go: those after which no way leads to a read of the array, and those
//! overwritten in the same block, entirely and before any read.

use assay_ssa::analysis::Cfg;
use assay_ssa::{Block, Function, Id, IdMap, Inst, InstData, Module, Value, ValueDef};

/// Arrays looked at; further ones keep their writes.
const MOST_ARRAYS: usize = 64;

/// Removes dead writes.
pub fn remove_dead_stores(module: &Module, function: &mut Function) -> bool {
    let Some(arrays) = Arrays::new(function) else {
        return false;
    };
    let cfg = Cfg::new(function);
    let read_later = arrays.read_later(function, &cfg);
    let mut changed = false;
    for &block in cfg.order() {
        changed |= arrays.sweep(module, function, block, read_later[block]);
    }
    changed
}

/// The arrays whose every use is known: which one a pointer points into.
struct Arrays {
    /// The number of the array, for its pointers.
    of: IdMap<Value, Option<u8>>,
}

/// What an instruction does to one array.
enum Use {
    /// Reads somewhere.
    Reads(u64),
    /// Writes the array of this number through this pointer, so many bytes if that is known.
    Writes(u8, Value, Option<u32>),
    /// Copies: reads some arrays and writes one.
    Copies(u64, Option<u8>),
}

impl Arrays {
    /// Nothing if there is no suitable array.
    fn new(function: &Function) -> Option<Self> {
        let mut arrays = Arrays {
            of: IdMap::new(None),
        };
        let mut count = 0;
        let mut escaped: u64 = 0;
        let order = function.blocks();
        for &block in order {
            for &inst in function.insts(block) {
                match *function.inst(inst) {
                    InstData::Alloca { .. } if count < MOST_ARRAYS => {
                        if let Some(result) = function.result(inst) {
                            arrays.of[result] = Some(count as u8);
                            count += 1;
                        }
                    }
                    InstData::PtrAdd { base, .. } => {
                        if let (Some(number), Some(result)) =
                            (arrays.of[base], function.result(inst))
                        {
                            arrays.of[result] = Some(number);
                        }
                    }
                    _ => {}
                }
            }
        }
        if count == 0 {
            return None;
        }
        for &block in order {
            for &inst in function.insts(block) {
                escaped |= arrays.escaping(function, inst);
            }
        }
        if escaped.count_ones() as usize == count {
            return None;
        }
        for index in 0..function.num_values() {
            let value = Value::from_index(index);
            if arrays.of[value].is_some_and(|number| escaped >> number & 1 == 1) {
                arrays.of[value] = None;
            }
        }
        Some(arrays)
    }

    /// The arrays whose address an instruction lets go.
    fn escaping(&self, function: &Function, inst: Inst) -> u64 {
        let mut mask = 0;
        let mut add = |value: Value| {
            if let Some(number) = self.of[value] {
                mask |= 1 << number;
            }
        };
        match *function.inst(inst) {
            InstData::PtrAdd { base, index, .. } => {
                // An addition seen before its base was left without a number.
                let result = function.result(inst);
                if self.of[base].is_some() && result.is_some_and(|v| self.of[v].is_none()) {
                    add(base);
                }
                index.into_iter().for_each(add);
            }
            InstData::Load { access, ptr } => {
                if access.volatile || access.is_atomic() {
                    add(ptr);
                }
            }
            InstData::Store { ptr, value, access } => {
                if access.volatile || access.is_atomic() {
                    add(ptr);
                }
                add(value);
            }
            InstData::MemCopy { size, .. } => add(size),
            InstData::MemSet { byte, size, .. } => [byte, size].into_iter().for_each(add),
            _ => function.for_each_operand(inst, add),
        }
        mask
    }

    fn mask(&self, value: Value) -> u64 {
        self.of[value].map_or(0, |number| 1 << number)
    }

    fn use_of(&self, module: &Module, function: &Function, inst: Inst) -> Option<Use> {
        match *function.inst(inst) {
            InstData::Load { ptr, .. } => Some(Use::Reads(self.mask(ptr))),
            InstData::Store { ptr, value, .. } => {
                let size = module.types.store_size(function.ty(value));
                Some(Use::Writes(self.of[ptr]?, ptr, Some(size)))
            }
            InstData::MemSet { dst, size, .. } => {
                let size = function.const_bits(size);
                let size = size.and_then(|size| u32::try_from(size).ok());
                Some(Use::Writes(self.of[dst]?, dst, size))
            }
            InstData::MemCopy { dst, src, .. } => Some(Use::Copies(self.mask(src), self.of[dst])),
            _ => None,
        }
    }

    /// For each block, the arrays that may be read after it.
    fn read_later(&self, function: &Function, cfg: &Cfg) -> IdMap<Block, u64> {
        let mut reads: IdMap<Block, u64> = IdMap::with_len(0, function.num_blocks());
        for &block in cfg.order() {
            for &inst in function.insts(block) {
                reads[block] |= match *function.inst(inst) {
                    InstData::Load { ptr, .. } => self.mask(ptr),
                    InstData::MemCopy { src, .. } => self.mask(src),
                    _ => 0,
                };
            }
        }
        let mut later: IdMap<Block, u64> = IdMap::with_len(0, function.num_blocks());
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &block in cfg.order().iter().rev() {
                let mut mask = 0;
                for &next in cfg.successors(block) {
                    mask |= later[next] | reads[next];
                }
                changed |= mask != later[block];
                later[block] = mask;
            }
        }
        later
    }

    /// Removes the dead writes of a block, from its end to its start.
    fn sweep(
        &self,
        module: &Module,
        function: &mut Function,
        block: Block,
        read_later: u64,
    ) -> bool {
        let mut live = read_later;
        let mut overwritten: Vec<(Place, u32)> = Vec::new();
        let mut insts = function.take_insts(block);
        let before = insts.len();
        insts.reverse();
        insts.retain(|&inst| match self.use_of(module, function, inst) {
            Some(Use::Reads(mask)) => {
                live |= mask;
                overwritten.retain(|(place, _)| mask >> place.array & 1 == 0);
                true
            }
            Some(Use::Writes(array, pointer, size)) => {
                if live >> array & 1 == 0 {
                    return false;
                }
                let place = Place::new(function, array, pointer);
                let Some((place, size)) = place.zip(size) else {
                    return true;
                };
                let dead = overwritten
                    .iter()
                    .any(|(later, bytes)| place.is_inside(size, later, *bytes));
                if !dead && overwritten.len() < MOST_ARRAYS {
                    overwritten.push((place, size));
                }
                !dead
            }
            Some(Use::Copies(read, written)) => {
                if written.is_some_and(|array| live >> array & 1 == 0) {
                    return false;
                }
                live |= read;
                overwritten.retain(|(place, _)| read >> place.array & 1 == 0);
                true
            }
            None => true,
        });
        insts.reverse();
        let changed = insts.len() != before;
        function.set_insts(block, insts);
        changed
    }
}

/// A place at a known distance from the start of an array.
#[derive(Clone, Copy)]
struct Place {
    array: u8,
    offset: i64,
}

impl Place {
    fn new(function: &Function, array: u8, pointer: Value) -> Option<Self> {
        let mut offset = 0i64;
        let mut pointer = pointer;
        loop {
            match (function.def(pointer), function.def_data(pointer)) {
                (_, Some(InstData::Alloca { .. })) => return Some(Place { array, offset }),
                (
                    ValueDef::Result(_),
                    Some(&InstData::PtrAdd {
                        base,
                        index: None,
                        offset: bytes,
                        ..
                    }),
                ) => {
                    offset = offset.checked_add(bytes)?;
                    pointer = base;
                }
                _ => return None,
            }
        }
    }

    fn is_inside(&self, size: u32, other: &Place, bytes: u32) -> bool {
        self.array == other.array
            && self.offset >= other.offset
            && self.offset.saturating_add(i64::from(size))
                <= other.offset.saturating_add(i64::from(bytes))
    }
}
