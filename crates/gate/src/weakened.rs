//! What a change of the configuration asks less of kernels.
//!
//! A pull request brings its own `assay.toml` and its own launches: what they ask is compared, kernel by kernel, with what the
//! configuration of the base asks. What asks less is a problem, unless the base says in `may_change` that it may.

use crate::config::{Check, Config, Group, OneOrMany, Oracle, WhenFaster};
use crate::figure::{Better, FIGURES};
use crate::lines::{Texts, changed_line};
use crate::pairing;
use crate::report::ConfigurationChange;
use crate::snapshot::{Kernel, Place, Snapshot};
use std::collections::{BTreeMap, BTreeSet};

macro_rules! parts {
    ($($(#[doc = $doc:literal])* $name:ident $text:literal,)*) => {
        /// A part of the configuration, as `may_change` names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Part { $($(#[doc = $doc])* $name,)* }

        impl Part {
            /// All of them.
            pub const ALL: &[Part] = &[$(Part::$name,)*];

            /// Its name in `may_change`.
            pub const fn name(self) -> &'static str {
                match self { $(Part::$name => $text,)* }
            }
        }
    };
}

parts! {
    /// Kernels and files that are looked at.
    Kernels "kernels",
    /// Launches, their sizes and inputs.
    Launch "launch",
    /// What checked runs look for.
    Check "check",
    /// What results are compared with.
    Result "result",
    /// How much worse figures may become.
    Tolerance "tolerance",
    /// What figures may be at most.
    Limits "limits",
    /// What is right in place of the bytes from before; programs and Python files of oracles.
    Oracle "oracle",
    /// Changes that are meant to be.
    Accept "accept",
    /// Macros, function constants, what stands before sources, where headers are looked for first.
    Options "options",
    /// Chips that times are predicted for.
    Chips "chips",
    /// Where figures are kept, and what is kept there.
    Baseline "baseline",
    /// Programs whose GPU time is held.
    Programs "programs",
    /// The list of what may change.
    MayChange "may_change",
}

/// Two configurations and what they are about.
#[derive(Clone, Copy)]
pub struct Sides<'a> {
    /// That of the base.
    pub base: &'a Config,
    /// That of this tree.
    pub head: &'a Config,
    /// The kernels of both trees, as they were found.
    pub kernels: (&'a Snapshot, &'a Snapshot),
    /// The sources of both trees.
    pub texts: (&'a Texts, &'a Texts),
    /// The files of this tree.
    pub files: &'a [String],
    /// The path of the configuration and its texts.
    pub file: (&'a str, &'a str, &'a str),
    /// What this tree's launches of a kernel ask less than the base's.
    pub launches: &'a dyn Fn(&Kernel, &Kernel) -> Vec<String>,
}

impl std::fmt::Debug for Sides<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sides").finish_non_exhaustive()
    }
}

/// Kernels that are counted and not named.
type Weaker = BTreeMap<(Part, String), Vec<String>>;

/// Everything that the configuration asks less than the base's.
pub fn weakened(sides: &Sides<'_>) -> Vec<ConfigurationChange> {
    let mut found = Weaker::new();
    whole(sides, &mut found);
    dropped(sides, &mut found);
    let (base, head) = sides.kernels;
    let pairing = pairing::pair(base, head, Some(sides.texts));
    for pair in &pairing.pairs {
        let before = pair.base.unwrap_or(pair.head);
        let groups = (
            sides.base.group(&before.file, &before.function),
            sides.head.group(&pair.head.file, &pair.head.function),
        );
        if let (Some(old), Some(new)) = groups {
            of_groups(sides, (old, new), &pair.head.function, &mut found);
        }
        if let Some(before) = pair.base {
            oracles(sides, before, pair.head, &mut found);
            for what in (sides.launches)(before, pair.head) {
                let function = pair.head.function.clone();
                let what = format!("launch of {function}: {what}");
                found
                    .entry((Part::Launch, what))
                    .or_default()
                    .push(function);
            }
        }
    }
    let mut changes: Vec<ConfigurationChange> = found
        .into_iter()
        .map(|((part, what), kernels)| told(sides, part, &what, &kernels))
        .collect();
    changes.extend(hidden(sides));
    changes.extend(new_programs(sides));
    let (file, old, new) = sides.file;
    if changes.is_empty() && old != new {
        changes.push(ConfigurationChange {
            part: "file",
            what: format!("{file} is another; it asks no less"),
            weakens: false,
            allowed: true,
            place: Place {
                file: file.to_owned(),
                line: changed_line(old, new, &[]),
                column: 0,
            },
        });
    }
    changes
}

