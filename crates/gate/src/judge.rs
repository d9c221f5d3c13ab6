//! From two snapshots to verdicts.

use crate::config::Config;
use crate::examine::Examination;
use crate::lines::{Texts, Trees};
use crate::pairing::pair;
use crate::report::{
    Against, ConfigurationChange, Level, Outcome, Problem, Report, Summary, Verdict,
};
use crate::rules;
use crate::snapshot::{Contents, FileFailure, Kernel, Place, RunResult, Snapshot};

/// How a buffer differs from what it held before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differs {
    /// In words, the first element that does.
    pub words: String,
    /// Of floats, how many units of the last place at most.
    pub ulps: Option<u64>,
}

/// Asks how a buffer differs: the kernels and runs of it, before and now, the buffer in each, and whether the answer decides
/// something or is only for people.
pub type Explain<'a> =
    dyn Fn([(&Kernel, &RunResult, &Contents); 2], bool) -> Option<Differs> + Sync + 'a;

/// What decides a judgement besides the snapshots.
#[derive(Clone)]
pub struct Judge<'a> {
    /// What must hold.
    pub config: &'a Config,
    /// What the first snapshot is.
    pub against: Against,
    /// The sources of both trees, for lines; none of a baseline.
    pub texts: Option<(&'a Texts, &'a Texts)>,
    /// Says in which element a result differs.
    pub explain: Option<&'a Explain<'a>>,
    /// How the configuration differs from the base's.
    pub configuration: Vec<ConfigurationChange>,
    /// What to know about the whole.
    pub notes: Vec<String>,
}

impl std::fmt::Debug for Judge<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge")
            .field("against", &self.against)
            .finish_non_exhaustive()
    }
}

