//! `accuracy`: cases, fits and tables of predicted against measured GPU times.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]

use assay_accuracy::bands::{Coverage, Residual};
use assay_accuracy::build::Sources;
use assay_accuracy::case::Excluded;
use assay_accuracy::fit::{FREE, FREE_M3, Start, TERMS, determined, fit};
use assay_accuracy::judge::chip;
use assay_accuracy::page::{Figures, page};
use assay_accuracy::ranking::{mean_called, mean_pick, rank};
use assay_accuracy::report::{self, CLASSES, Judged, Row, Together, line};
use assay_accuracy::search::{HOLD, Limits};
use assay_accuracy::store::{Store, Stored};
use assay_accuracy::table::{self, Fitted};
use assay_accuracy::{Cases, Result, Set, bands, pairs, run, sets, stats};
use assay_predict::Constants;
use clap::{Parser, Subcommand};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Predicted GPU times against published measurements
///
/// Example: accuracy execute --sources corpus/sources --fixtures ../shared/fixtures/measured
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Folder of checkouts named repository@commit
    #[arg(long, global = true, default_value = "corpus/sources")]
    sources: PathBuf,

    /// Folder of the published measurements
    #[arg(long, global = true, default_value = "../shared/fixtures/measured")]
    fixtures: PathBuf,

    /// Folder for what can be made again
    #[arg(long, global = true, default_value = "target/accuracy")]
    cache: PathBuf,

    /// Stored executions
    #[arg(
        long,
        global = true,
        default_value = "crates/accuracy/data/executions.json.gz"
    )]
    store: PathBuf,

    /// How strongly fits hold constants near their published values
    #[arg(long, global = true, default_value_t = HOLD)]
    hold: f64,

    /// What each term is worth, as `accuracy ablate` found
    #[arg(
        long,
        global = true,
        default_value = "crates/accuracy/data/ablation.tsv"
    )]
    ablation: PathBuf,

    #[command(subcommand)]
    command: Command,
}

/// Passes of a search over all constants. Few: what the data does not determine would drift.
const SWEEPS: usize = 4;

#[derive(Subcommand)]
enum Command {
    /// Compile and execute every case; list what became one and what did not, by reason
    Execute {
        /// Only cases whose id contains this; the others stay as stored
        #[arg(long)]
        only: Option<String>,
    },
    /// Judge the stored executions by the constants of the chip files, without fitting
    Look {
        /// Change a constant first; may be repeated
        #[arg(long = "set", value_name = "NAME=VALUE")]
        changes: Vec<String>,
        /// Show every case of this set
        #[arg(long)]
        rows: Option<String>,
        /// Constants of the M3's generation to fit instead of the usual ones
        #[arg(long, value_delimiter = ',')]
        generation: Vec<String>,
    },
    /// Fit the constants on the M2 data; print them with the agreement of every set
    Fit {
        /// Passes of the search over all constants
        #[arg(long, default_value_t = SWEEPS)]
        sweeps: usize,
        /// Write constants and bands into this table
        #[arg(long, value_name = "FILE")]
        write: Option<PathBuf>,
        /// Write the page as well
        #[arg(long, value_name = "FILE")]
        page: Option<PathBuf>,
    },
    /// Fit and cross-validate again without each term of the model; slow
    Ablate {
        /// Passes of the search over all constants
        #[arg(long, default_value_t = SWEEPS)]
        sweeps: usize,
    },
    /// Cross-validate, judge every set by the constants of the chip files, and write the page
    Page {
        /// Passes of the search over all constants
        #[arg(long, default_value_t = SWEEPS)]
        sweeps: usize,
        /// Where the page goes
        #[arg(short, long, default_value = "docs/accuracy.md")]
        out: PathBuf,
    },
}

fn main() -> ExitCode {
    let args = Args::parse();
    let result = match &args.command {
        Command::Execute { only } => execute(&args, only.as_deref()),
        Command::Look {
            changes,
            rows,
            generation,
        } => look(&args, changes, rows.as_deref(), generation),
        Command::Fit {
            sweeps,
            write,
            page,
        } => fit_all(&args, *sweeps, write.as_deref(), page.as_deref()),
        Command::Ablate { sweeps } => ablate(&args, *sweeps),
        Command::Page { sweeps, out } => judge_all(&args, *sweeps, out),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(3)
        }
    }
}

