//! Writes the files this crate reads, so that everything built on it can be tested
//! without Apple's tools.
//!
//! The files are as small as the formats allow and are meant for tests, not for
//! Metal: no hash is computed and nothing is signed.
//!
//! ```
//! use assay_container::builder::{ArchiveBuilder, FunctionBuilder, MetadataBuilder, image};
//! use assay_container::gpu::Gpu;
//! use assay_container::open;
//!
//! let stop = [0x88, 0x00];
//! let gpu = Gpu::named("G13G").ok_or("known")?;
//! let function = FunctionBuilder::new(gpu)
//!     .main(&stop)
//!     .metadata(&MetadataBuilder::new().registers(12).build())
//!     .build();
//! let archive = ArchiveBuilder::new().gpu(gpu, &image(gpu, &[function])).build();
//! let opened = open(&archive)?;
//! let compiled = opened.compiled();
//! assert_eq!(compiled[0].metadata.as_ref().and_then(|m| m.registers), Some(12));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod macho;
mod metadata;
mod metallib;

pub use archive::ArchiveBuilder;
pub use macho::{FunctionBuilder, MachOBuilder, image};
pub use metadata::MetadataBuilder;
pub use metallib::MetallibBuilder;

/// A length as the formats store it. Test files never reach 4 GiB.
fn small(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Appends NULs up to a multiple of `alignment`.
fn align(bytes: &mut Vec<u8>, alignment: usize) {
    bytes.resize(bytes.len().next_multiple_of(alignment), 0);
}
