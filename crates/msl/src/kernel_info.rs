//! What a compiled module says about its kernels, and how it says it.
//!
//! Apple's compiler writes `!air.kernel` metadata. Clang cannot be asked to, so the
//! token pass puts an `annotate` attribute on every kernel. Clang emits it once per
//! template instantiation into `@llvm.global.annotations`:
//!
//! ```text
//! { ptr FUNCTION, ptr TEXT, ptr FILE, i32 LINE, ptr NUMBERS }
//! ```
//!
//! TEXT is the form written by [`KernelInfo::to_text`]; NUMBERS points to a constant
//! struct of 32-bit integers: the declared maximum of threads per threadgroup (0 when
//! there is none), then for each argument that is a parameter of the function its
//! binding index, the size, the alignment and the type code of what it points to.
//! An explicit instantiation with `[[host_name("…")]]` carries a second annotation,
//! written by [`host_name_text`], whose name replaces the kernel's.
//!
//! This module has no dependencies, so that the reader of bitcode can share it.

use std::fmt::Write as _;

/// First line of a kernel's annotation.
pub const KERNEL_MARK: &str = "assay.kernel 1";
/// First line of a host name's annotation.
pub const HOST_NAME_MARK: &str = "assay.host_name 1";
/// Name of the global that holds the module's own record.
pub const MODULE_SYMBOL: &str = "assay.module";
/// Start of the symbol of a function constant: `assay.function_constant.INDEX.TYPE.NAME`.
/// An index `?N` is the number that the constant [`FUNCTION_CONSTANT_INDEX_PREFIX`]`N` holds.
pub const FUNCTION_CONSTANT_PREFIX: &str = "assay.function_constant.";

/// Start of the symbol of a constant that holds the index of a function constant.
pub const FUNCTION_CONSTANT_INDEX_PREFIX: &str = "assay.function_constant_index.";
/// Section of threadgroup variables.
pub const THREADGROUP_SECTION: &str = "assay.threadgroup";
/// A call without meaning at the start of a kernel; to be dropped.
pub const ESCAPE_SYMBOL: &str = "assay.escape";

/// A kernel and its arguments, in source order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelInfo {
    /// The name by which a host program asks for the kernel.
    pub name: String,
    /// `[[max_total_threads_per_threadgroup(n)]]`, 0 when not declared.
    pub max_threads_per_threadgroup: u32,
    /// Arguments, position attributes included.
    pub arguments: Vec<Argument>,
}

/// One argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// What it is bound to.
    pub kind: ArgumentKind,
    /// Binding index; for a builtin `None`, and `None` until the numbers are known.
    pub index: Option<u32>,
    /// Address space.
    pub space: Space,
    /// How the kernel may use it.
    pub access: Access,
    /// Name in the source, possibly empty.
    pub name: String,
    /// Type as written in the source (what a pointer points to).
    pub type_name: String,
    /// Whether it was declared as a reference: it binds exactly one object.
    pub reference: bool,
    /// The function constant that decides whether the argument exists.
    pub function_constant: Option<String>,
    /// Size, alignment and code of the type, when known.
    pub layout: Option<Layout>,
    /// Members of the struct it points to, if a pointer, texture or sampler is among them.
    pub members: Vec<Member>,
}

/// What an argument is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// A buffer.
    Buffer,
    /// Threadgroup memory whose length the host sets.
    Threadgroup,
    /// A texture.
    Texture,
    /// A sampler.
    Sampler,
    /// A position or size, by the name of its attribute. Not a parameter of the
    /// compiled function: the body calls the builtin of that name.
    Builtin(String),
    /// Something else.
    Other,
}

/// Address space of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// `device`
    Device,
    /// `constant`
    Constant,
    /// `threadgroup`
    Threadgroup,
    /// An opaque handle (texture, sampler).
    Handle,
    /// None: a value.
    None,
}

/// What a kernel may do with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    Read,
    /// Write only.
    Write,
    /// Both.
    ReadWrite,
    /// Does not apply.
    None,
}

/// Size, alignment and type of what an argument points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Bytes.
    pub size: u32,
    /// Bytes.
    pub align: u32,
    /// The type, encoded.
    pub code: TypeCode,
}

