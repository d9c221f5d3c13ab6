//! Operands to an instruction, by way of a form of the table.

use crate::bits::Halves;
use crate::dispatch::{forms, length_mask};
use crate::instruction::Instruction;
use crate::isa::Isa;
use crate::kind::{Kind, Placed};
use crate::names::List;
use crate::op::Op;
use crate::operand::{Operand, Reg};
use crate::table::{Field, Form, Prefer, Role, Spec};

/// No form has more operands.
pub(crate) const MAX_OPERANDS: usize = 24;

/// What is known of each operand of a form, by position.
pub(crate) type Given = [Option<Operand>; MAX_OPERANDS];

/// Why an instruction cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The operation has no such operand.
    #[error("{op:?} has no operand {field:?}")]
    NoSuchField {
        /// The operation.
        op: Op,
        /// What was set.
        field: Field,
    },
    /// An operand that must be given is missing.
    #[error("{op:?} needs operand {field:?}")]
    Missing {
        /// The operation.
        op: Op,
        /// What is missing.
        field: Field,
    },
    /// An operand cannot be encoded in its place, alone or beside the others.
    #[error("{op:?} cannot have {operand:?} as {field:?}")]
    Unencodable {
        /// The operation.
        op: Op,
        /// The operand's name.
        field: Field,
        /// Its value.
        operand: Operand,
    },
    /// The operation cannot clamp its result.
    #[error("{op:?} cannot saturate")]
    CannotSaturate {
        /// The operation.
        op: Op,
    },
    /// The operation has no encoding.
    #[error("{op:?} has no encoding")]
    NoEncoding {
        /// The operation.
        op: Op,
    },
}

/// Builds an instruction from its operation and operands.
///
/// The shortest encoding that holds the operands is chosen. Modifiers that are not
/// given have the value they have in ordinary code.
///
/// ```
/// use assay_agx::{Builder, Field, Isa, Op, Reg};
/// let insn = Builder::new(Isa::G13, Op::Fmadd32)
///     .set(Field::Dest, Reg::word(0))
///     .set(Field::A, Reg::word(1))
///     .set(Field::B, Reg::word(2))
///     .set(Field::C, Reg::word(3))
///     .build()?;
/// assert_eq!(insn.to_string(), "fmadd32 r0, r1, r2, r3");
/// assert_eq!(insn.len(), 8);
/// # Ok::<(), assay_agx::EncodeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    isa: Isa,
    op: Op,
    saturate: bool,
    name: Option<&'static str>,
    fields: Vec<(Field, Operand)>,
}

impl Builder {
    /// Starts an instruction.
    pub fn new(isa: Isa, op: Op) -> Builder {
        Builder {
            isa,
            op,
            saturate: false,
            name: None,
            fields: Vec::with_capacity(8),
        }
    }

    /// Sets an operand or modifier; setting it again replaces it.
    #[must_use]
    pub fn set(mut self, field: Field, operand: impl Into<Operand>) -> Builder {
        self.fields.retain(|(other, _)| *other != field);
        self.fields.push((field, operand.into()));
        self
    }

    /// The destination.
    #[must_use]
    pub fn dest(self, operand: impl Into<Operand>) -> Builder {
        self.set(Field::Dest, operand)
    }

    /// The first source.
    #[must_use]
    pub fn a(self, operand: impl Into<Operand>) -> Builder {
        self.set(Field::A, operand)
    }

    /// The second source.
    #[must_use]
    pub fn b(self, operand: impl Into<Operand>) -> Builder {
        self.set(Field::B, operand)
    }

    /// The third source.
    #[must_use]
    pub fn c(self, operand: impl Into<Operand>) -> Builder {
        self.set(Field::C, operand)
    }

    /// Clamps the result.
    #[must_use]
    pub fn saturate(mut self, saturate: bool) -> Builder {
        self.saturate = saturate;
        self
    }

    /// Picks one of several encodings that share an operation by its mnemonic, such as
    /// `simd_shuffle_xor` of [`Op::Shuffle`] or `simd_fadd` of [`Op::Reduce`].
    #[must_use]
    pub fn named(mut self, mnemonic: &'static str) -> Builder {
        self.name = Some(mnemonic);
        self
    }

