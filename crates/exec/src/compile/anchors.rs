//! Which reads of device memory must be done before the threadgroup next meets.
//!
//! A barrier of threadgroup memory does not order accesses to device memory: a compiler may put a read before it off until
//! after it. It cannot where something before the barrier needs what was read: a branch that it decides, a store to
//! threadgroup memory (which the barrier orders), an atomic operation, an exchange with other threads. Such a read is
//! *anchored*: on every way from it to a barrier there is such a need. The race check relies on it; its pedantic level does
//! not.

use assay_ssa::builtin::Family;
use assay_ssa::{Block, Callee, Function, IdSet, Inst, InstData, Space, Value};

/// Instructions looked at for one read.
const MOST_STEPS: usize = 4096;

/// The results of the anchored reads of a function.
pub(super) fn anchored(function: &Function) -> IdSet<Value> {
    let mut found = IdSet::new();
    if !has_barrier(function) {
        return found;
    }
    for &block in function.blocks() {
        for (at, &inst) in function.insts(block).iter().enumerate() {
            let InstData::Load { ptr, .. } = *function.inst(inst) else {
                continue;
            };
            let device = !matches!(
                function.ty(ptr).space(),
                Some(Space::Thread | Space::Threadgroup | Space::Constant)
            );
            let Some(result) = function.result(inst).filter(|_| device) else {
                continue;
            };
            if Walk::from(function, result).needs(block, at + 1) {
                found.insert(result);
            }
        }
    }
    found
}

fn has_barrier(function: &Function) -> bool {
    function.all_insts().any(|inst| is_barrier(function, inst))
}

fn family(function: &Function, inst: Inst) -> Option<Family> {
    match function.inst(inst) {
        InstData::Call {
            callee: Callee::Builtin(call),
            ..
        } => Some(call.info().family),
        _ => None,
    }
}

fn is_barrier(function: &Function, inst: Inst) -> bool {
    family(function, inst) == Some(Family::Barrier)
}

/// All ways on from a read.
struct Walk<'f> {
    function: &'f Function,
    /// What depends on what was read.
    known: IdSet<Value>,
    seen: IdSet<Block>,
    steps: usize,
}

impl<'f> Walk<'f> {
    fn from(function: &'f Function, read: Value) -> Self {
        let mut known = IdSet::new();
        known.insert(read);
        Self {
            function,
            known,
            seen: IdSet::new(),
            steps: 0,
        }
    }

    /// Returns true if every way from here to a barrier comes by a need of what was read.
    fn needs(&mut self, block: Block, from: usize) -> bool {
        let mut waiting = vec![(block, from)];
        while let Some((block, from)) = waiting.pop() {
            let insts = self.function.insts(block);
            let mut ends = false;
            for &inst in insts.get(from..).unwrap_or_default() {
                self.steps += 1;
                if self.steps > MOST_STEPS {
                    return false;
                }
                if self.is_need(inst) {
                    ends = true;
                    break;
                }
                if is_barrier(self.function, inst) {
                    return false;
                }
                self.follow(inst);
            }
            if ends {
                continue;
            }
            let Some(terminator) = self.function.terminator(block) else {
                continue;
            };
            let mut next = Vec::new();
            self.function.for_each_target(terminator, |call| {
                let args = self.function.list_values(call.args);
                let params = self.function.params(call.block).iter().copied();
                next.push((
                    call.block,
                    params.zip(args.iter().copied()).collect::<Vec<_>>(),
                ));
            });
            for (target, moves) in next {
                for (param, arg) in moves {
                    if self.known.contains(arg) {
                        self.known.insert(param);
                    }
                }
                if self.seen.insert(target) {
                    waiting.push((target, 0));
                }
            }
        }
        true
    }

    fn uses(&self, inst: Inst) -> bool {
        let mut uses = false;
        self.function
            .for_each_operand(inst, |value| uses |= self.known.contains(value));
        uses
    }

    fn follow(&mut self, inst: Inst) {
        if self.uses(inst)
            && let Some(result) = self.function.result(inst)
        {
            self.known.insert(result);
        }
    }

    fn is_need(&self, inst: Inst) -> bool {
        let function = self.function;
        let needs = match *function.inst(inst) {
            InstData::Store { ptr, .. } => function.ty(ptr).space() == Some(Space::Threadgroup),
            InstData::Branch { cond, .. } => return self.known.contains(cond),
            InstData::Switch { value, .. } => return self.known.contains(value),
            InstData::AtomicRmw { .. } | InstData::AtomicCompareExchange { .. } => true,
            _ => matches!(
                family(function, inst),
                Some(Family::Simd | Family::Quad | Family::Matrix)
            ),
        };
        needs && self.uses(inst)
    }
}
