//! One function of a metallib.

use super::{Header, Tag, Tags};
use crate::error::Error;
use crate::view::{View, until_nul};
use std::borrow::Cow;
use std::fmt;

/// A function: its name, what it is, and where its bitcode lies.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// The name it is looked up by.
    pub name: Cow<'a, str>,
    /// Kernel, vertex function, …
    pub kind: FunctionKind,
    /// SHA-256 of the bitcode, as the file states it.
    pub hash: Option<&'a [u8; 32]>,
    /// Version of the AIR dialect.
    pub air: Option<Version>,
    /// Version of the Metal language.
    pub language: Option<Version>,
    /// The LLVM module, usually in its wrapper; `None` for a function that the
    /// library only declares.
    pub bitcode: Option<&'a [u8]>,
    /// Where the module starts in the file.
    pub bitcode_offset: u64,
    /// Where the function's sources lie in the section of embedded sources.
    pub source_offset: Option<u64>,
    metadata: Metadata<'a>,
}

#[derive(Clone, Copy, Debug)]
struct Metadata<'a> {
    list_offset: u64,
    public: Option<View<'a>>,
    private: Option<View<'a>>,
}

/// A pair of numbers, `major.minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Before the point.
    pub major: u16,
    /// After the point.
    pub minor: u16,
}

impl Version {
    /// `major.minor`.
    pub fn new(major: u16, minor: u16) -> Self {
        Version { major, minor }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// What kind of function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FunctionKind {
    /// A vertex function.
    Vertex,
    /// A fragment function.
    Fragment,
    /// A compute kernel.
    Kernel,
    /// A function of a dynamic library.
    Unqualified,
    /// A visible or stitchable function.
    Visible,
    /// A Core Image extern function.
    Extern,
    /// A ray-tracing intersection function.
    Intersection,
    /// A number without a public name.
    Unknown(u8),
}

impl FunctionKind {
    pub(super) fn new(value: u8) -> Self {
        match value {
            0 => FunctionKind::Vertex,
            1 => FunctionKind::Fragment,
            2 => FunctionKind::Kernel,
            3 => FunctionKind::Unqualified,
            4 => FunctionKind::Visible,
            5 => FunctionKind::Extern,
            6 => FunctionKind::Intersection,
            other => FunctionKind::Unknown(other),
        }
    }

    /// The number the file uses.
    pub fn code(self) -> u8 {
        match self {
            FunctionKind::Vertex => 0,
            FunctionKind::Fragment => 1,
            FunctionKind::Kernel => 2,
            FunctionKind::Unqualified => 3,
            FunctionKind::Visible => 4,
            FunctionKind::Extern => 5,
            FunctionKind::Intersection => 6,
            FunctionKind::Unknown(value) => value,
        }
    }
}

impl fmt::Display for FunctionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            FunctionKind::Vertex => "vertex",
            FunctionKind::Fragment => "fragment",
            FunctionKind::Kernel => "kernel",
            FunctionKind::Unqualified => "unqualified",
            FunctionKind::Visible => "visible",
            FunctionKind::Extern => "extern",
            FunctionKind::Intersection => "intersection",
            FunctionKind::Unknown(value) => return write!(f, "unknown-{value}"),
        };
        f.write_str(name)
    }
}

/// The sections a function points into.
pub(super) struct Sections<'a> {
    pub(super) list: View<'a>,
    public: View<'a>,
    private: View<'a>,
    bitcode: View<'a>,
}

impl<'a> Sections<'a> {
    pub(super) fn new(library: View<'a>, header: &Header) -> Result<Self, Error> {
        let [list, public, private, bitcode] = header.sections();
        let place = |(name, section, stated_at): (&str, super::header::Section, u64), extra| {
            let length = section.length.saturating_add(extra);
            library.part(section.start, length, library.offset(stated_at), || {
                name.to_owned()
            })
        };
        Ok(Sections {
            // The stated length leaves out the last end mark or the count.
            list: place(list, 4)?,
            public: place(public, 0)?,
            private: place(private, 0)?,
            bitcode: place(bitcode, 0)?,
        })
    }
}

