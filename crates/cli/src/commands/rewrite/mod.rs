//! `assay rewrite`: a kernel changed by recipes, as Metal source.

mod document;

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
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
use assay_rewrite::recipe::{Applied, Candidate, Class, Geometry, Step, apply, choices};
use document::Document;
use std::path::{Path, PathBuf};

/// Change a kernel by recipes that keep what it computes, and print it as Metal source
///
/// The result is the program that assay runs, costs and compiles, rewritten and written as Metal, with its new launch in a
/// comment. Class E leaves the same bytes as the original, class R adds floats in another order; `assay run` compares.
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
    let mut applied = Applied {
        candidate: Candidate {
            module,
            kernel: kernel.name.clone(),
            geometry,
        },
        class: Class::Exact,
    };
    for step in &args.recipes {
        let next = apply(&applied.candidate, step).map_err(|refusal| {
            Failure::new(
                Kind::Verdict,
                format!("{step} does not apply: {}", refusal.why),
            )
            .advice(format!(
                "`assay explain {}` says when it does",
                step.recipe().id
            ))
        })?;
        applied = Applied {
            class: applied.class.max(next.class),
            candidate: next.candidate,
        };
    }
    match (args.format, args.lists()) {
        (Format::Json, _) => write_json(args, context, kernel, &launched, &applied),
        (Format::Text, true) => {
            context.write(&list(&applied.candidate, args.full, context))?;
            Ok(Outcome::Fine)
        }
        (Format::Text, false) => write(args, context, kernel, &launched, &applied),
    }
}

/// The launch of the rewritten kernel.
fn relaunched(launched: &Launched, geometry: &Geometry) -> Launched {
    Launched {
        launch: geometry.to_launch(&launched.launch),
        ..launched.clone()
    }
}

/// The rewritten kernel as source with its launch, and without.
fn printed(
    args: &Args,
    kernel: &Kernel,
    after: &Launched,
    candidate: &Candidate,
) -> Result<(String, String), Failure> {
    let printed = candidate.print().map_err(|error| {
        Failure::input(format!("{}: not printed: {error}", kernel.name))
            .advice("`assay ir` shows the program in its own form")
    })?;
    let steps: Vec<String> = args.recipes.iter().map(ToString::to_string).collect();
    let head = format!(
        "// {} by {}\n// {}\n",
        kernel.name,
        steps.join(" "),
        after.launch.comment(&kernel.name)
    );
    Ok((head + &printed, printed))
}

/// The document: the source and its predicted change, or what could be applied next.
fn write_json(
    args: &Args,
    context: &Context,
    kernel: &Kernel,
    launched: &Launched,
    applied: &Applied,
) -> CommandResult {
    let after = relaunched(launched, &applied.candidate.geometry);
    let mut document = Document {
        file: args.file.display().to_string(),
        kernel: kernel.name.clone(),
        recipes: args.recipes.iter().map(ToString::to_string).collect(),
        class: applied.class.letter(),
        before: launched.launch.shape(),
        after: after.launch.shape(),
        launch: after.launch.comment(&kernel.name),
        source: None,
        predicted: None,
        not_predicted: None,
        choices: Vec::new(),
    };
    if args.lists() {
        let choices = choices(&applied.candidate).into_iter();
        document.choices = choices.map(Into::into).collect();
    } else {
        let (source, printed) = printed(args, kernel, &after, &applied.candidate)?;
        document.source = Some(source);
        if !args.no_predict {
            match predicted(args, kernel, launched, &after, &printed) {
                Ok(compared) => document.predicted = Some(compared),
                Err(failure) => document.not_predicted = Some(failure.message),
            }
        }
    }
    context.write(&Envelope::new("assay.rewrite", 1, document).to_json())?;
    Ok(Outcome::Fine)
}

/// Writes the source, and says what has become of it.
fn write(
    args: &Args,
    context: &Context,
    kernel: &Kernel,
    launched: &Launched,
    applied: &Applied,
) -> CommandResult {
    let after = relaunched(launched, &applied.candidate.geometry);
    let (source, printed) = printed(args, kernel, &after, &applied.candidate)?;
    // On a terminal the answer would scroll away above its source.
    let is_shown = args.full || context.out.is_some() || !context.terminal;
    if is_shown {
        context.write(&source)?;
    }
    let mut answer = Answer::default();
    let compared = (!args.no_predict).then(|| predicted(args, kernel, launched, &after, &printed));
    match &compared {
        Some(Ok(compared)) => answer.blocks.extend(change(compared)),
        Some(Err(failure)) => {
            let text = format!("no predicted change: {}", failure.message);
            answer.push(Block::text(text));
        }
        None => {}
    }
    let class = match applied.class {
        Class::Exact => "E: the same bytes",
        Class::Reassociating => "R: floats are added in another order",
    };
    answer.push(vec![
        Figure::new("class", class),
        Figure::new("before", launched.launch.shape()),
        Figure::new("after", after.launch.shape()),
    ]);
    if !is_shown {
        let hint = "the source: -o FILE writes it, --full shows it";
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

/// Steps of a recipe that a first screen names.
const STEPS: usize = 2;

/// Which recipes apply, and why the others do not.
fn list(candidate: &Candidate, full: bool, context: &Context) -> String {
    let mut figures = Vec::new();
    for choice in choices(candidate) {
        let class = choice.recipe.class.letter();
        let label = format!("{} {class}", choice.recipe.id);
        figures.push(match &choice.steps {
            Ok(steps) => {
                let most = if full { usize::MAX } else { STEPS };
                let shown: Vec<String> = steps.iter().take(most).map(ToString::to_string).collect();
                let figure = Figure::new(label, shown.join(" ")).role(Role::Good);
                match steps.len().saturating_sub(shown.len()) {
                    0 => figure,
                    left => figure.note(format!("and {left} more")),
                }
            }
            Err(refusal) => Figure::new(label, format!("no: {}", refusal.why)).role(Role::Dim),
        });
    }
    let mut answer = Answer::default();
    answer.push(figures);
    let hint = "E: the same bytes, R: floats in another order · --recipe STEP applies one · --full shows all";
    if !full {
        answer.push(Block::noted(hint, Role::Dim));
    }
    answer.terminal(&context.view())
}

/// Predicted times of the kernel before and after.
fn predicted(
    args: &Args,
    kernel: &Kernel,
    before: &Launched,
    after: &Launched,
    printed: &str,
) -> Result<Compared, Failure> {
    let target = &Choice::one(&args.chip)?;
    let text = Source {
        path: Path::new("rewritten.metal"),
        text: printed.as_bytes(),
    };
    let library = Library::compile(text, &ThisMachine, &SourceOptions::default());
    let library = library.map_err(|error| source::failure(text.path, error))?;
    let fail = |error: assay_front::Error| source::failure(text.path, error);
    let rewritten = library.kernel(&kernel.name).map_err(fail)?;
    let old = time(&code(kernel, &args.values.constants)?, before, target)?;
    let new = time(&code(rewritten, &[])?, after, target)?;
    Ok(Compared::new(old, new, target))
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
