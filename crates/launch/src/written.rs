//! A launch as it is written: flags of a command line, a comment of a source, a text of a configuration.
//!
//! ```text
//! // assay: launch saxpy --size N=1000,33 --grid N --threadgroup 256 --arg n=N --arg a=2.5 --arg x=random:N --arg y=zeros:N
//! ```
//!
//! Arguments are named as the kernel names them or by their index; [`Written::resolve`] makes indices of names, and takes
//! the types that are not written from the kernel's signature.

use crate::contents::{BUFFER_FORMS, Contents, VALUE_FORMS, Values};
use crate::flags::{extent, is_plain};
use crate::mistake::Mistake;
use crate::template::Grid;
use crate::{Error, Extent, Formula, Size, Sizes, cases};
use std::fmt;

/// What starts a comment that says how a kernel is dispatched.
const COMMENT: &str = "// assay: launch";

/// How a launch is written, for advice.
pub const LAUNCH_FORMS: &str =
    "write it as flags: --grid 1024,1024 --threadgroup 16,16 --bytes 3=u32:1024";

/// A launch as it is written. The first of what is there twice counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Written {
    /// Sizes by name, for the formulas of everything else.
    pub sizes: Vec<Size>,
    /// The grid.
    pub grid: Option<Grid>,
    /// Threads of a threadgroup.
    pub threadgroup: Option<[Formula; 3]>,
    /// Buffers.
    pub buffers: Vec<Bound<Contents>>,
    /// A few values instead of a buffer.
    pub bytes: Vec<Bound<Values>>,
    /// Bytes of threadgroup memory.
    pub memory: Vec<Bound<Formula>>,
    /// Bytes of threadgroup memory in all, where no argument is named.
    pub memory_in_all: Option<Formula>,
    /// Textures, as [`crate::texture::fill`] reads them, or the name of a file.
    pub textures: Vec<Bound<String>>,
    /// Samplers in Metal's words.
    pub samplers: Vec<Bound<String>>,
    /// Members of argument buffers: `0.weights`, and what they are.
    pub members: Vec<(String, String)>,
    /// Tensors.
    pub tensors: Vec<Bound<Contents>>,
    /// Arguments of whatever kind the kernel says they are.
    pub arguments: Vec<Bound<String>>,
}

/// Something that is bound.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound<T> {
    /// To which argument.
    pub target: Target,
    /// What it is.
    pub value: T,
}

/// An argument of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// By the index it is bound to.
    Index(u32),
    /// By its name in the source.
    Name(String),
}

impl Target {
    fn new(text: &str) -> Option<Target> {
        let text = text.trim();
        if let Ok(index) = text.parse() {
            return Some(Target::Index(index));
        }
        let letters = |c: char| c.is_alphanumeric() || c == '_';
        let named = !text.is_empty() && text.chars().all(letters);
        (named && !text.starts_with(|c: char| c.is_ascii_digit()))
            .then(|| Target::Name(text.to_owned()))
    }

    /// The index, unless it is a name.
    pub fn index(&self) -> Option<u32> {
        match self {
            Target::Index(index) => Some(*index),
            Target::Name(_) => None,
        }
    }
}

impl std::str::FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Target, String> {
        Target::new(text).ok_or_else(|| format!("`{text}` is neither an index nor a name"))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Index(index) => write!(f, "{index}"),
            Target::Name(name) => f.write_str(name),
        }
    }
}

impl<T> Bound<T> {
    /// The index, unless it is bound by name.
    pub fn index(&self) -> Option<u32> {
        self.target.index()
    }
}

impl<T: fmt::Display> fmt::Display for Bound<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.target, self.value)
    }
}

/// `TARGET=REST`.
fn split(text: &str) -> Option<(Target, &str)> {
    let (target, rest) = text.split_once('=')?;
    Some((Target::new(target)?, rest))
}

