//! Merges instructions that compute the same value.
//!
//! Two pure instructions with the same operation and the same operands give the same
//! result; the one whose block dominates the other's stays. Loads take part when what
//! they read cannot change during the dispatch (constant memory, or loads marked
//! invariant). Convergent operations never do: the same call under another mask is
//! another value.

use assay_ssa::analysis::{Cfg, Dominators};
use assay_ssa::{Function, IdMap, Inst, InstData, Module, Space, Type, Value, ValueList};
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

/// Merges equal values.
pub fn number_values(_: &Module, function: &mut Function) -> bool {
    let cfg = Cfg::new(function);
    let dominators = Dominators::new(&cfg, function);
    let mut known: Table = Table::default();
    let mut replacement: IdMap<Value, Option<Value>> = IdMap::new(None);
    let mut changed = false;
    for &block in cfg.order() {
        let mut insts = function.take_insts(block);
        insts.retain(|&inst| {
            if changed {
                function.map_operands(inst, |value| replacement[value].unwrap_or(value));
            }
            let Some(result) = function.result(inst).filter(|_| may_merge(function, inst)) else {
                return true;
            };
            let Some((start, end)) = dominators.span(block) else {
                return true;
            };
            // The order visits dominators first, and a value that one computes is kept once: of those kept, none dominates
            // another, so their spans lie side by side. Only the last that begins before this block's can hold it.
            let entries = known.entry(Key::of(function, inst)).or_default();
            match entries.range(..=start).next_back() {
                Some((_, &(last, equal))) if end <= last => {
                    replacement[result] = Some(equal);
                    changed = true;
                    false
                }
                _ => {
                    entries.insert(start, (end, result));
                    true
                }
            }
        });
        function.set_insts(block, insts);
    }
    if changed {
        function.replace_values(&replacement);
    }
    changed
}

/// For each value the results kept, by where the span of their block begins, with its end.
type Table = HashMap<Key, BTreeMap<u32, (u32, Value)>, BuildHasherDefault<Mixer>>;

fn may_merge(function: &Function, inst: Inst) -> bool {
    match *function.inst(inst) {
        InstData::Load { ptr, access } => {
            let fixed = access.invariant || function.ty(ptr).space() == Some(Space::Constant);
            fixed && !access.volatile && !access.is_atomic()
        }
        _ => function.effects(inst).is_pure(),
    }
}

/// What makes two instructions equal: the operation, its operands, and the result's type.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    data: InstData,
    ty: Type,
    /// The contents of a list the instruction refers to; the reference itself is blanked.
    list: Vec<u32>,
}

impl Key {
    fn of(function: &Function, inst: Inst) -> Self {
        use assay_ssa::Id;
        let mut data = *function.inst(inst);
        let mut list = Vec::new();
        let values = |values: &[Value]| values.iter().map(|v| v.index() as u32).collect();
        match &mut data {
            InstData::Construct { args } | InstData::Call { args, .. } => {
                list = values(function.list_values(*args));
                *args = ValueList::EMPTY;
            }
            InstData::Shuffle { mask, .. } => {
                list = function.indices(*mask).to_vec();
                *mask = Default::default();
            }
            InstData::ExtractValue { path, .. } | InstData::InsertValue { path, .. } => {
                list = function.indices(*path).to_vec();
                *path = Default::default();
            }
            InstData::Binary { op, args, .. } if op.is_commutative() && args[0] > args[1] => {
                args.swap(0, 1);
            }
            InstData::Load { access, .. } => access.alias = None,
            _ => {}
        }
        Key {
            data,
            ty: function.result_type(inst),
            list,
        }
    }
}

/// A fast hasher for small keys of integers (multiply and rotate).
#[derive(Default)]
struct Mixer(u64);

impl std::hash::Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}