fn execute(args: &Args, only: Option<&str>) -> Result<()> {
    let mut all = sets::read(&args.fixtures, &Set::ALL)?;
    let sources = Sources::open(&args.sources, &args.cache)?;
    let wanted = |id: &str| only.is_none_or(|part| id.contains(part));
    let mut kept: BTreeMap<String, Stored> = BTreeMap::new();
    if only.is_some() {
        let old = Store::read(&args.store)?.cases.into_iter();
        kept.extend(old.map(|case| (case.id.clone(), case)));
    }
    let ran: Vec<(&assay_accuracy::Case, Result<Stored>)> = all
        .cases
        .par_iter()
        .filter(|case| wanted(&case.id))
        .map(|case| (case, run::run(case, &sources)))
        .collect();
    let mut refused = Vec::new();
    for (case, result) in ran {
        match result {
            Ok(stored) => drop(kept.insert(case.id.clone(), stored)),
            Err(error) => {
                kept.remove(&case.id);
                let text = error.to_string();
                eprintln!("{}: {}", case.id, text.lines().next().unwrap_or_default());
                refused.push(Excluded {
                    id: case.id.clone(),
                    set: case.set,
                    reason: reason(&text),
                });
            }
        }
    }
    all.excluded.extend(refused);
    let store = Store {
        cases: kept.into_values().collect(),
    };
    store.write(&args.store)?;
    summary(&all, &store);
    Ok(())
}

/// A refusal without what is particular to one kernel.
fn reason(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default();
    let general = first.split(" (").next().unwrap_or(first);
    match general.split_once("values of type i128") {
        Some(_) => "values of type i128 do not exist in Metal".to_owned(),
        None => general.to_owned(),
    }
}

fn summary(all: &Cases, store: &Store) {
    let mut counts: BTreeMap<(Set, String), usize> = BTreeMap::new();
    for row in &all.excluded {
        *counts.entry((row.set, row.reason.clone())).or_default() += 1;
    }
    for case in &store.cases {
        *counts.entry((case.set, "a case".to_owned())).or_default() += 1;
    }
    for ((set, verdict), count) in counts {
        println!("{:16} {count:5}  {verdict}", set.name());
    }
}

fn look(args: &Args, changes: &[String], rows: Option<&str>, generation: &[String]) -> Result<()> {
    let store = Store::read(&args.store)?;
    let (m2, _) = chip(Set::MetalBench)?;
    let mut constants = Constants::of(&m2);
    for change in changes {
        let (name, value) = change.split_once('=').ok_or("NAME=VALUE is expected")?;
        if !constants.set(name, value.parse()?) {
            return Err(format!("there is no constant {name}").into());
        }
    }
    let named = generation.iter().map(String::as_str);
    let named: Vec<(&str, f64)> = named
        .map(|name| (name, constants.get(name).unwrap_or(1.0)))
        .collect();
    let free = if named.is_empty() { FREE_M3 } else { &named };
    sets_by(&store, &constants, rows, free)?;
    let m2 = report::with_constants(&store, Set::MetalBench, &constants)?;
    coverage(&report::unseen(&store, &constants, &m2)?);
    Ok(())
}

/// Agreement of every set, by constants fitted on MetalBench or given.
fn sets_by(
    store: &Store,
    constants: &Constants,
    rows: Option<&str>,
    generation: &[(&str, f64)],
) -> Result<()> {
    let metalbench = report::with_constants(store, Set::MetalBench, constants)?;
    show("MetalBench M2", &metalbench);
    classes(&metalbench);
    let sci = report::transferred(store, Set::MetalSci, constants)?;
    show("metal-sci M1 Pro", &sci);
    families(&sci);
    ranking(&sci, constants.pair_tie);
    let gemm = report::leave_one_kernel_out(store, constants, generation)?;
    show("gemm-metal M3, leaving one out", &gemm);
    families(&gemm);
    let bkvogel = report::transferred(store, Set::Bkvogel, constants)?;
    show("bkvogel M1 Max", &bkvogel);
    families(&bkvogel);
    let apple = report::transferred(store, Set::AppleNumerical, constants)?;
    show("AppleNumerical M1", &apple);
    families(&apple);
    let crynux = report::transferred(store, Set::Crynux, constants)?;
    show("crynux M1 Max", &crynux);
    families(&crynux);
    let all = [
        (Set::MetalBench, &metalbench),
        (Set::MetalSci, &sci),
        (Set::GemmMetal, &gemm),
        (Set::Bkvogel, &bkvogel),
        (Set::AppleNumerical, &apple),
        (Set::Crynux, &crynux),
    ];
    for (set, judged) in all {
        if rows == Some(set.name()) || rows == Some("all") {
            every_row(judged);
        }
    }
    Ok(())
}