/// A type in 32 bits: bits 0–7 the scalar, 8–15 the lanes (rows of a matrix), 16–23
/// the columns of a matrix, 24 packed, 25 atomic. 0 is a struct or anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeCode(pub u32);

/// Scalars by the number in bits 0–7 of a [`TypeCode`].
const SCALARS: [&str; 14] = [
    "", "bool", "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half",
    "bfloat", "float", "void",
];

/// A member of a struct that an argument points to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// What it is.
    pub kind: MemberKind,
    /// How it is reached: `weights`, `layers[2].scale`.
    pub path: String,
    /// The same in terms of data members: an `array<T, N>` is a struct.
    pub(crate) designator: String,
    /// Its type, of a pointer that of what it points to.
    pub type_name: String,
    /// Where it lies, in bytes, if the compiler has said so.
    pub offset: Option<u32>,
    /// Its index for argument encoders: that of `[[id(n)]]`, or the next.
    pub id: u32,
}

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// A pointer to device or constant memory.
    Pointer,
    /// A texture.
    Texture,
    /// A sampler.
    Sampler,
    /// A plain value.
    Value,
}

impl MemberKind {
    const WORDS: [(Self, &'static str); 4] = [
        (Self::Pointer, "pointer"),
        (Self::Texture, "texture"),
        (Self::Sampler, "sampler"),
        (Self::Value, "value"),
    ];

    fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(kind, _)| *kind == self);
        found.map_or("value", |(_, word)| word)
    }
}

impl TypeCode {
    /// The name in Metal's spelling, `None` for a struct.
    ///
    /// ```
    /// use assay_msl::kernel_info::TypeCode;
    /// assert_eq!(TypeCode(12 | 4 << 8).name().as_deref(), Some("float4"));
    /// assert_eq!(TypeCode(10 | 4 << 8 | 3 << 16).name().as_deref(), Some("half3x4"));
    /// assert_eq!(TypeCode(0).name(), None);
    /// ```
    pub fn name(self) -> Option<String> {
        let scalar = SCALARS
            .get((self.0 & 0xff) as usize)
            .filter(|name| !name.is_empty())?;
        let (lanes, columns) = (self.0 >> 8 & 0xff, self.0 >> 16 & 0xff);
        let shape = match (columns, lanes) {
            (0, 0 | 1) => String::new(),
            (0, lanes) => lanes.to_string(),
            (columns, rows) => format!("{columns}x{rows}"),
        };
        let packed = if self.0 >> 24 & 1 == 1 { "packed_" } else { "" };
        let atomic = if self.0 >> 25 & 1 == 1 { "atomic_" } else { "" };
        Some(format!("{atomic}{packed}{scalar}{shape}"))
    }
}

/// Why an annotation could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The text is not a kernel's annotation.
    NotAKernel,
    /// A line of the text has the wrong fields.
    Line(usize),
    /// There are fewer numbers than the arguments need.
    Numbers {
        /// How many are needed.
        needed: usize,
        /// How many there are.
        found: usize,
    },
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ParseError::NotAKernel => write!(f, "not the annotation of a kernel"),
            ParseError::Line(line) => {
                write!(f, "line {line} of a kernel's annotation is malformed")
            }
            ParseError::Numbers { needed, found } => {
                write!(
                    f,
                    "a kernel's annotation has {found} numbers and needs {needed}"
                )
            }
        }
    }
}

impl std::error::Error for ParseError {}

impl Argument {
    /// Whether the argument is a parameter of the compiled function.
    pub fn is_parameter(&self) -> bool {
        !matches!(self.kind, ArgumentKind::Builtin(_))
    }
}

impl KernelInfo {
    /// The text of the annotation.
    pub fn to_text(&self) -> String {
        let mut text = format!("{KERNEL_MARK}\nname\t{}", clean(&self.name));
        for argument in &self.arguments {
            let (kind, index) = match &argument.kind {
                ArgumentKind::Buffer => ("buffer", None),
                ArgumentKind::Threadgroup => ("threadgroup", None),
                ArgumentKind::Texture => ("texture", None),
                ArgumentKind::Sampler => ("sampler", None),
                ArgumentKind::Builtin(name) => ("builtin", Some(name.clone())),
                ArgumentKind::Other => ("other", None),
            };
            let number = || argument.index.map_or("?".to_owned(), |n| n.to_string());
            let mut flags = Vec::new();
            if argument.reference {
                flags.push("reference".to_owned());
            }
            if let Some(constant) = &argument.function_constant {
                flags.push(format!("function_constant={}", clean(constant)));
            }
            let _ = write!(
                text,
                "\narg\t{kind}\t{}\t{}\t{}\t{}\t{}\t{}",
                index.unwrap_or_else(number),
                argument.space.word(),
                argument.access.word(),
                clean(&argument.name),
                clean(&argument.type_name),
                flags.join(","),
            );
            for member in &argument.members {
                let (kind, path) = (member.kind.word(), clean(&member.path));
                let _ = write!(
                    text,
                    "\nmember\t{kind}\t{path}\t{}\t{}",
                    clean(&member.type_name),
                    member.id
                );
            }
        }
        text
    }

