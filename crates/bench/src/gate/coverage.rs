//! How much of a result is compared with the oracle.
//!
//! An oracle is written for reading, not for speed: at the largest sizes it would take longer than everything else. There
//! it is asked for some rows of the output, drawn after the kernel has run, so that no kernel can know which.

use crate::random::Random;
use crate::registry::{Case, CaseRole};

/// Floating-point operations that an oracle is asked for at most, for one set of inputs: about a second.
const MOST_OPERATIONS: u64 = 500_000_000;
/// Rows that are compared at least.
const LEAST_ROWS: usize = 16;

/// Rows of an output, along its last extent, that are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// In rising order; all of them if `None`.
    rows: Option<Vec<usize>>,
    /// Elements of a row.
    columns: usize,
}

impl Coverage {
    /// Every row.
    pub const ALL: Self = Self {
        rows: None,
        columns: 1,
    };

    /// No row: everything is only looked at.
    pub(crate) const NONE: Self = Self {
        rows: Some(Vec::new()),
        columns: 1,
    };

    /// Returns true if nothing is compared.
    pub(crate) fn is_none(&self) -> bool {
        self.rows.as_ref().is_some_and(Vec::is_empty)
    }

    /// Every row where the oracle is quick enough, otherwise rows drawn at random.
    pub fn draw(case: &Case, random: &mut Random) -> Self {
        let output = case
            .arguments
            .iter()
            .find_map(|argument| match &argument.role {
                CaseRole::Output { shape } => Some(shape),
                _ => None,
            });
        let operations = case.flops.saturating_mul(case.oracle.slowness());
        let (Some(shape), true) = (output, operations > MOST_OPERATIONS) else {
            return Self::ALL;
        };
        let columns = shape.last().copied().unwrap_or(1).max(1);
        let all = shape.iter().product::<usize>() / columns;
        let part = MOST_OPERATIONS as f64 / operations as f64;
        let wanted = ((all as f64 * part) as usize).max(LEAST_ROWS);
        if wanted >= all {
            return Self::ALL;
        }
        // The first and the last row are where loops begin and end.
        let mut rows = std::collections::BTreeSet::from([0, all - 1]);
        while rows.len() < wanted {
            rows.insert(random.below(all as u64) as usize);
        }
        Self {
            rows: Some(rows.into_iter().collect()),
            columns,
        }
    }

    /// The rows, as an oracle is asked for them.
    pub fn rows(&self) -> Option<&[usize]> {
        self.rows.as_deref()
    }

    /// Returns true if every element is compared.
    pub fn is_all(&self) -> bool {
        self.rows.is_none()
    }

    /// The places that are compared, of so many elements, in rising order.
    pub(super) fn places(&self, elements: usize) -> impl Iterator<Item = usize> {
        let all = self.rows.is_none().then_some(0..elements);
        let rows = self.rows.iter().flatten();
        let rows = rows.flat_map(|row| row * self.columns..(row + 1) * self.columns);
        all.into_iter().flatten().chain(rows)
    }
}