fn show(title: &str, judged: &Judged) {
    let rows: Vec<&Row> = judged.rows.iter().collect();
    let between = judged
        .constants
        .map_or(0.0, |constants| constants.between_us);
    println!(
        "{title}: {}  τ {:.3}  ({} cores, between {between:.2})",
        line(&rows),
        judged.kendall(),
        judged.cores
    );
    let roofline: Vec<f64> = judged.rows.iter().filter_map(|row| row.roofline).collect();
    if !roofline.is_empty() {
        println!(
            "    roofline + 5 µs: factor {:.3}",
            stats::factor(&roofline)
        );
    }
}

fn classes(judged: &Judged) {
    for (name, belongs) in CLASSES {
        let rows: Vec<&Row> = judged.rows.iter().filter(|row| belongs(row)).collect();
        println!("    {name:20} {}", line(&rows));
    }
}

fn families(judged: &Judged) {
    let mut groups: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in &judged.rows {
        groups.entry(&row.family).or_default().push(row);
    }
    for (name, rows) in groups {
        println!("    {name:28} {}", line(&rows));
    }
}

fn ranking(judged: &Judged, tie: f64) {
    let rankings = judged.ranking(tie);
    for task in &rankings {
        println!(
            "    {:12} pairs {:4}  called {:4}  ties {:4}  pick {:.3}",
            task.task, task.pairs, task.called, task.ties, task.pick
        );
    }
    println!(
        "    pairs called {:.3}  pick {:.3}",
        mean_called(&rankings),
        mean_pick(&rankings)
    );
    let variants = judged.variants();
    let pairs = pairs::pairs(&variants);
    println!(
        "    {} pairs: 80 % of ratios within ×/÷ {:.3}",
        pairs.len(),
        pairs::band(&pairs, bands::SHARE)
    );
    for tie in [1.01, 1.03, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4] {
        let (called, right) = pairs::called(&pairs, tie);
        let ranked = mean_called(&rank(&variants, tie));
        println!(
            "    beyond {tie}: {called:.3} called, {right:.3} of them right; {ranked:.3} of those that differ by 25 %"
        );
    }
}

fn every_row(judged: &Judged) {
    for row in &judged.rows {
        let terms = row.terms.iter().take_while(|(_, share)| *share >= 0.05);
        let terms: Vec<String> = terms
            .map(|(name, share)| format!("{name} {:.0} %", 100.0 * share))
            .collect();
        println!(
            "{:9.1} {:9.1} {:6.2}  {:?} {} ({})",
            row.measured_us,
            row.predicted_us(),
            row.ratio,
            row.class,
            row.name,
            terms.join(", "),
        );
    }
}

fn limits(args: &Args, sweeps: usize) -> Limits {
    Limits {
        sweeps,
        hold: args.hold,
        ..Limits::default()
    }
}

fn fit_all(args: &Args, sweeps: usize, table: Option<&Path>, out: Option<&Path>) -> Result<()> {
    let store = Store::read(&args.store)?;
    let (m2, _) = chip(Set::MetalBench)?;
    let cases = store.of(Set::MetalBench);
    let constants = fit(&Start::published(&m2), &cases, &m2, limits(args, sweeps));
    let mut fitted = Vec::new();
    for (name, before) in FREE {
        let value = constants.get(name).unwrap_or(f64::NAN);
        let by = determined(&constants, name, &cases, &m2);
        println!("{name:24} {before:9.3} -> {value:9.3}  to ×/÷ {by:.2}");
        fitted.push(Fitted {
            scope: "all",
            name: (*name).to_owned(),
            value,
            source: "metalbench",
            note: format!(
                "on {} kernels of an M2 by pattern search; the mean error rises by 1 % at ×/÷ {by:.2}",
                cases.len()
            ),
        });
    }
    sets_by(&store, &constants, None, FREE_M3)?;
    let judged = report::cross_validated(&store, Together::Sources, limits(args, sweeps))?;
    show("MetalBench M2, cross-validated", &judged);
    classes(&judged);
    every_row(&judged);
    fitted.extend(of_generation(&store, &constants)?);
    let residuals = report::unseen(&store, &constants, &judged)?;
    coverage(&residuals);
    fitted.extend(of_classes(&residuals));
    fitted.extend(of_pairs(&store, &constants)?);
    if let Some(path) = table {
        let text = std::fs::read_to_string(path)?;
        std::fs::write(path, table::with(&text, &fitted))?;
        println!("written to {}", path.display());
    }
    match out {
        Some(out) => write_page(args, &store, &constants, judged, out),
        None => Ok(()),
    }
}

