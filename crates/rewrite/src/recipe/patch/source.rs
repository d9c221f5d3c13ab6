//! A kernel in its source: parameters, statements, loops and what names stand for, as far as edits need them.
//!
//! Nothing here understands C++. Where a text is not of the form that an edit looks for, the edit does not apply; where it
//! only looks like it, the proof of the result says so.

use super::tokens::{Kind, Token, tokens};
use super::{Original, refuse};
use crate::recipe::{Refusal, RefusalKind};
use std::ops::Range;

/// Places of tokens.
pub(super) type Span = Range<usize>;

/// Definitions that are followed for one name.
const DEEPEST: usize = 8;

/// A kernel in its text.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: Vec<Token>,
    /// What stands between the parentheses of its declaration.
    pub(super) parameters: Span,
    /// What stands between its braces.
    pub(super) body: Span,
}

/// A parameter of the kernel.
#[derive(Debug)]
pub(super) struct Parameter<'a> {
    pub(super) ty: &'a str,
    pub(super) name: &'a str,
    /// `thread_position_in_grid`, `buffer`.
    pub(super) attribute: &'a str,
}

/// `for (uint i = 0; i < n; i++) …`
#[derive(Debug)]
pub(super) struct For {
    pub(super) at: usize,
    pub(super) variable: String,
    pub(super) init: Span,
    pub(super) bound: Span,
    pub(super) step: Span,
    pub(super) body: Span,
}

impl<'a> Source<'a> {
    /// Finds a kernel in its text.
    pub(super) fn of(original: &Original<'a>) -> Result<Source<'a>, Refusal> {
        let mut source = Source {
            text: original.text,
            tokens: tokens(original.text),
            parameters: 0..0,
            body: 0..0,
        };
        let is_named = |&at: &usize| {
            source.word(at) == original.kernel && source.word(at + 1) == "(" && source.declares(at)
        };
        let places: Vec<usize> = (0..source.tokens.len()).filter(is_named).collect();
        let &[at] = places.as_slice() else {
            return refuse(
                RefusalKind::Program,
                "the kernel is not declared by its name in this file",
            );
        };
        let malformed =
            || Refusal::new(RefusalKind::Program, "the kernel has no body in this file");
        let close = source.matching(at + 1).ok_or_else(malformed)?;
        let mut open = close + 1;
        while source.word(open) == "[" {
            open = source.matching(open).ok_or_else(malformed)? + 1;
        }
        if source.word(open) != "{" {
            return Err(malformed());
        }
        let end = source.matching(open).ok_or_else(malformed)?;
        source.parameters = at + 2..close;
        source.body = open + 1..end;
        Ok(source)
    }

    /// Returns true if the declaration that a name stands in is a kernel's.
    fn declares(&self, at: usize) -> bool {
        let before = (0..at).rev().map(|place| self.word(place));
        let mut before = before.take_while(|word| !matches!(*word, ";" | "}" | "{"));
        before.any(|word| word == "kernel")
    }

    /// The text of a token; nothing behind the last.
    pub(super) fn word(&self, at: usize) -> &'a str {
        let token = self.tokens.get(at);
        token.map_or("", |token| &self.text[token.bytes.clone()])
    }

    /// The bytes from the first to the last token.
    pub(super) fn bytes(&self, span: &Span) -> Range<usize> {
        let first = self.tokens.get(span.start);
        let last = span.end.checked_sub(1).and_then(|at| self.tokens.get(at));
        match (first, last) {
            (Some(first), Some(last)) if !span.is_empty() => first.bytes.start..last.bytes.end,
            (Some(first), _) => first.bytes.start..first.bytes.start,
            _ => self.text.len()..self.text.len(),
        }
    }

