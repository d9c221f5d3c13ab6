//! Loads and stores.
//!
//! Every access is compared with the region it should lie in before it happens: all lanes at once where strides are known, lane by
//! lane as one vector comparison elsewhere. Whatever does not fit (another region, an address outside, a write to what is
//! read-only) goes to the interpreter's own function, which checks each lane and says what is wrong.

use super::emit::{Emitter, Refused};
use super::known::{BITS, lane_offsets};
use super::text::{Shape, choice, vector};
use crate::code::{Cell, Index, Op, Pointer, Program, Reg, Transfer};
use crate::memory::{OFFSET_BITS, OFFSET_MASK, THREAD, THREADGROUP};
use std::collections::HashMap;

/// Cells of a block that is loaded as a whole and picked from.
const LARGEST_BLOCK: i64 = 192;

/// What a pointer register points into, as far as that can be told from where it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// The region of one of the program's pointers.
    Pointer(usize),
    /// Thread memory.
    Thread,
}

/// The scalars that describe a region.
pub(super) struct Bounds {
    /// Address of its first byte, to the kernel.
    pub(super) start: String,
    /// Address of its first byte, to the CPU.
    pub(super) base: String,
    pub(super) len: String,
    pub(super) writable: Option<String>,
    /// Bytes from one lane's copy to the next.
    pub(super) lane_stride: i64,
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
pub(super) fn roots(program: &Program) -> HashMap<u32, Option<Root>> {
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

    pub(super) fn bounds(&mut self, base: u32) -> Option<Bounds> {
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
    pub(super) fn transfer(
        &mut self,
        position: usize,
        t: &Transfer,
        store: bool,
    ) -> Result<(), Refused> {
        if t.atomic {
            return self.cold(position);
        }
        let base = Reg {
            index: t.base,
            wide: true,
        };
        let base_known = self.known.of(base);
        let index = t.index.map(|scaled| {
            (
                scaled,
                Reg {
                    index: scaled.reg,
                    wide: false,
                },
            )
        });
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

    /// Lanes whose addresses are only known when the program runs.
    fn lanes_apart(
        &mut self,
        t: &Transfer,
        bounds: &Bounds,
        index: Option<Reg>,
        (fast, slow): (&str, &str),
        store: bool,
    ) -> Option<Lanes> {
        let (size, offset) = (i64::from(t.size()), t.offset as i64);
        let base = Reg {
            index: t.base,
            wide: true,
        };
        let room = self.text.make(&format!("sub i64 {}, {size}", bounds.len));
        let known = match index {
            Some(reg) => self.known.of(reg),
            None => self.known.of(base),
        };
        let scale = t.index.map_or(1, |scaled| i64::from(scaled.scale));
        // Groups of lanes side by side, or all at one place.
        let near = |bits: usize| {
            known
                .strides
                .iter()
                .take(bits)
                .all(|stride| stride.is_some_and(|s| (0..1 << 16).contains(&s)))
        };
        let group = if near(4) {
            16
        } else if near(3) {
            8
        } else {
            1
        };
        let group = if bounds.lane_stride != 0 { 1 } else { group };
        let (places, ok, mut truth);
        match (index, t.index) {
            (Some(reg), Some(scaled)) => {
                // A constant distance is added to the indices where those may be below the start without it.
                let folds = offset % scale.max(1) == 0 && (scaled.signed || offset < 0);
                let (more, offset) = match folds {
                    true => (offset / scale.max(1), 0),
                    false => (0, offset),
                };
                let Ok(more) = i32::try_from(more) else {
                    return None;
                };
                let mut start = self.one(base);
                start = self.text.make(&format!("add i64 {start}, {offset}"));
                start = self
                    .text
                    .make(&format!("sub i64 {start}, {}", bounds.start));
                // Indices up to the last that fits; none is negative, and none has wrapped around.
                let left = self.text.make(&format!("sub i64 {room}, {start}"));
                let not_below = self
                    .text
                    .make(&format!("icmp ule i64 {start}, {OFFSET_MASK}"));
                let some = self.text.make(&format!("icmp sge i64 {left}, 0"));
                truth = self.text.make(&format!("and i1 {not_below}, {some}"));
                let most = self
                    .text
                    .make(&format!("udiv i64 {left}, {}", scale.max(1)));
                let largest = i64::from(i32::MAX) - i64::from(more.unsigned_abs());
                let capped = self.text.make(&format!(
                    "call i64 @llvm.umin.i64(i64 {most}, i64 {})",
                    largest.max(0)
                ));
                let capped = self.text.make(&format!("trunc i64 {capped} to i32"));
                let limit = self.text.splat("i32", &capped);
                let mut lanes = self.lanes(reg);
                if more != 0 {
                    lanes = self
                        .text
                        .make(&format!("add <32 x i32> {lanes}, splat (i32 {more})"));
                }
                ok = self
                    .text
                    .make(&format!("icmp ule <32 x i32> {lanes}, {limit}"));
                let first = self.text.make(&format!(
                    "getelementptr i8, ptr {}, i64 {start}",
                    bounds.base
                ));
                places = Places::Indices {
                    base: first,
                    indices: lanes,
                    scale,
                };
            }
            _ => {
                let lanes = self.lanes(base);
                let start = self
                    .text
                    .make(&format!("sub i64 {offset}, {}", bounds.start));
                let start = self.text.splat("i64", &start);
                let deltas = self.text.make(&format!("add <32 x i64> {lanes}, {start}"));
                let limit = self.text.splat("i64", &room);
                ok = self
                    .text
                    .make(&format!("icmp ule <32 x i64> {deltas}, {limit}"));
                truth = self.text.make(&format!("icmp sge i64 {room}, 0"));
                let base = bounds.base.clone();
                places = Places::Bytes { base, deltas };
            }
        }
        let bits = self.text.make(&format!("bitcast <32 x i1> {ok} to i32"));
        let mask = self.mask();
        let bits = if group > 1 {
            bits
        } else {
            let others = self.text.make(&format!("xor i32 {mask}, -1"));
            self.text.make(&format!("or i32 {bits}, {others}"))
        };
        let all = self.text.make(&format!("icmp eq i32 {bits}, -1"));
        truth = self.text.make(&format!("and i1 {truth}, {all}"));
        if let Some(writable) = bounds.writable.as_ref().filter(|_| store) {
            truth = self.text.make(&format!("and i1 {truth}, {writable}"));
        }
        self.text.expect(&truth, fast, slow);
        self.text.start(fast);
        let places = match bounds.lane_stride {
            0 => places,
            stride => {
                // Each lane's own copy.
                let (base, deltas) = match places {
                    Places::Bytes { base, deltas } => (base, deltas),
                    Places::Indices {
                        base,
                        indices,
                        scale,
                    } => {
                        let wide = self
                            .text
                            .make(&format!("zext <32 x i32> {indices} to <32 x i64>"));
                        let deltas = self
                            .text
                            .make(&format!("mul <32 x i64> {wide}, splat (i64 {scale})"));
                        (base, deltas)
                    }
                };
                let lanes = vector("i64", (0..32).map(|lane| lane * stride));
                let deltas = self.text.make(&format!("add <32 x i64> {deltas}, {lanes}"));
                Places::Bytes { base, deltas }
            }
        };
        if group > 1 {
            let mut strides = [0; BITS];
            let bits = if group == 16 { 4 } else { 3 };
            for (slot, stride) in strides.iter_mut().zip(known.strides).take(bits) {
                *slot = stride.unwrap_or(0) * scale;
            }
            let offsets = lane_offsets(strides);
            return Some(Lanes::Groups {
                places,
                size: group,
                offsets,
            });
        }
        Some(Lanes::Any { places })
    }

    /// The address of a lane.
    fn place_of_lane(&mut self, places: &Places, lane: usize) -> String {
        match places {
            Places::Bytes { base, deltas } => {
                let delta = self
                    .text
                    .make(&format!("extractelement <32 x i64> {deltas}, i64 {lane}"));
                self.text
                    .make(&format!("getelementptr i8, ptr {base}, i64 {delta}"))
            }
            Places::Indices {
                base,
                indices,
                scale,
            } => {
                let index = self
                    .text
                    .make(&format!("extractelement <32 x i32> {indices}, i64 {lane}"));
                let index = self.text.make(&format!("zext i32 {index} to i64"));
                let delta = self.text.make(&format!("mul i64 {index}, {scale}"));
                self.text
                    .make(&format!("getelementptr i8, ptr {base}, i64 {delta}"))
            }
        }
    }

    /// The addresses of all lanes, some bytes further on.
    fn all_places(&mut self, places: &Places, more: i64) -> String {
        match places {
            Places::Bytes { base, deltas } => {
                let first = self
                    .text
                    .make(&format!("getelementptr i8, ptr {base}, i64 {more}"));
                self.text.make(&format!(
                    "getelementptr i8, ptr {first}, <32 x i64> {deltas}"
                ))
            }
            Places::Indices {
                base,
                indices,
                scale,
            } => {
                let first = self
                    .text
                    .make(&format!("getelementptr i8, ptr {base}, i64 {more}"));
                match scale {
                    1 | 2 | 4 | 8 => self.text.make(&format!(
                        "getelementptr i{}, ptr {first}, <32 x i32> {indices}",
                        scale * 8
                    )),
                    _ => {
                        let wide = self
                            .text
                            .make(&format!("zext <32 x i32> {indices} to <32 x i64>"));
                        let deltas = self
                            .text
                            .make(&format!("mul <32 x i64> {wide}, splat (i64 {scale})"));
                        self.text.make(&format!(
                            "getelementptr i8, ptr {first}, <32 x i64> {deltas}"
                        ))
                    }
                }
            }
        }
    }

    /// A pointer to each lane's cell.
    fn pointers(&mut self, lanes: &Lanes, more: i64) -> String {
        match lanes {
            Lanes::Known { first, offsets } => {
                let offsets = vector("i64", offsets.iter().map(|offset| offset + more));
                self.text.make(&format!(
                    "getelementptr i8, ptr {first}, <32 x i64> {offsets}"
                ))
            }
            Lanes::Groups { places, .. } | Lanes::Any { places } => self.all_places(places, more),
        }
    }

    /// Loads cells at constant distances from an address, lane by lane of a group.
    fn load_known(&mut self, first: &str, offsets: &[i64], cell: Cell) -> Option<String> {
        let (ty, bytes) = cell_type(cell);
        let count = offsets.len();
        let mut distinct: Vec<i64> = offsets.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.len() <= 4 {
            // Few numbers, each for many lanes.
            let mut block = "poison".to_owned();
            let width = distinct.len();
            for (at, offset) in distinct.iter().enumerate() {
                let place = self
                    .text
                    .make(&format!("getelementptr i8, ptr {first}, i64 {offset}"));
                let number = self.text.make(&format!("load {ty}, ptr {place}, align 1"));
                block = self.text.make(&format!(
                    "insertelement <{width} x {ty}> {block}, {ty} {number}, i64 {at}"
                ));
            }
            let places: Vec<usize> = offsets
                .iter()
                .map(|offset| distinct.iter().position(|d| d == offset).unwrap_or(0))
                .collect();
            return Some(self.text.make(&format!(
                "shufflevector <{width} x {ty}> {block}, <{width} x {ty}> poison, {}",
                choice(&places)
            )));
        }
        let (least, most) = (*distinct.first()?, *distinct.last()?);
        let cells = (most - least) / bytes + 1;
        let whole = distinct.iter().all(|offset| (offset - least) % bytes == 0);
        if !whole || cells > LARGEST_BLOCK || cells as usize > 8 * count {
            return None;
        }
        let place = self
            .text
            .make(&format!("getelementptr i8, ptr {first}, i64 {least}"));
        let block = self
            .text
            .make(&format!("load <{cells} x {ty}>, ptr {place}, align 1"));
        let places: Vec<usize> = offsets
            .iter()
            .map(|offset| ((offset - least) / bytes) as usize)
            .collect();
        if places.iter().enumerate().all(|(at, &place)| at == place) && cells as usize == count {
            return Some(block);
        }
        Some(self.text.make(&format!(
            "shufflevector <{cells} x {ty}> {block}, <{cells} x {ty}> poison, {}",
            choice(&places)
        )))
    }

    /// The lanes of a number that several groups hold, one after the other.
    pub(super) fn joined(&mut self, parts: Vec<String>, ty: &str) -> String {
        let mut parts = parts;
        let mut size = 32 / parts.len().max(1);
        while parts.len() > 1 {
            let places: Vec<usize> = (0..size * 2).collect();
            let pairs: Vec<String> = parts
                .chunks_exact(2)
                .map(|pair| format!("<{size} x {ty}> {}, <{size} x {ty}> {}", pair[0], pair[1]))
                .collect();
            parts = pairs
                .iter()
                .map(|pair| {
                    self.text
                        .make(&format!("shufflevector {pair}, {}", choice(&places)))
                })
                .collect();
            size *= 2;
        }
        parts.pop().unwrap_or_default()
    }

    fn load_lanes(&mut self, position: usize, t: &Transfer, lanes: &Lanes) -> Result<(), Refused> {
        let regs = self.program.list(t.regs).to_vec();
        let (ty, bytes) = cell_type(t.cell);
        for (at, &reg) in regs.iter().enumerate() {
            let more = at as i64 * bytes;
            if self.shape(reg) == Shape::One {
                let Lanes::Known { first, .. } = lanes else {
                    return Err(Refused(format!(
                        "a load at {position} of one number by lanes"
                    )));
                };
                let place = self
                    .text
                    .make(&format!("getelementptr i8, ptr {first}, i64 {more}"));
                let number = self.text.make(&format!("load {ty}, ptr {place}, align 1"));
                let number = self.widened(&number, t.cell, Shape::One);
                self.set(reg, &number);
                continue;
            }
            let loaded = match lanes {
                Lanes::Known { first, offsets } => {
                    let offsets: Vec<i64> = offsets.iter().map(|offset| offset + more).collect();
                    self.load_known(first, &offsets, t.cell)
                }
                Lanes::Groups {
                    places,
                    size,
                    offsets,
                } => {
                    let mut parts = Vec::new();
                    for group in 0..32 / size {
                        let first = self.place_of_lane(places, group * size);
                        let offsets: Vec<i64> = offsets[..*size]
                            .iter()
                            .map(|offset| offset + more)
                            .collect();
                        parts.extend(self.load_known(&first, &offsets, t.cell));
                    }
                    (parts.len() == 32 / size).then(|| self.joined(parts, ty))
                }
                Lanes::Any { .. } => None,
            };
            let loaded = match loaded {
                Some(loaded) => loaded,
                None => {
                    let pointers = self.pointers(lanes, more);
                    let mask = self.mask_lanes();
                    match t.cell {
                        Cell::Word | Cell::Long => self.text.make(&format!(
                            "call <32 x {ty}> @llvm.masked.gather.v32{ty}.v32p0(<32 x ptr> {pointers}, i32 1, <32 x i1> {mask}, <32 x {ty}> zeroinitializer)"
                        )),
                        _ => {
                            let mask = self.mask();
                            self.helpers.insert(ty);
                            self.text.make(&format!("call <32 x {ty}> @gather_{ty}(<32 x ptr> {pointers}, i32 {mask})"))
                        }
                    }
                }
            };
            let number = self.widened(&loaded, t.cell, Shape::Lanes);
            let number = self.kept_in_inactive(reg, number);
            self.set(reg, &number);
        }
        Ok(())
    }

    /// Where shuffles may read lanes that are not active, those keep what they had.
    fn kept_in_inactive(&mut self, reg: Reg, loaded: String) -> String {
        if !self.program.reads_inactive {
            return loaded;
        }
        let (before, mask) = (self.get(reg), self.mask_lanes());
        let bits = if reg.wide { 64 } else { 32 };
        self.text.make(&format!(
            "select <32 x i1> {mask}, <32 x i{bits}> {loaded}, <32 x i{bits}> {before}"
        ))
    }

    /// A cell's number as a register holds it.
    fn widened(&mut self, number: &str, cell: Cell, shape: Shape) -> String {
        let (ty, _) = cell_type(cell);
        let (from, to) = (shape.of(ty), shape.of("i32"));
        match cell {
            Cell::Word | Cell::Long => number.to_owned(),
            Cell::Byte | Cell::Short => self.text.make(&format!("zext {from} {number} to {to}")),
            Cell::Truth => {
                let zero = if shape == Shape::One {
                    "0"
                } else {
                    "zeroinitializer"
                };
                let truth = self.text.make(&format!("icmp ne {from} {number}, {zero}"));
                let truths = shape.of("i1");
                self.text.make(&format!("zext {truths} {truth} to {to}"))
            }
        }
    }

    /// A register's number as a cell holds it.
    fn cut(&mut self, number: &str, cell: Cell, shape: Shape) -> String {
        let (ty, _) = cell_type(cell);
        let (from, to) = (shape.of("i32"), shape.of(ty));
        match cell {
            Cell::Word | Cell::Long => number.to_owned(),
            Cell::Byte | Cell::Short => self.text.make(&format!("trunc {from} {number} to {to}")),
            Cell::Truth => {
                let one = shape.number(32, 1);
                let low = self.text.make(&format!("and {from} {number}, {one}"));
                self.text.make(&format!("trunc {from} {low} to {to}"))
            }
        }
    }

    fn store_lanes(&mut self, position: usize, t: &Transfer, lanes: &Lanes) -> Result<(), Refused> {
        let regs = self.program.list(t.regs).to_vec();
        let (ty, bytes) = cell_type(t.cell);
        let size = bytes * regs.len() as i64;
        match lanes {
            // All lanes write one place: the last one stays.
            Lanes::Known { first, offsets }
                if offsets.iter().all(|offset| *offset == offsets[0]) =>
            {
                let mask = self.mask();
                let above = self
                    .text
                    .make(&format!("call i32 @llvm.ctlz.i32(i32 {mask}, i1 false)"));
                let last = self.text.make(&format!("sub i32 31, {above}"));
                let last = self.text.make(&format!("and i32 {last}, 31"));
                for (at, &reg) in regs.iter().enumerate() {
                    let more = at as i64 * bytes + offsets[0];
                    let number = match self.known.of(reg).is_uniform() {
                        true => self.one(reg),
                        false => {
                            let bits = if reg.wide { 64 } else { 32 };
                            let all = self.lanes(reg);
                            self.text
                                .make(&format!("extractelement <32 x i{bits}> {all}, i32 {last}"))
                        }
                    };
                    let number = self.cut(&number, t.cell, Shape::One);
                    let place = self
                        .text
                        .make(&format!("getelementptr i8, ptr {first}, i64 {more}"));
                    self.text
                        .line(&format!("store {ty} {number}, ptr {place}, align 1"));
                }
                return Ok(());
            }
            Lanes::Known { first, offsets } => {
                let mut sorted = *offsets;
                sorted.sort_unstable();
                let apart = sorted.windows(2).all(|pair| pair[1] - pair[0] >= size);
                if !apart && regs.len() > 1 {
                    return self.cold(position);
                }
                let in_a_row = (0..32).all(|lane| offsets[lane] - offsets[0] == lane as i64 * size);
                if in_a_row {
                    let first = self.text.make(&format!(
                        "getelementptr i8, ptr {first}, i64 {}",
                        offsets[0]
                    ));
                    self.store_row(t, &regs, &first);
                    return Ok(());
                }
            }
            Lanes::Groups { .. } | Lanes::Any { .. } if regs.len() > 1 => {
                return self.cold(position);
            }
            Lanes::Groups {
                places,
                size: group,
                offsets,
            } => {
                let row = (0..*group).all(|lane| offsets[lane] == lane as i64 * bytes);
                if row {
                    let number = self.lanes(regs[0]);
                    let number = self.cut(&number, t.cell, Shape::Lanes);
                    let mask = self.mask_lanes();
                    for at in 0..32 / group {
                        let own: Vec<usize> = (at * group..(at + 1) * group).collect();
                        let part = self.text.make(&format!(
                            "shufflevector <32 x {ty}> {number}, <32 x {ty}> poison, {}",
                            choice(&own)
                        ));
                        let own = self.text.make(&format!(
                            "shufflevector <32 x i1> {mask}, <32 x i1> poison, {}",
                            choice(&own)
                        ));
                        let place = self.place_of_lane(places, at * group);
                        self.text.line(&format!("call void @llvm.masked.store.v{group}{ty}.p0(<{group} x {ty}> {part}, ptr {place}, i32 1, <{group} x i1> {own})"));
                    }
                    return Ok(());
                }
            }
            Lanes::Any { .. } => {}
        }
        for (at, &reg) in regs.iter().enumerate() {
            let pointers = self.pointers(lanes, at as i64 * bytes);
            let number = self.lanes(reg);
            let number = self.cut(&number, t.cell, Shape::Lanes);
            match t.cell {
                // Lanes that write one place do so in their order.
                Cell::Word | Cell::Long => {
                    let mask = self.mask_lanes();
                    self.text.line(&format!(
                        "call void @llvm.masked.scatter.v32{ty}.v32p0(<32 x {ty}> {number}, <32 x ptr> {pointers}, i32 1, <32 x i1> {mask})"
                    ));
                }
                _ => {
                    let mask = self.mask();
                    self.helpers.insert(ty);
                    self.text.line(&format!("call void @scatter_{ty}(<32 x {ty}> {number}, <32 x ptr> {pointers}, i32 {mask})"));
                }
            }
        }
        Ok(())
    }

    /// Stores lanes side by side, each of as many cells.
    fn store_row(&mut self, t: &Transfer, regs: &[Reg], first: &str) {
        let (ty, _) = cell_type(t.cell);
        let count = regs.len();
        let mut parts = Vec::new();
        for &reg in regs {
            let number = self.lanes(reg);
            parts.push(self.cut(&number, t.cell, Shape::Lanes));
        }
        let mut mask = self.mask_lanes();
        let mut all = parts[0].clone();
        if count > 1 {
            // Cells of a lane side by side: first all numbers one register after the other, then in their order.
            let mut width = 32;
            let mut joined = parts[0].clone();
            for part in &parts[1..] {
                let wider: Vec<usize> = (0..width + 32)
                    .map(|at| if at < 32 { at } else { 0 })
                    .collect();
                let grown = self.text.make(&format!(
                    "shufflevector <32 x {ty}> {part}, <32 x {ty}> poison, {}",
                    choice(&wider[..width])
                ));
                let places: Vec<usize> = (0..width + 32).collect();
                joined = self.text.make(&format!(
                    "shufflevector <{width} x {ty}> {joined}, <{width} x {ty}> {grown}, {}",
                    choice(&places)
                ));
                width += 32;
            }
            let order: Vec<usize> = (0..32 * count)
                .map(|at| at % count * 32 + at / count)
                .collect();
            all = self.text.make(&format!(
                "shufflevector <{width} x {ty}> {joined}, <{width} x {ty}> poison, {}",
                choice(&order)
            ));
            let lanes: Vec<usize> = (0..32 * count).map(|at| at / count).collect();
            mask = self.text.make(&format!(
                "shufflevector <32 x i1> {mask}, <32 x i1> poison, {}",
                choice(&lanes)
            ));
        }
        let width = 32 * count;
        self.text.line(&format!(
            "call void @llvm.masked.store.v{width}{ty}.p0(<{width} x {ty}> {all}, ptr {first}, i32 1, <{width} x i1> {mask})"
        ));
    }

    /// A pointer and a distance.
    pub(super) fn pointer_add(
        &mut self,
        d: u32,
        base: u32,
        index: u32,
        kind: Index,
        scale: u32,
        offset: i64,
    ) {
        let (d, base) = (
            Reg {
                index: d,
                wide: true,
            },
            Reg {
                index: base,
                wide: true,
            },
        );
        let shape = self.shape(d);
        let mut sum = self.operand(base, shape);
        let ty = shape.of("i64");
        let scaled = match kind {
            Index::None => None,
            Index::Wide => Some(self.operand(Reg { index, wide: true }, shape)),
            Index::Narrow { bits, signed } => {
                let number = self.operand(Reg { index, wide: false }, shape);
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
