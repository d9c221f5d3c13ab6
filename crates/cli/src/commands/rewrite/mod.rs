//! `assay rewrite`: a kernel changed by recipes, as Metal source.

mod document;
mod made;

use crate::context::Context;
use crate::cures::Patient;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::generate::{ConstantArgs, Generator};
use crate::input;
use crate::launch::{Asked, LaunchArgs};
use crate::phases;
use crate::prediction::{self, Choice, Code, Launched, task};
use crate::source::{self, SourceArgs, ThisMachine};
use assay_agx::{Isa, Program};
use assay_front::{
    Form, GivenConstant, Kernel, Library, OpenConstants, Request, Source, SourceOptions,
    check_constants, constants,
};
use assay_predict::{Cache, Compared, Predicted, Sampling, Target};
use assay_report::blocks::{Answer, Block, Detail, Figure, View};
use assay_report::envelope::Envelope;
use assay_report::style::Role;
use assay_rewrite::recipe::{Applied, Candidate, Class, Geometry, Step};
use assay_tune::attempts::Verified;
use assay_tune::diff;
use document::Document;
use made::Made;
use std::path::{Path, PathBuf};

/// Change a kernel by recipes that keep what it computes, and print it as Metal source
///
/// The result is the program that assay runs, costs and compiles, rewritten and written as Metal, with its new launch in a
/// comment. Recipes that edit the source leave everything else in it as it is; what they make is run beside the original,
/// and written only if it computes the same. Class E leaves the same bytes as the original, class R adds floats in another order; `assay run` compares.
/// Identity is that of the printed source compiled by assay: Apple's compiler may round differently. The predicted change
/// is modelled.
///
/// A recipe may need a number that the kernel has no argument for, such as the size of the original grid: it is a new
/// argument behind the others, and the launch binds it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay rewrite matmul.metal -f matmul_naive --list
  assay rewrite matmul.metal -f matmul_naive --recipe coarsen:x=4,strided --recipe threadgroup:x=32,y=4 -o faster.metal
  assay rewrite matmul.metal -f matmul_naive --recipe matrices:m=32,n=32,k=16 --size M=512 --size N=512 --size K=512 \\
      --grid N,M --threadgroup 16,16 --bytes 3=u32:M --bytes 4=u32:N --bytes 5=u32:K
  assay rewrite transpose.metal --recipe pad:line=12 --patch
  assay explain coarsen")]
pub(crate) struct Args {
    /// The file: Metal source, a metallib, LLVM bitcode
    file: PathBuf,

    /// The kernel, when the file has several
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    /// A recipe with its parameters; may be repeated, and is applied in order
    #[arg(long = "recipe", value_name = "RECIPE[:PARAMETERS]")]
    recipes: Vec<Step>,

    /// Say which recipes apply (after those of --recipe), and why the others do not; so does a line without --recipe
    #[arg(long)]
    list: bool,

    #[command(flatten)]
    launch: LaunchArgs,

    /// The chip to predict for
    #[arg(long, value_name = "CHIP", default_value = assay_chip::DEFAULT_CHIP)]
    chip: String,

    /// Predict nothing
    #[arg(long)]
    no_predict: bool,

    /// Print the change as a patch, for `git apply`, instead of the whole source
    #[arg(long, conflicts_with = "list")]
    patch: bool,

    /// Print the source on a terminal too (a pipe and -o always get it), or every step of every recipe
    #[arg(long)]
    full: bool,

    #[command(flatten)]
    values: ConstantArgs,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    source: SourceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The source, or the list of recipes
    Text,
    /// For programs; follows schemas/assay.rewrite.json
    Json,
}

