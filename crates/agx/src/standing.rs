//! How well an encoding is known.
//!
//! G13's and G14's are long established. Of G15's nothing official exists, so each form says
//! what it rests on: programs whose emulated results equal their source's, descriptions that
//! agree, or only that listings continue correctly behind it.

use crate::dispatch::forms;
use crate::instruction::Instruction;
use crate::isa::Family;
use crate::table::{Form, PROVEN, Proof};

/// What the meaning of an encoding rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Standing {
    /// Programs that use it give, emulated, the bytes their source gives.
    Proven,
    /// Public descriptions agree on it; no program has shown it.
    Read,
    /// Only its length is known.
    LengthOnly,
}

impl Standing {
    /// The usual words.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Proven => "proven",
            Standing::Read => "read",
            Standing::LengthOnly => "length only",
        }
    }
}

impl Form {
    /// The standing of its encoding of this length, proofs considered.
    fn standing_at(&self, length: u8) -> Standing {
        match self.standing {
            Standing::Read if self.proof(length).is_some() => Standing::Proven,
            standing => standing,
        }
    }

    fn proof(&self, length: u8) -> Option<&'static Proof> {
        PROVEN
            .iter()
            .find(|proof| (proof.name, proof.length) == (self.name, length))
    }
}

impl Instruction {
    /// How well its encoding is known.
    ///
    /// ```
    /// use assay_agx::{Instruction, Isa, Standing};
    /// let stop = Instruction::decode(Isa::G15, &[0x0e, 0, 0, 0])?;
    /// assert_eq!(stop.standing(), Standing::Proven);
    /// # Ok::<(), assay_agx::DecodeError>(())
    /// ```
    pub fn standing(&self) -> Standing {
        if self.isa().is_experimental() {
            return self.form().standing_at(self.length()).max(Standing::Read);
        }
        self.form().standing_at(self.length())
    }

    /// Why it has that standing, in a sentence.
    pub fn standing_reason(&self) -> String {
        if self.family() == Family::G13 {
            return "established: public test vectors and compiled programs".to_owned();
        }
        if self.isa().is_experimental() {
            return "G15's table, made for M3, M4 and A18; the M5 differs in memory access"
                .to_owned();
        }
        match (self.standing(), self.form().proof(self.length())) {
            (Standing::Proven, Some(proof)) => format!(
                "{} in {} that give the bytes of their source, such as {}",
                counted(proof.instructions, "instruction"),
                counted(proof.programs, "program"),
                proof.example
            ),
            (Standing::Proven, None) => "established".to_owned(),
            (Standing::Read, _) => {
                "a public description of it fits the programs it occurs in; none of them was \
                 emulated to its source's bytes"
                    .to_owned()
            }
            (Standing::LengthOnly, _) => "programs continue correctly behind it".to_owned(),
        }
    }
}

fn counted(count: u32, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// Name, length in bytes and standing of every form of a family, in the order of its table.
pub fn forms_of(family: Family) -> impl Iterator<Item = (&'static str, u8, Standing)> {
    forms(family).flat_map(|form| {
        let lengths = [
            Some(form.short),
            (form.long != form.short).then_some(form.long),
        ];
        let row = |length| (form.name, length, form.standing_at(length));
        lengths.into_iter().flatten().map(row)
    })
}
