//! Lets neighbouring threads take neighbouring elements in place of a chunk each.
//!
//! ## What it does
//! A loop over the chunk of a thread, `for (uint i = tid * chunk; i < tid * chunk + chunk; i++)`, becomes one that goes on
//! by the number of threads, `for (uint i = tid; i < chunk * threads; i += threads)`. Where the loop counts from 0 and the
//! index is `tid * chunk + k`, the index becomes `k * threads + tid`.
//!
//! ## When it applies
//! To counting loops whose bounds, or whose index, are a thread's position times the length of a chunk. With `line` to the
//! loop around that line, without it to all of them. Each element is visited once as before, by another thread.
//!
//! ## When it hurts
//! Nowhere in device memory. Where a thread goes on with its own elements after the loop, the result is another: it is not
//! offered then.
//!
//! ## Example
//! `interleave` in a norm whose threads each walk a chunk of a row: a simdgroup's access touches one cache line instead of 32.
//!
//! Sums of floats are added in another order; other results are bit-identical.

use super::changes::Changes;
use super::source::{For, Source, Span};
use super::thread::{self, Thread};
use super::{Original, at_lines, not_of_programs, nothing, refuse};
use crate::recipe::{Class, Parameter, Recipe, Refusal, RefusalKind, Step};

pub(in crate::recipe) const RECIPE: Recipe = Recipe {
    id: "interleave",
    class: Class::Reassociating,
    usage: "[line=LINE]",
    parameters: &[Parameter::Number("line")],
    file: include_str!("interleave.rs"),
    apply: not_of_programs,
    propose: nothing,
};

/// What an edit is made of.
struct Work<'s, 'a> {
    source: &'s Source<'a>,
    original: &'s Original<'a>,
    threads: Vec<Thread>,
    changes: Changes,
}

pub(super) fn edit(
    source: &Source<'_>,
    original: &Original<'_>,
    step: &Step,
) -> Result<(Changes, Class), Refusal> {
    let mut work = Work {
        source,
        original,
        threads: thread::threads(source),
        changes: Changes::default(),
    };
    let mut loops = source.loops();
    if let Some(line) = step.number("line") {
        loops.retain(|one| {
            (source.line(one.at)..=source.line(one.body.end.saturating_sub(1))).contains(&line)
        });
        loops.reverse();
    }
    let (mut done, mut class) = (Vec::new(), Class::Exact);
    for one in &loops {
        let inside_another = done.iter().any(|body: &Span| body.contains(&one.at));
        if inside_another || step.number("line").is_some() && !done.is_empty() {
            continue;
        }
        if work.by_bounds(one).or_else(|| work.by_index(one)).is_some() {
            done.push(one.body.clone());
            if adds_up(source, &one.body) {
                class = Class::Reassociating;
            }
        }
    }
    match done.is_empty() {
        false => Ok((work.changes, class)),
        true => refuse(
            RefusalKind::NothingToDo,
            "no loop here walks a chunk that is a thread's position times a length",
        ),
    }
}

/// Returns true if a loop adds to a variable: in another order where it is a float.
fn adds_up(source: &Source<'_>, body: &Span) -> bool {
    let assigns = |at: usize| matches!(source.word(at), "+=" | "-=" | "*=");
    body.clone()
        .any(|at| assigns(at) && source.word(at.wrapping_sub(1)) != "]")
}

/// A chunk: where it begins besides the thread's part, and its length.
struct Chunk {
    rest: Vec<String>,
    length: Vec<String>,
    thread: Thread,
}

impl Work<'_, '_> {
    /// Terms of a sum, in which names of sums and of a thread's part are what they stand for. Each is a list of factors.
    fn flattened(&self, span: &Span, depth: usize) -> Option<Vec<Vec<Span>>> {
        let source = self.source;
        let mut all = Vec::new();
        for term in source.terms(span)? {
            let factors = source.factors(&term);
            let resolved = source.resolved(&term);
            let is_other = resolved != source.bare(&term) && depth > 0;
            let below = is_other
                .then(|| self.flattened(&resolved, depth - 1))
                .flatten();
            match below {
                Some(below)
                    if below.len() > 1 || below.iter().any(|it| self.thread_of(it).is_some()) =>
                {
                    all.extend(below);
                }
                _ => all.push(factors),
            }
        }
        Some(all)
    }

