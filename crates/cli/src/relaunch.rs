//! Launches of rewritten kernels: geometry as recipes see it, and as flags again.

use crate::failure::Failure;
use crate::launch::{self, LaunchArgs, Triple};
use crate::prediction::{Launched, task};
use assay_launch::template::Grid;
use assay_launch::{Formula, contents};
use assay_rewrite::recipe::{Geometry, Number};

/// The geometry that flags or a comment describe.
pub(crate) fn geometry(launched: &Launched) -> Result<Geometry, Failure> {
    let launch = &launched.launch;
    let grid = match (&launch.grid, &launch.groups) {
        (Some(Triple(threads)), _) => Grid::Threads(threads.clone()),
        (None, Some(Triple(groups))) => Grid::Groups(groups.clone()),
        (None, None) => return Err(task::no_launch()),
    };
    let Some(Triple(threadgroup)) = launch.threadgroup.clone() else {
        return Err(task::no_launch());
    };
    let mut numbers = Vec::new();
    for text in &launch.bytes {
        let (buffer, values) = launch::split("--bytes", text)?;
        numbers.extend(
            contents::numbers(values)
                .into_iter()
                .map(|(offset, value)| Number {
                    buffer,
                    offset,
                    value,
                    added: false,
                }),
        );
    }
    let mut memory = Vec::new();
    for text in &launched.tgmem {
        let (index, value) = launch::split("--tgmem", text)?;
        let formula = Formula::parse(value)
            .map_err(|error| Failure::usage(format!("--tgmem {text}: {error}")))?;
        memory.resize(memory.len().max(index as usize + 1), Formula::number(0));
        memory[index as usize] = formula;
    }
    let sizes = launch.cases()?.into_iter().next().unwrap_or_default();
    Ok(Geometry {
        grid,
        threadgroup,
        threadgroup_memory: memory,
        numbers,
        sizes,
    })
}

/// The launch of the rewritten kernel.
pub(crate) fn relaunched(launched: &Launched, geometry: &Geometry) -> Launched {
    let mut launch = launched.launch.clone();
    (launch.grid, launch.groups) = match &geometry.grid {
        Grid::Threads(threads) => (Some(Triple(threads.clone())), None),
        Grid::Groups(groups) => (None, Some(Triple(groups.clone()))),
    };
    launch.threadgroup = Some(Triple(geometry.threadgroup.clone()));
    for number in geometry.numbers.iter().filter(|number| number.added) {
        launch
            .bytes
            .push(format!("{}=u32:{}", number.buffer, plain(&number.value)));
    }
    Launched {
        launch,
        tgmem: launched.tgmem.clone(),
        by_flags: launched.by_flags,
    }
}

/// A formula as one word.
fn plain(formula: &Formula) -> String {
    formula.text().split_whitespace().collect()
}

/// The extents of a grid or threadgroup, those that are 1 at the end left out.
fn extents(Triple(formulas): &Triple) -> String {
    let mut words: Vec<String> = formulas.iter().map(plain).collect();
    while words.len() > 1 && words.last().is_some_and(|word| word == "1") {
        words.pop();
    }
    words.join(",")
}

/// Grid and threadgroup as flags.
pub(crate) fn shape(launch: &LaunchArgs) -> String {
    let mut words = Vec::new();
    let triples = [
        ("--grid", &launch.grid),
        ("--groups", &launch.groups),
        ("--threadgroup", &launch.threadgroup),
    ];
    for (flag, triple) in triples {
        words.extend(
            triple
                .as_ref()
                .map(|triple| format!("{flag} {}", extents(triple))),
        );
    }
    words.join(" ")
}

/// The launch as a comment that every command reads.
pub(crate) fn comment(kernel: &str, launched: &Launched) -> String {
    let launch = &launched.launch;
    let mut words = vec![format!("assay: launch {kernel}")];
    for size in &launch.sizes {
        let values: Vec<String> = size.values.iter().map(ToString::to_string).collect();
        words.push(format!("--size {}={}", size.name, values.join(",")));
    }
    words.push(shape(launch));
    let lists = [
        ("--buffer", &launch.buffers),
        ("--bytes", &launch.bytes),
        ("--tgmem", &launched.tgmem),
    ];
    for (flag, list) in lists {
        words.extend(list.iter().map(|text| {
            let word: String = text.split_whitespace().collect();
            format!("{flag} {word}")
        }));
    }
    words.join(" ")
}
