//! Which instruction set a piece of code is written in.

use std::str::FromStr;

/// A supported AGX instruction set.
///
/// G13 (M1, A14) and G14 (M2, A15) share one encoding; multi-die and multi-cluster
/// parts (G13S/C/D, G14S/C/D: "X" here) differ in the coherency bits of global
/// atomics only. G15 (M3, A17 Pro), G16 (M4) and G17P (A18) share another encoding, called
/// G15 here after the first that has it; the M5's is a variant of it. The default is plain G13.
///
/// ```
/// use assay_agx::Isa;
/// assert_eq!("g14g".parse(), Ok(Isa::G14));
/// assert_eq!("g16p".parse(), Ok(Isa::G15));
/// assert!("g12p".parse::<Isa>().unwrap_err().to_string().contains("G13"));
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
    /// M3, M4, A17 Pro and A18 of any size.
    G15,
    /// M5: decoded with G15's table, which fits most of it; experimental.
    G17G,
}

/// Instruction sets that share one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// G13 and G14.
    G13,
    /// G15, G16 and G17.
    G15,
}

impl Isa {
    /// All supported instruction sets.
    pub const ALL: [Isa; 6] = [
        Isa::G13,
        Isa::G13X,
        Isa::G14,
        Isa::G14X,
        Isa::G15,
        Isa::G17G,
    ];

    /// The table it is decoded with.
    #[inline]
    pub const fn family(self) -> Family {
        match self {
            Isa::G13 | Isa::G13X | Isa::G14 | Isa::G14X => Family::G13,
            Isa::G15 | Isa::G17G => Family::G15,
        }
    }

    /// Returns true if the table was made for another instruction set and fits this one in
    /// part only.
    pub const fn is_experimental(self) -> bool {
        matches!(self, Isa::G17G)
    }

    /// The usual name.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::G13 => "G13",
            Isa::G13X => "G13X",
            Isa::G14 => "G14",
            Isa::G14X => "G14X",
            Isa::G15 => "G15",
            Isa::G17G => "G17G",
        }
    }

    /// The value that global atomics carry in their coherency bits: multi-cluster
    /// parts set one bit more.
    pub const fn atomic_coherency(self) -> u8 {
        match self {
            Isa::G13 | Isa::G14 => 1,
            Isa::G13X | Isa::G14X => 3,
            Isa::G15 | Isa::G17G => 0,
        }
    }
}

/// An instruction set this crate does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "instruction set `{0}` is not supported yet; supported: G13 and G14 (M1 and M2 families: \
     g13g, g13s, g13c, g13d, g14g, g14s, g14c, g14d), G15 (M3, M4, A18: g15g, g16g, g17p …), \
     G17G (M5, experimental)"
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
            "g15" | "g15p" | "g15g" | "g15s" | "g15c" | "g15d" => Ok(Isa::G15),
            "g16" | "g16p" | "g16g" | "g16s" | "g16c" | "g16d" => Ok(Isa::G15),
            "g17" | "g17p" => Ok(Isa::G15),
            "g17g" | "g17s" | "g17c" | "g17d" => Ok(Isa::G17G),
            _ => Err(UnsupportedIsa(text.to_owned())),
        }
    }
}