    /// The thread's position among factors, and the place of its factor.
    fn thread_of(&self, factors: &[Span]) -> Option<(Thread, usize)> {
        let mut found = factors.iter().enumerate().filter_map(|(place, factor)| {
            Some((
                thread::of(self.source, &self.threads, factor)?.clone(),
                place,
            ))
        });
        found.next().filter(|_| found.next().is_none())
    }

    /// A sum with one term that is a thread's position times a length.
    fn chunk(&self, terms: &[Vec<Span>]) -> Option<Chunk> {
        let mut chunk = None;
        let mut rest = Vec::new();
        for factors in terms {
            match self.thread_of(factors) {
                Some((thread, place)) if factors.len() > 1 && chunk.is_none() => {
                    let others = factors.iter().enumerate().filter(|(at, _)| *at != place);
                    let length = others.map(|(_, factor)| self.source.slice(factor).to_owned());
                    chunk = Some((thread, length.collect()));
                }
                Some(_) => return None,
                None => rest.push(self.product(factors)),
            }
        }
        let (thread, length) = chunk?;
        Some(Chunk {
            rest,
            length,
            thread,
        })
    }

    fn product(&self, factors: &[Span]) -> String {
        let factors: Vec<&str> = factors
            .iter()
            .map(|factor| self.source.slice(factor))
            .collect();
        factors.join(" * ")
    }

    /// A loop from the beginning of a thread's chunk to its end.
    fn by_bounds(&mut self, one: &For) -> Option<()> {
        let source = self.source;
        let begin = self.flattened(&one.init, 4)?;
        let chunk = self.chunk(&begin)?;
        let bound = source.resolved(&one.bound);
        let (end, cap) = match source.word(bound.start) {
            "min" => {
                let parts = source.split(&(bound.start + 2..bound.end.checked_sub(1)?), &[","]);
                let [a, b] = parts.as_slice() else {
                    return None;
                };
                match self.ends(a, &chunk) {
                    true => (a.clone(), Some(b.clone())),
                    false => (b.clone(), Some(a.clone())),
                }
            }
            _ => (bound, None),
        };
        if !self.ends(&end, &chunk) {
            return None;
        }
        let count = self.count(&chunk.thread)?;
        let with = |last: String| {
            let terms = chunk.rest.iter().cloned().chain([last]);
            terms.collect::<Vec<_>>().join(" + ")
        };
        let length = chunk.length.join(" * ");
        let whole = with(format!("{length} * {count}"));
        let bound = match cap {
            Some(cap) => format!("min({whole}, {})", source.slice(&cap).trim()),
            None => whole,
        };
        let begin = with(chunk.thread.text.clone());
        self.changes.replace(source.bytes(&one.init), begin);
        self.changes.replace(source.bytes(&one.bound), bound);
        let step = format!("{} += {count}", one.variable);
        self.changes.replace(source.bytes(&one.step), step);
        Some(())
    }