/// The constants of the M3's generation.
fn of_generation(store: &Store, constants: &Constants) -> Result<Vec<Fitted>> {
    let m3 = report::leave_one_kernel_out(store, constants, FREE_M3)?;
    let value = |name: &str| m3.constants.and_then(|constants| constants.get(name));
    let row = |(name, _): &(&str, f64)| Fitted {
        scope: "family9",
        name: (*name).to_owned(),
        value: value(name).unwrap_or(f64::NAN),
        source: "gemm-metal",
        note: format!("on {} products of matrices on an M3", m3.rows.len()),
    };
    Ok(FREE_M3.iter().map(row).collect())
}

/// The band of ratios, from pairs of variants that no constant was
/// fitted on.
fn of_pairs(store: &Store, constants: &Constants) -> Result<Vec<Fitted>> {
    let judged = report::transferred(store, Set::MetalSci, constants)?;
    let variants = judged.variants();
    let pairs = pairs::pairs(&variants);
    let row = |name: &str, value: f64, note: String| Fitted {
        scope: "all",
        name: name.to_owned(),
        value,
        source: "metal-sci",
        note,
    };
    let count = pairs.len();
    Ok(vec![row(
        "band_pair",
        pairs::band(&pairs, bands::SHARE),
        format!(
            "from {count} pairs of variants of one task and size on an M1 Pro, tasks counting alike"
        ),
    )])
}

/// The bands, from kernels that no constant was fitted on.
fn of_classes(residuals: &[Residual]) -> Vec<Fitted> {
    let row = |class| Fitted {
        scope: "all",
        name: bands::constant(class).to_owned(),
        value: bands::half_width(residuals, class),
        source: "metalbench",
        note: format!(
            "from residuals of {} unseen kernels on five chips",
            residuals.len()
        ),
    };
    bands::CLASSES.into_iter().map(row).collect()
}

fn coverage(residuals: &[Residual]) {
    for set in Set::ALL {
        let own = |residual: &Residual| residual.task.starts_with(set.name());
        let Coverage {
            kernels,
            held,
            width,
        } = bands::check(residuals, own);
        println!("bands of {set:16} {kernels:4}  hold {held:.2}  ×/÷ {width:.2}");
    }
    for class in bands::CLASSES {
        let found = bands::check(residuals, |residual| residual.class == class);
        println!(
            "bands of {:16} {:4}  hold {:.2}  ×/÷ {:.2}",
            class.name(),
            found.kernels,
            found.held,
            found.width
        );
    }
}

fn judge_all(args: &Args, sweeps: usize, out: &Path) -> Result<()> {
    let store = Store::read(&args.store)?;
    let (m2, _) = chip(Set::MetalBench)?;
    let judged = report::cross_validated(&store, Together::Sources, limits(args, sweeps))?;
    write_page(args, &store, &Constants::of(&m2), judged, out)
}

fn ablate(args: &Args, sweeps: usize) -> Result<()> {
    let store = Store::read(&args.store)?;
    let terms = [("nothing", &[] as &[(&str, f64)])].into_iter();
    let mut table = String::from("without\tfactor\n");
    for (name, off) in terms.chain(TERMS.iter().copied()) {
        let factor = report::without_term(&store, off, limits(args, sweeps))?;
        println!("{name:24} {factor:.3}");
        table.push_str(&format!("{name}\t{factor:.3}\n"));
    }
    std::fs::write(&args.ablation, table)?;
    Ok(())
}

/// Rows of the table that [`ablate`] wrote; none if it never ran.
fn ablation(args: &Args) -> Result<Vec<(String, f64)>> {
    let text = std::fs::read_to_string(&args.ablation).unwrap_or_default();
    let rows = text.lines().skip(1).filter_map(|row| row.split_once('\t'));
    rows.map(|(name, factor)| Ok((name.to_owned(), factor.parse()?)))
        .collect()
}

fn write_page(
    args: &Args,
    store: &Store,
    constants: &Constants,
    m2: Judged,
    out: &Path,
) -> Result<()> {
    let figures = Figures {
        m2,
        m2_strict: report::cross_validated(store, Together::Geometries, limits(args, SWEEPS))?,
        m2_fitted: report::with_constants(store, Set::MetalBench, constants)?,
        m1_pro: report::transferred(store, Set::MetalSci, constants)?,
        m3: report::leave_one_kernel_out(store, constants, FREE_M3)?,
        m1_max: report::transferred(store, Set::Bkvogel, constants)?,
        m1: report::transferred(store, Set::AppleNumerical, constants)?,
        m1_max_tiles: report::transferred(store, Set::Crynux, constants)?,
        ablation: ablation(args)?,
        tie: constants.pair_tie,
    };
    let page = page(&figures);
    std::fs::write(out, &page)?;
    let end = page.find("## Every kernel").unwrap_or(page.len());
    print!("{}", &page[..end]);
    Ok(())
}
