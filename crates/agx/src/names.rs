//! The named lists: fields whose values have words in the text.
//!
//! A value without a word is written as its number, so nothing is lost.

/// Marks a value that has no word.
const GAP: &str = "\u{0}";

/// A list of named values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the words of the lists below")]
pub enum List {
    Format,
    Mask,
    SampleMask,
    AtomicOp,
    ConvertMode,
    Round,
    ImageRound,
    Dimension,
    LodMode,
    Gather,
    SampleMode,
    Forward,
    Elide,
    Interpolation,
    Sign,
    CopyShape,
    MapTarget,
    IntegerCondition,
    FloatCondition,
    FormatG15,
    MaskG15,
    AtomicOpG15,
    FromFloatG15,
    ToFloatG15,
    ConditionG15,
    CmovCondition,
    PackMode,
    Prefix,
}

const FORMATS: &[&str] = &[
    "i8",
    "i16",
    "i32",
    "f16",
    "u8norm",
    "s8norm",
    "u16norm",
    "s16norm",
    "rgb10a2",
    GAP,
    "srgba8",
    GAP,
    "rg11b10f",
    "rgb9e5",
    "rg11b10f.rtz",
    "rgb9e5.rtz",
];
const MASKS: &[&str] = &[
    "", "x", "y", "xy", "z", "xz", "yz", "xyz", "w", "xw", "yw", "xyw", "zw", "xzw", "yzw", "xyzw",
];
const SAMPLE_MASKS: &[&str] = &[
    GAP, "x", "y", "xy", "z", "xz", "yz", "xyz", "w", "xw", "yw", "xyw", "zw", "xzw", "yzw", "xyzw",
];
const ATOMIC_OPS: &[&str] = &[
    "add", "sub", "xchg", "cmpxchg", "umin", "imin", "umax", "imax", "and", "or", "xor",
];
const CONVERT_MODES: &[&str] = &[
    "u8_to_f", "s8_to_f", GAP, GAP, "f_to_u16", "f_to_s16", "u16_to_f", "s16_to_f", "f_to_u32",
    "f_to_s32", "u32_to_f", "s32_to_f",
];
const ROUNDS: &[&str] = &["rtz", "rte"];
const IMAGE_ROUNDS: &[&str] = &["rte", "rtz"];
const DIMENSIONS: &[&str] = &[
    "tex_1d",
    "tex_1d_array",
    "tex_2d",
    "tex_2d_array",
    "tex_2d_ms",
    "tex_3d",
    "tex_cube",
    "tex_cube_array",
    "tex_2d_ms_array",
];
const LOD_MODES: &[&str] = &[
    "auto_lod",
    "auto_lod_bias",
    "lod_min",
    GAP,
    "lod_grad",
    "auto_lod_bias",
    "lod_min",
    GAP,
    GAP,
    GAP,
    GAP,
    GAP,
    "lod_grad_min",
];
const GATHERS: &[&str] = &[
    "none",
    "compare",
    "gather_r",
    "gather_depth",
    GAP,
    GAP,
    "gather_g",
    GAP,
    GAP,
    GAP,
    "gather_b",
    GAP,
    GAP,
    GAP,
    "gather_a",
];
const SAMPLE_MODES: &[&str] = &["", GAP, "query_lod"];
const FORWARDS: &[&str] = &["", "forward"];
const ELIDES: &[&str] = &["", "elide"];
const INTERPOLATIONS: &[&str] = &["center", "sample", "centroid", "sample"];
const SIGNS: &[&str] = &["signed", "unsigned"];
const COPY_SHAPES: &[&str] = &["copy_1d", "copy_2d"];
const MAP_TARGETS: &[&str] = &["target0", "target1"];
const INTEGER_CONDITIONS: &[&str] = &[
    "ueq", "ult", "ugt", GAP, "seq", "slt", "sgt", GAP, "nueq", "ugte", "ulte", GAP, "nseq",
    "sgte", "slte",
];
const FLOAT_CONDITIONS: &[&str] = &[
    "eq", "lt", "gt", "ltn", GAP, "gte", "lte", "gtn", "neq", "nlt", "ngt", "nltn", GAP, "ngte",
    "nlte", "ngtn",
];

