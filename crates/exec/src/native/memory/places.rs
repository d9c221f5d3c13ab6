//! Lanes at addresses that only the running program knows: where each is, and whether all lie inside.

use super::{Bounds, Lanes, Places};
use crate::code::{Reg, Transfer};
use crate::memory::OFFSET_MASK;
use crate::native::emit::Emitter;
use crate::native::known::{BITS, lane_offsets};
use crate::native::text::vector;

impl Emitter<'_> {
    /// Lanes whose addresses are only known when the program runs.
    pub(super) fn lanes_apart(
        &mut self,
        t: &Transfer,
        bounds: &Bounds,
        index: Option<Reg>,
        (fast, slow): (&str, &str),
        store: bool,
    ) -> Option<Lanes> {
        let (size, offset) = (i64::from(t.size()), t.offset as i64);
        let base = Reg::wide(t.base);
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
    pub(super) fn place_of_lane(&mut self, places: &Places, lane: usize) -> String {
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
    pub(super) fn all_places(&mut self, places: &Places, more: i64) -> String {
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
    pub(super) fn pointers(&mut self, lanes: &Lanes, more: i64) -> String {
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
}
