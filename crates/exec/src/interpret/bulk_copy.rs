//! Bulk copies: copies of rows and tiles that a simdgroup makes together.
//!
//! The interpreter makes them at once, an element by each active lane in turn, with the arguments of the first active lane.

use super::addresses::Addresses;
use super::observer::{AccessEvent, Observer};
use super::{Batch, ExecutionContext, Trap};
use crate::code::{BulkCopy, Cell};
use crate::error::FaultKind;
use crate::lanes::{Wide, lanes_of};
use crate::memory::Action;
use std::sync::atomic::Ordering;

/// A tile of a bulk copy.
#[derive(Clone, Copy, Debug)]
struct CopyTile {
    to: u64,
    to_row: u64,
    width: u64,
    height: u64,
    from: u64,
    from_row: u64,
    from_width: i64,
    from_height: i64,
    column: i64,
    row: i64,
    size: u64,
    to_edge: bool,
}

impl CopyTile {
    fn of(copy: BulkCopy, args: &[u64]) -> Option<Self> {
        let size = copy.size.into();
        let to_edge = copy.to_edge;
        Some(match *args {
            // A row is a tile of one row.
            [to, from, count] => {
                return Self::of(copy, &[to, 0, count, 1, from, 0, count, 1, 0, 0]);
            }
            [
                to,
                to_row,
                width,
                height,
                from,
                from_row,
                from_width,
                from_height,
                column,
                row,
            ] => Self {
                to,
                to_row,
                width,
                height,
                from,
                from_row,
                from_width: i64::try_from(from_width).unwrap_or(i64::MAX),
                from_height: i64::try_from(from_height).unwrap_or(i64::MAX),
                column: column as i64,
                row: row as i64,
                size,
                to_edge,
            },
            _ => return None,
        })
    }

    fn elements(&self) -> u64 {
        self.width.saturating_mul(self.height)
    }

    /// Where an element goes, and where it comes from; nowhere if it is a zero.
    fn element(&self, number: u64) -> (u64, Option<u64>) {
        let (x, y) = (number % self.width.max(1), number / self.width.max(1));
        let place = |start: u64, row: u64, x: u64, y: u64| {
            let element = y.wrapping_mul(row).wrapping_add(x);
            start.wrapping_add(element.wrapping_mul(self.size))
        };
        let to = place(self.to, self.to_row, x, y);
        let mut x = self.column.wrapping_add(x as i64);
        let mut y = self.row.wrapping_add(y as i64);
        if self.to_edge && self.from_width > 0 && self.from_height > 0 {
            x = x.clamp(0, self.from_width - 1);
            y = y.clamp(0, self.from_height - 1);
        }
        let inside = (0..self.from_width).contains(&x) && (0..self.from_height).contains(&y);
        let from = inside.then(|| place(self.from, self.from_row, x as u64, y as u64));
        (to, from)
    }
}

impl Batch {
    /// Makes a bulk copy for the current simdgroup.
    pub(super) fn bulk_copy<O: Observer>(
        &mut self,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        copy: BulkCopy,
        position: usize,
    ) -> Result<(), Trap> {
        let mask = self.mask();
        let first = mask.trailing_zeros() as usize & 31;
        let args = context.program.list(copy.args).iter();
        let args: Vec<u64> = args.map(|&reg| self.get(reg, first)).collect();
        let (Some(tile), true) = (CopyTile::of(copy, &args), mask != 0) else {
            return Ok(());
        };
        let trap = |kind: FaultKind, lane: usize| Trap {
            kind,
            position,
            lane,
        };
        let (elements, mut done) = (tile.elements(), 0u64);
        while done < elements {
            self.progress.steps = self.progress.steps.saturating_add(32);
            let stopped = context
                .cancel
                .is_some_and(|flag| flag.load(Ordering::Relaxed));
            if self.progress.steps > context.max_steps || stopped {
                let kind = match stopped {
                    true => FaultKind::Cancelled,
                    false => FaultKind::TooManySteps {
                        steps: self.progress.steps,
                    },
                };
                return Err(trap(kind, first));
            }
            let (mut to, mut from): (Wide, Wide) = ([0; 32], [0; 32]);
            let (mut writes, mut reads) = (0, 0);
            for lane in lanes_of(mask) {
                if done < elements {
                    let (target, source) = tile.element(done);
                    to[lane] = target;
                    writes |= 1u32 << lane;
                    if let Some(source) = source {
                        from[lane] = source;
                        reads |= 1u32 << lane;
                    }
                    done += 1;
                }
            }
            if O::OBSERVES {
                let read = self.report_elements(
                    context,
                    observer,
                    copy,
                    position,
                    &from,
                    reads,
                    Action::Read,
                );
                let write = self.report_elements(
                    context,
                    observer,
                    copy,
                    position,
                    &to,
                    writes,
                    Action::Write,
                );
                if read != reads || write != writes {
                    return Ok(());
                }
            }
            let memory = &context.memory;
            for lane in lanes_of(writes) {
                let place = memory.place(to[lane], copy.size, lane, Action::Write);
                let target = place.map_err(|kind| trap(kind, lane))?;
                let source = match reads >> lane & 1 {
                    0 => None,
                    _ => {
                        let place = memory.place(from[lane], copy.size, lane, Action::Read);
                        Some(place.map_err(|kind| trap(kind, lane))?)
                    }
                };
                for byte in 0..copy.size {
                    let value = source.map_or(0, |source| source.at(byte).read(Cell::Byte));
                    target.at(byte).write(Cell::Byte, value);
                }
            }
        }
        Ok(())
    }

    /// Reports an element for each of some lanes to the observer. Returns the lanes that may.
    #[allow(clippy::too_many_arguments, reason = "an access has that many sides")]
    fn report_elements<O: Observer>(
        &self,
        context: &ExecutionContext<'_>,
        observer: &mut O,
        copy: BulkCopy,
        position: usize,
        addresses: &Wide,
        mask: u32,
        action: Action,
    ) -> u32 {
        if mask == 0 {
            return 0;
        }
        let pointers = Addresses::Pointers(addresses, 0);
        observer.on_access(&AccessEvent {
            align: copy.align,
            ..AccessEvent::new(
                context,
                self,
                position,
                (pointers, mask),
                (action, Cell::Byte, copy.size),
            )
        })
    }
}