/// A change with its place: the line of the configuration that names it, or of a source's launch comment.
fn told(sides: &Sides<'_>, part: Part, what: &str, kernels: &[String]) -> ConfigurationChange {
    let (file, old, new) = sides.file;
    let mut place = Place {
        file: file.to_owned(),
        line: 1,
        column: 0,
    };
    // Hashes are told last, and are the words that nothing else has.
    let words = what.split([' ', '.', ':', ')', ',']);
    let keys: Vec<&str> = match part {
        Part::Accept => words.skip_while(|word| *word != "change").skip(1).collect(),
        _ => words.chain([part.name()]).collect(),
    };
    let named = kernels.iter().map(String::as_str);
    let needles = named.chain(keys).filter(|word| word.len() > 1);
    let needles: Vec<&str> = needles.collect();
    place.line = changed_line(old, new, &needles);
    let kernel = kernels.first().and_then(|name| {
        let mut all = sides.kernels.1.kernels.iter();
        all.find(|kernel| kernel.function == *name)
    });
    if old == new
        && let Some(kernel) = kernel
        && let (Some(old), Some(new)) = (
            sides.texts.0.get(&kernel.file),
            sides.texts.1.get(&kernel.file),
        )
    {
        place = Place {
            file: kernel.file.clone(),
            line: changed_line(old, new, &["assay: launch"]),
            column: 0,
        };
    }
    let of = match kernels {
        [] => String::new(),
        // These name the kernel themselves.
        _ if matches!(part, Part::Launch | Part::Oracle) => String::new(),
        [only] => format!(" ({only})"),
        [first, more @ ..] => format!(" ({first} and {} more)", more.len()),
    };
    ConfigurationChange {
        part: part.name(),
        what: format!("{what}{of}"),
        weakens: true,
        allowed: allows(sides, part),
        place,
    }
}

/// Programs that only this tree's configuration names: they are not run.
fn new_programs<'a>(sides: &'a Sides<'_>) -> impl Iterator<Item = ConfigurationChange> + 'a {
    let known = |name: &str| sides.base.program.iter().any(|it| it.name == name);
    let new = sides.head.program.iter().filter(move |it| !known(&it.name));
    let (file, old, text) = sides.file;
    new.map(move |program| ConfigurationChange {
        part: Part::Programs.name(),
        what: format!(
            "program {} is new; it is not run before the base has it",
            program.name
        ),
        weakens: false,
        allowed: true,
        place: Place {
            file: file.to_owned(),
            line: changed_line(old, text, &[&program.name]),
            column: 0,
        },
    })
}

/// What is not about single kernels.
fn whole(sides: &Sides<'_>, found: &mut Weaker) {
    let (base, head) = (sides.base, sides.head);
    let mut add = |part, what: String| {
        found.entry((part, what)).or_default();
    };
    for chip in base.chips.iter().filter(|chip| !head.chips.contains(chip)) {
        add(Part::Chips, format!("chip {chip} is gone"));
    }
    for program in &base.program {
        let mut now = head.program.iter();
        match now.find(|it| it.name == program.name) {
            Some(same) if same == program => {}
            Some(_) => add(
                Part::Programs,
                format!("program {} is another; the base's counts", program.name),
            ),
            None => add(Part::Programs, format!("program {} is gone", program.name)),
        }
    }
    if base.when_faster == WhenFaster::Fail && head.when_faster == WhenFaster::Note {
        let what = "when_faster is \"note\" and was \"fail\"";
        add(Part::Tolerance, what.to_owned());
    }
    if base.baseline.is_some() && base.baseline != head.baseline {
        let name = |config: &Config| config.baseline.clone().unwrap_or("none".to_owned());
        let (now, was) = (name(head), name(base));
        add(Part::Baseline, format!("baseline is {now} and was {was}"));
    }
    for accept in head.accept.iter().filter(|it| !base.accept.contains(it)) {
        let (function, what, reason) = (&accept.function, accept.what.join(", "), &accept.reason);
        let changes = accept.change.iter().flat_map(OneOrMany::all);
        let changes: Vec<&str> = changes.map(String::as_str).collect();
        let changes = changes.join(", ");
        add(
            Part::Accept,
            format!("accept of {function} ({what}; change {changes}): {reason}"),
        );
    }
    let fresh = head.may_change.iter();
    for part in fresh.filter(|part| !base.may_change.contains(part)) {
        add(Part::MayChange, format!("may_change has {part}"));
    }
}

