//! Which instruction set a piece of code is written in.

use std::str::FromStr;

/// A supported AGX instruction set.
///
/// G13 (M1, A14) and G14 (M2, A15) share one encoding; multi-die and multi-cluster
/// parts (G13S/C/D, G14S/C/D: "X" here) differ in the coherency bits of global
/// atomics only. The default is plain G13.
///
/// ```
/// use assay_agx::Isa;
/// assert_eq!("g14g".parse(), Ok(Isa::G14));
/// assert!("g16p".parse::<Isa>().unwrap_err().to_string().contains("G13"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Isa {
    /// One cluster: M1, A14.
    #[default]
    G13,
    /// Several clusters or dies: M1 Pro, Max, Ultra.
    G13X,
    /// One cluster: M2, A15.
    G14,
    /// Several clusters or dies: M2 Pro, Max, Ultra.
    G14X,
}

impl Isa {
    /// All supported instruction sets.
    pub const ALL: [Isa; 4] = [Isa::G13, Isa::G13X, Isa::G14, Isa::G14X];

    /// The usual name.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::G13 => "G13",
            Isa::G13X => "G13X",
            Isa::G14 => "G14",
            Isa::G14X => "G14X",
        }
    }

    /// The value that global atomics carry in their coherency bits: multi-cluster
    /// parts set one bit more.
    pub const fn atomic_coherency(self) -> u8 {
        match self {
            Isa::G13 | Isa::G14 => 1,
            Isa::G13X | Isa::G14X => 3,
        }
    }
}

/// An instruction set this crate does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "instruction set `{0}` is not supported yet; supported: G13 and G14 (M1 and M2 families: \
     g13g, g13s, g13c, g13d, g14g, g14s, g14c, g14d)"
)]
pub struct UnsupportedIsa(
    /// What was asked for.
    pub String,
);

impl FromStr for Isa {
    type Err = UnsupportedIsa;

    fn from_str(text: &str) -> Result<Isa, UnsupportedIsa> {
        match text
            .trim()
            .to_ascii_lowercase()
            .trim_start_matches("applegpu_")
        {
            "g13" | "g13p" | "g13g" => Ok(Isa::G13),
            "g13x" | "g13s" | "g13c" | "g13d" => Ok(Isa::G13X),
            "g14" | "g14p" | "g14g" => Ok(Isa::G14),
            "g14x" | "g14s" | "g14c" | "g14d" => Ok(Isa::G14X),
            _ => Err(UnsupportedIsa(text.to_owned())),
        }
    }
}
