//! `assay diff`: two files' kernels side by side, by predicted time where a launch is known.

mod figures;
mod timed;

pub(crate) use figures::{Comparison, table};

use crate::context::Context;
use crate::failure::{CommandResult, Failure, Outcome};
use crate::load::{self, Loaded, Place};
use crate::model::Model;
use crate::phases::{self, Phases};
use assay_front::Bytes;
use assay_predict::Target;
use assay_profile::{Change, Figures, Options, Weight, figures, number};
use assay_report::blocks::{Answer, Block, Detail};
use assay_report::envelope::Envelope;
use assay_report::html::escape;
use assay_report::style::Role;
use assay_report::table::{Column, Table};
use assay_tune::diff::{Line, lines};
use figures::render;
use serde::Serialize;
use std::path::{Path, PathBuf};
use timed::Side;

#[cfg(test)]
use schemars::JsonSchema;

/// Which of two kernels is faster, and what changed
///
/// With a launch (flags for both files, --before-launch and --after-launch for one, or comments `// assay: launch` in the
/// sources) it leads with the predicted time of both, their ratio, and whether the one after is faster, slower or a tie:
/// what differs by less than pairs of variants of one task can be told apart is a tie. Then the terms of the time that changed.
///
/// Without one it compares figures of the code: those that decide (threads per core, cycles and device bytes per float
/// instruction where time goes, bytes of thread memory), which can be better or worse, and those that explain.
///
/// Takes whatever `assay profile` takes; code generated for both sides is generated alike. Kernels are matched by name; two
/// files with one kernel each are compared whatever their names.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  assay diff naive.metal tiled.metal
  assay diff naive.metal tiled.metal --size N=1024 --grid N,N --threadgroup 16,16 --bytes 3=u32:N --bytes 4=u32:N --bytes 5=u32:N
  assay diff tiled.metal blocked.metal --before-launch '--grid 1024,1024 --threadgroup 16,16' \\
      --after-launch '--grid 256,256 --threadgroup 16,16' --bytes 3=u32:1024 --bytes 4=u32:1024 --bytes 5=u32:1024 --chip m1-max
  assay diff matmul.metal matmul.metal -f matmul_tiled --after-function matmul_blocked
  assay diff before.bin after.bin
  assay diff old.gpubin new.gpubin -f softmax --all
  assay diff old.metal new.metal --fail-on hurt --tolerance 1")]
pub(crate) struct Args {
    /// Before
    before: PathBuf,

    /// After
    after: PathBuf,

    #[command(flatten)]
    model: Model,

    /// The function of the file after, when it is called otherwise there; -f is that of the file before then
    #[arg(long, value_name = "NAME", requires = "function")]
    after_function: Option<String>,

    /// Flags of a launch for the file before only, in one string; they come before flags for both
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    before_launch: Option<String>,

    /// Flags of a launch for the file after only
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    after_launch: Option<String>,

    /// Predict with empty caches
    #[arg(long)]
    cold: bool,

    /// Changes up to this many per cent are none
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    tolerance: f64,

    /// Every term and figure that changed instead of the first screen
    #[arg(long)]
    full: bool,

    /// The same with figures that stayed the same
    #[arg(long)]
    all: bool,

    /// Exit 1 when something changed this way
    #[arg(long, value_enum)]
    fail_on: Option<FailOn>,

    /// How to show it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// Predicted slower; without a launch, a figure that decides is worse
    Hurt,
    /// Any figure, at all
    Change,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs; follows schemas/assay.diff.json
    Json,
    /// One page
    Html,
}

/// The JSON document.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(crate) struct Document {
    /// The file before.
    pub(crate) before: String,
    /// The file after.
    pub(crate) after: String,
    /// The predicted times and what decides them, as Markdown; empty where no launch is known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) answer: String,
    /// Whether any figure changed beyond the tolerance.
    pub(crate) changed: bool,
    /// Kernel by kernel.
    pub(crate) kernels: Vec<Comparison>,
    /// The command that makes the file before equal the file after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) update: Option<String>,
}

