//! One kernel beside what it was: what it does, what it computes, what it costs.

use crate::config::{Group, WhenFaster};
use crate::figure::{Better, FIGURES, Figure, TIME};
use crate::judge::Judge;
use crate::lines::{Blame, Trees};
use crate::pairing::Pair;
use crate::report::{Against, Difference, Level, Outcome, Problem, Standing, Verdict};
use crate::rules;
use crate::snapshot::{Failed, Found, Kernel, Place, Snapshot, Time};

/// One kernel under examination.
pub(crate) struct Examination<'a> {
    pub(crate) judge: &'a Judge<'a>,
    pub(crate) group: Option<&'a Group>,
    pub(crate) head: &'a Kernel,
    pub(crate) base: Option<&'a Kernel>,
    trees: Option<&'a Trees<'a>>,
    pub(crate) problems: Vec<Problem>,
    differences: Vec<Difference>,
    pub(crate) notes: Vec<String>,
    pub(crate) results_differ: bool,
}

impl<'a> Examination<'a> {
    /// A kernel and what it was before.
    pub(crate) fn new(
        judge: &'a Judge<'a>,
        pair: Pair<'a>,
        trees: Option<&'a Trees<'a>>,
    ) -> Examination<'a> {
        let Pair { head, base } = pair;
        let mut notes = head.notes.clone();
        notes.extend(head.not_run.iter().map(|why| format!("not run: {why}")));
        Examination {
            judge,
            group: judge.config.group(&head.file, &head.function),
            head,
            base,
            trees,
            problems: Vec::new(),
            differences: Vec::new(),
            notes,
            results_differ: false,
        }
    }

    /// Looks at everything, and says what became of the kernel.
    pub(crate) fn examine(&mut self, base: Option<&Snapshot>) -> Outcome {
        for failure in &self.head.failures {
            self.does_not_run(failure);
        }
        self.found();
        self.results();
        self.figures();
        self.limits();
        self.no_longer_known();
        let broken_before = |base: &Snapshot| {
            let mut failures = base.failures.iter();
            failures.any(|failure| failure.file == self.head.file)
        };
        match (self.base, base) {
            (None, None) => Outcome::Alone,
            (None, Some(base)) if broken_before(base) => {
                self.notes
                    .push("its file does not compile there: nothing to compare with".to_owned());
                Outcome::BrokenBefore
            }
            (None, Some(_)) => Outcome::New,
            (Some(_), _) => {
                let moved = self.differences.iter().any(Difference::is_change);
                match moved || self.results_differ {
                    true => Outcome::Changed,
                    false => Outcome::Same,
                }
            }
        }
    }

    /// What was found, put together.
    pub(crate) fn verdict(&mut self, outcome: Outcome) -> Verdict {
        let moved = self.base.filter(|base| base.file != self.head.file);
        let renamed = self.base.filter(|it| it.function != self.head.function);
        Verdict {
            file: self.head.file.clone(),
            function: self.head.function.clone(),
            outcome,
            moved_from: moved.map(|base| base.file.clone()),
            renamed_from: renamed.map(|base| base.function.clone()),
            passed: !self.problems.iter().any(|p| p.level == Level::Error),
            differences: std::mem::take(&mut self.differences),
            notes: std::mem::take(&mut self.notes),
        }
    }

    pub(crate) fn problem(
        &mut self,
        rule: &'static str,
        level: Level,
        place: Option<Place>,
        message: String,
        advice: String,
    ) {
        self.problems.push(Problem {
            rule,
            level,
            function: Some(self.head.function.clone()),
            place: place.unwrap_or_else(|| self.head.place()),
            message,
            advice,
        });
    }

    /// Where the kernel changed, if both sources are known.
    pub(crate) fn blame(&self) -> Option<Blame<'a>> {
        let (base, trees) = self.base.zip(self.trees)?;
        Some(Blame::new(base, self.head, trees))
    }

    /// How to say that a change is meant to be.
    pub(crate) fn accept(&self, what: &str) -> String {
        let (function, change) = (&self.head.function, &self.head.content);
        match self.judge.against {
            Against::Baseline { .. } => "assay gate --update".to_owned(),
            _ => format!(
                "[[accept]] in assay.toml with function = \"{function}\", what = [\"{what}\"], change = \"{change}\" and a \
                 reason"
            ),
        }
    }

    /// Why a change is meant to be, if it is; what was accepted before and is another now, is told.
    pub(crate) fn accepted(&mut self, what: &str) -> Option<&'a str> {
        let (function, content) = (&self.head.function, &self.head.content);
        let config = self.judge.config;
        let reason = config.accepted(function, what, content);
        if reason.is_none() && config.has_expired(function, what, content) {
            self.notes.push(format!(
                "the accept of {what} has expired: the kernel is another now"
            ));
        }
        reason
    }

    fn does_not_run(&mut self, failure: &Failed) {
        let (file, function) = (&self.head.file, &self.head.function);
        let advice = format!(
            "assay run {file} -f {function} --check with the same launch shows where and why"
        );
        self.problem(
            rules::DOES_NOT_RUN,
            Level::Error,
            failure.place.clone(),
            failure.message.clone(),
            advice,
        );
    }

    /// What checked runs and oracles found.
    fn found(&mut self) {
        let accepted = match self.head.findings.is_empty() {
            true => None,
            false => self.accepted("check"),
        };
        if let Some(reason) = accepted {
            self.notes.push(format!("findings accepted: {reason}"));
        }
        let findings: &[Found] = match accepted {
            Some(_) => &[],
            None => &self.head.findings,
        };
        let (file, function) = (&self.head.file, &self.head.function);
        for found in findings {
            let run = format!("assay run {file} -f {function} --check with the same launch");
            let changed = self.blame().and_then(|blame| blame.changed());
            let changed = changed.filter(|_| !self.was_found(found));
            let advice = match changed.filter(|changed| found.place.as_ref() != Some(changed)) {
                Some(place) => format!("the kernel changed at {place}; {run}"),
                None => run,
            };
            self.problem(
                rules::NOT_CLEAN,
                match found.warning {
                    true => Level::Warning,
                    false => Level::Error,
                },
                found.place.clone(),
                format!("{}: {}", found.kind, found.message),
                advice,
            );
        }
        for wrong in &self.head.wrong {
            let place = wrong.place.clone();
            let place = place.or_else(|| self.blame()?.changed());
            let advice = "the oracle is in [oracle] of assay.toml".to_owned();
            let message = wrong.message.clone();
            self.problem(rules::WRONG_RESULT, Level::Error, place, message, advice);
        }
    }

    /// What was known of the kernel before and cannot be known now: a kernel that nobody can run or cost is not as it was.
    fn no_longer_known(&mut self) {
        let (head, Some(base)) = (self.head, self.base) else {
            return;
        };
        let ran = |kernel: &Kernel| kernel.results.iter().any(|run| run.trial.is_empty());
        if let Some(why) = head.not_run.as_ref().filter(|_| ran(base) && !ran(head)) {
            self.is_hidden("result", &format!("what it computes is not: {why}"));
        }
        let no_code = head.figures.is_empty() && !base.figures.is_empty();
        let no_time = head.times.is_empty() && !base.times.is_empty() && ran(head);
        if no_code || no_time {
            let why = head.notes.iter().find(|note| note.starts_with("no "));
            let why = why.map_or("its code", String::as_str);
            self.is_hidden(TIME, &format!("what it costs is not: {why}"));
        }
    }

    fn is_hidden(&mut self, what: &str, words: &str) {
        if let Some(reason) = self.accepted(what) {
            self.notes.push(format!("{words}; accepted: {reason}"));
            return;
        }
        let place = self.blame().and_then(|blame| blame.changed());
        let advice = format!(
            "leave out what hides it, or if it is meant to be: {}",
            self.accept(what)
        );
        let message = format!("was known before, and {words}");
        self.problem(rules::HIDDEN, Level::Error, place, message, advice);
    }

    /// Returns true if the same was found before the change.
    fn was_found(&self, found: &Found) -> bool {
        let before = self.base.map_or(&[][..], |base| &base.findings);
        before.iter().any(|known| known.kind == found.kind)
    }

    fn time(times: &[Time], like: &Time) -> Option<f64> {
        let mut all = times.iter();
        let key = |time: &Time| (time.launch, time.chip.clone(), time.sizes.clone());
        let found = all.find(|time| key(time) == key(like));
        found.map(|time| time.us)
    }

    /// Every figure beside what it was.
    fn figures(&mut self) {
        let nothing = Kernel::default();
        let base = self.base.unwrap_or(&nothing);
        for figure in FIGURES {
            let allowed = self.judge.config.tolerance(self.group, figure);
            let mut add = |time: Option<&Time>, before, after| {
                self.differences.push(Difference {
                    band: None,
                    figure: figure.name,
                    chip: time.map(|time| time.chip.clone()),
                    sizes: time
                        .map(|time| time.sizes.clone())
                        .filter(|s| !s.is_empty()),
                    before,
                    after,
                    allowed,
                    standing: standing(figure, before, after, allowed),
                });
            };
            if figure.name == TIME {
                for time in &self.head.times {
                    add(Some(time), Self::time(&base.times, time), Some(time.us));
                }
                let gone = |time: &&Time| Self::time(&self.head.times, time).is_none();
                for time in base.times.iter().filter(gone) {
                    add(Some(time), Some(time.us), None);
                }
                continue;
            }
            let (before, after) = (
                base.figures.get(figure.name).copied(),
                self.head.figures.get(figure.name).copied(),
            );
            if before.is_some() || after.is_some() {
                add(None, before, after);
            }
        }
        if self.base.is_some() {
            self.excuse();
            for figure in FIGURES {
                self.grew(figure);
            }
        }
    }

    /// Returns true if no predicted time rose, and one fell by more than a per cent.
    fn is_faster(&self) -> bool {
        let times = self.differences.iter().filter(|d| d.figure == TIME);
        let changes: Option<Vec<f64>> = times.map(Difference::per_cent).collect();
        changes.is_some_and(|changes| {
            changes.iter().all(|change| *change <= 0.0) && changes.iter().any(|c| *c < -1.0)
        })
    }

    /// Returns true if neither occupancy nor any predicted time is worse than allowed, and both are known.
    fn is_held(&self) -> bool {
        let of = |figure: &'static str| {
            let all = self.differences.iter();
            all.filter(move |difference| difference.figure == figure)
        };
        let holds = |figure| {
            let known = of(figure).all(|it| it.before.is_some() && it.after.is_some());
            known
                && of(figure).next().is_some()
                && of(figure).all(|it| it.standing != Standing::Worse)
        };
        holds("occupancy") && holds(TIME)
    }

    /// What is worse and may be.
    fn excuse(&mut self) {
        let note = self.judge.config.when_faster == WhenFaster::Note;
        let (faster, held) = (note && self.is_faster(), note && self.is_held());
        let mut differences = std::mem::take(&mut self.differences);
        for difference in &mut differences {
            if difference.standing != Standing::Worse {
                continue;
            }
            let figure = difference.figure;
            if faster {
                difference.standing = Standing::PaidFor;
            } else if held && figure == "registers" {
                difference.standing = Standing::Free;
            } else if let Some(reason) = self.accepted(figure) {
                difference.standing = Standing::Accepted;
                self.notes.push(format!("{figure} accepted: {reason}"));
            }
        }
        self.differences = differences;
        self.notes.dedup();
    }

    /// A problem for a figure that is worse than allowed, named after its worst case.
    fn grew(&mut self, figure: &Figure) {
        let worse = self.differences.iter().filter(|difference| {
            difference.figure == figure.name && difference.standing == Standing::Worse
        });
        let badness = |difference: &Difference| {
            let both = difference.before.zip(difference.after);
            both.map_or(0.0, |(before, after)| figure.worsening(before, after))
        };
        let count = worse.clone().count();
        let worst = worse.max_by(|a, b| badness(a).total_cmp(&badness(b)));
        let Some(worst) = worst else { return };
        let mut message = sentence(figure, worst);
        if count > 1 {
            let plural = if count == 2 { "" } else { "s" };
            message += &format!("; and in {} more case{plural}", count - 1);
        }
        let place = self.blame().and_then(|blame| blame.grown());
        let place = place.or_else(|| self.dearest());
        let (file, function) = (&self.head.file, &self.head.function);
        let advice = format!(
            "assay profile {file} -f {function} shows where; if it is meant to be: {}",
            self.accept(figure.name)
        );
        self.problem(figure.rule, Level::Error, place, message, advice);
    }

    /// The line that costs most, where the source before is not known.
    fn dearest(&self) -> Option<Place> {
        let costs = self.head.costs.iter();
        let dearest = costs.max_by(|a, b| {
            let order = a.us.total_cmp(&b.us);
            let order = order.then(a.instructions.cmp(&b.instructions));
            order.then_with(|| b.line.cmp(&a.line))
        });
        dearest.map(|cost| Place {
            file: cost.file.clone(),
            line: cost.line,
            column: 0,
        })
    }

    fn limits(&mut self) {
        for figure in FIGURES {
            let Some(limit) = self.judge.config.limit(self.group, figure.name) else {
                continue;
            };
            let values = self.differences.iter().filter(|d| d.figure == figure.name);
            let beyond = values.filter(|difference| {
                difference.after.is_some_and(|value| match figure.better {
                    Better::Less => value > limit,
                    Better::More => value < limit,
                })
            });
            let messages: Vec<String> = beyond
                .map(|difference| {
                    let word = match figure.better {
                        Better::Less => "at most",
                        Better::More => "at least",
                    };
                    format!(
                        "{} ({}) is {}, and {word} {} is allowed",
                        difference.title(),
                        figure.meaning,
                        number(difference.after.unwrap_or_default()),
                        number(limit)
                    )
                })
                .collect();
            for message in messages {
                let place = self.dearest();
                let advice = format!("the limit is limits.{} in assay.toml", figure.name);
                self.problem(rules::OVER_LIMIT, Level::Error, place, message, advice);
            }
        }
    }
}

