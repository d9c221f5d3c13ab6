//! Every command line that the program prints works: those of help, of manual pages, of first screens, and of the errors of
//! `wrong_inputs/list.txt`.
//!
//! Lines are collected mechanically (`printed/lines.rs`) and run as printed, in folders where the files they name exist
//! (`printed/world.rs`). Tables beside them are data: `files.tsv` says what the files are, `words.tsv` what stands for FILE,
//! KERNEL and others, `codes.tsv` which line ends with another code than 0 and why, and `marks.tsv` which line cannot run here and
//! why (`slow`: only with `ASSAY_PRINTED=all`). The output counts the marks.

#![cfg(target_os = "linux")]
// How many lines are marked, and why, belongs into the test's output.
#![allow(clippy::print_stdout)]

mod printed;

use printed::{Group, lines, world};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

/// What the program prints: read once for all tests.
static GROUPS: LazyLock<Option<Vec<Group>>> = LazyLock::new(lines::collected);

/// What became of lines.
#[derive(Default)]
struct Tally {
    run: usize,
    marked: BTreeMap<String, Vec<String>>,
    wrong: Vec<String>,
}

#[test]
fn every_printed_line_works() {
    let Some(groups) = GROUPS.as_deref() else {
        assay_fixtures::skip(assay_fixtures::Tool::Clang);
        return;
    };
    let all = printed::runs_all();
    let made = world::Made::new();
    let (next, tally) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    let work = || {
        while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            let of_group = tell(group, &made, all);
            let mut tally = tally.lock().expect("not poisoned");
            tally.run += of_group.run;
            tally.wrong.extend(of_group.wrong);
            for (reason, lines) in of_group.marked {
                tally.marked.entry(reason).or_default().extend(lines);
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let tally = tally.into_inner().expect("not poisoned");
    let marked: usize = tally.marked.values().map(Vec::len).sum();
    println!("{} lines ran, {marked} are marked:", tally.run);
    for (reason, lines) in &tally.marked {
        println!("  {:2}  {reason}", lines.len());
    }
    assert!(tally.run >= 150, "only {} lines ran", tally.run);
    assert!(
        tally.wrong.is_empty(),
        "{} lines do not work as printed:\n{}",
        tally.wrong.len(),
        tally.wrong.join("\n")
    );
}

/// Runs the lines of a group, in their order.
fn tell(group: &Group, made: &world::Made, all: bool) -> Tally {
    let mut tally = Tally::default();
    let folder = world::Folder::new(group, made);
    for line in &group.lines {
        match world::mark(line, all) {
            Some(reason) => {
                let marked = tally.marked.entry(reason).or_default();
                marked.push(line.text.clone());
            }
            None => {
                tally.run += 1;
                tally.wrong.extend(folder.run(line).err());
            }
        }
    }
    tally
}

#[test]
fn every_row_of_the_tables_is_used() {
    let Some(groups) = GROUPS.as_deref() else {
        return;
    };
    let lines: Vec<&printed::Line> = groups.iter().flat_map(|group| &group.lines).collect();
    let unused = world::unused(&lines);
    assert!(unused.is_empty(), "{}", unused.join("\n"));
}