pub(crate) fn run(args: &Args, context: &Context) -> CommandResult {
    if !(args.tolerance >= 0.0 && args.tolerance.is_finite()) {
        return Err(Failure::usage("--tolerance is a number of per cent from 0"));
    }
    let options = args.model.options()?;
    let mut phases = phases::told();
    let before = File::open(&args.before, &args.model, &options, &mut phases, context)?;
    let mut model = args.model.clone();
    model.function = args.after_function.clone().or(model.function);
    let after = File::open(&args.after, &model, &options, &mut phases, context)?;
    let comparisons = phases.step("compare", || {
        let target = timed::of(args, &options.chip)?;
        compared(&before, &after, &target, args, context)
    })?;
    let changed = comparisons.iter().any(Comparison::is_changed);
    let hurt = comparisons.iter().any(Comparison::is_hurt);
    let text = match args.format {
        Format::Text => text(&comparisons, args, context),
        Format::Html => page(&comparisons, args, (&before, &after)),
        Format::Json => {
            let document = Document {
                before: args.before.display().to_string(),
                after: args.after.display().to_string(),
                answer: answer(&comparisons),
                changed,
                kernels: comparisons,
                update: None,
            };
            Envelope::new("assay.diff", 1, document).to_json()
        }
    };
    context.write(&text)?;
    phases::show(&phases, context);
    let failed = match args.fail_on {
        None => false,
        Some(FailOn::Hurt) => hurt,
        Some(FailOn::Change) => changed,
    };
    Ok(match failed {
        true => Outcome::Failed,
        false => Outcome::Fine,
    })
}

/// A file's kernels.
struct File {
    loaded: Vec<Loaded>,
    figures: Vec<Figures>,
    path: PathBuf,
    bytes: Bytes,
}

impl File {
    fn open(
        path: &Path,
        model: &Model,
        options: &Options,
        phases: &mut Phases,
        context: &Context,
    ) -> Result<File, Failure> {
        let place = Place::File(path);
        let bytes = place.open()?;
        let loaded = load::of_bytes(place, &bytes, model, phases, context)?;
        let figures = phases.step("profile", || {
            let profiles = loaded.iter().map(|one| one.profile(options));
            let all: Result<Vec<Figures>, Failure> =
                profiles.map(|profile| Ok(figures(&profile?))).collect();
            all
        })?;
        Ok(File {
            figures,
            loaded,
            path: path.to_owned(),
            bytes,
        })
    }

    fn name(&self, index: usize) -> &str {
        let loaded = self.loaded.get(index);
        loaded.map_or("", |loaded| loaded.program.name.as_str())
    }

    fn side<'a>(&'a self, index: usize, own: Option<&'a str>, option: &'static str) -> Side<'a> {
        Side {
            loaded: &self.loaded[index],
            path: &self.path,
            bytes: &self.bytes,
            own,
            option,
        }
    }
}

/// Kernels by name; two files with one kernel each are a pair whatever the names.
fn pairs(before: &File, after: &File) -> Vec<(Option<usize>, Option<usize>)> {
    if before.loaded.len() == 1 && after.loaded.len() == 1 {
        return vec![(Some(0), Some(0))];
    }
    let mut found = Vec::new();
    for old in 0..before.loaded.len() {
        let same = (0..after.loaded.len()).find(|&new| after.name(new) == before.name(old));
        found.push((Some(old), same));
    }
    for new in 0..after.loaded.len() {
        if !found.iter().any(|(_, known)| *known == Some(new)) {
            found.push((None, Some(new)));
        }
    }
    found
}