impl Args {
    /// Returns true if recipes are listed and none is printed.
    fn lists(&self) -> bool {
        self.list || self.recipes.is_empty()
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let bytes = input::open(&args.file)?;
    let fail = |error: assay_front::Error| source::failure(&args.file, error);
    let file = source::open(&args.file, &bytes)?;
    let library = source::library(&args.file, &file, &args.source)?;
    let chosen = library.choose(args.function.as_deref()).map_err(fail)?;
    let [kernel] = chosen else {
        let names: Vec<&str> = chosen.iter().take(20).map(|k| k.name.as_str()).collect();
        let message = format!("{} has {} kernels", args.file.display(), chosen.len());
        return Err(
            Failure::usage(message).advice(format!("choose one with -f: {}", names.join(", ")))
        );
    };
    let request = Request {
        constants: &args.values.constants,
        open: OpenConstants::Zero,
        form: Form::LoopsKept,
    };
    let module = kernel.program_as(&request).map_err(fail)?.module;
    check_constants(&args.values.constants, constants(&module)).map_err(fail)?;
    let signature = module.kernel(&kernel.name);
    let arguments = signature.map_or(&[][..], |kernel| kernel.arguments.as_slice());
    let flags = args.launch.written()?;
    let asked = Asked {
        path: &args.file,
        bytes: &bytes,
        kernel: &kernel.name,
        arguments,
        options: args.source.options(&args.file),
        constants: &args.values.constants,
    };
    let launched = asked.launch(flags, context)?;
    let geometry = Geometry::of_launch(&launched.launch).map_err(|_| task::no_launch())?;
    let text = std::str::from_utf8(&bytes)
        .ok()
        .filter(|_| file.is_source());
    let mut made = Made {
        applied: Applied {
            candidate: Candidate {
                module,
                kernel: kernel.name.clone(),
                geometry,
            },
            class: Class::Exact,
        },
        text: text.map(str::to_owned),
        is_edited: false,
    };
    for step in &args.recipes {
        made = made.next(step, args)?;
    }
    let work = Work {
        args,
        context,
        kernel,
        launched: &launched,
        original: text,
        is_one_of_several: library.kernels().len() > 1,
    };
    match (args.format, args.lists()) {
        (Format::Json, _) => work.write_json(&made),
        (Format::Text, true) => {
            context.write(&list(&made, args.full, context))?;
            Ok(Outcome::Fine)
        }
        (Format::Text, false) => work.write(&made),
    }
}

/// The launch of the rewritten kernel.
fn relaunched(launched: &Launched, geometry: &Geometry) -> Launched {
    Launched {
        launch: geometry.to_launch(&launched.launch),
        ..launched.clone()
    }
}

/// What is rewritten, and for whom.
struct Work<'a> {
    args: &'a Args,
    context: &'a Context,
    kernel: &'a Kernel,
    launched: &'a Launched,
    /// The text of the file, if it is source.
    original: Option<&'a str>,
    is_one_of_several: bool,
}

/// A rewritten kernel as source.
struct Printed {
    /// With its launch, as it is written.
    source: String,
    /// What is compiled again to predict it.
    library: Library,
    /// Values of its function constants.
    constants: Vec<GivenConstant>,
}

