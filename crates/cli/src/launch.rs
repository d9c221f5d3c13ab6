//! How a kernel is dispatched, as flags say it. Everything else about launches is in `assay_launch`.

use crate::configuration::{self, ConfiguredLaunch};
use crate::context::Context;
use crate::failure::Failure;
use crate::{confine, input, interrupt, source};
use assay_engine::execution::no_launch;
use assay_engine::{Guessed, Origin, Unlaunched};
use assay_front::{Bytes, GivenConstant, SourceOptions};
use assay_launch::template::Grid;
use assay_launch::{Files, Formula, LAUNCH_FORMS, Mistake, Size, Written, triple};
use assay_msl::beneath::{Folders, LARGEST, Refused};
use assay_ssa::{Argument, Binding};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use assay_engine::{Launched, SharedFiles};

/// The flags of a launch. Numbers may be formulas over the sizes that `--size` names.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct LaunchArgs {
    /// A size by name, for formulas in the other options; several values make several runs; may be repeated
    #[arg(long = "size", value_name = "NAME=N[,N...]")]
    pub(crate) sizes: Vec<Size>,

    /// Threads in the grid
    #[arg(long, value_name = "X,Y,Z", value_parser = parsed, conflicts_with = "groups")]
    pub(crate) grid: Option<Triple>,

    /// Threadgroups in the grid, instead of threads
    #[arg(long, value_name = "X,Y,Z", value_parser = parsed)]
    pub(crate) groups: Option<Triple>,

    /// Threads in a threadgroup
    #[arg(long, value_name = "X,Y,Z", value_parser = parsed)]
    pub(crate) threadgroup: Option<Triple>,

    /// An argument by the name it has in the source: n=4096, x=random:4096xD, y=out. Its type is the kernel's. What it may be
    /// is what --buffer, --bytes, --tgmem, --texture, --sampler and --tensor take; a buffer that is `out` is as large as the
    /// largest
    #[arg(long = "arg", value_name = "NAME=CONTENTS")]
    pub(crate) arguments: Vec<String>,

    /// A buffer by index or name: I=FILE.npy, I=zeros:TYPE:SHAPE, I=iota:TYPE:SHAPE, I=random:TYPE:SHAPE[:SEED], or whole
    /// numbers below a bound, I=index:TYPE:SHAPE:BOUND; I=empty:TYPE:SHAPE is memory that nothing has written (--check reports
    /// reads of it), I=same:J the buffer at J once more; TYPE is f32 f16 bf16 u8 i8 u16 i16 u32 i32 u64 i64 or bool (that of
    /// the kernel's argument when left out), SHAPE such as 64, 64x32 or NxD. Without SEED the index decides the numbers
    #[arg(long = "buffer", value_name = "I=CONTENTS")]
    pub(crate) buffers: Vec<String>,

    /// A few values instead of a buffer; a value may change the type, as in 3=u32:64,32,f32:0.5
    #[arg(long, value_name = "I=TYPE:VALUE[,VALUE...]")]
    pub(crate) bytes: Vec<String>,

    /// Bytes of threadgroup memory for an argument with [[threadgroup(I)]]; without I in all
    #[arg(long, value_name = "[I=]BYTES")]
    pub(crate) tgmem: Vec<String>,

    /// The launch itself, of a caller that has no flags.
    #[arg(skip)]
    ready: Option<Written>,
}

impl From<Written> for LaunchArgs {
    fn from(written: Written) -> Self {
        Self {
            ready: Some(written),
            ..Self::default()
        }
    }
}

/// One to three extents.
#[derive(Clone, Debug)]
pub(crate) struct Triple([Formula; 3]);

fn parsed(text: &str) -> Result<Triple, String> {
    triple(text).map(Triple)
}