fn compared(
    before: &File,
    after: &File,
    target: &Target,
    args: &Args,
    context: &Context,
) -> Result<Vec<Comparison>, Failure> {
    let mut comparisons = Vec::new();
    for (old, new) in pairs(before, after) {
        let names = (
            old.map(|old| before.name(old)),
            new.map(|new| after.name(new)),
        );
        let name = match names {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            (old, new) => new.or(old).unwrap_or_default().to_owned(),
        };
        let figures = |file: &File, index: Option<usize>| Some(file.figures[index?].clone());
        let tolerance = args.tolerance / 100.0;
        let (older, newer) = (figures(before, old), figures(after, new));
        let mut comparison = Comparison::new(&name, older, newer, tolerance);
        if let (Some(old), Some(new)) = (old, new) {
            let old = before.side(old, args.before_launch.as_deref(), "--before-launch");
            let new = after.side(new, args.after_launch.as_deref(), "--after-launch");
            match timed::compared(&old, &new, target, args, context)? {
                Some(Ok(predicted)) => comparison.predicted = Some(Box::new(predicted)),
                Some(Err(why)) => comparison.not_predicted = Some(why),
                None => {}
            }
        }
        comparisons.push(comparison);
    }
    Ok(comparisons)
}

/// Kernels whose predicted times are shown one below the other.
const PAIRS: usize = 2;
/// Figures of a first screen.
const FIGURES: usize = 14;

fn text(comparisons: &[Comparison], args: &Args, context: &Context) -> String {
    let detail = match args.full || args.all {
        true => Detail::Full,
        false => Detail::Screen,
    };
    let view = context.view();
    let timed: Vec<&assay_predict::Compared> = comparisons
        .iter()
        .filter_map(|comparison| comparison.predicted.as_deref())
        .collect();
    let mut out = String::new();
    match timed.len() {
        0 => {}
        1..=PAIRS => {
            let each = timed.iter();
            let each = each.map(|one| assay_predict::render::compared(one, detail).terminal(&view));
            out += &each.collect::<Vec<String>>().join("\n");
        }
        _ => out += &several(&timed, detail).terminal(&view),
    }
    for comparison in comparisons {
        if let Some(why) = &comparison.not_predicted {
            let mut answer = Answer::default();
            answer.push(Block::text(format!("{}: {why}", comparison.name)));
            out += &answer.terminal(&view);
        }
    }
    if !comparisons.iter().any(Comparison::is_changed) && detail == Detail::Screen {
        return out + "no figure changed\n";
    }
    // Figures explain a time; where there is one, they wait for --full.
    if timed.is_empty() || detail == Detail::Full {
        let most = detail.rows(FIGURES);
        out += &render(comparisons, args.all, most, context);
        for comparison in comparisons {
            if comparison.predicted.is_none() && comparison.status == "changed" {
                let verdict = match comparisons.len() {
                    1 => comparison.verdict().to_owned(),
                    _ => format!("{}: {}", comparison.name, comparison.verdict()),
                };
                out += &assay_report::wrap::wrap(&verdict, context.width, 0).join("\n");
                out.push('\n');
            }
        }
    }
    if detail == Detail::Screen {
        let mut answer = Answer::default();
        let hint = "more: --full shows every term and figure · -o page.html";
        answer.push(Block::noted(hint, Role::Dim));
        out += &answer.terminal(&view);
    }
    out
}

/// The first screen as Markdown: of each kernel with times, or of each that has none its verdict.
fn answer(comparisons: &[Comparison]) -> String {
    let mut answer = Answer::default();
    for comparison in comparisons {
        match &comparison.predicted {
            Some(timed) => {
                let one = assay_predict::render::compared(timed, Detail::Screen);
                answer.blocks.extend(one.blocks);
            }
            None => {
                let why = comparison.not_predicted.as_deref();
                let verdict = why.unwrap_or_else(|| comparison.verdict());
                let text = format!("{}: {}, {verdict}", comparison.name, comparison.status);
                answer.push(Block::text(text));
            }
        }
    }
    answer.markdown()
}

/// Kernels whose times fit a screen as rows.
const ROWS: usize = 16;

