//! Thread memory seen as cells: which bytes of an array or struct are used together.
//!
//! Memory private to a thread (an alloca) can live in registers when every access to it
//! is at a constant offset and its address goes nowhere else. The bytes of such an
//! alloca are cut at every boundary of every access; what lies between two cuts is a
//! [`Cell`], and each cell becomes one value. An access covers a whole number of cells:
//! usually one; several when a program stores four bytes and reads them one by one.

use assay_ssa::{
    Aggregates, CastOp, Function, IdMap, IndexExtend, Inst, InstData, Scalar, Type, TypeKind, Value,
};

/// Allocas larger than this stay in memory: as registers they would only be spilled.
const LARGEST: u32 = 16 * 1024;

/// A run of bytes that is always used as a whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) offset: u32,
    pub(crate) size: u32,
    /// What the cell holds: the type all exact accesses have, or an integer of its size.
    pub(crate) ty: Type,
}

/// The cells of one alloca; `first` numbers them within the function.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) alloca: Inst,
    pub(crate) first: usize,
    pub(crate) cells: Vec<Cell>,
}

/// All allocas of a function that can live in registers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    pub(crate) slots: Vec<Slot>,
    pub(crate) num_cells: usize,
    /// For a pointer into a slot: which, and at which offset.
    places: Vec<Option<(u32, u32)>>,
}

impl Slots {
    pub(crate) fn new(function: &Function, types: &Aggregates) -> Self {
        let mut finder = Finder::new(function, types);
        finder.find();
        finder.finish()
    }

    /// The slot and offset a pointer points to.
    pub(crate) fn place(&self, function: &Function, pointer: Value) -> Option<(&Slot, u32)> {
        let index = function.def_inst(pointer)?;
        let (slot, offset) = self
            .places
            .get(assay_ssa::Id::index(index))
            .copied()
            .flatten()?;
        Some((self.slots.get(slot as usize)?, offset))
    }
}

impl Slot {
    /// The numbers of the cells from `offset` on, `size` bytes.
    pub(crate) fn covered(&self, offset: u32, size: u32) -> std::ops::Range<usize> {
        let start = self.cells.partition_point(|cell| cell.offset < offset);
        let end = self
            .cells
            .partition_point(|cell| cell.offset < offset.saturating_add(size));
        start..end
    }
}

/// One access to a slot: a scalar, a pointer or a matrix, at a byte offset.
#[derive(Clone, Copy)]
struct Use {
    offset: u32,
    size: u32,
    ty: Type,
}

#[derive(Clone)]
struct Candidate {
    alloca: Inst,
    size: u32,
    uses: Vec<Use>,
    alive: bool,
}

struct Finder<'a> {
    function: &'a Function,
    types: &'a Aggregates,
    candidates: Vec<Candidate>,
    /// By instruction: the candidate and offset its result points to.
    places: IdMap<Inst, Option<(u32, u32)>>,
}

impl<'a> Finder<'a> {
    fn new(function: &'a Function, types: &'a Aggregates) -> Self {
        let places = IdMap::with_len(None, function.num_insts());
        Finder {
            function,
            types,
            candidates: Vec::new(),
            places,
        }
    }

    /// Follows addresses from the allocas. A pointer's definition comes before its uses in
    /// dominance order, and blocks are listed so; one that is not is simply not followed,
    /// and then counts as an escape of its base.
    fn find(&mut self) {
        for &block in self.function.blocks() {
            for &inst in self.function.insts(block) {
                if let InstData::Alloca { ty, .. } = *self.function.inst(inst) {
                    let size = self.types.store_size(ty);
                    let candidate = Candidate {
                        alloca: inst,
                        size,
                        uses: Vec::new(),
                        alive: size <= LARGEST,
                    };
                    self.places[inst] = Some((self.candidates.len() as u32, 0));
                    self.candidates.push(candidate);
                }
            }
        }
        let order = assay_ssa::analysis::Cfg::new(self.function)
            .order()
            .to_vec();
        for &block in &order {
            for &inst in self.function.insts(block) {
                self.visit(inst);
            }
        }
    }

    fn visit(&mut self, inst: Inst) {
        match *self.function.inst(inst) {
            InstData::PtrAdd {
                base,
                index,
                scale,
                offset,
                extend,
                ..
            } => {
                let Some((slot, at)) = self.place(base) else {
                    return;
                };
                if let Some(index) = index {
                    self.escape(index);
                }
                let step = match index {
                    None => Some(0),
                    Some(index) => match extend {
                        IndexExtend::Sign => self.function.const_int(index),
                        IndexExtend::Zero => self
                            .function
                            .const_bits(index)
                            .and_then(|bits| i64::try_from(bits).ok()),
                    },
                };
                let target = step
                    .and_then(|step| step.checked_mul(i64::from(scale)))
                    .and_then(|bytes| bytes.checked_add(offset))
                    .and_then(|bytes| bytes.checked_add(i64::from(at)))
                    .and_then(|bytes| u32::try_from(bytes).ok());
                match target {
                    Some(target) => self.places[inst] = Some((slot, target)),
                    None => self.candidates[slot as usize].alive = false,
                }
            }
            InstData::Load { ptr, access } => {
                let ty = self.function.result_type(inst);
                self.access(ptr, ty, access.volatile || access.is_atomic());
            }
            InstData::Store { ptr, value, access } => {
                self.escape(value);
                let ty = self.function.ty(value);
                self.access(ptr, ty, access.volatile || access.is_atomic());
            }
            InstData::Alloca { .. } => {}
            // The same place, whatever space its pointer names.
            InstData::Cast {
                op: CastOp::SpaceCast,
                arg,
                ..
            } => self.places[inst] = self.place(arg),
            _ => {
                let mut operands = Vec::new();
                self.function
                    .for_each_operand(inst, |value| operands.push(value));
                operands.into_iter().for_each(|value| self.escape(value));
            }
        }
    }

