//! What `assay bench` finds goes on the board at once, kernel by kernel: what is finished is never lost.

use crate::Capsule;
use crate::Failure;
use crate::board_error;
use assay_bench::gate::Verdict;
use assay_bench::measure::Measurement;
use assay_board::{
    Board, Held, Modelled, Outcome, Place, Raced, Recorded, Setting, Standing, Subject, Timed,
};
use assay_report::number;

/// Where runs are saved, if they are.
pub struct Saver {
    board: Option<Board>,
    /// Takes runs in place of a board, for whoever asked this machine to measure.
    capsule: Option<Capsule>,
    /// What became of them, by kind of standing.
    counts: [(usize, &'static str); 8],
    refused: usize,
}

/// What else is known about a run.
#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) remarks: Vec<String>,
    pub(crate) reference: Option<Timed>,
    /// The race against the holder of the record, if there was one.
    pub(crate) raced: Option<Raced>,
}

impl Saver {
    /// Saves to a board.
    pub fn to(board: Board) -> Self {
        Self::new(Some(board))
    }

    /// Leaves runs in a folder, for whoever asked this machine to measure.
    pub fn apart(capsule: Capsule) -> Self {
        Self {
            capsule: Some(capsule),
            ..Self::new(None)
        }
    }

    /// Saves nothing.
    pub fn nowhere() -> Self {
        Self::new(None)
    }

    fn new(board: Option<Board>) -> Self {
        Self {
            board,
            capsule: None,
            counts: [
                (0, "new"),
                (0, "again"),
                (0, "a new record"),
                (0, "a tie with the record"),
                (0, "slower than the record"),
                (0, "in place of a holder that is wrong"),
                (0, "not timed beside the holder of the record"),
                (0, "known"),
            ],
            refused: 0,
        }
    }

    /// The board, where there is one.
    pub fn board(&self) -> Option<&Board> {
        self.board.as_ref()
    }

    /// Who holds the record at a place.
    pub(crate) fn holder(&self, place: &Place) -> Result<Option<Held>, Failure> {
        if let Some(capsule) = &self.capsule {
            return Ok(capsule.holder(place));
        }
        match &self.board {
            Some(board) => board.holder(place).map_err(board_error),
            None => Ok(None),
        }
    }

    /// The number of a run that is on the board already: same place, same source, same seed.
    pub(crate) fn known(
        &self,
        place: &Place,
        source: &str,
        seed: u64,
    ) -> Result<Option<i64>, Failure> {
        match &self.board {
            Some(board) => board.run_of_seed(place, source, seed).map_err(board_error),
            None => Ok(None),
        }
    }

    /// Saves a run, if it may be saved, and says where it stands.
    pub(crate) fn save(
        &mut self,
        subject: Subject<'_>,
        verdict: &Verdict,
        measured: &Measurement,
        setting: Setting,
        extras: Extras,
    ) -> Result<Option<Recorded>, Failure> {
        if self.board.is_none() && self.capsule.is_none() {
            return Ok(None);
        }
        let Ok(outcome) = Outcome::new(subject, verdict, measured, setting) else {
            self.refused += 1;
            return Ok(None);
        };
        let outcome = outcome.with_remarks(extras.remarks);
        let outcome = match extras.reference {
            Some(reference) => outcome.with_reference(reference),
            None => outcome,
        };
        let outcome = match extras.raced {
            Some(raced) => outcome.with_race(raced),
            None => outcome,
        };
        if let Some(capsule) = &self.capsule {
            capsule.put(&outcome)?;
            return Ok(None);
        }
        self.record(&outcome)
    }

    /// Puts an outcome on the board, wherever it was measured.
    pub fn record(&mut self, outcome: &Outcome) -> Result<Option<Recorded>, Failure> {
        let Some(board) = &mut self.board else {
            return Ok(None);
        };
        let recorded = board.record(outcome).map_err(board_error)?;
        let kind = match recorded.standing {
            Standing::First => 0,
            Standing::Again { .. } => 1,
            Standing::Record(_) => 2,
            Standing::Tie(_) => 3,
            Standing::Slower(_) => 4,
            Standing::Succeeds => 5,
            Standing::Unraced => 6,
            Standing::Known => 7,
        };
        if let Some((count, _)) = self.counts.get_mut(kind) {
            *count += 1;
        }
        Ok(Some(recorded))
    }

    /// Keeps predicted times, apart from results.
    pub(crate) fn keep_modelled(&mut self, times: &[Modelled], now: u64) -> Result<(), Failure> {
        match &mut self.board {
            Some(board) if !times.is_empty() => board
                .keep_modelled(times, now.cast_signed())
                .map_err(board_error),
            _ => Ok(()),
        }
    }

    /// What was saved, in a line; nothing, if nothing was to be.
    pub fn told(&self) -> Option<String> {
        let board = self.board.as_ref()?;
        let saved: usize = self.counts.iter().map(|(count, _)| count).sum();
        if saved + self.refused == 0 {
            return None;
        }
        let kinds = self.counts.iter().filter(|(count, _)| *count > 0);
        let kinds: Vec<String> = kinds
            .map(|(count, kind)| format!("{count} {kind}"))
            .collect();
        let refused = match self.refused {
            0 => String::new(),
            refused => format!("; {refused} not verified, not saved"),
        };
        Some(format!(
            "Saved {} to {}: {}{refused}. assay board shows it.",
            number::grouped(saved as u64),
            board.path().display(),
            kinds.join(", ")
        ))
    }
}

/// The word for a standing in JSON.
pub(crate) fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::First => "first",
        Standing::Again { .. } => "again",
        Standing::Record(_) => "record",
        Standing::Tie(_) => "tie",
        Standing::Slower(_) => "slower",
        Standing::Succeeds => "succeeds",
        Standing::Unraced => "unraced",
        Standing::Known => "known",
    }
}
