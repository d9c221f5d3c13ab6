//! Samplers: how coordinates become texels.

use std::fmt;
use std::str::FromStr;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$inner:meta])* $id:ident $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$inner])* $id,)* }

        impl $name {
            /// All, in the order of Metal's headers.
            pub const ALL: &'static [Self] = &[$(Self::$id),*];

            /// Metal's word.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$id => $word,)* }
            }

            fn numbered(number: u64) -> Self {
                Self::ALL.get(number as usize).copied().unwrap_or(Self::ALL[0])
            }

            fn named(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == word)
            }
        }
    };
}

words! {
    /// How texels of one level are weighed.
    Filter {
        /// The nearest one.
        Nearest "nearest",
        /// Those around, by distance.
        Linear "linear",
        /// Sixteen of them, by a curve that is not specified.
        Bicubic "bicubic",
    }
}
words! {
    /// How levels are weighed.
    Mip {
        /// Level 0 only.
        None "none",
        /// The nearest one.
        Nearest "nearest",
        /// Two, by distance.
        Linear "linear",
    }
}
words! {
    /// What lies outside a texture.
    Address {
        /// Zeros.
        ClampToZero "clamp_to_zero",
        /// The texel at the edge.
        ClampToEdge "clamp_to_edge",
        /// The border's colour.
        ClampToBorder "clamp_to_border",
        /// The texture again.
        Repeat "repeat",
        /// The texture again, mirrored each second time.
        MirroredRepeat "mirrored_repeat",
    }
}
words! {
    /// The colour of a border.
    Border {
        /// Zeros.
        TransparentBlack "transparent_black",
        /// Zeros and an alpha of one.
        OpaqueBlack "opaque_black",
        /// Ones.
        OpaqueWhite "opaque_white",
    }
}
words! {
    /// How a depth is compared with a reference: `reference OP depth`.
    Compare {
        /// Never; a sampler without comparison.
        None "none",
        /// `<`
        Less "less",
        /// `<=`
        LessEqual "less_equal",
        /// `>`
        Greater "greater",
        /// `>=`
        GreaterEqual "greater_equal",
        /// `==`
        Equal "equal",
        /// `!=`
        NotEqual "not_equal",
        /// True.
        Always "always",
        /// False.
        Never "never",
    }
}
words! {
    /// What becomes of the texels of a sample.
    Reduction {
        /// Their weighted sum.
        WeightedAverage "weighted_average",
        /// The smallest of each component.
        Minimum "minimum",
        /// The largest of each component.
        Maximum "maximum",
    }
}

impl Compare {
    /// The outcome of a comparison.
    pub fn holds(self, reference: f32, depth: f32) -> bool {
        match self {
            Self::None | Self::Never => false,
            Self::Less => reference < depth,
            Self::LessEqual => reference <= depth,
            Self::Greater => reference > depth,
            Self::GreaterEqual => reference >= depth,
            Self::Equal => reference == depth,
            Self::NotEqual => reference != depth,
            Self::Always => true,
        }
    }
}

/// A sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// Coordinates go from 0 to 1 instead of to the extents.
    pub normalized: bool,
    /// Filter of what is enlarged.
    pub mag: Filter,
    /// Filter of what is made smaller.
    pub min: Filter,
    /// Filter between levels.
    pub mip: Mip,
    /// Addressing along each axis.
    pub address: [Address; 3],
    /// The colour of `clamp_to_border`.
    pub border: Border,
    /// Of `sample_compare`.
    pub compare: Compare,
    /// Most samples along the longer axis of a footprint.
    pub anisotropy: u32,
    /// Levels are not below this.
    pub lod_min: f32,
    /// Levels are not above this.
    pub lod_max: f32,
    /// What becomes of the texels.
    pub reduction: Reduction,
}

impl Default for Sampler {
    /// What `constexpr sampler s;` is.
    fn default() -> Self {
        Self {
            normalized: true,
            mag: Filter::Nearest,
            min: Filter::Nearest,
            mip: Mip::None,
            address: [Address::ClampToEdge; 3],
            border: Border::TransparentBlack,
            compare: Compare::None,
            anisotropy: 1,
            lod_min: 0.0,
            lod_max: 1000.0,
            reduction: Reduction::WeightedAverage,
        }
    }
}

/// Of the 64 bits that a `constexpr` sampler is: this one is set, so that they are no address.
const CONSTANT: u64 = 1 << 63;

impl Sampler {
    /// The sampler that a program's constant means; none if it is the handle of a bound one. `metal_texture` makes these bits.
    pub fn from_bits(bits: u64) -> Option<Self> {
        if bits & CONSTANT == 0 {
            return None;
        }
        let field = |shift: u32, width: u32| bits >> shift & ((1 << width) - 1);
        let half = |shift: u32| assay_num::f16_to_f32(field(shift, 16) as u16);
        Some(Self {
            normalized: field(0, 1) == 0,
            mag: Filter::numbered(field(1, 2)),
            min: Filter::numbered(field(3, 2)),
            mip: Mip::numbered(field(5, 2)),
            address: [7, 10, 13].map(|shift| Address::numbered(field(shift, 3))),
            border: Border::numbered(field(16, 2)),
            compare: Compare::numbered(field(18, 4)),
            anisotropy: field(22, 4) as u32 + 1,
            reduction: Reduction::numbered(field(26, 2)),
            lod_min: half(28),
            lod_max: half(44),
        })
    }