/// One to three extents: `N,M`, or with `x` between numbers or names as in a shape, `NxM`. What is one formula as a whole
/// is one extent, as `max` is.
pub fn triple(text: &str) -> Result<[Formula; 3], String> {
    let is_length = |part: &str| {
        let is_number = part.chars().all(|c| c.is_ascii_digit());
        let starts = part.starts_with(|c: char| c.is_ascii_uppercase());
        // `nxm` is two lengths, `maxval` is a name.
        let is_letter = part.len() == 1 && part.starts_with(|c: char| c.is_ascii_lowercase());
        !part.is_empty()
            && (is_number
                || is_letter
                || starts && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
    };
    if text.contains('x') && text.split('x').all(is_length) {
        return extent(&text.replace('x', ","));
    }
    extent(text)
}

impl Written {
    /// Adds a flag. There are `size`, `grid`, `groups`, `threadgroup`, `buffer`, `bytes`, `tgmem`, `texture`, `sampler`,
    /// `argument`, `tensor` and `arg`.
    pub fn add(&mut self, flag: &str, text: &str) -> Result<(), Mistake> {
        let bad = |why: String| Mistake::usage(format!("--{flag} {text}: {why}"));
        let place = || {
            split(text).ok_or_else(|| {
                bad("it starts with INDEX= or the name of an argument and =".to_owned()).advice(
                    format!("write --{flag} NAME=CONTENTS, as in --{flag} x=zeros:f32:64"),
                )
            })
        };
        let word = |text: &str| -> String { text.split_whitespace().collect() };
        match flag {
            "size" => self.sizes.push(text.parse().map_err(bad)?),
            "grid" | "groups" if self.grid.is_some() => {
                return Err(bad("the grid is there twice".to_owned()));
            }
            "grid" => self.grid = Some(Grid::Threads(triple(text).map_err(bad)?)),
            "groups" => self.grid = Some(Grid::Groups(triple(text).map_err(bad)?)),
            "threadgroup" => self.threadgroup = Some(triple(text).map_err(bad)?),
            "buffer" | "tensor" => {
                let (target, value) = place()?;
                let value = value.parse();
                let value = value.map_err(|why| bad(why).advice(BUFFER_FORMS))?;
                let list = match flag {
                    "buffer" => &mut self.buffers,
                    _ => &mut self.tensors,
                };
                list.push(Bound { target, value });
            }
            "bytes" => {
                let (target, value) = place()?;
                let value = Values::new(value, None);
                self.bytes.push(Bound { target, value });
            }
            "tgmem" => self.add_memory(text).map_err(bad)?,
            "texture" | "sampler" | "arg" => {
                let (target, value) = place()?;
                let value = value.to_owned();
                let list = match flag {
                    "texture" => &mut self.textures,
                    "sampler" => &mut self.samplers,
                    _ => &mut self.arguments,
                };
                list.push(Bound { target, value });
            }
            "argument" => {
                let parts = text.split_once('=');
                let (name, value) = parts.ok_or_else(|| bad("it has no `=`".to_owned()))?;
                self.members.push((word(name), value.to_owned()));
            }
            _ => return Err(Mistake::usage(format!("unexpected argument '--{flag}'"))),
        }
        Ok(())
    }

    /// `[TARGET=]BYTES`.
    fn add_memory(&mut self, text: &str) -> Result<(), String> {
        let bytes = |text: &str| {
            let text = text.trim();
            match text.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16)
                    .map(Formula::number)
                    .map_err(|error| error.to_string()),
                None => Formula::parse(text).map_err(|error| error.to_string()),
            }
        };
        match split(text) {
            Some((target, rest)) => {
                let value = bytes(rest)?;
                self.memory.push(Bound { target, value });
            }
            None => self.memory_in_all = Some(bytes(text)?),
        }
        Ok(())
    }

    /// A launch written as flags in one string; the kernel it is about, if its name comes first.
    pub fn parse(text: &str) -> Result<(Option<String>, Written), Mistake> {
        let mut written = Written::default();
        let mut words = text.split_whitespace().peekable();
        let kernel = words.next_if(|word| !word.starts_with("--"));
        while let Some(word) = words.next() {
            let flag = word
                .strip_prefix("--")
                .ok_or_else(|| Mistake::usage(format!("unexpected argument '{word}'")))?;
            let (flag, value) = match flag.split_once('=') {
                Some((flag, value)) => (flag, value),
                None => {
                    let value = words.next_if(|word| !word.starts_with("--"));
                    let missing = || Mistake::usage(format!("--{flag}: its value is missing"));
                    (flag, value.ok_or_else(missing)?)
                }
            };
            written.add(flag, value)?;
        }
        Ok((kernel.map(str::to_owned), written))
    }

    /// The launch that comments of a source describe for a kernel.
    pub fn in_comments(text: &str, kernel: &str) -> Result<Option<Written>, Mistake> {
        for comment in comments(text) {
            if comment.kernel().is_some_and(|named| named != kernel) {
                continue;
            }
            let line = comment.line;
            let read = Written::parse(comment.words).map_err(|mistake| {
                mistake
                    .at(format!("line {line}: the launch comment"))
                    .advice(
                        "write it as flags: // assay: launch KERNEL --size N=1024 --grid N --threadgroup 256",
                    )
            });
            return read.map(|(_, written)| Some(written));
        }
        Ok(None)
    }

    /// Returns true if nothing says how large the grid is.
    pub fn is_open(&self) -> bool {
        self.grid.is_none()
    }

    /// This launch, and of another what is not in it.
    #[must_use]
    pub fn or(&self, other: Written) -> Written {
        let mut all = self.clone();
        let named = |size: &Size| !self.sizes.iter().any(|own| own.name == size.name);
        all.sizes.extend(other.sizes.into_iter().filter(named));
        all.grid = all.grid.or(other.grid);
        all.threadgroup = all.threadgroup.or(other.threadgroup);
        // An index of a buffer may be given by four flags.
        let own: Vec<Target> = self.buffer_targets().cloned().collect();
        let fresh = |target: &Target| !own.contains(target);
        let buffers = other.buffers.into_iter();
        all.buffers.extend(buffers.filter(|it| fresh(&it.target)));
        let bytes = other.bytes.into_iter();
        all.bytes.extend(bytes.filter(|it| fresh(&it.target)));
        let arguments = other.arguments.into_iter();
        all.arguments
            .extend(arguments.filter(|it| fresh(&it.target)));
        let tensors = other.tensors.into_iter();
        all.tensors.extend(tensors.filter(|it| fresh(&it.target)));
        add_fresh(&mut all.memory, other.memory);
        add_fresh(&mut all.textures, other.textures);
        add_fresh(&mut all.samplers, other.samplers);
        let members = other.members.into_iter();
        let known = |name: &String| self.members.iter().any(|(own, _)| own == name);
        all.members.extend(members.filter(|(name, _)| !known(name)));
        all.memory_in_all = all.memory_in_all.or(other.memory_in_all);
        all
    }

    fn buffer_targets(&self) -> impl Iterator<Item = &Target> {
        let buffers = self.buffers.iter().map(|it| &it.target);
        let bytes = self.bytes.iter().map(|it| &it.target);
        let arguments = self.arguments.iter().map(|it| &it.target);
        let tensors = self.tensors.iter().map(|it| &it.target);
        buffers.chain(bytes).chain(arguments).chain(tensors)
    }

    /// The sizes of each run.
    pub fn cases(&self) -> Result<Vec<Sizes>, Mistake> {
        cases(&self.sizes).map_err(|why| Mistake::usage(format!("--size: {why}")))
    }

    /// The sizes of the first run.
    pub fn first_sizes(&self) -> Result<Sizes, Mistake> {
        Ok(self.cases()?.into_iter().next().unwrap_or_default())
    }

    /// The launch with other values of the sizes it names.
    #[must_use]
    pub fn with_sizes(&self, sizes: &[Size]) -> Written {
        let mut launch = self.clone();
        for size in sizes {
            let mut own = launch.sizes.iter_mut();
            if let Some(own) = own.find(|own| own.name == size.name) {
                *own = size.clone();
            }
        }
        launch
    }

    /// The grid at certain sizes; none if nothing says how large it is.
    pub fn extent(&self, sizes: &Sizes) -> Result<Option<Extent>, Mistake> {
        let extent = self.grid.as_ref().map(|grid| grid.at(sizes)).transpose();
        extent.map_err(|error| unknown_size("--grid", &error))
    }

    /// The threads of a threadgroup at certain sizes; none if nothing says how many.
    pub fn threadgroup(&self, sizes: &Sizes) -> Result<Option<[u32; 3]>, Mistake> {
        let Some(formulas) = &self.threadgroup else {
            return Ok(None);
        };
        let mut threads = [0; 3];
        for (place, formula) in threads.iter_mut().zip(formulas) {
            *place = formula
                .number_at(sizes)
                .map_err(|error| unknown_size("--threadgroup", &error))?;
        }
        Ok(Some(threads))
    }

    /// Grid and threadgroup at certain sizes, which a dispatch must have.
    pub fn geometry(&self, sizes: &Sizes) -> Result<(Extent, [u32; 3]), Mistake> {
        let extent = self.extent(sizes)?.ok_or_else(|| missing("--grid"))?;
        let threadgroup = self.threadgroup(sizes)?;
        Ok((extent, threadgroup.ok_or_else(|| missing("--threadgroup"))?))
    }

    /// Bytes of threadgroup memory of all arguments together; none if nothing says how many.
    pub fn threadgroup_bytes(&self, sizes: &Sizes) -> Result<Option<u32>, Mistake> {
        let all = self.memory.iter().map(|it| &it.value);
        let mut sum: Option<u32> = None;
        for formula in all.chain(&self.memory_in_all) {
            let bytes = formula
                .number_at(sizes)
                .map_err(|error| unknown_size("--tgmem", &error))?;
            sum = Some(sum.unwrap_or(0).saturating_add(bytes));
        }
        Ok(sum)
    }

    /// Returns true if the geometry is plain numbers: what is proven at it says nothing about other sizes.
    pub fn is_plain(&self) -> bool {
        let grid = self.grid.iter().flat_map(|grid| grid.formulas());
        is_plain(grid.chain(self.threadgroup.iter().flatten()))
    }

    /// The flags of the geometry alone.
    pub fn shape(&self) -> String {
        let mut words = Vec::new();
        if let Some(grid) = &self.grid {
            words.push(grid.to_string());
        }
        if let Some(threadgroup) = &self.threadgroup {
            words.push(format!("--threadgroup {}", extents(threadgroup)));
        }
        words.join(" ")
    }

    /// The launch as a comment that every command reads.
    pub fn comment(&self, kernel: &str) -> String {
        format!("assay: launch {kernel} {self}")
    }
}