fn standing(
    figure: &Figure,
    before: Option<f64>,
    after: Option<f64>,
    allowed: Option<f64>,
) -> Standing {
    let (Some((before, after)), Some(allowed)) = (before.zip(after), allowed) else {
        return Standing::Shown;
    };
    match figure.worsening(before, after) {
        worse if worse > allowed => Standing::Worse,
        worse if worse < -0.1 => Standing::Better,
        _ => Standing::Fine,
    }
}

/// A figure that became worse, in words.
fn sentence(figure: &Figure, difference: &Difference) -> String {
    let verb = match figure.better {
        Better::Less => "grew",
        Better::More => "fell",
    };
    let title = difference.title();
    let change = difference.per_cent();
    let change = change.map_or(String::new(), |change| format!("{change:+.1} %, "));
    format!(
        "{title} {verb} from {} to {} ({change}allowed {} %; modelled: {})",
        number(difference.before.unwrap_or_default()),
        number(difference.after.unwrap_or_default()),
        number(difference.allowed.unwrap_or_default()),
        figure.meaning,
    )
}

/// A figure as people read it: whole numbers as they are, others with three digits or so.
pub(crate) fn number(value: f64) -> String {
    if value == value.trunc() && value.abs() < 1e12 {
        format!("{value:.0}")
    } else if value.abs() >= 100.0 {
        format!("{value:.1}")
    } else if value.abs() >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.4}")
    }
}