    /// What is wrong with it.
    pub fn check(&self) -> Result<(), String> {
        let around = |mode: &Address| matches!(mode, Address::Repeat | Address::MirroredRepeat);
        if !self.normalized && self.address.iter().any(around) {
            return Err(
                "pixel coordinates do not repeat: clamp them, or use normalized ones".to_owned(),
            );
        }
        if !self.normalized && self.mip != Mip::None {
            return Err("pixel coordinates have no mip filter".to_owned());
        }
        if [self.mag, self.min].contains(&Filter::Bicubic) {
            return Err("bicubic filtering is not run: its weights are not specified".to_owned());
        }
        Ok(())
    }
}

impl FromStr for Sampler {
    type Err = String;

    /// Metal's words with commas: `linear,repeat`, `coord=pixel`, `mag_filter=linear`, `t_address=mirrored_repeat`,
    /// `mip_filter=linear`, `compare_func=less`, `border_color=opaque_white`, `max_anisotropy=4`, `lod_clamp=0:3`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut sampler = Self::default();
        for word in text
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            let set = match word.split_once('=') {
                Some((key, value)) => sampler.set(key.trim(), value.trim()),
                None => sampler.set_word(word),
            };
            set.ok_or_else(|| {
                format!(
                    "`{word}`: write Metal's words, such as linear, repeat, coord=pixel, mip_filter=linear, \
                     t_address=clamp_to_zero, compare_func=less, border_color=opaque_white, max_anisotropy=4, lod_clamp=0:3"
                )
            })?;
        }
        sampler.check()?;
        Ok(sampler)
    }
}

impl Sampler {
    fn set_word(&mut self, word: &str) -> Option<()> {
        if let Some(filter) = Filter::named(word) {
            (self.mag, self.min) = (filter, filter);
        } else if let Some(mode) = Address::named(word) {
            self.address = [mode; 3];
        } else if let Some(border) = Border::named(word) {
            self.border = border;
        } else if let Some(compare) = Compare::named(word) {
            self.compare = compare;
        } else if matches!(word, "normalized" | "pixel") {
            self.normalized = word == "normalized";
        } else {
            self.reduction = Reduction::named(word)?;
        }
        Some(())
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "coord" => {
                self.normalized = ["pixel", "normalized"].iter().position(|w| *w == value)? == 1
            }
            "filter" => {
                let filter = Filter::named(value)?;
                (self.mag, self.min) = (filter, filter);
            }
            "mag_filter" => self.mag = Filter::named(value)?,
            "min_filter" => self.min = Filter::named(value)?,
            "mip_filter" => self.mip = Mip::named(value)?,
            "address" => self.address = [Address::named(value)?; 3],
            "s_address" => self.address[0] = Address::named(value)?,
            "t_address" => self.address[1] = Address::named(value)?,
            "r_address" => self.address[2] = Address::named(value)?,
            "border_color" => self.border = Border::named(value)?,
            "compare_func" => self.compare = Compare::named(value)?,
            "reduction" => self.reduction = Reduction::named(value)?,
            "max_anisotropy" => {
                self.anisotropy = value.parse().ok().filter(|n| (1..=16).contains(n))?;
            }
            "lod_clamp" => {
                let (low, high) = value.split_once(':')?;
                (self.lod_min, self.lod_max) = (low.parse().ok()?, high.parse().ok()?);
            }
            _ => return None,
        }
        Some(())
    }
}

impl fmt::Display for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let coord = if self.normalized {
            "normalized"
        } else {
            "pixel"
        };
        write!(
            f,
            "coord={coord},mag_filter={},min_filter={}",
            self.mag.name(),
            self.min.name()
        )?;
        write!(f, ",mip_filter={}", self.mip.name())?;
        for (axis, mode) in ["s", "t", "r"].iter().zip(self.address) {
            write!(f, ",{axis}_address={}", mode.name())?;
        }
        write!(
            f,
            ",border_color={},compare_func={}",
            self.border.name(),
            self.compare.name()
        )?;
        write!(
            f,
            ",max_anisotropy={},lod_clamp={}:{}",
            self.anisotropy, self.lod_min, self.lod_max
        )?;
        write!(f, ",reduction={}", self.reduction.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_a_sampler_and_back() {
        let sampler: Sampler =
            "linear,repeat,mip_filter=nearest,t_address=clamp_to_zero,lod_clamp=1:4"
                .parse()
                .unwrap();
        assert_eq!((sampler.mag, sampler.mip), (Filter::Linear, Mip::Nearest));
        assert_eq!(
            sampler.address,
            [Address::Repeat, Address::ClampToZero, Address::Repeat]
        );
        assert_eq!(sampler.to_string().parse(), Ok(sampler));
        assert!("linear,sideways".parse::<Sampler>().is_err());
        assert!("pixel,repeat".parse::<Sampler>().is_err());
    }

    #[test]
    fn a_handle_is_no_constant() {
        assert_eq!(Sampler::from_bits(3 << 40), None);
        let plain = CONSTANT | 1 << 7 | 1 << 10 | 1 << 13 | 0x63d0 << 44;
        assert_eq!(Sampler::from_bits(plain), Some(Sampler::default()));
    }
}