    /// Reads an annotation: its text, and its numbers when they are known.
    pub fn parse(text: &str, numbers: Option<&[u32]>) -> Result<KernelInfo, ParseError> {
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, line)| line) != Some(KERNEL_MARK) {
            return Err(ParseError::NotAKernel);
        }
        let mut info = KernelInfo::default();
        for (number, line) in lines {
            let fields: Vec<&str> = line.split('\t').collect();
            match fields.as_slice() {
                ["name", name] => info.name = (*name).to_owned(),
                ["arg", rest @ ..] => {
                    let argument = parse_argument(rest).ok_or(ParseError::Line(number + 1))?;
                    info.arguments.push(argument);
                }
                ["member", kind, path, type_name, id] => {
                    let mut kinds = MemberKind::WORDS.iter();
                    let kind = kinds.find(|(_, word)| word == kind).map(|(kind, _)| *kind);
                    let (Some(kind), Some(argument)) = (kind, info.arguments.last_mut()) else {
                        return Err(ParseError::Line(number + 1));
                    };
                    argument.members.push(Member {
                        kind,
                        path: (*path).to_owned(),
                        designator: (*path).to_owned(),
                        type_name: (*type_name).to_owned(),
                        offset: None,
                        id: id.parse().map_err(|_| ParseError::Line(number + 1))?,
                    });
                }
                _ => return Err(ParseError::Line(number + 1)),
            }
        }
        if let Some(numbers) = numbers {
            info.take_numbers(numbers)?;
        }
        Ok(info)
    }

    fn take_numbers(&mut self, numbers: &[u32]) -> Result<(), ParseError> {
        let parameters = self.arguments.iter().filter(|a| a.is_parameter()).count();
        let needed = 1 + 4 * parameters;
        let found = numbers.len();
        let (Some(max), true) = (numbers.first(), found >= needed) else {
            return Err(ParseError::Numbers { needed, found });
        };
        self.max_threads_per_threadgroup = *max;
        let described = self.arguments.iter_mut().filter(|a| a.is_parameter());
        for (argument, four) in described.zip(numbers[1..].chunks_exact(4)) {
            argument.index = Some(four[0]);
            argument.layout = Some(Layout {
                size: four[1],
                align: four[2],
                code: TypeCode(four[3]),
            });
        }
        let members = self
            .arguments
            .iter_mut()
            .flat_map(|argument| &mut argument.members);
        for (member, offset) in members.zip(numbers.iter().skip(needed)) {
            member.offset = Some(*offset);
        }
        Ok(())
    }
}

/// The annotation of an explicit instantiation with a host name.
pub fn host_name_text(name: &str) -> String {
    format!("{HOST_NAME_MARK}\nname\t{}", clean(name))
}

/// The name in an annotation written by [`host_name_text`].
///
/// ```
/// use assay_msl::kernel_info::{host_name_text, parse_host_name};
/// assert_eq!(parse_host_name(&host_name_text("softmax_f32")), Some("softmax_f32"));
/// ```
pub fn parse_host_name(text: &str) -> Option<&str> {
    text.strip_prefix(HOST_NAME_MARK)?.strip_prefix("\nname\t")
}

fn clean(field: &str) -> String {
    field.replace(['\t', '\n', '\r'], " ")
}