    fn place(&self, pointer: Value) -> Option<(u32, u32)> {
        self.places[self.function.def_inst(pointer)?]
    }

    /// The value is used for something else than loading and storing.
    fn escape(&mut self, value: Value) {
        if let Some((slot, _)) = self.place(value) {
            self.candidates[slot as usize].alive = false;
        }
    }

    fn access(&mut self, pointer: Value, ty: Type, special: bool) {
        let Some((slot, offset)) = self.place(pointer) else {
            return;
        };
        let candidate = &mut self.candidates[slot as usize];
        let size = self.types.store_size(ty);
        let inside = offset
            .checked_add(size)
            .is_some_and(|end| end <= candidate.size);
        let parts = parts(ty);
        if special || !inside || parts.is_none() {
            candidate.alive = false;
            return;
        }
        let (element, count) = parts.unwrap_or((ty, 1));
        let step = size / count.max(1);
        candidate.uses.extend((0..count).map(|part| Use {
            offset: offset + part * step,
            size: step,
            ty: element,
        }));
    }

    fn finish(mut self) -> Slots {
        let mut slots = Slots::default();
        let mut number: Vec<Option<u32>> = vec![None; self.candidates.len()];
        for (index, candidate) in self.candidates.iter_mut().enumerate() {
            if !candidate.alive {
                continue;
            }
            if let Some(cells) = cells(&mut candidate.uses) {
                number[index] = Some(slots.slots.len() as u32);
                let first = slots.num_cells;
                slots.num_cells += cells.len();
                slots.slots.push(Slot {
                    alloca: candidate.alloca,
                    first,
                    cells,
                });
            }
        }
        slots.places = (0..self.function.num_insts())
            .map(|index| {
                let (candidate, offset) = self.places[assay_ssa::Id::from_index(index)]?;
                Some((number[candidate as usize]?, offset))
            })
            .collect();
        slots
    }
}

/// The parts an access is made of: the elements of a vector, or the value itself.
fn parts(ty: Type) -> Option<(Type, u32)> {
    match ty.kind() {
        TypeKind::Vector(Scalar::I1, _) | TypeKind::Void | TypeKind::Aggregate(_) => None,
        TypeKind::Vector(scalar, lanes) => Some((Type::scalar(scalar), u32::from(lanes))),
        _ => Some((ty, 1)),
    }
}

/// Cuts the accessed bytes into cells; nothing when a matrix would have to be cut.
fn cells(uses: &mut [Use]) -> Option<Vec<Cell>> {
    let mut cuts: Vec<u32> = uses
        .iter()
        .flat_map(|u| [u.offset, u.offset + u.size])
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    uses.sort_unstable_by_key(|u| (u.offset, u.size));
    let mut cells = Vec::new();
    let mut open_until = 0;
    let mut next = 0;
    for pair in cuts.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        let mut exact: Option<Option<Type>> = None;
        while let Some(u) = uses.get(next).filter(|u| u.offset == start) {
            if u.size == end - start {
                exact = Some(match exact {
                    None => Some(u.ty),
                    Some(known) => known.filter(|&ty| ty == u.ty),
                });
            } else if u.ty.is_matrix() {
                return None;
            }
            open_until = open_until.max(u.offset + u.size);
            next += 1;
        }
        if end > open_until {
            continue;
        }
        push_cell(&mut cells, start, end, exact.flatten())?;
    }
    // A matrix is only ever a cell of its own.
    let whole =
        |u: &Use| !u.ty.is_matrix() || cells.iter().any(|c| c.offset == u.offset && c.ty == u.ty);
    uses.iter().all(whole).then_some(cells)
}

/// Adds the cell `start..end`, in pieces that have an integer type.
fn push_cell(cells: &mut Vec<Cell>, mut start: u32, end: u32, ty: Option<Type>) -> Option<()> {
    if let Some(ty) = ty {
        cells.push(Cell {
            offset: start,
            size: end - start,
            ty,
        });
        return Some(());
    }
    while start < end {
        let size = [8, 4, 2, 1].into_iter().find(|size| start + size <= end)?;
        let ty = Type::scalar(Scalar::int(size * 8)?);
        cells.push(Cell {
            offset: start,
            size,
            ty,
        });
        start += size;
    }
    Some(())
}
