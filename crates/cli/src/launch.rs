//! How a kernel is dispatched, as every command that runs one is told: by flags, or by a comment
//! `// assay: launch …` in the source.

use crate::failure::Failure;
use crate::input;
use crate::resources::ResourceArgs;
use assay_launch::contents::{self, BUFFER_FORMS, VALUE_FORMS};
use assay_launch::element::Element;
use assay_launch::npy::Array;
use assay_launch::template::Grid;
use assay_launch::{Extent, Formula, Size, Sizes, cases, extent, is_plain};
use clap::Parser;
use std::path::Path;

/// What starts a comment that says how a kernel is dispatched.
const COMMENT: &str = "// assay: launch ";

/// The flags of a launch. Numbers may be formulas over the sizes that `--size` names.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct LaunchArgs {
    /// A size by name, for formulas in the other options; several values make several runs; may be repeated
    #[arg(long = "size", value_name = "NAME=N[,N...]")]
    pub(crate) sizes: Vec<Size>,

    /// Threads in the grid
    #[arg(long, value_name = "X,Y,Z", value_parser = triple, conflicts_with = "groups")]
    pub(crate) grid: Option<Triple>,

    /// Threadgroups in the grid, instead of threads
    #[arg(long, value_name = "X,Y,Z", value_parser = triple)]
    pub(crate) groups: Option<Triple>,

    /// Threads in a threadgroup
    #[arg(long, value_name = "X,Y,Z", value_parser = triple)]
    pub(crate) threadgroup: Option<Triple>,

    /// A buffer: I=FILE.npy, I=zeros:TYPE:SHAPE, I=iota:TYPE:SHAPE, I=random:TYPE:SHAPE:SEED, or whole numbers below a
    /// bound, I=index:TYPE:SHAPE:BOUND; TYPE is f32 f16 bf16 u8 i8 u16 i16 u32 i32 u64 i64 or bool, SHAPE such as 64, 64x32 or NxD
    #[arg(long = "buffer", value_name = "I=CONTENTS")]
    pub(crate) buffers: Vec<String>,

    /// A few values instead of a buffer; a value may change the type, as in 3=u32:64,32,f32:0.5
    #[arg(long, value_name = "I=TYPE:VALUE[,VALUE...]")]
    pub(crate) bytes: Vec<String>,
}

/// One to three extents.
#[derive(Clone, Debug)]
pub(crate) struct Triple(pub(crate) [Formula; 3]);

fn triple(text: &str) -> Result<Triple, String> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == 'x');
    match plain {
        true => extent(&text.replace('x', ",")).map(Triple),
        false => extent(text).map(Triple),
    }
}

/// A comment in a source: the kernel it is about, if not all, and the flags.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Comment {
    kernel: Option<String>,

    #[command(flatten)]
    launch: LaunchArgs,

    #[command(flatten)]
    resources: ResourceArgs,

    /// Bytes of threadgroup memory for an argument with [[threadgroup(I)]]
    #[arg(long, value_name = "I=BYTES")]
    tgmem: Vec<String>,
}

/// A launch that a source describes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Described {
    pub(crate) launch: LaunchArgs,
    pub(crate) resources: ResourceArgs,
    pub(crate) tgmem: Vec<String>,
}

/// A launch written as flags in one string, as in a comment.
pub(crate) fn written(option: &str, text: &str) -> Result<Described, Failure> {
    let comment = Comment::try_parse_from(text.split_whitespace()).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default();
        Failure::usage(format!("{option}: {}", first.trim_start_matches("error: ")))
            .advice("write it as flags: --grid 1024,1024 --threadgroup 16,16 --bytes 3=u32:1024")
    })?;
    Ok(Described {
        launch: comment.launch,
        resources: comment.resources,
        tgmem: comment.tgmem,
    })
}

/// The launch that comments of a source describe for a kernel.
pub(crate) fn described(text: &str, kernel: &str) -> Result<Option<Described>, Failure> {
    for (number, line) in (1..).zip(text.lines()) {
        let Some(words) = line.trim_start().strip_prefix(COMMENT) else {
            continue;
        };
        let comment = Comment::try_parse_from(words.split_whitespace()).map_err(|error| {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            let first = first.trim_start_matches("error: ");
            Failure::input(format!("line {number}: the launch comment: {first}")).advice(
                "write it as flags: // assay: launch KERNEL --size N=1024 --grid N --threadgroup 256",
            )
        })?;
        if comment
            .kernel
            .as_deref()
            .is_none_or(|known| known == kernel)
        {
            return Ok(Some(Described {
                launch: comment.launch,
                resources: comment.resources,
                tgmem: comment.tgmem,
            }));
        }
    }
    Ok(None)
}