    /// The instruction.
    pub fn build(&self) -> Result<Instruction, EncodeError> {
        let mut first_error = None;
        for form in forms(self.isa.family()).filter(|form| form.op == self.op) {
            if self.name.is_some_and(|name| name != form.name) {
                continue;
            }
            match self.build_as(form) {
                Ok(instruction) => return Ok(instruction),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        Err(first_error.unwrap_or(EncodeError::NoEncoding { op: self.op }))
    }

    fn build_as(&self, form: &'static Form) -> Result<Instruction, EncodeError> {
        let op = self.op;
        let mut given: Given = [None; MAX_OPERANDS];
        for &(field, operand) in &self.fields {
            let position = form.operands.iter().position(|spec| spec.field == field);
            let slot = position.and_then(|position| given.get_mut(position));
            *slot.ok_or(EncodeError::NoSuchField { op, field })? = Some(operand);
        }
        for (spec, slot) in form.operands.iter().zip(&mut given) {
            if slot.is_none() {
                *slot = self.implied(form, spec);
            }
            if slot.is_none() && is_required(spec) {
                let field = spec.field;
                return Err(EncodeError::Missing { op, field });
            }
        }
        if self.saturate && form.saturate_bit == 0 {
            return Err(EncodeError::CannotSaturate { op });
        }
        assemble(self.isa, form, &given, self.saturate, Prefer::Short).map_err(|position| {
            let spec = form.operands.get(position);
            let operand = given.get(position).copied().flatten();
            match (spec, operand) {
                (Some(spec), Some(operand)) => EncodeError::Unencodable {
                    op,
                    field: spec.field,
                    operand,
                },
                _ => EncodeError::NoEncoding { op },
            }
        })
    }

    /// Modifiers that follow from the others: a mask from the number of registers, an
    /// atomic's coherency from the chip.
    fn implied(&self, form: &Form, spec: &Spec) -> Option<Operand> {
        let given = |field| {
            let found = self.fields.iter().find(|(other, _)| *other == field);
            found.map(|(_, operand)| *operand)
        };
        match (spec.field, spec.kind) {
            (Field::Mask, Kind::Choice(list @ (List::Mask | List::SampleMask))) => {
                let data = form.spec(Field::Data)?;
                let Some(Operand::Reg(Reg { count, width, .. })) = given(data.field) else {
                    return None;
                };
                let words = if width.bits() == 64 { count * 2 } else { count };
                Some(Operand::Choice(list, (1u8 << words.min(4)) - 1))
            }
            (Field::Coherency, _) if form.op == Op::Atomic => (given(Field::U4).is_none()
                && given(Field::U5).is_none())
            .then(|| Operand::Imm(i64::from(self.isa.atomic_coherency()))),
            _ => None,
        }
    }
}

/// Whether a builder must be given this operand.
fn is_required(spec: &Spec) -> bool {
    let optional = matches!(
        spec.kind,
        Kind::AtomicDest
            | Kind::OptionalReg
            | Kind::Heap
            | Kind::CompareOffset
            | Kind::SampleId
            | Kind::Sampler
            | Kind::Lod
            | Kind::ExecCounter
            | Kind::DepthStencil
            | Kind::Index
            | Kind::LocalIndex
            | Kind::LocalBase
    );
    spec.role != Role::Plain && !spec.hidden && !optional
}

/// Encodes the given operands in `form`. The error is the position of the operand that
/// does not fit.
pub(crate) fn assemble(
    isa: Isa,
    form: &'static Form,
    given: &Given,
    saturate: bool,
    prefer: Prefer,
) -> Result<Instruction, usize> {
    let mut start = Partial {
        word: form.value,
        assigned: form.mask,
    };
    if form.saturate_bit != 0 {
        start.word |= u128::from(saturate) << form.saturate_bit;
        start.assigned |= 1 << form.saturate_bit;
    }
    let attempt = Attempt {
        isa,
        form,
        given,
        prefer,
    };
    let mut blame = Blame::default();
    let placed = attempt.place(0, start, &mut blame);
    placed.ok_or(blame.disagrees.unwrap_or(blame.furthest))
}

/// Which operand is at fault when there is no encoding.
#[derive(Default)]
struct Blame {
    /// The last operand that was tried.
    furthest: usize,
    /// An operand that fits alone but means something else beside the others.
    disagrees: Option<usize>,
}

/// An instruction word under construction.
#[derive(Clone, Copy)]
struct Partial {
    word: u128,
    /// Bits that are decided.
    assigned: u128,
}

struct Attempt<'a> {
    isa: Isa,
    form: &'static Form,
    given: &'a Given,
    prefer: Prefer,
}

impl Attempt<'_> {
    /// Places the operands from `position` on, trying the second encoding of an operand
    /// when the first contradicts the rest.
    fn place(&self, position: usize, partial: Partial, blame: &mut Blame) -> Option<Instruction> {
        let Some(spec) = self.form.operands.get(position) else {
            return self.finish(partial, blame);
        };
        let Some(operand) = self.given.get(position).copied().flatten() else {
            return self.place(position + 1, partial, blame);
        };
        blame.furthest = blame.furthest.max(position);
        let placements = spec.kind.encode(operand, spec.bits.width());
        placements.into_iter().flatten().find_map(|placed| {
            let next = partial.with(spec, placed)?;
            self.place(position + 1, next, blame)
        })
    }

