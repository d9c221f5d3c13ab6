//! The first 88 bytes of a metallib.

use super::{MAGIC, Version};
use crate::error::{Error, Problem};
use crate::view::View;
use std::fmt;

/// What the header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The platform the library was compiled for.
    pub platform: Platform,
    /// Version of the file format.
    pub format: Version,
    /// What the library is for.
    pub kind: LibraryKind,
    /// Oldest system that loads it; `None` when the library names no system.
    pub target: Option<Version>,
    /// Size of the library in bytes.
    pub size: u64,
    /// The function list, without the count before it.
    pub function_list: Section,
    /// Function constants, attributes.
    pub public_metadata: Section,
    /// Source paths.
    pub private_metadata: Section,
    /// The LLVM modules.
    pub bitcode: Section,
}

/// Where a section lies, counted from the start of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Offset of the first byte.
    pub start: u64,
    /// Number of bytes.
    pub length: u64,
}

impl Section {
    pub(super) fn end(self) -> u64 {
        self.start.saturating_add(self.length)
    }
}

/// The platform a library was compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Platform {
    /// A Mac.
    MacOs,
    /// An iPhone or iPad.
    Ios,
    /// An Apple TV.
    TvOs,
    /// An Apple Watch.
    WatchOs,
    /// The bridge chip of Intel Macs.
    BridgeOs,
    /// An iPad program on a Mac.
    MacCatalyst,
    /// A simulator.
    Simulator,
    /// A number without a public name: the platform word and the system byte.
    Unknown(u16, u8),
}

impl Platform {
    fn new(platform: u16, system: u8) -> Self {
        match (platform, system) {
            (_, 0x81) | (0x8001, 0) => Platform::MacOs,
            (_, 0x82) | (0x0001, 0) => Platform::Ios,
            (_, 0x83) => Platform::TvOs,
            (_, 0x84) => Platform::WatchOs,
            (_, 0x85) => Platform::BridgeOs,
            (_, 0x86) => Platform::MacCatalyst,
            (_, 0x87..=0x89) => Platform::Simulator,
            _ => Platform::Unknown(platform, system),
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Platform::MacOs => f.write_str("macOS"),
            Platform::Ios => f.write_str("iOS"),
            Platform::TvOs => f.write_str("tvOS"),
            Platform::WatchOs => f.write_str("watchOS"),
            Platform::BridgeOs => f.write_str("bridgeOS"),
            Platform::MacCatalyst => f.write_str("Mac Catalyst"),
            Platform::Simulator => f.write_str("a simulator"),
            Platform::Unknown(platform, system) => {
                write!(f, "unknown platform {platform:#06x}/{system:#04x}")
            }
        }
    }
}

/// What a library is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LibraryKind {
    /// Functions to build pipelines from.
    Executable,
    /// Core Image kernels.
    CoreImage,
    /// A library that others link to.
    Dynamic,
    /// Debugging companion of another library.
    SymbolCompanion,
    /// A number without a public name.
    Unknown(u8),
}

impl LibraryKind {
    fn new(value: u8) -> Self {
        match value {
            0 => LibraryKind::Executable,
            1 => LibraryKind::CoreImage,
            2 => LibraryKind::Dynamic,
            3 => LibraryKind::SymbolCompanion,
            other => LibraryKind::Unknown(other),
        }
    }
}

impl fmt::Display for LibraryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LibraryKind::Executable => f.write_str("executable"),
            LibraryKind::CoreImage => f.write_str("Core Image"),
            LibraryKind::Dynamic => f.write_str("dynamic"),
            LibraryKind::SymbolCompanion => f.write_str("symbol companion"),
            LibraryKind::Unknown(value) => write!(f, "unknown kind {value}"),
        }
    }
}

impl Header {
    /// Size of the header itself.
    pub const SIZE: u64 = 88;

    pub(crate) fn read(view: View<'_>) -> Result<Header, Error> {
        const WHAT: &str = "the metallib header";
        let view = view.slice(0, Header::SIZE, WHAT).map_err(|error| {
            // A file too short for its magic is not a metallib at all.
            match view.bytes().starts_with(MAGIC) {
                true => error,
                false => not_a_metallib(view),
            }
        })?;
        if !view.bytes().starts_with(MAGIC) {
            return Err(not_a_metallib(view));
        }
        let section = |at| -> Result<Section, Error> {
            Ok(Section {
                start: view.u64(at, WHAT)?,
                length: view.u64(at + 8, WHAT)?,
            })
        };
        let system = view.u8(11, WHAT)?;
        let header = Header {
            platform: Platform::new(view.u16(4, WHAT)?, system),
            format: Version::new(view.u16(6, WHAT)?, view.u16(8, WHAT)?),
            kind: LibraryKind::new(view.u8(10, WHAT)?),
            target: (system != 0)
                .then(|| Ok(Version::new(view.u16(12, WHAT)?, view.u16(14, WHAT)?)))
                .transpose()?,
            size: view.u64(16, WHAT)?,
            function_list: section(24)?,
            public_metadata: section(40)?,
            private_metadata: section(56)?,
            bitcode: section(72)?,
        };
        header.check_overlap(view)?;
        Ok(header)
    }

    /// The sections by name, with the offset of the header field that places them.
    pub(super) fn sections(&self) -> [(&'static str, Section, u64); 4] {
        [
            ("the function list", self.function_list, 24),
            ("the public metadata", self.public_metadata, 40),
            ("the private metadata", self.private_metadata, 56),
            ("the bitcode", self.bitcode, 72),
        ]
    }

    fn check_overlap(&self, view: View<'_>) -> Result<(), Error> {
        let mut sections = self.sections();
        sections.sort_by_key(|(_, section, _)| section.start);
        let mut before = ("the header", Header::SIZE);
        for (name, section, stated_at) in sections {
            if section.length == 0 {
                continue;
            }
            if section.start < before.1 {
                let problem = Problem::Overlap {
                    first: before.0.to_owned(),
                    second: name.to_owned(),
                };
                return Err(Error::new(view.offset(stated_at), problem));
            }
            before = (name, section.end());
        }
        Ok(())
    }
}

fn not_a_metallib(view: View<'_>) -> Error {
    Error::malformed(
        view.offset(0),
        "not a metallib: it does not start with MTLB",
    )
}