const FORMATS_G15: &[&str] = &["i16", "i32", "i8"];
const MASKS_G15: &[&str] = &[
    "", "x", "yw", "xyw", "zw", "xzw", "yzw", "xyzw", "y", "xy", "z", "xz", "yz", "xyz", "w", "xw",
];
const ATOMIC_OPS_G15: &[&str] = &[
    "add", "and", "cmpxchg", "fadd", "imax", "imin", "or", GAP, GAP, GAP, GAP, "sub", "umax",
    "umin", "xchg", "xor",
];
const FROM_FLOAT_G15: &[&str] = &[
    "f_to_u32", "f_to_s8", "f_to_u8", "f_to_s16", "f_to_u16", "f_to_s32",
];
const TO_FLOAT_G15: &[&str] = &[
    "u16_to_f", "u8_to_f", "s16_to_f", "s8_to_f", "u32_to_f", GAP, "s32_to_f",
];
/// `test` is a bitwise and that is not zero.
const CONDITIONS_G15: &[&str] = &[
    "fgtn", "fltn", "fgt", "flt", "ugt", "ult", "sgt", "slt", "feq", GAP, "fge", "fle", GAP, GAP,
    "test", "ieq",
];
/// The same, negated first.
const CMOV_CONDITIONS: &[&str] = &[
    "nfgtn", "nfltn", "nfgt", "nflt", "ule", "uge", "sle", "sge", "fne", GAP, "nfge", "nfle", GAP,
    GAP, "testz", "ine", "fgtn", "fltn", "fgt", "flt", "ugt", "ult", "sgt", "slt", "feq", GAP,
    "fge", "fle", GAP, GAP, "test", "ieq",
];
const PACK_MODES: &[&str] = &[
    GAP,
    "rg8unorm_srgb",
    "rg16snorm",
    "rg8snorm",
    "rg16unorm",
    "rg8unorm_srgb_linear",
    "rg8unorm",
];
const PREFIXES: &[&str] = &["", "prefix"];

impl List {
    const fn words(self) -> &'static [&'static str] {
        match self {
            List::Format => FORMATS,
            List::Mask => MASKS,
            List::SampleMask => SAMPLE_MASKS,
            List::AtomicOp => ATOMIC_OPS,
            List::ConvertMode => CONVERT_MODES,
            List::Round => ROUNDS,
            List::ImageRound => IMAGE_ROUNDS,
            List::Dimension => DIMENSIONS,
            List::LodMode => LOD_MODES,
            List::Gather => GATHERS,
            List::SampleMode => SAMPLE_MODES,
            List::Forward => FORWARDS,
            List::Elide => ELIDES,
            List::Interpolation => INTERPOLATIONS,
            List::Sign => SIGNS,
            List::CopyShape => COPY_SHAPES,
            List::MapTarget => MAP_TARGETS,
            List::IntegerCondition => INTEGER_CONDITIONS,
            List::FloatCondition => FLOAT_CONDITIONS,
            List::FormatG15 => FORMATS_G15,
            List::MaskG15 => MASKS_G15,
            List::AtomicOpG15 => ATOMIC_OPS_G15,
            List::FromFloatG15 => FROM_FLOAT_G15,
            List::ToFloatG15 => TO_FLOAT_G15,
            List::ConditionG15 => CONDITIONS_G15,
            List::CmovCondition => CMOV_CONDITIONS,
            List::PackMode => PACK_MODES,
            List::Prefix => PREFIXES,
        }
    }

    /// The word for `value`; an empty word means the value is written as nothing.
    pub fn name(self, value: u8) -> Option<&'static str> {
        let word = *self.words().get(usize::from(value))?;
        (word != GAP).then_some(word)
    }

    /// Every value written with `word`: a few words stand for two encodings.
    pub fn values(self, word: &str) -> impl Iterator<Item = u8> {
        let words = self.words();
        (0..words.len() as u8).filter(move |&value| words[usize::from(value)] == word)
    }

    /// The words of the list, for messages.
    pub fn vocabulary(self) -> impl Iterator<Item = &'static str> {
        self.words()
            .iter()
            .copied()
            .filter(|word| *word != GAP && !word.is_empty())
    }
}