impl<'a> Judge<'a> {
    /// A judge who knows the configuration.
    pub fn new(config: &'a Config) -> Judge<'a> {
        Judge {
            config,
            against: Against::Nothing,
            texts: None,
            explain: None,
            configuration: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// Errors of one file that are shown.
const MOST_ERRORS: usize = 10;

/// Judges a tree, compared with another if there is one.
pub fn judge(judge: &Judge<'_>, base: Option<&Snapshot>, head: &Snapshot) -> Report {
    let mut problems = Vec::new();
    for failure in &head.failures {
        problems.extend(broken(failure));
    }
    problems.extend(judge.configuration.iter().filter_map(asks_less));
    let nothing = Snapshot::default();
    let pairing = pair(base.unwrap_or(&nothing), head, judge.texts);
    let mut kernels = Vec::with_capacity(pairing.pairs.len());
    let trees = judge.texts.map(Trees::new);
    for pair in &pairing.pairs {
        let mut examination = Examination::new(judge, *pair, trees.as_ref());
        let outcome = examination.examine(base);
        kernels.push(examination.verdict(outcome));
        problems.append(&mut examination.problems);
    }
    let failing = |file: &str| head.failures.iter().any(|failure| failure.file == file);
    let wanted = |kernel: &Kernel| judge.config.group(&kernel.file, &kernel.function).is_some();
    // Of a file that does not compile nobody knows what is gone.
    let deleted = pairing
        .deleted
        .iter()
        .filter(|kernel| !failing(&kernel.file) && wanted(kernel));
    kernels.extend(deleted.map(|kernel| Verdict {
        file: kernel.file.clone(),
        function: kernel.function.clone(),
        outcome: Outcome::Deleted,
        moved_from: None,
        renamed_from: None,
        passed: true,
        differences: Vec::new(),
        notes: Vec::new(),
    }));
    problems.sort_by(|a, b| (a.level, &a.place).cmp(&(b.level, &b.place)));
    let mut notes = judge.notes.clone();
    notes.extend(unlaunched(head));
    let count = |outcome: Outcome| kernels.iter().filter(|k| k.outcome == outcome).count();
    Report {
        passed: !problems.iter().any(|problem| problem.level == Level::Error),
        against: judge.against.clone(),
        summary: Summary {
            kernels: head.kernels.len(),
            failed: kernels.iter().filter(|kernel| !kernel.passed).count(),
            same: count(Outcome::Same),
            changed: count(Outcome::Changed),
            new: count(Outcome::New),
            deleted: count(Outcome::Deleted),
            broken_files: head.failures.len(),
            ..Summary::default()
        },
        problems,
        configuration: judge.configuration.clone(),
        kernels,
        programs: Vec::new(),
        notes,
    }
}

fn asks_less(change: &ConfigurationChange) -> Option<Problem> {
    let part = change.part;
    (change.weakens && !change.allowed).then(|| Problem {
        rule: rules::CONFIGURATION_WEAKENED,
        level: Level::Error,
        function: None,
        place: change.place.clone(),
        message: format!("configuration changed: {}", change.what),
        advice: format!(
            "put it back, or change the configuration in a pull request of its own; may_change = [\"{part}\"] in the base's \
             assay.toml lets every pull request do this"
        ),
    })
}

/// Kernels that are named in a note.
const MOST_NAMED: usize = 6;

/// Kernels that nobody says how to launch are only compiled.
fn unlaunched(head: &Snapshot) -> Option<String> {
    let idle = |kernel: &&Kernel| {
        kernel.times.is_empty() && kernel.results.is_empty() && kernel.failures.is_empty()
    };
    let names: Vec<&str> = head
        .kernels
        .iter()
        .filter(idle)
        .map(|k| k.function.as_str())
        .collect();
    let shown = names.get(..names.len().min(MOST_NAMED))?.join(", ");
    let more = if names.len() > MOST_NAMED {
        ", …"
    } else {
        ""
    };
    let (count, all) = (names.len(), head.kernels.len());
    (count > 0).then(|| {
        format!(
            "{count} of {all} kernels were compiled and not run ({shown}{more}): a launch in [launch] of assay.toml or \
             in a comment // assay: launch of the source changes that"
        )
    })
}

fn broken(failure: &FileFailure) -> impl Iterator<Item = Problem> + '_ {
    let shown = failure.errors.iter().take(MOST_ERRORS);
    shown.map(|error| Problem {
        rule: rules::DOES_NOT_COMPILE,
        level: Level::Error,
        function: None,
        place: error.place.clone().unwrap_or_else(|| Place {
            file: failure.file.clone(),
            line: 1,
            column: 0,
        }),
        message: error.message.clone(),
        advice: format!(
            "mend the source, or say how it is compiled (defines, include) in the group of {} in assay.toml",
            failure.file
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Standing;
    use crate::snapshot::{Failed, Time};

    fn config(text: &str) -> Config {
        Config::parse(&format!("{text}\n[[kernels]]\nfiles = ['*']\n")).unwrap()
    }

    /// A kernel with registers, a predicted time and a result.
    fn kernel(registers: f64, us: f64, hash: &str) -> Kernel {
        Kernel {
            figures: [("registers".to_owned(), registers)].into(),
            times: vec![Time {
                chip: "m2".to_owned(),
                sizes: String::new(),
                us,
                launch: 0,
            }],
            results: vec![RunResult {
                sizes: String::new(),
                inputs: "same".to_owned(),
                buffers: vec![Contents {
                    index: 1,
                    name: "y".to_owned(),
                    hash: hash.to_owned(),
                }],
                ..RunResult::default()
            }],
            content: hash.to_owned(),
            ..Kernel::new("k.metal", "k")
        }
    }

    #[track_caller]
    fn check(text: &str, before: Kernel, after: Kernel, expected: &[&str]) -> Report {
        let config = config(text);
        let report = judge(
            &Judge::new(&config),
            Some(&Snapshot::of([before])),
            &Snapshot::of([after]),
        );
        let rules: Vec<&str> = report.problems.iter().map(|problem| problem.rule).collect();
        assert_eq!(rules, expected, "{report:#?}");
        assert_eq!(report.passed, expected.is_empty());
        report
    }

    #[test]
    fn what_is_the_same_or_within_tolerance_passes() {
        let report = check("", kernel(20.0, 10.0, "a"), kernel(20.0, 10.0, "a"), &[]);
        assert_eq!(report.kernels[0].outcome, Outcome::Same);
        let report = check("", kernel(20.0, 10.0, "a"), kernel(22.0, 10.5, "a"), &[]);
        assert_eq!(report.kernels[0].outcome, Outcome::Changed);
    }

    #[test]
    fn a_kernel_that_got_slower_fails_unless_that_is_accepted() {
        let (before, after) = (kernel(20.0, 10.0, "a"), kernel(20.0, 11.0, "a"));
        let report = check("", before.clone(), after.clone(), &["slower"]);
        let message = &report.problems[0].message;
        assert!(
            message.starts_with("time m2 grew from 10 to 11 (+10.0 %"),
            "{message}"
        );
        check(
            "tolerance = { time = 12 }",
            before.clone(),
            after.clone(),
            &[],
        );
        check(
            "tolerance = { time = 'off' }",
            before.clone(),
            after.clone(),
            &[],
        );
        let accept =
            "accept = [{ function = 'k*', what = ['time'], change = 'a', reason = 'exact' }]";
        let report = check(accept, before.clone(), after.clone(), &[]);
        assert_eq!(report.kernels[0].notes, ["time accepted: exact"]);
        // What was accepted was another change.
        let report = check(&accept.replace("'a'", "'b'"), before, after, &["slower"]);
        let advice = &report.problems[0].advice;
        assert!(advice.contains("change = \"a\""), "{advice}");
        assert_eq!(
            report.kernels[0].notes,
            ["the accept of time has expired: the kernel is another now"]
        );
    }

    #[test]
    fn registers_may_grow_while_occupancy_and_time_hold() {
        let with = |occupancy: f64, mut kernel: Kernel| {
            kernel.figures.insert("occupancy".to_owned(), occupancy);
            kernel
        };
        let before = with(1024.0, kernel(20.0, 10.0, "a"));
        let more = kernel(28.0, 10.0, "a");
        let report = check("", before.clone(), with(1024.0, more.clone()), &[]);
        assert_eq!(report.kernels[0].differences[1].standing, Standing::Free);
        let rules = ["registers-grew", "occupancy-fell"];
        check("", before.clone(), with(896.0, more.clone()), &rules);
        let strict = "when_faster = 'fail'";
        check(strict, before, with(1024.0, more), &["registers-grew"]);
    }

    #[test]
    fn ulps_are_allowed_where_the_group_says_so() {
        let judged = |result: &str, ulps: u64| {
            let text = format!("[[kernels]]\nfiles = ['*']\nresult = '{result}'\n");
            let config = Config::parse(&text).unwrap();
            let explain = |_: [(&Kernel, &RunResult, &Contents); 2], _: bool| {
                Some(Differs {
                    words: "element 3".to_owned(),
                    ulps: Some(ulps),
                })
            };
            let judgement = Judge {
                explain: Some(&explain),
                ..Judge::new(&config)
            };
            let base = Snapshot::of([kernel(1.0, 1.0, "a")]);
            judge(
                &judgement,
                Some(&base),
                &Snapshot::of([kernel(1.0, 1.0, "b")]),
            )
        };
        assert!(judged("2ulp", 2).passed && !judged("2ulp", 3).passed);
        let report = judged("same", 1);
        assert!(
            report.problems[0].message.contains("element 3"),
            "{report:?}"
        );
        assert!(
            report.problems[0].advice.contains("result = \"1ulp\""),
            "{report:?}"
        );
    }

    #[test]
    fn a_variation_counts_where_the_kernel_was_made_for_it() {
        let trial = |hash: &str, stopped: bool| {
            let mut varied = kernel(1.0, 1.0, "a");
            let mut result = varied.results[0].clone();
            result.trial = "odd sizes".to_owned();
            result.buffers[0].hash = hash.to_owned();
            result.stopped = stopped.then(|| Failed {
                message: "out-of-bounds: read".to_owned(),
                place: None,
            });
            varied.results.push(result);
            varied
        };
        check("", trial("a", false), trial("a", false), &[]);
        let report = check("", trial("a", false), trial("b", false), &["wrong-result"]);
        let message = &report.problems[0].message;
        assert!(message.ends_with("differs with odd sizes"), "{message}");
        check("", trial("a", false), trial("a", true), &["not-clean"]);
        check("", trial("a", true), trial("b", false), &[]);
        check("", trial("a", true), trial("a", true), &[]);
    }

    #[test]
    fn what_asks_less_fails_unless_the_base_allows_it() {
        let config = config("");
        let judged = |allowed| {
            let change = ConfigurationChange {
                part: "launch",
                what: "launch of k: x is zeros".to_owned(),
                weakens: true,
                allowed,
                place: Place::default(),
            };
            let judgement = Judge {
                configuration: vec![change],
                ..Judge::new(&config)
            };
            judge(&judgement, None, &Snapshot::default())
        };
        assert!(judged(true).passed);
        assert_eq!(judged(false).problems[0].rule, "configuration-weakened");
    }

    #[test]
    fn a_faster_kernel_may_pay_with_registers() {
        let (before, after) = (kernel(20.0, 10.0, "a"), kernel(40.0, 5.0, "a"));
        let report = check("", before.clone(), after.clone(), &[]);
        let differences = &report.kernels[0].differences;
        assert_eq!(differences[1].standing, Standing::PaidFor);
        check(
            "when_faster = 'fail'",
            before.clone(),
            after,
            &["registers-grew"],
        );
        check("", before, kernel(40.0, 10.0, "a"), &["registers-grew"]);
    }

    #[test]
    fn another_result_fails_unless_inputs_are_others() {
        let before = kernel(20.0, 10.0, "a");
        check(
            "",
            before.clone(),
            kernel(20.0, 10.0, "b"),
            &["wrong-result"],
        );
        let mut other = kernel(20.0, 10.0, "b");
        other.results[0].inputs = "other".to_owned();
        let report = check("", before.clone(), other, &[]);
        assert!(report.kernels[0].notes[0].contains("inputs"), "{report:?}");
        let mut judged = kernel(20.0, 10.0, "b");
        judged.has_oracle = true;
        check("", before, judged, &[]);
    }

    #[test]
    fn limits_hold_for_new_kernels_too() {
        let config = config("limits = { registers = 32 }");
        let head = Snapshot::of([kernel(40.0, 1.0, "a")]);
        let report = judge(&Judge::new(&config), Some(&Snapshot::default()), &head);
        assert_eq!(report.problems[0].rule, "over-limit");
        assert_eq!(report.kernels[0].outcome, Outcome::New);
    }

    #[test]
    fn a_file_that_does_not_compile_deletes_nothing() {
        let config = config("");
        let head = Snapshot {
            failures: vec![FileFailure {
                file: "k.metal".to_owned(),
                errors: vec![Failed {
                    message: "no such thing".to_owned(),
                    place: None,
                }],
            }],
            kernels: Vec::new(),
        };
        let base = Snapshot::of([kernel(1.0, 1.0, "a")]);
        let report = judge(&Judge::new(&config), Some(&base), &head);
        assert_eq!((report.passed, report.summary.deleted), (false, 0));
        let healed = judge(&Judge::new(&config), Some(&head), &base);
        assert_eq!(healed.kernels[0].outcome, Outcome::BrokenBefore);
        assert!(healed.passed);
    }
}