/// Files and kernels that are still there and not looked at any more.
fn dropped(sides: &Sides<'_>, found: &mut Weaker) {
    let (base, head) = (sides.base, sides.head);
    let mut files = BTreeSet::new();
    for file in sides.files {
        if covers(base, file) && !covers(head, file) {
            files.insert(file.as_str());
            let what = format!("file {file} is in no group");
            found.entry((Part::Kernels, what)).or_default();
        }
    }
    let broken = |file: &str| {
        let mut failures = sides.kernels.1.failures.iter();
        failures.any(|failure| failure.file == file)
    };
    let known = |kernel: &Kernel| {
        let mut all = sides.kernels.1.kernels.iter();
        all.any(|it| it.file == kernel.file && it.function == kernel.function)
    };
    for kernel in &sides.kernels.0.kernels {
        let file = kernel.file.as_str();
        let text = sides.texts.1.get(file);
        let is_there = text.is_some_and(|text| crate::declares(text, &kernel.function).is_some());
        let wanted = head.group(file, &kernel.function).is_some();
        if is_there && !wanted && !files.contains(file) && !broken(file) && !known(kernel) {
            let what = format!("kernel {} is in no group", kernel.function);
            found.entry((Part::Kernels, what)).or_default();
        }
    }
}

fn covers(config: &Config, file: &str) -> bool {
    config.groups_of_file(file).next().is_some()
}

/// Kernels that are still written somewhere and are not looked at: switched off by a condition, or moved to a file of no group.
fn hidden(sides: &Sides<'_>) -> Vec<ConfigurationChange> {
    let (old, new) = sides.texts;
    let now = &sides.kernels.1;
    let mut changes: Vec<ConfigurationChange> = Vec::new();
    for kernel in &sides.kernels.0.kernels {
        let (file, function) = (kernel.file.as_str(), kernel.function.as_str());
        let broken = now.failures.iter().any(|failure| failure.file == file);
        if broken || now.kernels.iter().any(|it| it.function == function) {
            continue;
        }
        let line = |text: &String| crate::body::declares_kernel(text, function);
        let is_new = |file: &str| old.get(file).and_then(line).is_none();
        let mut places = new.iter().filter_map(|(other, text)| {
            let line = line(text)?;
            let what = match other.as_str() {
                same if same == file => {
                    sides.head.group(file, function)?;
                    format!("kernel {function} is not compiled any more")
                }
                other if !covers(sides.head, other) && is_new(other) => {
                    format!("kernel {function} was in {file}, and is in no group here")
                }
                _ => return None,
            };
            Some((other.clone(), line, what))
        });
        changes.extend(places.next().map(|(file, line, what)| ConfigurationChange {
            part: Part::Kernels.name(),
            what,
            weakens: true,
            allowed: allows(sides, Part::Kernels),
            place: Place {
                file,
                line,
                column: 0,
            },
        }));
    }
    changes
}

/// Returns true if the base says that a part may change.
fn allows(sides: &Sides<'_>, part: Part) -> bool {
    sides.base.may_change.iter().any(|one| one == part.name())
}

/// Returns true if folders of a search path that still have files are looked at later than before, or not while others are.
fn include_is_weaker(sides: &Sides<'_>, old: &[String], new: &[String]) -> bool {
    let plain = |folder: &String| {
        let folder = folder.strip_prefix("./").unwrap_or(folder);
        folder.trim_end_matches('/').to_owned()
    };
    let kept = old.iter().map(plain).filter(|folder| {
        let inside = format!("{folder}/");
        // What lies beside the configuration's folder is not listed.
        folder.starts_with("..") || sides.files.iter().any(|file| file.starts_with(&inside))
    });
    let new: Vec<String> = new.iter().map(plain).collect();
    // Where nothing is looked for, nothing is hidden by something else.
    !new.is_empty() && !new.starts_with(&kept.collect::<Vec<_>>())
}

