//! MTLB metallibs: Apple's libraries of compiled Metal functions.
//!
//! A metallib holds one LLVM bitcode module per function, in Apple's AIR dialect,
//! and a list that names them:
//!
//! ```text
//! header        88 bytes: platform, version, and where the four sections lie
//! function list u32 count; per function a group of tags (NAME, TYPE, HASH, OFFT, …)
//! extension     tags after the list: UUID, embedded sources, dynamic libraries
//! public and private metadata: a group of tags per function
//! bitcode       the modules, each in LLVM's 0x0B17C0DE wrapper
//! ```
//!
//! [`Metallib::parse`] reads the list and checks every range it states; the bitcode
//! itself is neither read nor copied. A library of 17,248 kernels in 147 MB is
//! listed in milliseconds.
//!
//! The layout follows the public description in the MetalLibraryArchive project,
//! checked on the libraries of MLX and PyTorch.

mod function;
mod header;
mod source;
mod tags;

pub use function::{Function, FunctionKind, Version};
pub use header::{Header, LibraryKind, Platform};
pub use source::SourceArchive;
pub use tags::{Tag, Tags};

use crate::error::{Error, Problem};
use crate::view::View;
use function::Sections;

/// The first four bytes of a metallib.
pub const MAGIC: &[u8; 4] = b"MTLB";

/// A function takes at least this much of the list: a group size and an end tag.
const SMALLEST_GROUP: u64 = 8;

/// A library of compiled Metal functions, borrowed from the file's bytes.
///
/// ```no_run
/// use assay_container::mtlb::Metallib;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bytes = std::fs::read("mlx.metallib")?;
/// let library = Metallib::parse(&bytes)?;
/// for function in library.functions() {
///     let size = function.bitcode.map_or(0, <[u8]>::len);
///     println!("{} {} {size} bytes", function.kind, function.name);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Metallib<'a> {
    view: View<'a>,
    header: Header,
    extension: View<'a>,
    functions: Vec<Function<'a>>,
}

impl<'a> Metallib<'a> {
    /// Reads a metallib that starts at the first byte. Bytes after the size stated
    /// in its header are ignored.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        Metallib::read(View::new(bytes))
    }

    /// Reads a metallib inside a larger file; offsets in errors are the file's.
    pub(crate) fn read(view: View<'a>) -> Result<Self, Error> {
        let header = Header::read(view)?;
        let view = view.slice(0, header.size, "the metallib")?;
        let sections = Sections::new(view, &header)?;
        let functions = read_functions(&sections, &header)?;
        let extension = extension(view, &header)?;
        Ok(Metallib {
            view,
            header,
            extension,
            functions,
        })
    }

    /// Platform, versions and section positions.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The functions, in the file's order.
    pub fn functions(&self) -> &[Function<'a>] {
        &self.functions
    }

    /// The compute kernels among the functions.
    pub fn kernels(&self) -> impl Iterator<Item = &Function<'a>> {
        self.functions
            .iter()
            .filter(|function| function.kind == FunctionKind::Kernel)
    }

    /// The function with this name.
    pub fn function(&self, name: &str) -> Option<&Function<'a>> {
        self.functions.iter().find(|function| function.name == name)
    }

    /// The library's bytes, without what may follow them in the file.
    pub fn bytes(&self) -> &'a [u8] {
        self.view.bytes()
    }

    /// Where the library starts in the file it was found in.
    pub fn offset(&self) -> u64 {
        self.view.offset(0)
    }

    /// The tags after the function list.
    pub fn extension(&self) -> Tags<'a> {
        Tags::new(self.extension)
    }

    /// The library's identity, if it states one.
    pub fn uuid(&self) -> Option<[u8; 16]> {
        let tag = self.extension_tag(b"UUID")?;
        tag.content.bytes().first_chunk().copied()
    }

    /// Archives of the sources the library was compiled from, present when it was
    /// built with `-frecord-sources`.
    pub fn sources(&self) -> Result<Vec<SourceArchive<'a>>, Error> {
        for name in [b"HSRD", b"HSRC"] {
            if let Some(tag) = self.extension_tag(name) {
                return source::read(self.view, &tag);
            }
        }
        Ok(Vec::new())
    }

    fn extension_tag(&self, name: &[u8; 4]) -> Option<Tag<'a>> {
        self.extension()
            .map_while(Result::ok)
            .find(|tag| &tag.name == name)
    }
}

fn read_functions<'a>(
    sections: &Sections<'a>,
    header: &Header,
) -> Result<Vec<Function<'a>>, Error> {
    let list = sections.list;
    let count = list.u32(0, "the number of functions")?;
    let most = list.len().saturating_sub(4) / SMALLEST_GROUP;
    if u64::from(count) > most {
        let problem = Problem::TooMany {
            what: "functions",
            count: count.into(),
            limit: most,
        };
        return Err(Error::new(list.offset(0), problem));
    }
    let mut functions = Vec::with_capacity(count as usize);
    let mut at = 4;
    for _ in 0..count {
        let size = u64::from(list.u32(at, "the size of a function's tags")?);
        let group = list.part(at, size, list.offset(at), || "a function's tags".into())?;
        functions.push(Function::read(group, sections)?);
        // `part` succeeded and a group holds at least its own size, so this moves on.
        at += size;
    }
    function::fill_missing_sizes(&mut functions, sections, header)?;
    Ok(functions)
}

/// The tags between the function list and the next section.
fn extension<'a>(view: View<'a>, header: &Header) -> Result<View<'a>, Error> {
    let start = header.function_list.end().saturating_add(4);
    let next = [
        header.public_metadata,
        header.private_metadata,
        header.bitcode,
    ]
    .iter()
    .map(|section| section.start)
    .filter(|&offset| offset >= start)
    .min()
    .unwrap_or(view.len());
    if start >= next {
        return view.slice(0, 0, "no header extension");
    }
    view.slice(start, next - start, "the header extension")
}
