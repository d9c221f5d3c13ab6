//! Values that threads of a threadgroup share, in threadgroup memory.

use super::super::{Refusal, RefusalKind};
use super::{Frame, Site, X};
use assay_ssa::{BinaryOp, IntCond, Type, Value};
use std::collections::HashMap;

/// A value that threads of a threadgroup share, with its array.
pub(in super::super) struct Staged {
    /// The value of the original.
    pub(in super::super) value: Value,
    /// The axis its address depends on.
    pub(in super::super) on: u8,
    /// Its type.
    pub(in super::super) element: Type,
    /// Where its array starts.
    pub(in super::super) array: Value,
    /// Elements of the array from one position, or round, to the next.
    pub(in super::super) position_step: u32,
    /// See `position_step`.
    pub(in super::super) round_step: u32,
    /// Neighbours in memory are rounds, not positions.
    pub(in super::super) rounds_first: bool,
}

impl Staged {
    /// Reads the value of a position and round of the tile.
    pub(in super::super) fn read(
        &self,
        frame: &mut Frame<'_>,
        position: Value,
        round: Value,
    ) -> Value {
        let place = self.place(frame, position, round);
        let access = frame.access(self.element);
        frame.builder().load(self.element, place, access)
    }

    fn place(&self, frame: &mut Frame<'_>, position: Value, round: Value) -> Value {
        let factor = frame.number(self.round_step);
        let rounds = frame.binary(BinaryOp::Mul, round, factor);
        let index = frame.scaled(position, self.position_step, rounds);
        frame.element(self.array, index, self.element)
    }
}

/// How threads fill a tile.
pub(in super::super) struct Loading {
    /// The thread's index in its threadgroup.
    pub(in super::super) thread: Value,
    /// Threads of the threadgroup.
    pub(in super::super) threads: u32,
    /// The first round of the piece.
    pub(in super::super) start: Value,
    /// The threadgroup's position along the axis.
    pub(in super::super) group: Value,
    /// Positions of the tile along the axis.
    pub(in super::super) extent: u32,
    /// Rounds of a piece.
    pub(in super::super) piece: u32,
}

impl Loading {
    /// Fills a tile; what no thread of the original computes is zero.
    pub(in super::super) fn load(
        &self,
        frame: &mut Frame<'_>,
        one: &Staged,
    ) -> Result<(), Refusal> {
        let site = frame.site;
        let end = frame.number(self.extent * self.piece);
        let fill = frame.open(self.thread, end, &[]);
        let fast = if one.rounds_first {
            self.piece
        } else {
            self.extent
        };
        let fast_count = frame.number(fast);
        let slow = frame.binary(BinaryOp::UDiv, fill.variable, fast_count);
        let quick = frame.binary(BinaryOp::URem, fill.variable, fast_count);
        let (local, within) = if one.rounds_first {
            (slow, quick)
        } else {
            (quick, slow)
        };
        let position = frame.scaled(self.group, self.extent, local);
        let round = frame.binary(BinaryOp::Add, self.start, within);
        let at = if one.on == X {
            [Some(position), None]
        } else {
            [None, Some(position)]
        };
        let mut there = frame.at(at);
        let rounds = frame.rounds;
        let mut legal = frame.builder().icmp(IntCond::Ult, round, rounds);
        if let Some(inside) = frame.inside(&mut there, one.on)? {
            legal = frame.both(Some(legal), inside);
        }
        let values = site.variables(frame, round)?;
        let (read, put) = (frame.target.add_block(), frame.target.add_block());
        let value = frame.target.add_param(put, one.element);
        let nothing = frame.target.zero(one.element);
        frame.choose(legal, read, put, &[nothing]);
        frame.current = read;
        let mut there = frame.at(at);
        there.place.loads = true;
        there.place.known.extend(values);
        let loaded = there.value(&mut frame.target, frame.current, one.value)?;
        frame.jump(put, &[loaded]);
        frame.current = put;
        let place = one.place(frame, local, within);
        let access = frame.access(one.element);
        frame.builder().store(place, value, access);
        frame.close(&fill, self.threads, &[]);
        Ok(())
    }
}

impl Site {
    /// Variables of the loop in a round.
    pub(in super::super) fn variables(
        &self,
        frame: &mut Frame<'_>,
        round: Value,
    ) -> Result<HashMap<Value, Value>, Refusal> {
        let mut found = HashMap::new();
        for induction in &self.counted.inductions {
            let ty = self.function.ty(induction.param);
            if ty != Type::I32 && ty != Type::I64 {
                return Err(Refusal::new(
                    RefusalKind::Control,
                    "the loop counts in odd numbers",
                ));
            }
            let mut common = frame.at([None, None]);
            let init = common.value(&mut frame.target, frame.current, induction.init)?;
            let block = frame.current;
            let round = super::super::positions::resized(&mut frame.target, block, round, ty);
            let step = frame.target.constant(ty, induction.step as u64);
            let grown = frame.binary(BinaryOp::Mul, round, step);
            found.insert(induction.param, frame.binary(BinaryOp::Add, init, grown));
        }
        Ok(found)
    }
}
