//! Loads and stores.
//!
//! Every access is compared with the region it should lie in before it happens: all lanes at once where strides are known, lane by
//! lane as one vector comparison elsewhere. Whatever does not fit (another region, an address outside, a write to what is
//! read-only) goes to the interpreter's own function, which checks each lane and says what is wrong.

mod load;
mod places;
mod store;

use crate::code::{Cell, Index, Op, Pointer, Program, Reg, Transfer};
use crate::memory::{OFFSET_BITS, THREAD, THREADGROUP};
use crate::native::emit::{Emitter, Refused};
use crate::native::known::lane_offsets;
use std::collections::HashMap;

/// Cells of a block that is loaded as a whole and picked from.
const LARGEST_BLOCK: i64 = 192;

/// What a pointer register points into, as far as that can be told from where it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Root {
    /// The region of one of the program's pointers.
    Pointer(usize),
    /// Thread memory.
    Thread,
}

/// The scalars that describe a region.
pub(in crate::native) struct Bounds {
    /// Address of its first byte, to the kernel.
    pub(in crate::native) start: String,
    /// Address of its first byte, to the CPU.
    pub(in crate::native) base: String,
    pub(in crate::native) len: String,
    pub(in crate::native) writable: Option<String>,
    /// Bytes from one lane's copy to the next.
    pub(in crate::native) lane_stride: i64,
}

/// Where the lanes of an access that fits lie.
enum Lanes {
    /// Constant distances from an address.
    Known { first: String, offsets: [i64; 32] },
    /// Groups of lanes, each at constant distances from its first lane.
    Groups {
        places: Places,
        size: usize,
        offsets: [i64; 32],
    },
    /// An address for each lane.
    Any { places: Places },
}

/// Addresses that lanes have of their own.
enum Places {
    /// Distances in bytes.
    Bytes { base: String, deltas: String },
    /// Indices that are not negative, of numbers of a size.
    Indices {
        base: String,
        indices: String,
        scale: i64,
    },
}

fn cell_type(cell: Cell) -> (&'static str, i64) {
    match cell {
        Cell::Truth | Cell::Byte => ("i8", 1),
        Cell::Short => ("i16", 2),
        Cell::Word => ("i32", 4),
        Cell::Long => ("i64", 8),
    }
}

