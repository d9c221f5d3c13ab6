//! Stores: of the last lane where all write one place, rows, scatters.

use super::{Lanes, cell_type};
use crate::code::{Cell, Reg, Transfer};
use crate::native::emit::{Emitter, Refused};
use crate::native::text::{Shape, choice};

impl Emitter<'_> {
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

    pub(super) fn store_lanes(
        &mut self,
        position: usize,
        t: &Transfer,
        lanes: &Lanes,
    ) -> Result<(), Refused> {
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
}
