//! The levels of the execution mask that are open, and by which instruction.
//!
//! The hardware only counts, per lane; a wrong count shows as wrong lanes much later.
//! Compilers use the counters as a stack, so the emulator keeps that stack beside
//! them: `if` opens levels, `pop_exec` closes them, and a loop outside any level opens
//! its own with its first `while` (there are no inactive lanes to protect yet, so
//! compilers leave out the opening).

use crate::fault::NestingFault;
use crate::op::OpIndex;

/// How many openers may be on the stack.
const LIMIT: usize = 4096;

/// What is wrong, before the instructions are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misuse {
    Simple(NestingFault),
    /// Levels are open at the end; the innermost by this operation.
    LeftOpen {
        open: u32,
        opener: OpIndex,
    },
}

#[derive(Clone, Copy, Debug)]
struct Opener {
    op: OpIndex,
    levels: u32,
}

/// The open levels of one simdgroup.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    openers: Vec<Opener>,
    depth: u32,
    /// Where the current function's openers start, and the depth there.
    frame: (usize, u32),
}

/// What a call has to remember.
pub(crate) type SavedFrame = (usize, u32);

impl Nesting {
    /// `if`: opens `levels`; one that can fail needs a level even if it asks for none
    /// while no other is open.
    pub(crate) fn open(&mut self, op: OpIndex, levels: u8, can_fail: bool) -> Result<(), Misuse> {
        match (levels, self.depth) {
            (0, 0) if can_fail => self.push(op, 1),
            (0, _) => Ok(()),
            (levels, _) => self.push(op, u32::from(levels)),
        }
    }

    /// `else`: alternates the innermost level.
    pub(crate) fn alternate(&mut self, op: OpIndex, levels: u8) -> Result<(), Misuse> {
        if self.depth == 0 {
            return Err(Misuse::Simple(NestingFault::ElseWithoutIf));
        }
        self.raise(op, levels)
    }

    /// `while` (and an unusual `else`): lanes it stops count `levels`.
    pub(crate) fn raise(&mut self, op: OpIndex, levels: u8) -> Result<(), Misuse> {
        match u32::from(levels).checked_sub(self.depth) {
            None | Some(0) => Ok(()),
            Some(more) => self.push(op, more),
        }
    }

    fn push(&mut self, op: OpIndex, levels: u32) -> Result<(), Misuse> {
        let here = self.openers.get(self.frame.0..).unwrap_or_default();
        if here.iter().any(|opener| opener.op == op) {
            return Err(Misuse::Simple(NestingFault::OpenedTwice));
        }
        if self.openers.len() >= LIMIT {
            return Err(Misuse::Simple(NestingFault::TooDeep { limit: LIMIT }));
        }
        self.openers.push(Opener { op, levels });
        self.depth += levels;
        Ok(())
    }

    /// `pop_exec`: closes levels of the current function.
    pub(crate) fn close(&mut self, levels: u8) -> Result<(), Misuse> {
        let open = self.depth - self.frame.1;
        if u32::from(levels) > open {
            let fault = NestingFault::PopsTooMany { levels, open };
            return Err(Misuse::Simple(fault));
        }
        self.depth -= u32::from(levels);
        let mut rest = u32::from(levels);
        while let Some(top) = self.openers.last_mut() {
            if top.levels > rest {
                top.levels -= rest;
                break;
            }
            rest -= top.levels;
            self.openers.pop();
        }
        Ok(())
    }

    /// A call: the function starts with levels of its own.
    pub(crate) fn enter(&mut self) -> SavedFrame {
        std::mem::replace(&mut self.frame, (self.openers.len(), self.depth))
    }

    /// A return: the function must have closed what it opened.
    pub(crate) fn leave(&mut self, saved: SavedFrame) -> Result<(), Misuse> {
        self.closed()?;
        self.frame = saved;
        Ok(())
    }

    /// Whether the current function has closed what it opened.
    pub(crate) fn closed(&self) -> Result<(), Misuse> {
        match (self.depth - self.frame.1, self.openers.last()) {
            (0, _) | (_, None) => Ok(()),
            (open, Some(opener)) => Err(Misuse::LeftOpen {
                open,
                opener: opener.op,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outer_loop_opens_its_level_at_its_first_while() {
        let mut nesting = Nesting::default();
        for _ in 0..3 {
            nesting.raise(5, 2).unwrap();
        }
        nesting.close(2).unwrap();
        assert_eq!(nesting.closed(), Ok(()));
    }

    #[test]
    fn an_if_that_is_entered_again_without_pop_is_reported() {
        let mut nesting = Nesting::default();
        nesting.raise(1, 1).unwrap();
        nesting.open(2, 1, true).unwrap();
        let again = nesting.open(2, 1, true);
        assert_eq!(again, Err(Misuse::Simple(NestingFault::OpenedTwice)));
    }

    #[test]
    fn pops_stop_at_the_function_that_opened() {
        let mut nesting = Nesting::default();
        nesting.open(1, 2, false).unwrap();
        let saved = nesting.enter();
        let too_many = NestingFault::PopsTooMany { levels: 1, open: 0 };
        assert_eq!(nesting.close(1), Err(Misuse::Simple(too_many)));
        nesting.leave(saved).unwrap();
        nesting.close(2).unwrap();
        assert_eq!(nesting.closed(), Ok(()));
    }
}