impl<'a> Function<'a> {
    pub(super) fn read(group: View<'a>, sections: &Sections<'a>) -> Result<Self, Error> {
        let mut name = None;
        let mut size = None;
        let mut offsets = None;
        let mut function = Function {
            name: Cow::Borrowed(""),
            kind: FunctionKind::Unknown(u8::MAX),
            hash: None,
            air: None,
            language: None,
            bitcode: None,
            bitcode_offset: 0,
            source_offset: None,
            metadata: Metadata {
                list_offset: group.offset(0),
                public: None,
                private: None,
            },
        };
        for tag in Tags::new(group.tail(4, "a function's tags")?) {
            let Tag { name: tag, content } = tag?;
            match &tag {
                b"NAME" => name = Some(String::from_utf8_lossy(until_nul(content.bytes()))),
                b"TYPE" => function.kind = FunctionKind::new(content.u8(0, "TYPE")?),
                b"HASH" => function.hash = content.bytes().first_chunk(),
                b"MDSZ" => size = Some(content.u64(0, "MDSZ")?),
                b"OFFT" => {
                    let read = |at| content.u64(at, "OFFT");
                    offsets = Some((content.offset(0), [read(0)?, read(8)?, read(16)?]));
                }
                b"VERS" => {
                    let read = |at| content.u16(at, "VERS");
                    function.air = Some(Version::new(read(0)?, read(2)?));
                    function.language = Some(Version::new(read(4)?, read(6)?));
                }
                b"SOFF" => function.source_offset = Some(content.u64(0, "SOFF")?),
                _ => {}
            }
        }
        function.name =
            name.ok_or_else(|| Error::malformed(group.offset(0), "a function without a NAME tag"))?;
        if let Some((stated_at, offsets)) = offsets {
            function.place(offsets, size, stated_at, sections)?;
        }
        Ok(function)
    }

    fn place(
        &mut self,
        [public, private, bitcode]: [u64; 3],
        size: Option<u64>,
        stated_at: u64,
        sections: &Sections<'a>,
    ) -> Result<(), Error> {
        self.metadata.public = sections.public.tail(public, "public metadata").ok();
        self.metadata.private = sections.private.tail(private, "private metadata").ok();
        self.bitcode_offset = sections.bitcode.offset(bitcode);
        if let Some(size) = size {
            let name = &self.name;
            let found = sections.bitcode.part(bitcode, size, stated_at, || {
                format!("the bitcode of {name}")
            })?;
            self.bitcode = Some(found.bytes());
        }
        Ok(())
    }

    /// Where in the file the function's entry in the list starts.
    pub fn list_offset(&self) -> u64 {
        self.metadata.list_offset
    }

    /// Tags others may read: function constants, vertex attributes.
    pub fn public_metadata(&self) -> Result<Tags<'a>, Error> {
        tag_group(self.metadata.public)
    }

    /// Tags for debuggers: paths of the source and of the AIR file.
    pub fn private_metadata(&self) -> Result<Tags<'a>, Error> {
        tag_group(self.metadata.private)
    }

    /// Path and line the compiler recorded for the function, if it did.
    pub fn source_path(&self) -> Option<(Cow<'a, str>, u32)> {
        let tags = self.private_metadata().ok()?;
        let debug = tags
            .map_while(Result::ok)
            .find(|tag| &tag.name == b"DEBI")?;
        let line = debug.content.u32(0, "DEBI").ok()?;
        let path = debug.content.bytes().get(4..)?;
        Some((String::from_utf8_lossy(until_nul(path)), line))
    }
}

fn tag_group(found: Option<View<'_>>) -> Result<Tags<'_>, Error> {
    let Some(view) = found.filter(|view| !view.is_empty()) else {
        return Ok(Tags::new(View::new(&[])));
    };
    let size = u64::from(view.u32(0, "the size of a group of tags")?);
    let group = view.part(0, size.max(4), view.offset(0), || "a group of tags".into())?;
    Ok(Tags::new(group.tail(4, "a group of tags")?))
}

/// Old libraries state no sizes: a module then ends where the next one starts.
pub(super) fn fill_missing_sizes<'a>(
    functions: &mut [Function<'a>],
    sections: &Sections<'a>,
    header: &Header,
) -> Result<(), Error> {
    if functions.iter().all(|function| function.bitcode.is_some()) {
        return Ok(());
    }
    let end = sections.bitcode.offset(header.bitcode.length);
    let mut starts: Vec<u64> = functions
        .iter()
        .map(|function| function.bitcode_offset)
        .filter(|&start| start != 0)
        .collect();
    starts.push(end);
    starts.sort_unstable();
    for function in functions {
        let start = function.bitcode_offset;
        if function.bitcode.is_some() || start == 0 {
            continue;
        }
        let next = starts.partition_point(|&other| other <= start);
        let stop = starts.get(next).copied().unwrap_or(end);
        let name = &function.name;
        let found = sections.bitcode.part(
            start.saturating_sub(sections.bitcode.offset(0)),
            stop.saturating_sub(start),
            function.metadata.list_offset,
            || format!("the bitcode of {name}"),
        )?;
        function.bitcode = Some(found.bytes());
    }
    Ok(())
}