    /// The text from the first to the last token, as it was written.
    pub(super) fn slice(&self, span: &Span) -> &'a str {
        &self.text[self.bytes(span)]
    }

    /// The same without what stands between tokens, to compare.
    pub(super) fn joined(&self, span: &Span) -> String {
        span.clone().map(|at| self.word(at)).collect()
    }

    /// The line of a token, from 1.
    pub(super) fn line(&self, at: usize) -> u32 {
        let end = self.tokens.get(at).map_or(0, |token| token.bytes.start);
        self.text[..end].matches('\n').count() as u32 + 1
    }

    /// The white space that a token's line begins with.
    pub(super) fn indent(&self, at: usize) -> &'a str {
        let byte = self.tokens.get(at).map_or(0, |token| token.bytes.start);
        let start = self.text[..byte].rfind('\n').map_or(0, |place| place + 1);
        let line = &self.text[start..byte];
        &line[..line.len() - line.trim_start().len()]
    }

    /// The bracket that closes one.
    pub(super) fn matching(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for at in open..self.tokens.len() {
            match self.word(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Parts of a span between marks outside brackets.
    pub(super) fn split(&self, span: &Span, marks: &[&str]) -> Vec<Span> {
        let (mut parts, mut start, mut depth) = (Vec::new(), span.start, 0i32);
        for at in span.clone() {
            match self.word(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                word if depth == 0 && marks.contains(&word) => {
                    parts.push(start..at);
                    start = at + 1;
                }
                _ => {}
            }
        }
        parts.push(start..span.end);
        parts
    }

    /// The parameters of the kernel.
    pub(super) fn parameters(&self) -> Vec<Parameter<'a>> {
        let parts = self.split(&self.parameters, &[","]);
        parts
            .iter()
            .filter_map(|part| self.parameter(part))
            .collect()
    }

    fn parameter(&self, part: &Span) -> Option<Parameter<'a>> {
        let brackets = part
            .clone()
            .find(|&at| self.word(at) == "[" && self.word(at + 1) == "[");
        let end = brackets.unwrap_or(part.end);
        let name = end.checked_sub(1).filter(|at| *at > part.start)?;
        Some(Parameter {
            ty: self.slice(&(part.start..name)),
            name: self.word(name),
            attribute: brackets.map_or("", |at| self.word(at + 2)),
        })
    }

    /// The end of the statement that begins with a token.
    pub(super) fn statement(&self, at: usize) -> Option<usize> {
        self.statement_within(at, 64)
    }

    fn statement_within(&self, at: usize, depth: usize) -> Option<usize> {
        let below = |at: usize| self.statement_within(at, depth.checked_sub(1)?);
        match self.word(at) {
            "{" => Some(self.matching(at)? + 1),
            "for" | "while" | "switch" => below(self.matching(at + 1)? + 1),
            "if" => {
                let end = below(self.matching(at + 1)? + 1)?;
                match self.word(end) {
                    "else" => below(end + 1),
                    _ => Some(end),
                }
            }
            _ => {
                let mut place = at;
                while place < self.body.end {
                    match self.word(place) {
                        ";" => return Some(place + 1),
                        "(" | "[" | "{" => place = self.matching(place)?,
                        "}" => return None,
                        _ => {}
                    }
                    place += 1;
                }
                None
            }
        }
    }

    /// The statements of a block, without its braces.
    pub(super) fn statements(&self, block: &Span) -> Option<Vec<Span>> {
        let mut all = Vec::new();
        let mut at = block.start;
        while at < block.end {
            let end = self.statement(at)?.max(at + 1);
            all.push(at..end);
            at = end;
        }
        Some(all)
    }

    /// What a block or a single statement consists of.
    pub(super) fn inside(&self, statement: &Span) -> Span {
        match self.word(statement.start) == "{" {
            true => statement.start + 1..statement.end.saturating_sub(1),
            false => statement.clone(),
        }
    }

    /// The counting loops of the kernel, outer ones first.
    pub(super) fn loops(&self) -> Vec<For> {
        let places = self.body.clone().filter(|&at| self.word(at) == "for");
        places.filter_map(|at| self.counting(at)).collect()
    }

    /// A loop whose variable grows by one.
    pub(super) fn counting(&self, at: usize) -> Option<For> {
        let close = self.matching(at + 1)?;
        let parts = self.split(&(at + 2..close), &[";"]);
        let [init, test, step] = parts.as_slice() else {
            return None;
        };
        let equals = init.clone().find(|&at| self.word(at) == "=")?;
        let variable = self.word(equals.checked_sub(1)?);
        let is_plain = !init.clone().any(|at| self.word(at) == ",") && equals > init.start + 1;
        let tests = self.word(test.start) == variable && self.word(test.start + 1) == "<";
        let steps = self.joined(step);
        let by_one = [
            format!("{variable}++"),
            format!("++{variable}"),
            format!("{variable}+=1"),
        ];
        let end = self.statement(close + 1)?;
        (is_plain && tests && by_one.contains(&steps)).then(|| For {
            at,
            variable: variable.to_owned(),
            init: equals + 1..init.end,
            bound: test.start + 2..test.end,
            step: step.clone(),
            body: close + 1..end,
        })
    }

    /// What a name that is written once stands for.
    fn definition(&self, name: &str) -> Option<Span> {
        let mut found = None;
        for at in self.body.clone().filter(|&at| self.word(at) == name) {
            let (before, after) = (self.word(at.wrapping_sub(1)), self.word(at + 1));
            let changed = matches!(
                after,
                "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=" | ">>=" | "++" | "--"
            ) || matches!(before, "++" | "--" | "&");
            if changed || after == "=" && found.is_some() {
                return None;
            }
            if after == "=" {
                let rest = at + 2..self.body.end;
                let end = self.split(&rest, &[",", ";"]).first()?.end;
                found = Some(at + 2..end);
            }
        }
        found
    }

    /// An expression without parentheses around it; a name is what it was defined as.
    pub(super) fn resolved(&self, span: &Span) -> Span {
        let mut span = self.bare(span);
        for _ in 0..DEEPEST {
            let is_name = span.len() == 1
                && self
                    .tokens
                    .get(span.start)
                    .is_some_and(|token| token.kind == Kind::Word);
            let Some(found) = is_name
                .then(|| self.definition(self.word(span.start)))
                .flatten()
            else {
                break;
            };
            span = self.bare(&found);
        }
        span
    }

    /// An expression without parentheses around it.
    pub(super) fn bare(&self, span: &Span) -> Span {
        let mut span = span.clone();
        while span.len() > 2
            && self.word(span.start) == "("
            && self.matching(span.start) == Some(span.end - 1)
        {
            span = span.start + 1..span.end - 1;
        }
        span
    }

    /// The factors of a product; one if it is none.
    pub(super) fn factors(&self, span: &Span) -> Vec<Span> {
        let span = self.bare(span);
        let others = [
            "+", "-", "/", "%", "<<", ">>", "<", ">", "==", "&", "|", "^", "?",
        ];
        match self.split(&span, &others).len() {
            1 => self.split(&span, &["*"]),
            _ => vec![span],
        }
    }

    /// The terms of a sum; none if something is subtracted, or it is another operation.
    pub(super) fn terms(&self, span: &Span) -> Option<Vec<Span>> {
        let others = [
            "-", "<<", ">>", "<", ">", "==", "&", "|", "^", "?", "&&", "||",
        ];
        let span = self.bare(span);
        let is_sum = self.split(&span, &others).len() == 1;
        is_sum.then(|| self.split(&span, &["+"]))
    }

    /// A name that the text does not have.
    pub(super) fn fresh(&self, name: &str) -> String {
        let is_free = |name: &String| {
            !self
                .tokens
                .iter()
                .any(|token| &self.text[token.bytes.clone()] == name)
        };
        let numbered = (2..100).map(|n| format!("{name}{n}"));
        std::iter::once(name.to_owned())
            .chain(numbered)
            .find(is_free)
            .unwrap_or_default()
    }
}
