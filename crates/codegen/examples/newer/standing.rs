//! What the judge found, as the files of the repository have it.

use super::{Fate, Judged};
use assay_agx::{Family, Op, Standing, forms_of};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Forms by name and length: instructions, programs, and one of the programs.
type Evidence = BTreeMap<(String, u8), (u32, BTreeSet<String>)>;

fn evidence(judged: &[Judged], wanted: impl Fn(&Judged) -> bool) -> Evidence {
    let mut found = Evidence::new();
    for program in judged.iter().filter(|program| wanted(program)) {
        for instruction in &program.instructions {
            let key = (instruction.mnemonic().to_owned(), instruction.len() as u8);
            let entry = found.entry(key).or_default();
            entry.0 += 1;
            entry.1.insert(program.name.clone());
        }
    }
    found
}

pub(crate) fn report(judged: &[Judged]) {
    for program in judged {
        let fate = match &program.fate {
            Fate::Agrees => "agrees".to_owned(),
            Fate::Differs(why) => format!("DIFFERS: {why}"),
            Fate::NotRun(why) => format!("not run: {why}"),
        };
        let whole = if program.whole {
            ""
        } else {
            " (does not end at `stop`)"
        };
        println!(
            "{:<44} {:3} instructions{whole}  {fate}",
            program.name,
            program.instructions.len()
        );
    }
    println!("{}", summary(judged));
}

fn summary(judged: &[Judged]) -> String {
    let whole = judged.iter().filter(|program| program.whole).count();
    let all = judged.iter().flat_map(|program| &program.instructions);
    let known = all
        .clone()
        .filter(|instruction| instruction.op() != Op::Unknown);
    let (known, all) = (known.count(), all.count());
    let agree = judged
        .iter()
        .filter(|program| matches!(program.fate, Fate::Agrees))
        .count();
    format!(
        "{} programs, {whole} of them whole to `stop`; {known} of {all} instructions with text ({:.1} %); \
         {agree} programs give the bytes of their source",
        judged.len(),
        100.0 * known as f64 / all.max(1) as f64
    )
}

fn agrees(program: &Judged) -> bool {
    matches!(program.fate, Fate::Agrees)
}

pub(crate) fn standing(judged: &[Judged], scores: &str) {
    let proven = evidence(judged, agrees);
    let seen = evidence(judged, |_| true);
    let mut text = String::from(
        "# What is known of G15's instruction set, and what it rests on\n\n\
         Made by `cargo run --release -p assay-codegen --example newer -- --standing CORPUS`. The corpus is \
         public machine code for M4 (G16G) and A18 Pro (G17P) with its Metal source \
         (ADevWithAnIdea/agx-re); nothing of it is in this repository. A program *agrees* when its \
         machine code, emulated with every register and wait checked (a program that stops there, at a \
         register half nobody wrote, is run again without that check), leaves in every buffer the bytes \
         that its source leaves on the executor. Some sources were written anew from what the programs \
         are called. Launches, preloaded constants and the reasons why some are not compared: \
         `crates/codegen/examples/newer.tsv`.\n\n",
    );
    let _ = writeln!(text, "{}.\n", summary(judged));
    text.push_str("| instruction | bytes | standing | in agreeing programs | in all programs |\n|---|---|---|---|---|\n");
    let mut done = BTreeSet::new();
    for (name, length, stated) in forms_of(Family::G15) {
        if !done.insert((name, length)) {
            continue;
        }
        let key = (name.to_owned(), length);
        let count = |found: &Evidence| match found.get(&key) {
            Some((instructions, programs)) => format!("{instructions} in {}", programs.len()),
            None => "–".to_owned(),
        };
        let now = match (stated, proven.contains_key(&key)) {
            (Standing::LengthOnly, _) => Standing::LengthOnly,
            (_, true) => Standing::Proven,
            _ => Standing::Read,
        };
        let _ = writeln!(
            text,
            "| `{name}` | {length} | {} | {} | {} |",
            now.name(),
            count(&proven),
            count(&seen)
        );
    }
    text.push_str("\n## Programs\n\n");
    programs(&mut text, judged);
    set_aside(&mut text, scores);
    print!("{text}");
}

/// The table of scores that programs got when they were set aside: a program's is written down once, never computed again.
fn set_aside(text: &mut String, scores: &str) {
    text.push_str(
        "\n## Set aside\n\nPrograms chosen by name, not read while the table was made, and scored once; the scores are kept in \
         `crates/codegen/examples/newer_held.tsv`. Later changes may have learnt from them: nothing is scored twice.\n",
    );
    let rows = scores.lines().filter(|line| !line.starts_with('#'));
    let rows = rows.filter_map(|line| {
        let columns: Vec<&str> = line.split('\t').collect();
        <[&str; 5]>::try_from(columns).ok()
    });
    let mut sets: BTreeMap<&str, Vec<[&str; 5]>> = BTreeMap::new();
    for row in rows {
        sets.entry(row[0]).or_default().push(row);
    }
    for (set, rows) in sets {
        let sum = |column: usize| -> u64 {
            let numbers = rows
                .iter()
                .filter_map(|row| row[column].parse::<u64>().ok());
            numbers.sum()
        };
        let agree = rows.iter().filter(|row| row[4] == "agrees").count();
        let (with_text, all) = (sum(3), sum(2));
        let _ = write!(
            text,
            "\n{set}: {} programs, {with_text} of {all} instructions with text ({:.1} %), {agree} give the bytes of their \
             source.\n\n| program | instructions | outcome |\n|---|---|---|\n",
            rows.len(),
            100.0 * with_text as f64 / all.max(1) as f64,
        );
        for [_, name, instructions, _, outcome] in rows {
            let outcome = outcome.replace('|', "\\|");
            let _ = writeln!(text, "| {name} | {instructions} | {outcome} |");
        }
    }
}

/// Rows for `newer_held.tsv`.
pub(crate) fn scores(set: &str, judged: &[Judged]) {
    for program in judged {
        let known = program.instructions.iter();
        let known = known.filter(|instruction| instruction.op() != Op::Unknown);
        println!(
            "{set}\t{}\t{}\t{}\t{}",
            program.name,
            program.instructions.len(),
            known.count(),
            outcome(&program.fate)
        );
    }
}

fn outcome(fate: &Fate) -> String {
    match fate {
        Fate::Agrees => "agrees".to_owned(),
        Fate::Differs(why) => format!("differs: {why}"),
        Fate::NotRun(why) => format!("not compared: {why}"),
    }
}

fn programs(text: &mut String, judged: &[Judged]) {
    text.push_str("| program | instructions | outcome |\n|---|---|---|\n");
    for program in judged {
        let _ = writeln!(
            text,
            "| {} | {} | {} |",
            program.name,
            program.instructions.len(),
            outcome(&program.fate).replace('|', "\\|")
        );
    }
}

pub(crate) fn proofs(judged: &[Judged]) {
    let mut rows = String::new();
    for ((name, length), (instructions, programs)) in evidence(judged, agrees) {
        let example = programs.iter().next().map_or("", String::as_str);
        let _ = writeln!(
            rows,
            "    proof(\"{name}\", {length}, ({instructions}, {}), \"{example}\"),",
            programs.len()
        );
    }
    println!("pub(crate) static PROVEN: &[Proof] = &[\n{rows}];");
}
