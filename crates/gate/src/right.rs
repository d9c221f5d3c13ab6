//! What results are compared with.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What results are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Right {
    /// The oracle of the kernel, if it has one; otherwise the same bytes as before.
    #[default]
    Same,
    /// The oracle of the kernel, if it has one; otherwise floats so many units of the last place from those before, and
    /// everything else the same.
    Ulp(u32),
    /// Nothing: the kernel is not run.
    Off,
}

impl Right {
    /// Returns true if this lets more pass than another.
    pub(crate) fn is_weaker_than(self, other: Right) -> bool {
        let allowed = |right| match right {
            Right::Same => 0,
            Right::Ulp(ulps) => u64::from(ulps),
            Right::Off => u64::MAX,
        };
        allowed(self) > allowed(other)
    }
}

impl std::fmt::Display for Right {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Right::Same => write!(f, "same"),
            Right::Ulp(ulps) => write!(f, "{ulps}ulp"),
            Right::Off => write!(f, "off"),
        }
    }
}

impl<'de> Deserialize<'de> for Right {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let ulps = || text.strip_suffix("ulp")?.trim_end().parse().ok();
        match text.as_str() {
            "same" => Ok(Right::Same),
            "off" => Ok(Right::Off),
            _ => ulps().map(Right::Ulp).ok_or_else(|| {
                serde::de::Error::custom("result is \"same\", \"off\", or as in \"2ulp\"")
            }),
        }
    }
}

impl Serialize for Right {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}