fn of_groups(sides: &Sides<'_>, (old, new): (&Group, &Group), function: &str, found: &mut Weaker) {
    let mut add = |part, what: String| {
        let kernels = found.entry((part, what)).or_default();
        kernels.push(function.to_owned());
    };
    let rank = |check| match check {
        Check::Off => 0,
        Check::Memory => 1,
        Check::Arithmetic => 2,
    };
    let word = |check| match check {
        Check::Off => "off",
        Check::Memory => "memory",
        Check::Arithmetic => "arithmetic",
    };
    if rank(new.check) < rank(old.check) {
        let (now, was) = (word(new.check), word(old.check));
        add(Part::Check, format!("check is \"{now}\" and was \"{was}\""));
    }
    if new.right.is_weaker_than(old.right) {
        let (now, was) = (new.right, old.right);
        add(
            Part::Result,
            format!("result is \"{now}\" and was \"{was}\""),
        );
    }
    for figure in FIGURES {
        let allowed = |config: &Config, group| {
            let allowed = config.tolerance(Some(group), figure);
            allowed.unwrap_or(f64::INFINITY)
        };
        let (was, now) = (allowed(sides.base, old), allowed(sides.head, new));
        if now > was {
            let name = figure.name;
            add(
                Part::Tolerance,
                format!("tolerance.{name} is {} and was {was}", per_cent(now)),
            );
        }
        let limit = |config: &Config, group| config.limit(Some(group), figure.name);
        let name = figure.name;
        match (limit(sides.base, old), limit(sides.head, new)) {
            (Some(was), None) => add(Part::Limits, format!("limits.{name} is gone and was {was}")),
            (Some(was), Some(now)) => {
                let weaker = match figure.better {
                    Better::Less => now > was,
                    Better::More => now < was,
                };
                if weaker {
                    add(
                        Part::Limits,
                        format!("limits.{name} is {now} and was {was}"),
                    );
                }
            }
            (None, _) => {}
        }
    }
    let lists = [
        ("defines", &old.defines, &new.defines),
        ("constants", &old.constants, &new.constants),
        ("before", &old.before, &new.before),
    ];
    for (name, was, now) in lists {
        if was != now {
            add(Part::Options, format!("{name} is {now:?} and was {was:?}"));
        }
    }
    if include_is_weaker(sides, &old.include, &new.include) {
        let (now, was) = (&new.include, &old.include);
        add(Part::Options, format!("include is {now:?} and was {was:?}"));
    }
    if old.fast_math != new.fast_math {
        let (now, was) = (new.fast_math, old.fast_math);
        add(Part::Options, format!("fast_math is {now} and was {was}"));
    }
    if old.std != new.std {
        let word = |std: &Option<String>| std.clone().unwrap_or("the default".to_owned());
        let (now, was) = (word(&new.std), word(&old.std));
        add(Part::Options, format!("std is {now} and was {was}"));
    }
}

fn per_cent(value: f64) -> String {
    match value.is_finite() {
        true => value.to_string(),
        false => "off".to_owned(),
    }
}

