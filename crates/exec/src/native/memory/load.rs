//! Loads: one for all lanes, rows, blocks that are picked from, gathers.

use super::{LARGEST_BLOCK, Lanes, cell_type};
use crate::code::{Cell, Reg, Transfer};
use crate::native::emit::{Emitter, Refused};
use crate::native::text::{Shape, choice};

impl Emitter<'_> {
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
    pub(in crate::native) fn joined(&mut self, parts: Vec<String>, ty: &str) -> String {
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

    pub(super) fn load_lanes(
        &mut self,
        position: usize,
        t: &Transfer,
        lanes: &Lanes,
    ) -> Result<(), Refused> {
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
}