/// A launch comment of a source.
#[derive(Clone, Copy, Debug)]
pub struct Comment<'t> {
    /// Its line, from 1.
    pub line: u32,
    /// What it says: a kernel's name, if it is about one, and flags.
    pub words: &'t str,
}

impl<'t> Comment<'t> {
    /// The kernel it is about, if not all.
    pub fn kernel(&self) -> Option<&'t str> {
        let first = self.words.split_whitespace().next();
        first.filter(|word| !word.starts_with("--"))
    }
}

/// The launch comments of a source.
pub fn comments(text: &str) -> impl Iterator<Item = Comment<'_>> {
    (1..).zip(text.lines()).filter_map(|(line, text)| {
        let words = text.trim_start().strip_prefix(COMMENT)?;
        words
            .starts_with(char::is_whitespace)
            .then_some(Comment { line, words })
    })
}

/// What launch comments say about kernels that a source does not have.
pub fn misplaced<'n>(
    text: &str,
    kernels: impl IntoIterator<Item = &'n str> + Clone,
) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    for comment in comments(text) {
        let Some(name) = comment.kernel() else {
            continue;
        };
        let mut known = kernels.clone().into_iter();
        if !known.any(|kernel| kernel == name) {
            let near = assay_report::nearest::nearest(kernels.clone(), name, 1);
            let near = near.first().map_or(String::new(), |near| {
                format!("; the nearest name is {near}")
            });
            found.push((
                comment.line,
                format!(
                    "the launch comment is about {name}, which is not a kernel of this file{near}"
                ),
            ));
        }
    }
    found
}