/// The flags of textures, samplers, argument buffers and tensors.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ResourceArgs {
    /// A texture: I=FILE.png[:FORMAT], I=FILE.npy[:FORMAT], or I=zeros:FORMAT:WxHxD (also iota, random and empty, whose texels
    /// count as uninitialised), with :levels=N, :layers=N and :samples=N behind; I=same:J is the texture at J. FORMAT is
    /// Metal's, such as rgba8Unorm or r32Float
    #[arg(long = "texture", value_name = "I=CONTENTS")]
    textures: Vec<String>,

    /// A sampler in Metal's words, as in 0=linear,repeat or 0=nearest,coord=pixel,t_address=clamp_to_zero
    #[arg(long = "sampler", value_name = "I=WORDS")]
    samplers: Vec<String>,

    /// A member of an argument buffer, as in 0.weights=FILE.npy, 0.image=FILE.png, 0.smooth=linear, 0.layers[2].scale=f32:0.5 or
    /// 0[3].weights=zeros:f32:64 of an array of structs: contents as for --buffer, --texture, --sampler and --bytes
    #[arg(long = "argument", value_name = "I.MEMBER=CONTENTS")]
    members: Vec<String>,

    /// A tensor: I=FILE.npy, or I=zeros:TYPE:SHAPE (also iota, random), as in 0=random:f16:64x32. The last extent, of elements
    /// that are neighbours, is the tensor's first
    #[arg(long = "tensor", value_name = "I=CONTENTS")]
    tensors: Vec<String>,
}

impl LaunchArgs {
    /// Returns true if nothing says how large the grid is.
    pub(crate) fn is_open(&self) -> bool {
        let ready = self.ready.as_ref();
        ready.map_or(
            self.grid.is_none() && self.groups.is_none(),
            Written::is_open,
        )
    }

    /// The launch that the flags describe.
    pub(crate) fn written(&self) -> Result<Written, Failure> {
        if let Some(ready) = &self.ready {
            return Ok(ready.clone());
        }
        let formulas = |triple: &Option<Triple>| triple.as_ref().map(|Triple(it)| it.clone());
        let mut written = Written {
            sizes: self.sizes.clone(),
            threadgroup: formulas(&self.threadgroup),
            ..Written::default()
        };
        let threads = formulas(&self.grid).map(Grid::Threads);
        written.grid = threads.or(formulas(&self.groups).map(Grid::Groups));
        add(&mut written, "buffer", &self.buffers)?;
        add(&mut written, "bytes", &self.bytes)?;
        add(&mut written, "tgmem", &self.tgmem)?;
        add(&mut written, "arg", &self.arguments)?;
        Ok(written)
    }
}

impl ResourceArgs {
    /// Adds what the flags describe to a launch.
    pub(crate) fn add_to(&self, written: &mut Written) -> Result<(), Failure> {
        add(written, "texture", &self.textures)?;
        add(written, "sampler", &self.samplers)?;
        add(written, "argument", &self.members)?;
        add(written, "tensor", &self.tensors)
    }
}

fn add(written: &mut Written, flag: &str, texts: &[String]) -> Result<(), Failure> {
    for text in texts {
        written.add(flag, text)?;
    }
    Ok(())
}

/// A launch written as flags in one string, as in a configuration.
pub(crate) fn written(option: &str, text: &str) -> Result<Written, Failure> {
    let (_, written) = Written::parse(text).map_err(|mistake| {
        let message = format!("{option}: {mistake}");
        Mistake { message, ..mistake }.advice(LAUNCH_FORMS)
    })?;
    Ok(written)
}

/// Files of this machine; those of a folder and nothing else if one is named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk {
    pub(crate) root: Option<PathBuf>,
    /// Names that a configuration gives: they mean files below its folder, and nothing outside.
    pub(crate) below: Option<(PathBuf, BTreeSet<String>)>,
}