impl LaunchArgs {
    /// Returns true if nothing says how large the grid is.
    pub(crate) fn is_open(&self) -> bool {
        self.grid.is_none() && self.groups.is_none()
    }

    /// These flags, and of others what is not among them.
    pub(crate) fn or(&self, other: LaunchArgs) -> LaunchArgs {
        let index = |text: &str| {
            text.split_once('=')
                .map(|(index, _)| index.trim().to_owned())
        };
        let fresh = |text: &String| {
            let own = self.buffers.iter().chain(&self.bytes);
            !own.map(|own| index(own)).any(|own| own == index(text))
        };
        let mut all = self.clone();
        let sizes = other.sizes.into_iter();
        let named = |size: &Size| !self.sizes.iter().any(|own| own.name == size.name);
        all.sizes.extend(sizes.filter(named));
        if self.is_open() {
            (all.grid, all.groups) = (other.grid, other.groups);
        }
        all.threadgroup = all.threadgroup.or(other.threadgroup);
        all.buffers.extend(other.buffers.into_iter().filter(fresh));
        all.bytes.extend(other.bytes.into_iter().filter(fresh));
        all
    }

    /// The sizes of each run.
    pub(crate) fn cases(&self) -> Result<Vec<Sizes>, Failure> {
        cases(&self.sizes).map_err(|why| Failure::usage(format!("--size: {why}")))
    }

    /// The grid at certain sizes.
    pub(crate) fn extent(&self, sizes: &Sizes) -> Option<Result<Extent, Failure>> {
        let grid = match (&self.grid, &self.groups) {
            (Some(Triple(threads)), _) => Grid::Threads(threads.clone()),
            (None, Some(Triple(groups))) => Grid::Groups(groups.clone()),
            (None, None) => return None,
        };
        Some(grid.at(sizes).map_err(|error| usage("--grid", &error)))
    }

    /// The threads of a threadgroup at certain sizes.
    pub(crate) fn threadgroup(&self, sizes: &Sizes) -> Option<Result<[u32; 3], Failure>> {
        let Triple(formulas) = self.threadgroup.as_ref()?;
        let grid = Grid::Threads(formulas.clone()).at(sizes);
        Some(match grid {
            Ok(Extent::Threads(threads) | Extent::Groups(threads)) => Ok(threads),
            Err(error) => Err(usage("--threadgroup", &error)),
        })
    }

    /// Returns true if the geometry is plain numbers: what is proven at it says nothing about other sizes.
    pub(crate) fn is_plain(&self) -> bool {
        let triples = [&self.grid, &self.groups, &self.threadgroup];
        let triples = triples.into_iter().flatten();
        is_plain(triples.flat_map(|Triple(formulas)| formulas))
    }
}

fn usage(option: &str, error: &assay_launch::Error) -> Failure {
    Failure::usage(format!("{option}: {error}")).advice("name sizes with --size NAME=NUMBER")
}

/// A buffer as it is before the run.
#[derive(Debug)]
pub(crate) struct Filled {
    pub(crate) index: u32,
    pub(crate) element: &'static Element,
    pub(crate) data: Vec<u8>,
}

/// Everything that is bound.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    pub(crate) buffers: Vec<Filled>,
    pub(crate) bytes: Vec<(u32, Vec<u8>)>,
    pub(crate) memory: Vec<(u32, u32)>,
}