/// A row for each kernel, the largest change first.
fn several(timed: &[&assay_predict::Compared], detail: Detail) -> Answer {
    let mut table = Table::new([
        Column::left("kernel").shrink(),
        Column::right("before"),
        Column::right("after"),
        Column::left("call"),
    ]);
    let mut rows = timed.to_vec();
    let change = |one: &assay_predict::Compared| (one.before.time_us - one.after.time_us).abs();
    rows.sort_by(|a, b| change(b).total_cmp(&change(a)));
    let most = detail.rows(ROWS);
    for one in rows.iter().take(most) {
        table.row([
            one.after.kernel.clone(),
            assay_predict::render::time(one.before.time_us),
            assay_predict::render::time(one.after.time_us),
            assay_predict::render::call(one),
        ]);
    }
    let mut answer = Answer::default();
    answer.push(table);
    if rows.len() > most {
        let left = rows.len() - most;
        answer.push(Block::noted(format!("and {left} more: --full"), Role::Dim));
    }
    answer
}

fn page(comparisons: &[Comparison], args: &Args, files: (&File, &File)) -> String {
    let timed = comparisons
        .iter()
        .filter_map(|one| one.predicted.as_deref());
    let timed: Vec<assay_predict::Compared> = timed.cloned().collect();
    let mut below = String::new();
    if timed.is_empty() {
        let title = format!("{} → {}", args.before.display(), args.after.display());
        below += &format!("<h1>{}</h1>", escape(&title));
    }
    for comparison in comparisons {
        below += &format!("<h2>{}</h2>", escape(&comparison.name));
        if let Some(why) = &comparison.not_predicted {
            below += &format!("<p>{}</p>", escape(why));
        } else if comparison.predicted.is_none() {
            below += &format!("<p>{}</p>", escape(comparison.verdict()));
        }
        below += "<div class=wide><table class=stack><tr><th>figure (modelled)</th><th class=n>before</th><th class=n>after</th>\
                  <th class=n>change</th><th></th></tr>";
        for weight in [Weight::Decides, Weight::Explains] {
            let of_weight = comparison.figures.iter();
            let of_weight = of_weight.filter(|d| comparison.weight(d) == weight);
            for difference in of_weight.filter(|d| args.all || d.change != Change::Same) {
                let value = |value: Option<f64>| value.map_or("–".to_owned(), number);
                let share = difference.relative;
                let share = share.map_or(String::new(), |share| format!("{:+.1} %", share * 100.0));
                let (kind, word) = match (weight, difference.change) {
                    (Weight::Explains, _) => ("dim", "explains"),
                    (_, Change::Helped) => ("good", "helped"),
                    (_, Change::Hurt) => ("bad", "hurt"),
                    (_, change) => ("warn", change.name()),
                };
                below += &format!(
                    "<tr><td class=all>{}</td><td class=n data-h=before>{}</td><td class=n data-h=after>{}</td><td class=n>{share}</td>\
                     <td class={kind}>{word}</td></tr>",
                    difference.figure,
                    value(difference.before),
                    value(difference.after),
                );
            }
        }
        below += "</table></div>";
    }
    below += &sources(files);
    assay_predict::render::html_of_comparison(&timed, &below)
}

/// Both sources, line by line; nothing where one of the files is not text.
fn sources((before, after): (&File, &File)) -> String {
    let (Ok(before), Ok(after)) = (str::from_utf8(&before.bytes), str::from_utf8(&after.bytes))
    else {
        return String::new();
    };
    let mut out = "<h2>Both sources</h2><div class=wide><pre>".to_owned();
    for line in lines(before, after) {
        out += &match line {
            Line::Both(text) => format!("  {}\n", escape(text)),
            Line::Before(text) => format!("<span class=bad>- {}</span>\n", escape(text)),
            Line::After(text) => format!("<span class=good>+ {}</span>\n", escape(text)),
        };
    }
    out + "</pre></div>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_is_current() {
        crate::schema::check::<Document>("assay.diff", 1);
    }
}