    fn finish(&self, mut partial: Partial, blame: &mut Blame) -> Option<Instruction> {
        for spec in self.form.operands {
            let free = spec.bits.deposit(u64::MAX >> 1) & !partial.assigned;
            partial.word |= spec.bits.deposit(spec.default) & free;
            partial.assigned |= free;
        }
        let form = self.form;
        let mut word = partial.word;
        if form.short != form.long {
            let length_bit = 1 << form.length_bit;
            word &= !length_bit;
            let fits_short = word & !length_mask(form.short) == 0;
            if !fits_short || self.prefers_long(word) {
                word |= length_bit;
            }
        }
        let instruction = self.decode(word)?;
        match self.disagreement(&instruction) {
            None => Some(instruction),
            Some(position) => {
                blame.disagrees.get_or_insert(position);
                None
            }
        }
    }

    fn prefers_long(&self, word: u128) -> bool {
        match self.prefer {
            Prefer::Short => false,
            Prefer::Long => true,
            Prefer::LongAtIndexZero => {
                let index = self.form.spec(Field::Index);
                index.is_some_and(|spec| spec.operand(Halves::new(word)) == Operand::Imm(0))
            }
        }
    }

    fn decode(&self, word: u128) -> Option<Instruction> {
        let decoded = Instruction::decode(self.isa, &word.to_le_bytes()).ok()?;
        (decoded.word() == word && decoded.op() == self.form.op).then_some(decoded)
    }

    /// The first operand that came out other than it was given.
    fn disagreement(&self, instruction: &Instruction) -> Option<usize> {
        let operands = self.form.operands.iter().zip(self.given);
        operands.into_iter().position(|(spec, given)| {
            let Some(given) = *given else { return false };
            !same(spec.kind, spec.operand(instruction.halves()), given)
        })
    }
}

fn same(kind: Kind, decoded: Operand, given: Operand) -> bool {
    match (decoded, given) {
        // An index is 16 bits, whatever its sign.
        (Operand::Imm(a), Operand::Imm(b)) if matches!(kind, Kind::Index | Kind::LocalIndex) => {
            (a ^ b) & 0xffff == 0
        }
        (Operand::Binary { value, .. }, Operand::Imm(given)) => i64::from(value) == given,
        (decoded, given) => decoded.agrees(given),
    }
}

impl Partial {
    fn with(self, spec: &Spec, placed: Placed) -> Option<Partial> {
        let care = spec.bits.deposit(placed.care);
        let value = spec.bits.deposit(placed.value) & care;
        if (self.word ^ value) & care & self.assigned != 0 {
            return None;
        }
        Some(Partial {
            word: self.word | value,
            assigned: self.assigned | care,
        })
    }
}
