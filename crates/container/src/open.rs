//! Telling files apart by their bytes.

use crate::bitcode::{self, Bitcode};
use crate::embedded::{self, Embedded};
use crate::error::{Error, Problem};
use crate::fat::{self, Archive};
use crate::gpu::Target;
use crate::image::{CompiledFunction, Image};
use crate::macho::{self, MachO};
use crate::mtlb::{self, Metallib};
use crate::program;
use crate::view::View;

/// What a file is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Contents<'a> {
    /// A library of AIR functions.
    Metallib(Metallib<'a>),
    /// A binary archive: machine code and AIR for several targets.
    Archive(Archive<'a>),
    /// Machine code for one GPU.
    Image(Image<'a>),
    /// An LLVM module.
    Bitcode(Bitcode<'a>),
    /// Metallibs inside another file.
    Embedded(Vec<Embedded<'a>>),
    /// Metal source.
    Source(&'a str),
    /// Bytes without any known header that decode as an AGX program.
    Code(&'a [u8]),
}

impl<'a> Contents<'a> {
    /// What kind of file it is, in words.
    pub fn describe(&self) -> &'static str {
        match self {
            Contents::Metallib(_) => "metallib",
            Contents::Archive(_) => "binary archive",
            Contents::Image(_) => "GPU Mach-O",
            Contents::Bitcode(_) => "LLVM bitcode",
            Contents::Embedded(_) => "file with embedded metallibs",
            Contents::Source(_) => "Metal source",
            Contents::Code(_) => "raw code",
        }
    }

    /// Every metallib in the file, wherever it lies.
    pub fn metallibs(&self) -> Vec<&Metallib<'a>> {
        match self {
            Contents::Metallib(library) => vec![library],
            Contents::Archive(archive) => archive.metallibs().collect(),
            Contents::Image(image) => image.metallibs.iter().collect(),
            Contents::Embedded(found) => found.iter().map(|found| &found.metallib).collect(),
            _ => Vec::new(),
        }
    }

    /// Every compiled function in the file, for every GPU.
    pub fn compiled(&self) -> Vec<&CompiledFunction<'a>> {
        match self {
            Contents::Archive(archive) => archive
                .images()
                .flat_map(|image| &image.functions)
                .collect(),
            Contents::Image(image) => image.functions.iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// Opens a file by its content.
///
/// ```
/// use assay_container::{Contents, open};
/// let source = b"#include <metal_stdlib>\nkernel void f() {}\n";
/// assert!(matches!(open(source)?, Contents::Source(_)));
/// assert!(open(b"\x7fELF\x02\x01\x01\0").is_err());
/// # Ok::<(), assay_container::Error>(())
/// ```
pub fn open(bytes: &[u8]) -> Result<Contents<'_>, Error> {
    let view = View::new(bytes);
    if bytes.starts_with(mtlb::MAGIC) {
        return Metallib::read(view).map(Contents::Metallib);
    }
    if bytes.starts_with(fat::MAGIC) {
        return Archive::read(view).map(Contents::Archive);
    }
    if bitcode::is_bitcode(bytes) {
        return bitcode::parse(bytes).map(Contents::Bitcode);
    }
    if macho::is_macho(bytes) {
        let gpu = MachO::read(view).map(|macho| macho.target);
        // A damaged ordinary Mach-O may still carry whole metallibs.
        if matches!(gpu, Ok(Target::AppleGpu(_))) || gpu.is_err() && is_gpu_header(bytes) {
            return Image::read(view).map(Contents::Image);
        }
    }
    if let Some(text) = metal_text(bytes)? {
        return Ok(Contents::Source(text));
    }
    let found = embedded::find(bytes);
    if !found.is_empty() {
        return Ok(Contents::Embedded(found));
    }
    if let Some(seems) = foreign(bytes) {
        return Err(unrecognised(Some(seems)));
    }
    if program::looks_like_code(bytes) {
        return Ok(Contents::Code(bytes));
    }
    Err(unrecognised(None))
}

fn unrecognised(seems: Option<&'static str>) -> Error {
    Error::new(0, Problem::Unrecognised { seems })
}

fn is_gpu_header(bytes: &[u8]) -> bool {
    let cpu_type = View::new(bytes).u32(4, "the CPU type");
    cpu_type.is_ok_and(|value| matches!(Target::new(value, 0), Target::AppleGpu(_)))
}

/// Words that occur in Metal sources and hardly in other text.
const METAL_WORDS: &[&str] = &[
    "metal_stdlib",
    "namespace metal",
    "kernel",
    "threadgroup",
    "device",
    "constant",
    "#include",
    "#define",
];

/// The text, if the bytes are Metal source; an error if they are other text.
fn metal_text(bytes: &[u8]) -> Result<Option<&str>, Error> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => return Ok(None),
    };
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\x0C');
    if text.is_empty() {
        return Err(unrecognised(Some("an empty file")));
    }
    if text.contains(control) {
        return Ok(None);
    }
    if text.starts_with("; ModuleID") || text.contains("\ntarget triple = ") {
        return Err(unrecognised(Some("LLVM assembly text")));
    }
    if METAL_WORDS.iter().any(|word| text.contains(word)) {
        return Ok(Some(text));
    }
    Err(unrecognised(Some("text, but not Metal source")))
}

/// Formats that are often given by mistake.
const FOREIGN: &[(&[u8], &str)] = &[
    (b"\x7fELF", "an ELF file without metallibs inside"),
    (MACHO, "a Mach-O without GPU code or metallibs inside"),
    (b"\xCE\xFA\xED\xFE", "a 32-bit Mach-O"),
    (
        b"\xCA\xFE\xBA\xBE",
        "a universal binary without metallibs inside",
    ),
    (b"MZ", "a Windows program"),
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"\x1f\x8b", "gzip data: unpack it first"),
    (b"BZh", "bzip2 data: unpack it first"),
    (b"\x28\xB5\x2F\xFD", "zstd data: unpack it first"),
    (b"\xFD7zXZ", "xz data: unpack it first"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG picture"),
    (b"bplist00", "a binary property list"),
    (b"MTSP", "a member of a .gputrace bundle"),
    (b"xdic", "the index of a .gputrace bundle"),
    (b"!<arch>\n", "a static library: unpack it first"),
];

const MACHO: &[u8] = macho::MAGIC;

fn foreign(bytes: &[u8]) -> Option<&'static str> {
    let row = FOREIGN.iter().find(|(magic, _)| bytes.starts_with(magic))?;
    Some(row.1)
}