fn add_fresh<T>(all: &mut Vec<Bound<T>>, other: Vec<Bound<T>>) {
    for bound in other {
        if !all.iter().any(|own| own.target == bound.target) {
            all.push(bound);
        }
    }
}

fn missing(what: &str) -> Mistake {
    Mistake::usage(format!("{what} is missing"))
}

pub(crate) fn unknown_size(option: &str, error: &Error) -> Mistake {
    Mistake::usage(format!("{option}: {error}")).advice("name sizes with --size NAME=NUMBER")
}

/// What a `--bytes` cannot be read as.
pub(crate) fn bad_values(text: &Bound<Values>, why: &str) -> Mistake {
    Mistake::usage(format!("--bytes {text}: {why}")).advice(VALUE_FORMS)
}

/// The extents of a grid or threadgroup, those that are 1 at the end left out.
fn extents(formulas: &[Formula; 3]) -> String {
    let mut words: Vec<String> = formulas.iter().map(Formula::word).collect();
    while words.len() > 1 && words.last().is_some_and(|word| word == "1") {
        words.pop();
    }
    words.join(",")
}

impl Grid {
    /// The formulas along each axis.
    pub fn formulas(&self) -> &[Formula; 3] {
        match self {
            Grid::Threads(formulas) | Grid::Groups(formulas) => formulas,
        }
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Grid::Threads(threads) => write!(f, "--grid {}", extents(threads)),
            Grid::Groups(groups) => write!(f, "--groups {}", extents(groups)),
        }
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = self
            .sizes
            .iter()
            .map(|size| format!("--size {size}"))
            .collect();
        let shape = self.shape();
        if !shape.is_empty() {
            words.push(shape);
        }
        let mut list = |flag: &str, text: String| {
            let word: String = text.split_whitespace().collect();
            words.push(format!("--{flag} {word}"));
        };
        let buffers = self.buffers.iter();
        buffers.for_each(|it| list("buffer", it.to_string()));
        self.bytes
            .iter()
            .for_each(|it| list("bytes", it.to_string()));
        let textures = self.textures.iter();
        textures.for_each(|it| list("texture", it.to_string()));
        let samplers = self.samplers.iter();
        samplers.for_each(|it| list("sampler", it.to_string()));
        let members = self.members.iter();
        members.for_each(|(name, text)| list("argument", format!("{name}={text}")));
        let tensors = self.tensors.iter();
        tensors.for_each(|it| list("tensor", it.to_string()));
        let arguments = self.arguments.iter();
        arguments.for_each(|it| list("arg", it.to_string()));
        for memory in &self.memory {
            list(
                "tgmem",
                format!("{}={}", memory.target, memory.value.word()),
            );
        }
        if let Some(bytes) = &self.memory_in_all {
            list("tgmem", bytes.word());
        }
        f.write_str(&words.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
// assay: launch other --grid 1
  // assay: launch sum --size N=100,7 --grid N --threadgroup min(N,64) --buffer 0=iota:f32:N --tgmem 0=N*4
kernel void sum() {}
";

    #[test]
    fn a_comment_says_how_its_kernel_is_dispatched() {
        let found = Written::in_comments(SOURCE, "sum")
            .expect("fine")
            .expect("there");
        let cases = found.cases().expect("two cases");
        assert_eq!(cases.len(), 2);
        assert_eq!(
            found.extent(&cases[1]),
            Ok(Some(Extent::Threads([7, 1, 1])))
        );
        assert_eq!(found.threadgroup(&cases[1]), Ok(Some([7, 1, 1])));
        assert!(!found.is_plain());
        assert_eq!(found.threadgroup_bytes(&cases[1]), Ok(Some(28)));
        assert_eq!(Written::in_comments(SOURCE, "mean"), Ok(None));
        assert!(Written::in_comments("// assay: launch --gird 3\n", "k").is_err());
    }

    #[test]
    fn flags_win_over_the_comment() {
        let found = Written::in_comments(SOURCE, "sum")
            .expect("fine")
            .expect("there");
        let (_, flags) = Written::parse("--size N=5 --buffer 0=zeros:f32:N").expect("flags");
        let both = flags.or(found);
        assert_eq!(both.cases().expect("one").len(), 1);
        assert_eq!(both.buffers.len(), 1);
        assert!(both.buffers[0].value.starts_as_zeros());
        assert!(!both.is_open());
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "--size N=100,7 --grid N --threadgroup min(N,64) --buffer 0=iota:f32:N --tgmem 0=N*4",
            "--groups 4,2 --threadgroup 32 --bytes 3=u32:64,N,f32:0.5 --arg x=random:NxD --arg y=out",
            "--grid 8 --threadgroup 8 --texture 0=x.png --sampler 0=linear --argument 0.w=x.npy --tensor 1=zeros:f16:8x8",
        ] {
            let (_, written) = Written::parse(text).expect("a launch");
            assert_eq!(written.to_string(), text);
        }
        let (_, crossed) = Written::parse("--grid 64x32").expect("a grid");
        let (_, commas) = Written::parse("--grid=64,32").expect("a grid");
        assert_eq!(crossed, commas);
        let (_, named) =
            Written::parse("--size N=8 --size ROWS=4 --grid NxROWSx2").expect("a grid");
        let (_, commas) =
            Written::parse("--size N=8 --size ROWS=4 --grid N,ROWS,2").expect("a grid");
        assert_eq!(named, commas);
        assert!(Written::parse("--size maxval=8 --grid maxval").is_ok());
    }

    #[test]
    fn mistakes_are_told() {
        for wrong in [
            "--grid 1,2,3,4",
            "--grid 1 --groups 1",
            "--buffer zeros:f32:4",
            "--buffer 0=zeros:f31:4",
            "--size 4=N",
            "--grid",
            "--gird 3",
            "--grid 1 loose",
        ] {
            assert!(Written::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_comment_about_a_kernel_that_is_not_there_is_found() {
        let found = misplaced(SOURCE, ["sum", "otherwise"]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].1.contains("the nearest name is otherwise"),
            "{found:?}"
        );
    }
}