impl Work<'_> {
    fn printed(&self, after: &Launched, made: &Made) -> Result<Printed, Failure> {
        let args = self.args;
        if let Some(text) = &made.text {
            return Ok(Printed {
                source: made::relaunched(text, &self.kernel.name, self.launched, after),
                library: made::compiled(args, text)?,
                constants: args.values.constants.clone(),
            });
        }
        let printed = made.applied.candidate.print().map_err(|error| {
            Failure::input(format!("{}: not printed: {error}", self.kernel.name))
                .advice("`assay ir` shows the program in its own form")
        })?;
        let steps: Vec<String> = args.recipes.iter().map(ToString::to_string).collect();
        let head = format!(
            "// {} by {}\n// {}\n",
            self.kernel.name,
            steps.join(" "),
            after.launch.comment(&self.kernel.name)
        );
        let text = Source {
            path: Path::new("rewritten.metal"),
            text: printed.as_bytes(),
        };
        let library = Library::compile(text, &ThisMachine, &SourceOptions::default());
        Ok(Printed {
            source: head + &printed,
            library: library.map_err(|error| source::failure(text.path, error))?,
            constants: Vec::new(),
        })
    }

    /// What an edit has to show before it is written: an edit goes by the form of the text alone.
    fn proven(&self, made: &Made) -> Result<Option<Verified>, Failure> {
        let Some(text) = self.original.filter(|_| made.is_edited) else {
            return Ok(None);
        };
        let args = self.args;
        let patient = Patient {
            path: &args.file,
            text,
            options: args.source.options(&args.file),
            constants: &args.values.constants,
            kernel: &self.kernel.name,
            is_one_of_several: self.is_one_of_several,
            launched: self.launched,
            target: &Choice::one(&args.chip)?,
        };
        let steps: Vec<String> = args.recipes.iter().map(ToString::to_string).collect();
        patient.proven(&steps).map(Some)
    }

    /// The document: the source and its predicted change, or what could be applied next.
    fn write_json(&self, made: &Made) -> CommandResult {
        let (args, launched) = (self.args, self.launched);
        let after = relaunched(launched, &made.applied.candidate.geometry);
        let mut document = Document {
            file: args.file.display().to_string(),
            kernel: self.kernel.name.clone(),
            recipes: args.recipes.iter().map(ToString::to_string).collect(),
            class: made.applied.class.letter(),
            before: launched.launch.shape(),
            after: after.launch.shape(),
            launch: after.launch.comment(&self.kernel.name),
            source: None,
            patch: None,
            predicted: None,
            not_predicted: None,
            choices: Vec::new(),
        };
        if args.lists() {
            let choices = made.choices().into_iter();
            document.choices = choices.map(Into::into).collect();
        } else {
            self.proven(made)?;
            let printed = self.printed(&after, made)?;
            if !args.no_predict {
                match self.predicted(&after, &printed) {
                    Ok(compared) => document.predicted = Some(compared),
                    Err(failure) => document.not_predicted = Some(failure.message),
                }
            }
            document.patch = args.patch.then(|| self.patch(&printed.source));
            document.source = Some(printed.source);
        }
        self.context
            .write(&Envelope::new("assay.rewrite", 1, document).to_json())?;
        Ok(Outcome::Fine)
    }

    /// The change as `git apply` reads it.
    fn patch(&self, source: &str) -> String {
        let path = self.args.file.display().to_string();
        let path = path.trim_start_matches('/');
        diff::unified(path, self.original.unwrap_or_default(), source)
    }

    /// Writes the source, and says what has become of it.
    fn write(&self, made: &Made) -> CommandResult {
        let (args, context) = (self.args, self.context);
        let after = relaunched(self.launched, &made.applied.candidate.geometry);
        let proven = self.proven(made)?;
        let printed = self.printed(&after, made)?;
        // On a terminal the answer would scroll away above its source.
        let is_shown = args.full || args.patch || context.out.is_some() || !context.terminal;
        if is_shown {
            let text = match args.patch {
                true => &self.patch(&printed.source),
                false => &printed.source,
            };
            context.write(text)?;
        }
        let mut answer = Answer::default();
        let compared = (!args.no_predict).then(|| self.predicted(&after, &printed));
        match &compared {
            Some(Ok(compared)) => answer.blocks.extend(change(compared)),
            Some(Err(failure)) => {
                let text = format!("no predicted change: {}", failure.message);
                answer.push(Block::text(text));
            }
            None => {}
        }
        let class = match made.applied.class {
            Class::Exact => "E: the same bytes",
            Class::Reassociating => "R: floats are added in another order",
        };
        let mut figures = vec![
            Figure::new("class", class),
            Figure::new("before", self.launched.launch.shape()),
            Figure::new("after", after.launch.shape()),
        ];
        figures.extend(proven.map(|verified| Figure::new("proof", proof(&verified))));
        answer.push(figures);
        if !is_shown {
            let hint =
                "the source: -o FILE writes it, --patch shows what changes, --full all of it";
            answer.push(Block::noted(hint, Role::Dim));
            context.write(&answer.terminal(&context.view()))?;
            return Ok(Outcome::Fine);
        }
        // The source is the result; what is said about it must not mix with it.
        let plain = View {
            width: context.width,
            ..View::default()
        };
        context.note(answer.terminal(&plain).trim_end());
        Ok(Outcome::Fine)
    }

    /// Predicted times of the kernel before and after.
    fn predicted(&self, after: &Launched, printed: &Printed) -> Result<Compared, Failure> {
        let target = &Choice::one(&self.args.chip)?;
        let fail = |error: assay_front::Error| source::failure(&self.args.file, error);
        let rewritten = printed.library.kernel(&self.kernel.name).map_err(fail)?;
        let own = &self.args.values.constants;
        let old = time(&code(self.kernel, own)?, self.launched, target)?;
        let new = time(&code(rewritten, &printed.constants)?, after, target)?;
        Ok(Compared::new(old, new, target))
    }
}

