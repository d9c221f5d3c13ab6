//! The instruction table: the only place that knows a bit position.
//!
//! A [`Form`] is one encoding: fixed bits, lengths, and its operands in the order the
//! text writes them. Decoding, encoding, printing, parsing and the properties all read
//! this table and nothing else. Forms are tried in order and the first whose fixed
//! bits match wins, so a specific form stands before a general one.
//!
//! Sources of the facts: the public descriptions of applegpu (operand order and text)
//! and of Mesa's AGX compiler (operand encodings); where they differ, the row says so.

mod alu;
mod control;
mod float;
mod g15;
mod graphics;
mod lanes;
pub(crate) use g15::{PROVEN, Proof};
pub(crate) use lanes::{reduction_bits, shuffle_bits};
mod memory;
mod texture;

use crate::bits::Bits;
use crate::isa::Family;
use crate::kind::Kind;
use crate::op::{Class, Op};
use crate::semantics::{ReduceOp, Scope, Shuffle};
use crate::standing::Standing;

/// The name of an operand or modifier of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "most are the words of the reference tables")]
#[non_exhaustive]
pub enum Field {
    /// The register written by an arithmetic instruction.
    Dest,
    /// First, second and third source.
    A,
    B,
    C,
    /// Select: the value when the comparison holds.
    X,
    /// Select: the value when it does not.
    Y,
    /// `r0l`, the execution-mask nesting counter, read and written.
    Exec,
    /// The comparison of a select, ballot or mask instruction.
    Condition,
    /// How many levels an execution-mask instruction pushes, breaks or pops.
    Nest,
    /// Left shift of the last source (arithmetic) or of the index (memory).
    Shift,
    /// Width of a bit field.
    BitMask,
    TruthTable,
    /// A literal.
    Imm,
    /// The special register read.
    SpecialRegister,
    /// Ends helper invocations (fragment programs).
    Kill,
    /// Clamp the result.
    Saturate,
    /// Which conversion.
    Mode,
    Round,
    /// Sub-operation fields that no decoder names.
    Op1,
    Op2,
    Op3,
    /// Branch target.
    Target,
    /// The register with the address of an indirect call or return.
    Address,
    /// Scoreboard slot: what [`Op::Wait`] waits for.
    Slot,
    Format,
    Mask,
    /// The register(s) loaded or stored.
    Data,
    /// The address an access starts from.
    Base,
    /// Added to the base, in elements.
    Index,
    /// Whether a register index is sign-extended.
    IndexSign,
    /// Memory ordering of a store; its values are not understood.
    Order,
    /// Cache coherency of the access.
    Coherency,
    /// What an atomic does.
    AtomicOp,
    /// The value an atomic combines with memory.
    Value,
    /// One- or two-dimensional asynchronous copy.
    Shape,
    /// Where an asynchronous copy goes to or comes from in threadgroup memory.
    Local,
    /// Texture operands.
    Compare,
    SampleMode,
    Gather,
    Heap,
    Texture,
    Sampler,
    Dimension,
    Coordinates,
    LodMode,
    Lod,
    CompareOffset,
    /// Tile and fragment operands.
    ExplicitCoordinates,
    TileOffset,
    Samples,
    DepthStencil,
    /// Interpolator operands.
    Coefficient,
    Perspective,
    SampleId,
    Forward,
    Elide,
    Interpolation,
    /// Index of a vertex output.
    OutputIndex,
    /// `map` and `unmap`.
    MapTarget,
    /// What a comparison writes its outcome to, or a mask instruction reads (G15).
    Predicate,
    /// Slots to wait for before the operands are read (G15).
    Wait,
    /// Added to an address, in bytes (G15).
    Offset,
    /// A reduction gives each lane the combination of the lanes before it (G15).
    Prefix,
    /// Bits the compiler sets by its schedule; no result depends on them (G15).
    Schedule,
    /// Barrier fields.
    BarrierA,
    BarrierB,
    BarrierC,
    /// Fields whose meaning is unknown, in text order.
    U0,
    U1,
    U2,
    U3,
    U4,
    U5,
    U6,
    U7,
}

/// What an instruction does with an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Written.
    Dest,
    /// Read.
    Source,
    /// Read and written.
    Both,
    /// Neither: a modifier or an immediate.
    Plain,
}

