//! Which GPU a slice of code is for.
//!
//! Apple's GPU files name their target as a Mach-O CPU type and subtype. The
//! subtypes below are those in Apple's published sources of the `file` tool;
//! newer GPUs have numbers not published there and are reported by number.

use std::fmt;

/// CPU type of Apple GPUs.
pub const CPU_TYPE_APPLE_GPU: u32 = 0x0100_0013;
/// CPU type of AMD GPUs in Macs.
pub const CPU_TYPE_AMD_GPU: u32 = 0x0100_0014;
/// CPU type of Intel GPUs in Macs.
pub const CPU_TYPE_INTEL_GPU: u32 = 0x0100_0015;
/// CPU type of AIR, Apple's portable bitcode.
pub const CPU_TYPE_AIR: u32 = 0x0100_0017;

/// The upper byte of a subtype holds capability bits, not the GPU.
const SUBTYPE_MASK: u32 = 0x00FF_FFFF;

/// What a slice or a Mach-O is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// Machine code for an Apple GPU.
    AppleGpu(Gpu),
    /// AIR bitcode; the number is the subtype.
    Air(u32),
    /// A GPU of another maker.
    ForeignGpu {
        /// `AMD` or `Intel`.
        maker: &'static str,
        /// The subtype.
        subtype: u32,
    },
    /// Anything else, such as a Mac program.
    Other {
        /// The CPU type.
        cpu_type: u32,
        /// The subtype.
        subtype: u32,
    },
}

impl Target {
    /// The target with these Mach-O numbers.
    ///
    /// ```
    /// use assay_container::gpu::Target;
    /// assert_eq!(Target::new(0x1000013, 322).to_string(), "G13G");
    /// assert_eq!(Target::new(0x1000013, 9999).to_string(), "an unknown Apple GPU (cpusubtype 9999)");
    /// ```
    pub fn new(cpu_type: u32, subtype: u32) -> Self {
        let subtype = subtype & SUBTYPE_MASK;
        match cpu_type {
            CPU_TYPE_APPLE_GPU => Target::AppleGpu(Gpu { subtype }),
            CPU_TYPE_AIR => Target::Air(subtype),
            CPU_TYPE_AMD_GPU => Target::ForeignGpu {
                maker: "AMD",
                subtype,
            },
            CPU_TYPE_INTEL_GPU => Target::ForeignGpu {
                maker: "Intel",
                subtype,
            },
            _ => Target::Other { cpu_type, subtype },
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Target::AppleGpu(gpu) => gpu.fmt(f),
            Target::Air(subtype) => match air_version(subtype) {
                Some(version) => write!(f, "AIR {version}"),
                None => write!(f, "AIR (cpusubtype {subtype})"),
            },
            Target::ForeignGpu { maker, subtype } => {
                write!(f, "an {maker} GPU (cpusubtype {subtype})")
            }
            Target::Other { cpu_type, subtype } => {
                write!(f, "cputype {cpu_type:#x}, cpusubtype {subtype}")
            }
        }
    }
}

/// An Apple GPU, by its Mach-O subtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gpu {
    /// The Mach-O CPU subtype, without capability bits.
    pub subtype: u32,
}

impl Gpu {
    /// The GPU with this name: `G13G`, `g13g` or `applegpu_g13g`.
    ///
    /// ```
    /// use assay_container::gpu::Gpu;
    /// assert_eq!(Gpu::named("applegpu_g14g").map(|gpu| gpu.subtype), Some(402));
    /// ```
    pub fn named(name: &str) -> Option<Gpu> {
        let short = name.strip_prefix("applegpu_").unwrap_or(name);
        let row = GPUS.iter().find(|row| row.1.eq_ignore_ascii_case(short))?;
        Some(Gpu { subtype: row.0 })
    }

    /// Apple's name, such as `G13G`; `None` for a subtype not published.
    pub fn name(self) -> Option<&'static str> {
        GPUS.iter()
            .find(|row| row.0 == self.subtype)
            .map(|row| row.1)
    }

    /// The number in the name: 13 for M1, 14 for M2, 15 for M3.
    pub fn generation(self) -> Option<u8> {
        let name = self.name()?;
        let digits = name.trim_start_matches('G');
        let end = digits.find(|c: char| !c.is_ascii_digit())?;
        digits.get(..end)?.parse().ok()
    }

    /// Whether Assay's instruction tables cover this GPU.
    pub fn is_decodable(self) -> bool {
        matches!(self.generation(), Some(13..=17))
    }

    /// Why the code cannot be decoded and what to do, or `None` when it can be.
    pub fn advice(self) -> Option<&'static str> {
        (!self.is_decodable()).then_some(crate::error::UNDECODABLE_ADVICE)
    }
}

impl fmt::Display for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "an unknown Apple GPU (cpusubtype {})", self.subtype),
        }
    }
}

/// AIR subtypes count versions of the dialect.
fn air_version(subtype: u32) -> Option<&'static str> {
    let versions = [
        "1.6", "1.8", "1.11", "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6",
    ];
    let index = usize::try_from(subtype.checked_sub(1)?).ok()?;
    versions.get(index).copied()
}

/// Subtype and name, from Apple's sources of `file`.
const GPUS: &[(u32, &str)] = &[
    (32, "GX2"),
    (17, "G4P"),
    (49, "G4G"),
    (65, "G5P"),
    (81, "G9P"),
    (97, "G9G"),
    (34, "G10P"),
    (114, "G11P"),
    (82, "G11M"),
    (130, "G11G"),
    (1602, "G11G_8FSTP"),
    (210, "G12P"),
    (290, "G13P"),
    (322, "G13G"),
    (530, "G13S"),
    (562, "G13C"),
    (594, "G13D"),
    (370, "G14P"),
    (402, "G14G"),
    (434, "G14S"),
    (498, "G14D"),
    (610, "G15P"),
    (275, "G15G"),
    (419, "G15S"),
    (435, "G16P"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g13_and_newer_can_be_decoded() {
        let decodable: Vec<_> = GPUS
            .iter()
            .filter(|row| Gpu { subtype: row.0 }.is_decodable())
            .map(|row| row.1)
            .collect();
        assert_eq!(
            decodable,
            [
                "G13P", "G13G", "G13S", "G13C", "G13D", "G14P", "G14G", "G14S", "G14D", "G15P",
                "G15G", "G15S", "G16P"
            ]
        );
    }

    #[test]
    fn capability_bits_do_not_hide_the_gpu() {
        assert_eq!(
            Target::new(CPU_TYPE_APPLE_GPU, 0x8000_0000 | 322),
            Target::AppleGpu(Gpu { subtype: 322 })
        );
    }

    #[test]
    fn a_gpu_without_a_table_comes_with_advice() {
        assert_eq!(Gpu::named("g15g").unwrap().advice(), None);
        let gpu = Gpu::named("g12p").unwrap();
        assert!(gpu.advice().unwrap().contains("-arch applegpu_g13g"));
        assert_eq!(Gpu { subtype: 77 }.generation(), None);
        assert!(Gpu { subtype: 77 }.advice().is_some());
    }
}