/// What each pointer register points into.
pub(in crate::native) fn roots(program: &Program) -> HashMap<u32, Option<Root>> {
    let mut roots = HashMap::new();
    for (at, &(index, _)) in program.pointers.iter().enumerate() {
        roots.insert(index, Some(Root::Pointer(at)));
    }
    for &(reg, bits) in &program.constants {
        if reg.wide && bits >> OFFSET_BITS == THREAD {
            roots.insert(reg.index, Some(Root::Thread));
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for op in &program.ops {
            let mut pairs = Vec::new();
            match *op {
                Op::PtrAdd { d, base, .. } => pairs.push((d, base)),
                Op::MoveWide { d, a } => pairs.push((d, a)),
                Op::SelectWide { d, yes, no, .. } => pairs.extend([(d, yes), (d, no)]),
                Op::Moves { list, wide: true } => {
                    let list = program.list(list).chunks_exact(2);
                    pairs.extend(list.map(|pair| (pair[0].index, pair[1].index)));
                }
                _ => {}
            }
            for (d, from) in pairs {
                let Some(&root) = roots.get(&from) else {
                    continue;
                };
                let met = match roots.get(&d) {
                    None => root,
                    Some(&before) if before == root => before,
                    Some(_) => None,
                };
                changed |= roots.insert(d, met) != Some(met);
            }
        }
    }
    roots
}

impl Emitter<'_> {
    fn is_static(&self, pointer: usize) -> bool {
        let pointer = self.program.pointers.get(pointer);
        matches!(pointer, Some((_, Pointer::Static(_))))
    }

    pub(in crate::native) fn bounds(&mut self, base: u32) -> Option<Bounds> {
        match self.roots.get(&base).copied().flatten()? {
            // Threadgroup memory that the program declares: a dispatch may add to it, but no address here lies in that.
            Root::Pointer(at) if self.is_static(at) => Some(Bounds {
                start: ((THREADGROUP << OFFSET_BITS) as i64).to_string(),
                base: format!("%p{at}.base"),
                len: self.program.threadgroup_end.to_string(),
                writable: None,
                lane_stride: 0,
            }),
            Root::Pointer(at) => Some(Bounds {
                start: format!("%p{at}.start"),
                base: format!("%p{at}.base"),
                len: format!("%p{at}.len"),
                writable: Some(format!("%p{at}.writable")),
                lane_stride: 0,
            }),
            Root::Thread => Some(Bounds {
                start: ((THREAD << OFFSET_BITS) as i64).to_string(),
                base: "%frame".to_owned(),
                len: self.program.frame.to_string(),
                writable: None,
                lane_stride: self.program.frame.into(),
            }),
        }
    }

    /// The region an address lies in, looked up when the program runs. What is in none has no bytes.
    fn looked_up(&mut self, address: &str) -> Bounds {
        let region = self
            .text
            .make(&format!("lshr i64 {address}, {OFFSET_BITS}"));
        let known = self.text.make(&format!("icmp ult i64 {region}, %regions"));
        let region = self
            .text
            .make(&format!("select i1 {known}, i64 {region}, i64 0"));
        let at = self.text.make(&format!(
            "getelementptr [3 x i64], ptr %table, i64 {region}"
        ));
        let mut words = Vec::new();
        for word in 0..3 {
            let place = self
                .text
                .make(&format!("getelementptr i64, ptr {at}, i64 {word}"));
            words.push(self.text.make(&format!("load i64, ptr {place}")));
        }
        let base = self.text.make(&format!("inttoptr i64 {} to ptr", words[0]));
        let writable = self.text.make(&format!("icmp ne i64 {}, 0", words[2]));
        let start = self.text.make(&format!("shl i64 {region}, {OFFSET_BITS}"));
        Bounds {
            start,
            base,
            len: words[1].clone(),
            writable: Some(writable),
            lane_stride: 0,
        }
    }

    /// A load or store.
    pub(in crate::native) fn transfer(
        &mut self,
        position: usize,
        t: &Transfer,
        store: bool,
    ) -> Result<(), Refused> {
        if t.atomic {
            return self.cold(position);
        }
        let base = Reg::wide(t.base);
        let base_known = self.known.of(base);
        let index = t.index.map(|scaled| (scaled, Reg::narrow(scaled.reg)));
        if index.is_some() && !base_known.is_uniform() {
            return self.cold(position);
        }
        let bounds = match self.bounds(t.base) {
            Some(bounds) => bounds,
            None => {
                let address = self.first_active(base);
                self.looked_up(&address)
            }
        };
        let (slow, fast, end) = (self.text.label(), self.text.label(), self.text.label());
        let size = i64::from(t.size());
        let offset = t.offset as i64;
        let strides = match index {
            Some((_, reg)) => self.known.of(reg).all_strides(),
            None => base_known.all_strides(),
        };
        let lanes = match strides {
            Some(strides) => {
                // All lanes are at constant distances from the first.
                let scale = index.map_or(1, |(scaled, _)| i64::from(scaled.scale));
                let offsets = lane_offsets(strides);
                let (least, most) = (
                    *offsets.iter().min().unwrap_or(&0),
                    *offsets.iter().max().unwrap_or(&0),
                );
                let mut delta = self.one(base);
                delta = self.text.make(&format!("add i64 {delta}, {offset}"));
                delta = self
                    .text
                    .make(&format!("sub i64 {delta}, {}", bounds.start));
                let mut fits = None;
                if let Some((scaled, reg)) = index {
                    let number = self.one(reg);
                    let extend = if scaled.signed { "sext" } else { "zext" };
                    let wide = self.text.make(&format!("{extend} i32 {number} to i64"));
                    let low = self.text.make(&format!("add i64 {wide}, {least}"));
                    if least != most {
                        // Lanes must not wrap around where a 32-bit number does.
                        let (from, to) = if scaled.signed {
                            (i64::from(i32::MIN), i64::from(i32::MAX))
                        } else {
                            (0, i64::from(u32::MAX))
                        };
                        let not_below = self.text.make(&format!("icmp sge i64 {low}, {from}"));
                        let not_above = self
                            .text
                            .make(&format!("icmp sle i64 {low}, {}", to - (most - least)));
                        fits = Some(self.text.make(&format!("and i1 {not_below}, {not_above}")));
                    }
                    let bytes = self.text.make(&format!("mul i64 {low}, {scale}"));
                    delta = self.text.make(&format!("add i64 {delta}, {bytes}"));
                } else {
                    delta = self.text.make(&format!("add i64 {delta}, {least}"));
                }
                let span = (most - least)
                    .checked_mul(scale)
                    .and_then(|span| span.checked_add(size));
                let Some(span) = span.filter(|&span| span < 1 << 38) else {
                    return self.cold(position);
                };
                let room = self.text.make(&format!("sub i64 {}, {span}", bounds.len));
                let some = self.text.make(&format!("icmp sge i64 {room}, 0"));
                let inside = self.text.make(&format!("icmp ule i64 {delta}, {room}"));
                let mut truth = self.text.make(&format!("and i1 {some}, {inside}"));
                for more in [fits, bounds.writable.clone().filter(|_| store)]
                    .into_iter()
                    .flatten()
                {
                    truth = self.text.make(&format!("and i1 {truth}, {more}"));
                }
                self.text.expect(&truth, &fast, &slow);
                self.text.start(&fast);
                let first = self.text.make(&format!(
                    "getelementptr i8, ptr {}, i64 {delta}",
                    bounds.base
                ));
                let lane = bounds.lane_stride;
                let mut all = offsets.map(|offset| (offset - least) * scale);
                for (number, offset) in all.iter_mut().enumerate() {
                    *offset += lane * number as i64;
                }
                Lanes::Known {
                    first,
                    offsets: all,
                }
            }
            None => {
                let index = index.map(|(_, reg)| reg);
                match self.lanes_apart(t, &bounds, index, (&fast, &slow), store) {
                    Some(lanes) => lanes,
                    None => return self.cold(position),
                }
            }
        };
        if store {
            self.store_lanes(position, t, &lanes)?;
        } else {
            self.load_lanes(position, t, &lanes)?;
        }
        self.text.jump(&end);
        self.text.start(&slow);
        self.cold(position)?;
        self.text.jump(&end);
        self.text.start(&end);
        Ok(())
    }

    /// A pointer and a distance.
    pub(in crate::native) fn pointer_add(
        &mut self,
        d: u32,
        base: u32,
        index: u32,
        kind: Index,
        scale: u32,
        offset: i64,
    ) {
        let (d, base) = (Reg::wide(d), Reg::wide(base));
        let shape = self.shape(d);
        let mut sum = self.operand(base, shape);
        let ty = shape.of("i64");
        let scaled = match kind {
            Index::None => None,
            Index::Wide => Some(self.operand(Reg::wide(index), shape)),
            Index::Narrow { bits, signed } => {
                let number = self.operand(Reg::narrow(index), shape);
                let from = shape.of("i32");
                let number = match (bits, signed) {
                    (bits, true) if bits < 32 => {
                        let by = shape.number(32, u64::from(32 - bits));
                        let up = self.text.make(&format!("shl {from} {number}, {by}"));
                        self.text.make(&format!("ashr {from} {up}, {by}"))
                    }
                    _ => number,
                };
                let extend = if signed { "sext" } else { "zext" };
                Some(self.text.make(&format!("{extend} {from} {number} to {ty}")))
            }
        };
        if let Some(scaled) = scaled {
            let by = shape.number(64, scale.into());
            let bytes = self.text.make(&format!("mul {ty} {scaled}, {by}"));
            sum = self.text.make(&format!("add {ty} {sum}, {bytes}"));
        }
        let offset = shape.number(64, offset as u64);
        let sum = self.text.make(&format!("add {ty} {sum}, {offset}"));
        self.set(d, &sum);
    }
}