/// One operand of a form.
#[derive(Debug)]
pub(crate) struct Spec {
    pub(crate) field: Field,
    pub(crate) role: Role,
    pub(crate) kind: Kind,
    pub(crate) bits: Bits,
    /// Not part of the text.
    pub(crate) hidden: bool,
    /// The usual value of the field's bits, used when text or a builder does not say.
    pub(crate) default: u64,
}

/// How the text of a form can differ from its own name and operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alias {
    None,
    /// `and`, `or`, ... `mov`, `not`.
    Bitop,
    /// `and`, `or`, ...: functions of one source have forms of their own.
    BitopG15,
    /// `push_exec`, `update_exec`: comparisons that always hold.
    PushExec,
}

/// Which length to choose when the text fits both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefer {
    Short,
    /// What compilers emit for this form, although the short one would do.
    Long,
    /// Long when the index is the immediate 0: Mesa never uses the index and always
    /// emits the long form.
    LongAtIndexZero,
}

/// One encoding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Form {
    pub(crate) name: &'static str,
    pub(crate) op: Op,
    pub(crate) class: Class,
    pub(crate) value: u128,
    pub(crate) mask: u128,
    /// Bytes when the length bit is clear and set; equal when there is no such bit.
    pub(crate) short: u8,
    pub(crate) long: u8,
    pub(crate) length_bit: u8,
    /// In text order; those the text leaves out come last.
    pub(crate) operands: &'static [Spec],
    /// How many the text shows.
    shown: u8,
    pub(crate) alias: Alias,
    pub(crate) prefer: Prefer,
    /// The bit that clamps the result and adds `.sat` to the name; 0 for none.
    pub(crate) saturate_bit: u8,
    /// What the opcode alone says, where no operand does.
    pub(crate) meaning: Meaning,
    /// How well the form is known.
    pub(crate) standing: Standing,
}

/// What an opcode says about an instruction beyond its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Nothing, or operands and bits say it.
    Plain,
    /// A reduction or scan; whether it is a scan is an operand.
    Reduce(ReduceOp, Scope),
    Shuffle(Shuffle),
}

/// The saturate bit of every form of G13 that has one.
const SATURATE_BIT: u8 = 6;

impl Form {
    /// A form with one length.
    pub(crate) const fn fixed(
        name: &'static str,
        op: Op,
        class: Class,
        length: u8,
        (value, mask): (u128, u128),
        operands: &'static [Spec],
    ) -> Form {
        assert!(value & !mask == 0, "fixed bits lie inside the mask");
        Form {
            name,
            op,
            class,
            value,
            mask,
            short: length,
            long: length,
            length_bit: 0,
            operands,
            shown: count_shown(operands),
            alias: Alias::None,
            prefer: Prefer::Short,
            saturate_bit: 0,
            meaning: Meaning::Plain,
            standing: Standing::Proven,
        }
    }

    /// A form with a short and a long encoding, told apart by `length_bit`.
    pub(crate) const fn sized(
        name: &'static str,
        op: Op,
        class: Class,
        (short, long, length_bit): (u8, u8, u8),
        (value, mask): (u128, u128),
        operands: &'static [Spec],
    ) -> Form {
        let mut form = Form::fixed(name, op, class, short, (value, mask), operands);
        form.long = long;
        form.length_bit = length_bit;
        form
    }

    pub(crate) const fn saturating(self) -> Form {
        self.saturating_by(SATURATE_BIT)
    }

    pub(crate) const fn saturating_by(mut self, bit: u8) -> Form {
        self.saturate_bit = bit;
        self
    }

    pub(crate) const fn meaning(mut self, meaning: Meaning) -> Form {
        self.meaning = meaning;
        self
    }

    pub(crate) const fn standing(mut self, standing: Standing) -> Form {
        self.standing = standing;
        self
    }

    pub(crate) const fn alias(mut self, alias: Alias) -> Form {
        self.alias = alias;
        self
    }

    pub(crate) const fn prefer(mut self, prefer: Prefer) -> Form {
        self.prefer = prefer;
        self
    }

    /// The operands the text shows.
    #[inline]
    pub(crate) fn visible(&self) -> &'static [Spec] {
        self.operands
            .get(..usize::from(self.shown))
            .unwrap_or_default()
    }

    pub(crate) fn spec(&self, field: Field) -> Option<&'static Spec> {
        self.operands.iter().find(|spec| spec.field == field)
    }
}

