//! `assay write`: a new kernel from a specification, proven before it is written.

mod authoring;
mod reference;
mod specification;
mod stages;

use super::tune::model_args::ModelArgs;
use crate::context::Context;
use crate::failure::{CommandResult, Failure, Kind, Outcome};
use assay_report::envelope::Envelope;
use serde::Serialize;
use specification::Specification;
use std::path::{Path, PathBuf};

/// Write a new kernel from a specification, and prove it
///
/// SPEC is a description as `assay bench` reads it (kernel.toml): arguments, sizes, tolerance and an oracle, which is an
/// expression, a NumPy function beside it (oracle = { python = "row_sum.py" }) or a program. It needs no [[passes]]: those
/// come with the kernel. Or SPEC is a reference: a Metal file whose kernel has a launch comment over named sizes. Then its
/// results are what is right.
///
/// Without a model an oracle that is an expression becomes a plain kernel: a thread per element or per row, loops for sums (map,
/// row reduction, matmul, stencil, scan); a reference is taken as it is. With --llm a language model writes it, and repairs what
/// is refused; it is shown the expression or the function that says what is right.
///
/// Stage A: it compiles, is right at the sizes that SPEC shows, and clean under the sanitizer. Stage B, with the source fixed:
/// sizes that are held out or drawn at random then, and inputs that separate right from nearly right. Only what passes both is
/// written, all files or none.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  assay write row_sum.toml
  assay write row_sum.toml --into kernels --name fast_row_sum
  assay write reference.metal -f softmax --name fast_softmax --llm anthropic:MODEL
  assay write row_sum.toml --llm anthropic:MODEL --rounds 4 --max-tokens 200000
  assay bench row_sum --kernels kernels
  assay tune row_sum.metal --llm replay:demo

A specification:
  summary = \"Sum of every row\"
  oracle = { expression = \"y[r] = sum(c < cols: x[r, c])\" }
  arguments = [
    { name = \"x\", role = \"input\", shape = [\"rows\", \"cols\"] },
    { name = \"y\", role = \"output\", shape = [\"rows\"] },
    { name = \"cols\", role = \"scalar\", dtype = \"u32\", value = \"cols\" },
  ]
  [sizes]
  reference = { rows = 1024, cols = 1024 }
  quick = { rows = 3, cols = 301 }
  odd = { rows = 5, cols = 1037 }
  held_out = { rows = 7, cols = 1300 }
  [tolerance.f32]
  relative = 1e-5
  absolute = 1e-7
  reason = \"a sum in another order\"
  [cost]
  flops = \"rows * cols\"")]
pub(crate) struct Args {
    /// The specification, or a reference kernel
    #[arg(value_name = "SPEC.toml|REFERENCE.metal")]
    spec: PathBuf,

    /// The reference's kernel, when its file has several
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    /// The kernel's name: small letters, digits and _ [default: that of the file]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// The folder of kernels to put it into
    #[arg(long, value_name = "FOLDER", default_value = "kernels")]
    into: PathBuf,

    /// The chip whose facts a model is told
    #[arg(long, value_name = "CHIP", default_value = assay_chip::DEFAULT_CHIP)]
    chip: String,

    /// The database of attempts
    #[arg(long, value_name = "FILE")]
    attempts: Option<PathBuf>,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    model: Box<ModelArgs>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.write.json
    Json,
}

/// What was written.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Document {
    /// The kernel.
    kernel: String,
    /// Who wrote it: a model, or `skeleton`.
    author: String,
    /// What it does, in a few words.
    technique: String,
    /// The folder that was written; none if nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// Sources that were tried, with the stage and the reason of those that were refused.
    attempts: Vec<Tried>,
    /// The seed of stage B, drawn after the source was fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    /// Comparisons in both stages.
    comparisons: usize,
    /// The session in the database of attempts.
    session: i64,
}

/// A source that was tried.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Tried {
    /// What it does, in its author's words.
    technique: String,
    /// Where it was refused: `filter`, `compile`, `A` or `B`.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused_at: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    let specification =
        Specification::read(&args.spec, args.name.as_deref(), args.function.as_deref())?;
    let folder = args.into.join("common").join(&specification.name);
    if folder.exists() {
        return Err(
            Failure::usage(format!("{} is there already", folder.display()))
                .advice("take another --name; nothing was changed"),
        );
    }
    let mut document = authoring::write(args, context, &specification)?;
    let passed = document.seed.is_some();
    if let (true, Some(kernel)) = (passed, &specification.passed.borrow().as_ref()) {
        place(&args.into, &folder, &kernel.files)?;
        document.folder = Some(folder.display().to_string());
    }
    let shown = match args.format {
        Format::Json => Envelope::new("assay.write", 1, &document).to_json(),
        Format::Text => text(&document),
    };
    context.write(&shown)?;
    match passed {
        true => Ok(Outcome::Fine),
        false => Ok(Outcome::Failed),
    }
}

/// Writes all files or none: into a folder beside, which is then given its name.
fn place(into: &Path, folder: &Path, files: &[(String, String)]) -> Result<(), Failure> {
    let fail = |path: &Path, error: std::io::Error| {
        Failure::new(Kind::Input, format!("{}: {error}", path.display()))
    };
    let parent = folder.parent().unwrap_or(into);
    std::fs::create_dir_all(parent).map_err(|error| fail(parent, error))?;
    let made = tempfile::Builder::new()
        .prefix(".assay-write-")
        .tempdir_in(parent);
    let made = made.map_err(|error| fail(parent, error))?;
    for (name, text) in files {
        let path = made.path().join(name);
        std::fs::write(&path, text).map_err(|error| fail(&path, error))?;
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(made.path(), open).map_err(|error| fail(made.path(), error))?;
    }
    std::fs::rename(made.path(), folder).map_err(|error| fail(folder, error))?;
    // What was renamed is not there to be removed.
    let _ = made.keep();
    Ok(())
}

fn text(document: &Document) -> String {
    let mut text = String::new();
    for (number, tried) in document.attempts.iter().enumerate() {
        if let (Some(stage), Some(why)) = (&tried.refused_at, &tried.why) {
            text += &format!("source {}: refused ({stage}): {why}\n", number + 1);
        }
    }
    text += &match (&document.folder, document.seed) {
        (Some(folder), Some(seed)) => format!(
            "wrote {folder}: {} by {}; {} comparisons, sanitizer clean, hidden sizes by seed {seed}\n",
            document.technique, document.author, document.comparisons
        ),
        _ => "nothing was written: no source passed both stages\n".to_owned(),
    };
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_current() {
        crate::schema::check::<super::Document>("assay.write", 1);
    }
}