/// What a proof has seen, in words.
fn proof(verified: &Verified) -> String {
    let runs = verified.comparisons;
    let same = match verified.identical {
        true => "the same bytes".to_owned(),
        false => format!(
            "within {:.1e} of the largest number",
            verified.largest_difference
        ),
    };
    let sizes = verified.sizes.join("; ");
    format!(
        "{same} in {runs} runs at {sizes}; {} checked for races",
        verified.checked
    )
}

/// Steps of a recipe that a first screen names.
const STEPS: usize = 2;

/// Which recipes apply, and why the others do not.
fn list(made: &Made, full: bool, context: &Context) -> String {
    let mut figures = Vec::new();
    let mut refused = Vec::new();
    for (recipe, class, steps) in made.choices() {
        let label = format!("{recipe} {}", class.letter());
        match &steps {
            Ok(steps) => {
                let most = if full { usize::MAX } else { STEPS };
                let shown: Vec<String> = steps.iter().take(most).map(ToString::to_string).collect();
                let figure = Figure::new(label, shown.join(" ")).role(Role::Good);
                figures.push(match steps.len().saturating_sub(shown.len()) {
                    0 => figure,
                    left => figure.note(format!("and {left} more")),
                });
            }
            Err(why) if full => {
                figures.push(Figure::new(label, format!("no: {why}")).role(Role::Dim))
            }
            Err(_) => refused.push(recipe),
        }
    }
    let mut answer = Answer::default();
    answer.push(figures);
    if !refused.is_empty() {
        let text = format!("do not apply: {} (--full says why)", refused.join(", "));
        answer.push(Block::noted(text, Role::Dim));
    }
    let hint = "E: the same bytes, R: floats in another order · --recipe STEP applies one · --full shows all";
    if !full {
        answer.push(Block::noted(hint, Role::Dim));
    }
    answer.terminal(&context.view())
}

fn code(kernel: &Kernel, constants: &[GivenConstant]) -> Result<Program, Failure> {
    let generator = Generator {
        constants,
        isa: Isa::G13,
        threadgroup: None,
    };
    let made = generator.generate(kernel, &mut phases::told());
    Ok(made.map_err(|refused| refused.error())?.program)
}

/// The predicted time at the first of the launch's sizes.
fn time(program: &Program, launched: &Launched, target: &Target) -> Result<Predicted, Failure> {
    let tasks = task::tasks(program, Code::Generated, launched, Sampling::default())?;
    let first = tasks.into_iter().next().ok_or_else(task::no_launch)?;
    let passes = first.executed?;
    prediction::predicted(&first.kernel, first.code, &passes, 1, target, Cache::Warm)
}

/// The predicted change, and the term with most of it.
fn change(compared: &Compared) -> Vec<Block> {
    let full = assay_predict::render::compared(compared, Detail::Screen);
    let mut blocks: Vec<Block> = full.blocks.into_iter().take(1).collect();
    if let Some(term) = compared.terms.first() {
        let time = assay_predict::render::time;
        let (before, after) = (time(term.before_us), time(term.after_us));
        let text = format!("most of the change is in {}: {before} → {after}", term.name);
        blocks.push(Block::text(text));
    }
    blocks
}