fn parse_argument(fields: &[&str]) -> Option<Argument> {
    let [kind, index, space, access, name, type_name, flags] = fields else {
        return None;
    };
    let kind = match *kind {
        "buffer" => ArgumentKind::Buffer,
        "threadgroup" => ArgumentKind::Threadgroup,
        "texture" => ArgumentKind::Texture,
        "sampler" => ArgumentKind::Sampler,
        "builtin" => ArgumentKind::Builtin((*index).to_owned()),
        "other" => ArgumentKind::Other,
        _ => return None,
    };
    let mut argument = Argument {
        kind,
        index: index.parse().ok(),
        space: Space::from_word(space)?,
        access: Access::from_word(access)?,
        name: (*name).to_owned(),
        type_name: (*type_name).to_owned(),
        reference: false,
        function_constant: None,
        layout: None,
        members: Vec::new(),
    };
    for flag in flags.split(',').filter(|flag| !flag.is_empty()) {
        match flag.split_once('=') {
            None if flag == "reference" => argument.reference = true,
            Some(("function_constant", name)) => argument.function_constant = Some(name.to_owned()),
            // A flag of a later version.
            _ => {}
        }
    }
    Some(argument)
}

impl Space {
    fn word(self) -> &'static str {
        match self {
            Space::Device => "device",
            Space::Constant => "constant",
            Space::Threadgroup => "threadgroup",
            Space::Handle => "handle",
            Space::None => "-",
        }
    }

    fn from_word(word: &str) -> Option<Space> {
        [
            Space::Device,
            Space::Constant,
            Space::Threadgroup,
            Space::Handle,
            Space::None,
        ]
        .into_iter()
        .find(|space| space.word() == word)
    }
}

impl Access {
    fn word(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::ReadWrite => "read_write",
            Access::None => "-",
        }
    }

    fn from_word(word: &str) -> Option<Access> {
        [Access::Read, Access::Write, Access::ReadWrite, Access::None]
            .into_iter()
            .find(|access| access.word() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> KernelInfo {
        let argument = |kind, index, space, access, name: &str, type_name: &str| Argument {
            kind,
            index,
            space,
            access,
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            reference: false,
            function_constant: None,
            layout: None,
            members: Vec::new(),
        };
        let mut info = KernelInfo {
            name: "ns::add".to_owned(),
            max_threads_per_threadgroup: 0,
            arguments: vec![
                argument(
                    ArgumentKind::Buffer,
                    Some(3),
                    Space::Constant,
                    Access::Read,
                    "n",
                    "uint",
                ),
                argument(
                    ArgumentKind::Builtin("thread_position_in_grid".into()),
                    None,
                    Space::None,
                    Access::None,
                    "i",
                    "uint3",
                ),
                argument(
                    ArgumentKind::Texture,
                    Some(0),
                    Space::Handle,
                    Access::Read,
                    "t",
                    "texture2d<float, access::read>",
                ),
            ],
        };
        info.arguments[0].reference = true;
        info.arguments[0].function_constant = Some("has_n".to_owned());
        info
    }

    #[test]
    fn text_comes_back_as_it_was() {
        let info = sample();
        assert_eq!(KernelInfo::parse(&info.to_text(), None), Ok(info));
    }

    #[test]
    fn numbers_belong_to_parameters_not_to_builtins() {
        let read = KernelInfo::parse(
            &sample().to_text(),
            Some(&[256, 3, 4, 4, 7 | 1 << 8, 0, 8, 8, 0]),
        );
        let Ok(info) = read else { panic!("{read:?}") };
        assert_eq!(info.max_threads_per_threadgroup, 256);
        let layouts: Vec<_> = info
            .arguments
            .iter()
            .map(|a| a.layout.map(|l| l.size))
            .collect();
        assert_eq!(layouts, [Some(4), None, Some(8)]);
        assert_eq!(
            info.arguments[0]
                .layout
                .and_then(|l| l.code.name())
                .as_deref(),
            Some("uint")
        );
    }

    #[test]
    fn bad_annotations_are_refused_with_the_reason() {
        assert_eq!(
            KernelInfo::parse("other", None),
            Err(ParseError::NotAKernel)
        );
        let text = format!("{KERNEL_MARK}\nname\tk\narg\tbuffer\t0");
        assert_eq!(KernelInfo::parse(&text, None), Err(ParseError::Line(3)));
        assert_eq!(
            KernelInfo::parse(&sample().to_text(), Some(&[0, 1])),
            Err(ParseError::Numbers {
                needed: 9,
                found: 2
            })
        );
    }
}