    /// Returns true if an expression is where a chunk ends: its beginning and its length, or the next thread's beginning.
    fn ends(&self, end: &Span, chunk: &Chunk) -> bool {
        let Some(terms) = self.flattened(end, 4) else {
            return false;
        };
        let text = |parts: Vec<String>| {
            let mut parts: Vec<String> = parts.iter().map(|part| part.replace(' ', "")).collect();
            parts.sort();
            parts.join("*")
        };
        let mut found: Vec<String> = Vec::new();
        for factors in &terms {
            found.push(text(
                factors
                    .iter()
                    .map(|factor| self.source.slice(factor).to_owned())
                    .collect(),
            ));
        }
        let product = |thread: &str| {
            let factors = chunk.length.iter().cloned().chain([thread.to_owned()]);
            text(factors.collect())
        };
        let rest = chunk
            .rest
            .iter()
            .map(|term| text(term.split(" * ").map(str::to_owned).collect()));
        let rest: Vec<String> = rest.collect();
        let is = |own: Vec<String>| {
            let mut wanted: Vec<String> = rest.iter().cloned().chain(own).collect();
            let mut found = found.clone();
            wanted.sort();
            found.sort();
            wanted == found
        };
        let thread = &chunk.thread.text;
        let length = text(chunk.length.clone());
        let named = self.names(&chunk.thread);
        named
            .iter()
            .any(|name| is(vec![product(name), length.clone()]))
            || is(vec![product(&format!("({thread}+1)"))])
            || is(vec![product(&format!("({thread}+1u)"))])
    }

    /// A thread's position as the text has it: by its parameter, or by names that stand for it.
    fn names(&self, thread: &Thread) -> Vec<String> {
        let source = self.source;
        let mut names = vec![thread.text.clone()];
        for at in source.body.clone().filter(|&at| source.word(at + 1) == "=") {
            let span = at..at + 1;
            let resolved = source.resolved(&span);
            if source.joined(&resolved) == thread.text {
                names.push(source.word(at).to_owned());
            }
        }
        names
    }

    fn count(&mut self, thread: &Thread) -> Option<String> {
        let geometry = self.original.geometry;
        thread::count(self.source, thread, geometry, &mut self.changes)
    }

    /// A loop that counts from 0 to the length of a chunk, and indices `thread * length + counter`.
    fn by_index(&mut self, one: &For) -> Option<()> {
        let source = self.source;
        if source.joined(&one.init).trim_end_matches(['u', 'U']) != "0" {
            return None;
        }
        let mut uses = one
            .body
            .clone()
            .filter(|&at| source.word(at) == one.variable)
            .count();
        let mut edits = Vec::new();
        let mut thread = None;
        for index in self.expressions(&one.body) {
            let Some(terms) = source.terms(&index) else {
                continue;
            };
            let counter = terms
                .iter()
                .find(|term| source.joined(term) == one.variable);
            let Some(counter) = counter else {
                continue;
            };
            let part = terms.iter().find_map(|term| {
                let flat = self.flattened(term, 4)?;
                let chunk = self.chunk(&flat).filter(|chunk| chunk.rest.is_empty())?;
                let same = chunk.length.join("*").replace(' ', "") == source.joined(&one.bound);
                same.then_some((term.clone(), chunk.thread))
            });
            let Some((part, found)) = part else {
                continue;
            };
            if thread
                .as_ref()
                .is_some_and(|known: &Thread| known.text != found.text)
            {
                return None;
            }
            thread = Some(found);
            edits.push((part, counter.clone()));
            uses -= 1;
        }
        let thread = thread.filter(|_| uses == 0)?;
        let count = self.count(&thread)?;
        for (part, counter) in edits {
            let strided = format!("{} * {count}", one.variable);
            self.changes.replace(source.bytes(&part), strided);
            self.changes
                .replace(source.bytes(&counter), thread.text.clone());
        }
        Some(())
    }

    /// Indices and definitions inside a body.
    fn expressions(&self, body: &Span) -> Vec<Span> {
        let source = self.source;
        let mut found = Vec::new();
        for at in body.clone() {
            match source.word(at) {
                "[" => found.extend(source.matching(at).map(|close| at + 1..close)),
                "=" => {
                    let rest = at + 1..body.end;
                    let end = source.split(&rest, &[",", ";"]);
                    found.extend(end.first().cloned());
                }
                _ => {}
            }
        }
        found
    }
}

pub(super) fn proposed(lines: &[u32]) -> Vec<Step> {
    at_lines(RECIPE.id, true, lines, &[])
}