impl Files for Disk {
    fn read(&self, name: &str) -> Result<Cow<'_, [u8]>, Mistake> {
        let outside = |refused: Refused| Mistake {
            advice: refused.advice,
            ..Mistake::file(refused.message)
        };
        let configured = self
            .below
            .as_ref()
            .filter(|(_, names)| names.contains(name));
        let root = configured.map(|(root, _)| root).or(self.root.as_ref());
        let path = root.map_or_else(|| PathBuf::from(name), |root| root.join(name));
        let below = root.map(|root| Folders::new([root]));
        let folders = below.as_ref().or(confine::allowed());
        let is_array = |path: &Path| {
            path.extension()
                .is_some_and(|it| it == "npy" || it == "png")
        };
        // What lies outside is not asked about.
        for folders in [folders, confine::allowed()].into_iter().flatten() {
            folders.real(&path).map_err(outside)?;
        }
        if !is_array(&path) && !path.exists() {
            return Err(Mistake::usage(format!("`{name}` is not a file")));
        }
        let bytes = match folders {
            Some(folders) => folders.read(&path, LARGEST).map_err(outside)?,
            None => {
                let opened = input::open(&path).map_err(|failure| Mistake {
                    advice: failure.advice,
                    ..Mistake::file(failure.message)
                });
                opened?.to_vec()
            }
        };
        Ok(Cow::Owned(bytes))
    }
}

/// The files of this machine.
pub(crate) fn files() -> SharedFiles {
    Arc::new(Disk::default())
}

/// A launch for a kernel with these arguments.
pub(crate) fn launched(
    written: Written,
    kernel: &str,
    arguments: &[Argument],
) -> Result<Launched, Mistake> {
    Launched::new(written, kernel, arguments, &files())
}

/// A kernel whose launch is wanted.
#[derive(Clone)]
pub(crate) struct Asked<'a> {
    pub(crate) path: &'a Path,
    /// The file, compiled again where a launch is guessed.
    pub(crate) bytes: &'a Bytes,
    pub(crate) kernel: &'a str,
    /// None of machine code.
    pub(crate) arguments: &'a [Argument],
    /// How it is compiled.
    pub(crate) options: SourceOptions,
    pub(crate) constants: &'a [GivenConstant],
}