const fn count_shown(operands: &[Spec]) -> u8 {
    let mut shown = 0;
    while shown < operands.len() && !operands[shown].hidden {
        shown += 1;
    }
    let mut i = shown;
    while i < operands.len() {
        assert!(
            operands[i].hidden,
            "operands left out of the text come last"
        );
        i += 1;
    }
    shown as u8
}

/// An operand that is written.
pub(crate) const fn dest(field: Field, kind: Kind, bits: Bits) -> Spec {
    spec(field, Role::Dest, kind, bits)
}

/// An operand that is read.
pub(crate) const fn source(field: Field, kind: Kind, bits: Bits) -> Spec {
    spec(field, Role::Source, kind, bits)
}

/// An operand that is read and written.
pub(crate) const fn both(field: Field, kind: Kind, bits: Bits) -> Spec {
    spec(field, Role::Both, kind, bits)
}

/// A modifier or an immediate.
pub(crate) const fn plain(field: Field, kind: Kind, bits: Bits) -> Spec {
    spec(field, Role::Plain, kind, bits)
}

/// A modifier the text does not show.
pub(crate) const fn hidden(field: Field, kind: Kind, bits: Bits) -> Spec {
    let mut spec = spec(field, Role::Plain, kind, bits);
    spec.hidden = true;
    spec
}

const fn spec(field: Field, role: Role, kind: Kind, bits: Bits) -> Spec {
    Spec {
        field,
        role,
        kind,
        bits,
        hidden: false,
        default: 0,
    }
}

impl Spec {
    /// With the value the field's bits have in ordinary code.
    pub(crate) const fn usually(mut self, default: u64) -> Spec {
        self.default = default;
        self
    }

    /// Returns true if it is where a branch goes to, whose text depends on where the instruction stands.
    pub(crate) const fn is_target(&self) -> bool {
        matches!(self.kind, Kind::Target(_))
    }
}

/// The forms of G13 and G14, by kind of instruction, in the order they are tried.
const G13_FORMS: &[&[Form]] = &[
    alu::FORMS,
    float::FORMS,
    control::FORMS,
    lanes::FORMS,
    memory::FORMS,
    texture::FORMS,
    graphics::FORMS,
];

/// How many forms G13 has, and how many there are in all.
const G13_COUNT: usize = count(G13_FORMS);
const COUNT: usize = G13_COUNT + count(g15::FORMS);

/// All forms side by side, so that a number of two bytes stands for one.
static FORMS: [Form; COUNT] = {
    let mut forms = [G13_FORMS[0][0]; COUNT];
    copy(G13_FORMS, &mut forms, 0);
    copy(g15::FORMS, &mut forms, G13_COUNT);
    forms
};

const fn count(parts: &[&[Form]]) -> usize {
    let (mut part, mut count) = (0, 0);
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

const fn copy(parts: &[&[Form]], to: &mut [Form; COUNT], mut at: usize) {
    let mut part = 0;
    while part < parts.len() {
        let mut form = 0;
        while form < parts[part].len() {
            to[at] = parts[part][form];
            at += 1;
            form += 1;
        }
        part += 1;
    }
}

/// A form by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FormId(u16);

impl FormId {
    pub(crate) const fn from_bits(bits: u64) -> FormId {
        FormId(bits as u16)
    }

    pub(crate) const fn bits(self) -> u64 {
        self.0 as u64
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Its encoding.
    #[inline(always)]
    pub(crate) const fn form(self) -> &'static Form {
        let index = self.index();
        // No number is out of bounds; a comparison costs less than a panic's code would.
        &FORMS[if index < COUNT { index } else { 0 }]
    }

    /// The forms of a family, in the order they are tried.
    pub(crate) fn of(family: Family) -> impl Iterator<Item = FormId> + Clone {
        let range = match family {
            Family::G13 => 0..G13_COUNT,
            Family::G15 => G13_COUNT..COUNT,
        };
        range.map(|index| FormId(index as u16))
    }

    /// Every form of every family.
    pub(crate) fn all() -> impl Iterator<Item = FormId> + Clone {
        (0..COUNT).map(|index| FormId(index as u16))
    }
}
