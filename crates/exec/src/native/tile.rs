//! Loads and stores of simdgroup matrices: eight rows of eight numbers.

use super::emit::{Emitter, Refused};
use super::text::{Shape, choice};
use crate::code::Reg;
use crate::matrix::Origin;
use assay_num::matrix::{element_of_lane, lane_of_element};
use assay_ssa::Scalar;

/// Numbers from one row to the next in a tile that is moved here, at most.
const LARGEST_STRIDE: u32 = 1 << 24;

impl Emitter<'_> {
    /// A matrix in memory. `registers` are written by a load and read by a store.
    pub(super) fn tile(
        &mut self,
        position: usize,
        registers: [u32; 2],
        scalar: Scalar,
        at: Origin,
        store: bool,
    ) -> Result<(), Refused> {
        let transposed = self.known.constant(at.transposed).map(|bits| bits & 1 == 1);
        let ty = match scalar {
            Scalar::F32 => "i32",
            Scalar::F16 | Scalar::BF16 => "i16",
            _ => return self.cold(position),
        };
        let (Some(transposed), Some(bounds)) = (transposed, self.bounds(at.ptr)) else {
            return self.cold(position);
        };
        if bounds.lane_stride != 0 {
            return self.cold(position);
        }
        let bytes = i64::from(scalar.bytes());
        let wide = |index| Reg { index, wide: true };
        let stride = self.first_active(wide(at.stride));
        let (row, column) = (
            self.first_active(wide(at.row)),
            self.first_active(wide(at.column)),
        );
        let pointer = self.first_active(wide(at.ptr));
        let index = self.text.make(&format!("mul i64 {row}, {stride}"));
        let index = self.text.make(&format!("add i64 {index}, {column}"));
        let offset = self.text.make(&format!("mul i64 {index}, {bytes}"));
        let start = self.text.make(&format!("add i64 {pointer}, {offset}"));
        let delta = self
            .text
            .make(&format!("sub i64 {start}, {}", bounds.start));
        let pitch = self.text.make(&format!("mul i64 {stride}, {bytes}"));
        // The last row begins seven pitches on. Rows that overlap are stored lane by lane.
        let seven = self.text.make(&format!("mul i64 {pitch}, 7"));
        let room = self
            .text
            .make(&format!("sub i64 {}, {}", bounds.len, 8 * bytes));
        let room = self.text.make(&format!("sub i64 {room}, {seven}"));
        let least = if store { 8 } else { 0 };
        let not_below = self.text.make(&format!("icmp uge i64 {stride}, {least}"));
        let not_above = self
            .text
            .make(&format!("icmp ult i64 {stride}, {LARGEST_STRIDE}"));
        let some = self.text.make(&format!("icmp sge i64 {room}, 0"));
        let inside = self.text.make(&format!("icmp ule i64 {delta}, {room}"));
        let mut truth = self.text.make(&format!("and i1 {not_below}, {not_above}"));
        for more in [
            Some(some),
            Some(inside),
            bounds.writable.clone().filter(|_| store),
        ]
        .into_iter()
        .flatten()
        {
            truth = self.text.make(&format!("and i1 {truth}, {more}"));
        }
        let (fast, slow, end) = (self.text.label(), self.text.label(), self.text.label());
        self.text.expect(&truth, &fast, &slow);
        self.text.start(&fast);
        let first = self.text.make(&format!(
            "getelementptr i8, ptr {}, i64 {delta}",
            bounds.base
        ));
        let mut rows = Vec::new();
        for row in 0..8 {
            let distance = self.text.make(&format!("mul i64 {pitch}, {row}"));
            rows.push(
                self.text
                    .make(&format!("getelementptr i8, ptr {first}, i64 {distance}")),
            );
        }
        if store {
            self.store_tile(registers, &rows, ty, transposed);
        } else {
            self.load_tile(registers, &rows, ty, transposed);
        }
        self.text.jump(&end);
        self.text.start(&slow);
        self.cold(position)?;
        self.text.jump(&end);
        self.text.start(&end);
        Ok(())
    }

    fn load_tile(&mut self, registers: [u32; 2], rows: &[String], ty: &str, transposed: bool) {
        let mut parts = Vec::new();
        for row in rows {
            parts.push(
                self.text
                    .make(&format!("load <8 x {ty}>, ptr {row}, align 1")),
            );
        }
        let upper = self.joined(parts.split_off(4), ty);
        let lower = self.joined(parts, ty);
        for (which, index) in registers.into_iter().enumerate() {
            let place = |lane: usize| {
                let (row, column) = element_of_lane(lane);
                let (row, column) = (row, column + which);
                if transposed {
                    column * 8 + row
                } else {
                    row * 8 + column
                }
            };
            let places: Vec<usize> = (0..32).map(place).collect();
            let mut number = self.text.make(&format!(
                "shufflevector <32 x {ty}> {lower}, <32 x {ty}> {upper}, {}",
                choice(&places)
            ));
            if ty == "i16" {
                number = self
                    .text
                    .make(&format!("zext <32 x i16> {number} to <32 x i32>"));
            }
            self.set(Reg { index, wide: false }, &number);
        }
    }

    fn store_tile(&mut self, registers: [u32; 2], rows: &[String], ty: &str, transposed: bool) {
        let mut numbers = Vec::new();
        for index in registers {
            let number = self.operand(Reg { index, wide: false }, Shape::Lanes);
            numbers.push(match ty {
                "i16" => self
                    .text
                    .make(&format!("trunc <32 x i32> {number} to <32 x i16>")),
                _ => number,
            });
        }
        for (row, pointer) in rows.iter().enumerate() {
            let place = |column: usize| {
                let (lane, which) = match transposed {
                    true => lane_of_element(column, row),
                    false => lane_of_element(row, column),
                };
                lane + which * 32
            };
            let places: Vec<usize> = (0..8).map(place).collect();
            let part = self.text.make(&format!(
                "shufflevector <32 x {ty}> {}, <32 x {ty}> {}, {}",
                numbers[0],
                numbers[1],
                choice(&places)
            ));
            self.text
                .line(&format!("store <8 x {ty}> {part}, ptr {pointer}, align 1"));
        }
    }
}