impl Asked<'_> {
    /// The launch that flags describe, the configuration, or a comment of the source; none when none does.
    pub(crate) fn written(&self, flags: Written) -> Result<Option<Launched>, Failure> {
        let text = std::str::from_utf8(self.bytes).ok();
        let (kernel, arguments) = (self.kernel, self.arguments);
        let configured = match flags.is_open() && !arguments.is_empty() {
            true => configuration::of(self.path),
            false => None,
        };
        let configured = configured
            .map(|it| it.launch(kernel))
            .transpose()?
            .flatten();
        let Some(ConfiguredLaunch {
            written,
            root,
            names,
        }) = configured
        else {
            return Launched::find(text, kernel, arguments, flags, &files());
        };
        let files: SharedFiles = Arc::new(Disk {
            below: Some((root, names)),
            ..Disk::default()
        });
        let flags = Launched::new(flags, kernel, arguments, &files)?;
        let configured = Launched::new(written, kernel, arguments, &files)?;
        Ok(Some(flags.over(configured, Origin::Configuration)))
    }

    /// The launch that is written, or a guess, which is told.
    pub(crate) fn launch(&self, flags: Written, context: &Context) -> Result<Launched, Failure> {
        if let Some(launched) = self.written(flags.clone())? {
            return Ok(launched);
        }
        if self.arguments.is_empty() {
            return Err(no_launch());
        }
        let kernel = self.kernel;
        let guessed = self.guess(&flags).map_err(|why| {
            let message = format!("{kernel} has no launch, and none can be guessed: {}", why.message);
            let write = || format!("write one into the source: // assay: launch {kernel} --size N=1024 --grid N --threadgroup 256 {}", self.names());
            Failure::new(why.kind, message).advice(why.advice.unwrap_or_else(write))
        })?;
        if let Some(failure) = unknown_size(&guessed.launched.launch) {
            return Err(failure);
        }
        let comment = guessed.written.comment(kernel);
        context.note(&format!("note: launch guessed from the signature; to change it, copy into the source: // {comment}"));
        Ok(guessed.launched)
    }

    /// The same for commands that say something without a launch too.
    pub(crate) fn launch_or_none(
        &self,
        flags: Written,
        context: &Context,
    ) -> Result<Option<Launched>, Failure> {
        let (is_open, has_sizes) = (flags.is_open(), !flags.sizes.is_empty());
        match self.launch(flags, context) {
            Ok(launched) => Ok(Some(launched)),
            // Whoever gives a size wants a launch.
            Err(failure) if is_open && has_sizes => Err(failure),
            Err(failure) if is_open && !self.arguments.is_empty() => {
                context.note(&format!("note: {}", failure.message));
                Ok(None)
            }
            Err(_) if is_open => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// A launch from the signature, which the flags complete.
    pub(crate) fn guess(&self, flags: &Written) -> Result<Guessed, Failure> {
        let file = source::open(self.path, self.bytes)?;
        let library = source::library_as(self.path, &file, &self.options)?;
        let asked = Unlaunched {
            library: &library,
            kernel: self.kernel,
            constants: self.constants,
            flags,
            files: &files(),
            cancel: &Some(interrupt::flag()),
        };
        asked.guess()
    }

    /// The arguments of the kernel, as flags to fill in.
    fn names(&self) -> String {
        let bound = self
            .arguments
            .iter()
            .filter(|it| !matches!(it.binding, Binding::Builtin(_)));
        let flags = bound.map(|argument| match argument.binding {
            Binding::Texture(_) => format!("--texture {}=random:rgba8Unorm:64x64", argument.name),
            Binding::Sampler(_) => format!("--sampler {}=linear", argument.name),
            _ if argument.buffer_size.is_some() => format!("--arg {}=1", argument.name),
            _ => format!("--arg {}=random:N", argument.name),
        });
        flags.collect::<Vec<_>>().join(" ")
    }

    /// Warns of launch comments about kernels that the file does not have.
    pub(crate) fn warn(&self, context: &Context) {
        let Ok(text) = std::str::from_utf8(self.bytes) else {
            return;
        };
        let names: Vec<&str> = assay_launch::comments(text)
            .filter_map(|it| it.kernel())
            .collect();
        if names.iter().all(|name| *name == self.kernel) {
            return;
        }
        let library = source::open(self.path, self.bytes)
            .and_then(|file| source::library_as(self.path, &file, &self.options));
        if let Ok(library) = library {
            let kernels = library.kernels().iter().map(|kernel| kernel.name.as_str());
            for (line, why) in assay_launch::misplaced(text, kernels) {
                context.note(&format!("warning: {}:{line}: {why}", self.path.display()));
            }
        }
    }
}

/// A size that was given and that nothing in a launch uses.
fn unknown_size(launch: &Written) -> Option<Failure> {
    let without = Written {
        sizes: Vec::new(),
        ..launch.clone()
    };
    let text = without.to_string();
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words: Vec<&str> = text.split(|c| !is_part(c)).collect();
    let is_used = |name: &str| words.contains(&name);
    let unused = launch.sizes.iter().find(|size| !is_used(&size.name))?;
    let used = launch.sizes.iter().map(|size| size.name.as_str());
    let used: Vec<&str> = used.filter(|name| is_used(name)).collect();
    let (has, advice) = match used.first() {
        None => (
            "no size has a name".to_owned(),
            "leave --size out".to_owned(),
        ),
        Some(first) => (
            format!(
                "the launch guessed from the signature has {}",
                used.join(", ")
            ),
            format!("write --size {first}=NUMBER, or a whole launch with --grid and --threadgroup"),
        ),
    };
    let failure = Failure::usage(format!("--size: there is no size {:?}; {has}", unused.name));
    Some(failure.advice(advice))
}