/// An oracle that is new takes the place of the bytes from before; another one says what it likes.
fn oracles(sides: &Sides<'_>, before: &Kernel, after: &Kernel, found: &mut Weaker) {
    let old = sides.base.oracle.get(&before.function).map(Oracle::parts);
    let new = sides.head.oracle.get(&after.function).map(Oracle::parts);
    let function = &after.function;
    let what = match (old, new) {
        (_, None) => return,
        (None, Some(_)) => format!("oracle of {function} is new"),
        (Some((was, ..)), Some((now, ..))) if was != now => {
            format!("oracle of {function} is `{now}` and was `{was}`")
        }
        (Some((_, relative, absolute)), Some((_, now, now_absolute)))
            if now > relative || now_absolute > absolute =>
        {
            format!("oracle of {function} allows more")
        }
        _ => return,
    };
    let kernels = found.entry((Part::Oracle, what)).or_default();
    kernels.push(function.clone());
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "chips = ['m1', 'm2']\nmay_change = ['accept']\n[tolerance]\ntime = 5\n[limits]\nregisters = 64\n\
                        [[kernels]]\nfiles = ['*.metal']\n[oracle]\nf = 'y[i] = x[i]'\n";

    /// What a changed configuration asks less, of two kernels in one file, with the line of each.
    #[track_caller]
    fn check(from: &str, to: &str, expected: &[(&str, &str, u32)]) {
        let text = BASE.replace(from, to);
        assert!(from.is_empty() || text != BASE, "{from}");
        let (base, head) = (Config::parse(BASE).unwrap(), Config::parse(&text).unwrap());
        let all = ["f", "g"].map(|name| Kernel::new("k.metal", name));
        let kept = all
            .iter()
            .filter(|it| head.group(&it.file, &it.function).is_some());
        let (old, new) = (Snapshot::of(all.clone()), Snapshot::of(kept.cloned()));
        let source = "kernel void f() {}\nkernel void g() {}\n".to_owned();
        let texts = Texts::from([("k.metal".to_owned(), source)]);
        let changes = weakened(&Sides {
            base: &base,
            head: &head,
            kernels: (&old, &new),
            texts: (&texts, &texts),
            files: &["k.metal".to_owned()],
            file: ("assay.toml", BASE, &text),
            launches: &|_, _| Vec::new(),
        });
        let told: Vec<_> = changes
            .iter()
            .map(|change| (change.part, change.what.as_str(), change.place.line))
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn what_asks_less_is_told_with_its_line() {
        check("", "", &[]);
        check("'m1', 'm2'", "'m2'", &[("chips", "chip m1 is gone", 1)]);
        check(
            "time = 5",
            "time = 50",
            &[(
                "tolerance",
                "tolerance.time is 50 and was 5 (f and 1 more)",
                4,
            )],
        );
        check(
            "registers = 64",
            "registers = 65",
            &[(
                "limits",
                "limits.registers is 65 and was 64 (f and 1 more)",
                6,
            )],
        );
        check(
            "['*.metal']",
            "['*.metal']\nfunctions = ['f']",
            &[("kernels", "kernel g is in no group", 9)],
        );
        check(
            "['*.metal']",
            "['a/*.metal']",
            &[("kernels", "file k.metal is in no group", 8)],
        );
        check(
            "['*.metal']",
            "['*.metal']\ncheck = 'off'\nresult = '1ulp'",
            &[
                (
                    "check",
                    "check is \"off\" and was \"memory\" (f and 1 more)",
                    9,
                ),
                (
                    "result",
                    "result is \"1ulp\" and was \"same\" (f and 1 more)",
                    10,
                ),
            ],
        );
        check(
            "['*.metal']",
            "['*.metal']\ndefines = ['CI']",
            &[(
                "options",
                "defines is [\"CI\"] and was [] (f and 1 more)",
                9,
            )],
        );
        check(
            "x[i]'",
            "x[i]'\ng = 'y[i] = 0'",
            &[("oracle", "oracle of g is new", 11)],
        );
        check(
            "time = 5",
            "time = 2",
            &[("file", "assay.toml is another; it asks no less", 4)],
        );
    }

    #[test]
    fn the_base_says_what_may_change() {
        let accept =
            "[[accept]]\nfunction = 'f'\nwhat = ['time']\nchange = 'ab'\nreason = 'meant'\n";
        let text = format!(
            "{}{accept}",
            BASE.replace("['accept']", "['accept', 'chips']")
        );
        let (base, head) = (Config::parse(BASE).unwrap(), Config::parse(&text).unwrap());
        let nothing = (&Snapshot::default(), &Texts::new());
        let changes = weakened(&Sides {
            base: &base,
            head: &head,
            kernels: (nothing.0, nothing.0),
            texts: (nothing.1, nothing.1),
            files: &[],
            file: ("assay.toml", BASE, &text),
            launches: &|_, _| Vec::new(),
        });
        let told: Vec<_> = changes
            .iter()
            .map(|change| (change.part, change.allowed, change.place.line))
            .collect();
        assert_eq!(told, [("accept", true, 14), ("may_change", false, 2)]);
    }
}