impl Inputs {
    pub(crate) fn new(
        args: &LaunchArgs,
        tgmem: &[String],
        sizes: &Sizes,
    ) -> Result<Inputs, Failure> {
        let mut inputs = Inputs::default();
        for text in &args.buffers {
            let (index, value) = split("--buffer", text)?;
            inputs.fresh("--buffer", index)?;
            let bad = |why: String| Failure::usage(format!("--buffer {text}: {why}"));
            let filled = contents::fill(value, sizes);
            let filled = filled.map_err(|why| bad(why).advice(BUFFER_FORMS))?;
            let (element, data) = match filled {
                Some(filled) => filled,
                None => load(text, value)?,
            };
            inputs.buffers.push(Filled {
                index,
                element,
                data,
            });
        }
        for text in &args.bytes {
            let (index, value) = split("--bytes", text)?;
            inputs.fresh("--bytes", index)?;
            let values = contents::values(value, sizes).map_err(|why| {
                Failure::usage(format!("--bytes {text}: {why}")).advice(VALUE_FORMS)
            })?;
            inputs.bytes.push((index, values));
        }
        for text in tgmem {
            let (index, value) = split("--tgmem", text)?;
            let bad = |why: String| Failure::usage(format!("--tgmem {text}: {why}"));
            let formula = Formula::parse(value).map_err(|error| bad(error.to_string()))?;
            let bytes = formula
                .number_at(sizes)
                .map_err(|error| bad(error.to_string()))?;
            inputs.memory.push((index, bytes));
        }
        Ok(inputs)
    }

    /// An index is bound once.
    fn fresh(&self, option: &str, index: u32) -> Result<(), Failure> {
        let buffers = self.buffers.iter().map(|buffer| buffer.index);
        let bytes = self.bytes.iter().map(|(index, _)| *index);
        match buffers.chain(bytes).any(|known| known == index) {
            true => Err(Failure::usage(format!(
                "{option} {index}=…: index {index} is bound twice"
            ))),
            false => Ok(()),
        }
    }
}

/// `INDEX=REST`.
pub(crate) fn split<'t>(option: &str, text: &'t str) -> Result<(u32, &'t str), Failure> {
    let parts = text.split_once('=');
    parts
        .and_then(|(index, rest)| Some((index.trim().parse().ok()?, rest)))
        .ok_or_else(|| Failure::usage(format!("{option} {text}: it starts with INDEX=")))
}

pub(crate) fn load(whole: &str, text: &str) -> Result<(&'static Element, Vec<u8>), Failure> {
    let path = Path::new(text);
    let npy = path.extension().is_some_and(|extension| extension == "npy");
    if !npy && !path.exists() {
        return Err(
            Failure::usage(format!("--buffer {whole}: `{text}` is no file")).advice(BUFFER_FORMS),
        );
    }
    let array = array(path)?;
    let element = Element::of_array(&array.descr).ok_or_else(|| {
        Failure::input(format!(
            "{text} holds `{}`, which Metal does not have",
            array.descr
        ))
        .advice("numpy's .astype('float32') makes it one Metal has")
    })?;
    Ok((element, array.data))
}

/// The array of a file.
pub(crate) fn array(path: &Path) -> Result<Array, Failure> {
    let bytes = input::open(path)?;
    Array::parse(&bytes).map_err(|problem| {
        Failure::input(format!("{} is not an array: {problem}", path.display()))
            .advice("numpy.save writes such files")
    })
}

#[cfg(test)]
mod tests {
    use super::{LaunchArgs, described};

    const SOURCE: &str = "\
// assay: launch other --grid 1
  // assay: launch sum --size N=100,7 --grid N --threadgroup min(N,64) --buffer 0=iota:f32:N --tgmem 0=N*4
kernel void sum() {}
";

    #[test]
    fn a_comment_says_how_its_kernel_is_dispatched() {
        let found = described(SOURCE, "sum").expect("fine").expect("there");
        let cases = found.launch.cases().expect("two cases");
        assert_eq!(cases.len(), 2);
        let extent = found.launch.extent(&cases[1]).expect("a grid");
        assert_eq!(
            extent.expect("a number"),
            assay_launch::Extent::Threads([7, 1, 1])
        );
        assert!(!found.launch.is_plain());
        assert_eq!(found.tgmem, ["0=N*4"]);
        assert!(described(SOURCE, "mean").expect("fine").is_none());
        assert!(described("// assay: launch --gird 3\n", "k").is_err());
    }

    #[test]
    fn flags_win_over_the_comment() {
        let found = described(SOURCE, "sum").expect("fine").expect("there");
        let flags = LaunchArgs {
            sizes: vec!["N=5".parse().expect("a size")],
            buffers: vec!["0=zeros:f32:N".to_owned()],
            ..LaunchArgs::default()
        };
        let both = flags.or(found.launch);
        assert_eq!(both.cases().expect("one").len(), 1);
        assert_eq!(both.buffers, ["0=zeros:f32:N"]);
        assert!(!both.is_open());
    }
}
