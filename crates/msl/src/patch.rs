//! Replacements made token by token, and the way back from the new text to the old.
//!
//! Whitespace, newlines and line markers are never touched, so the compiler's line
//! numbers stay the user's. Columns shift; [`Patched::origin`] undoes that.

use crate::lexer::Tokens;
use std::collections::BTreeMap;

/// The changes to a list of tokens.
#[derive(Debug, Default)]
pub(crate) struct Patch {
    replaced: BTreeMap<usize, String>,
    before: BTreeMap<usize, String>,
    after: BTreeMap<usize, String>,
}

impl Patch {
    /// Puts `text` in the place of token `index`.
    pub(crate) fn replace(&mut self, index: usize, text: impl Into<String>) {
        self.replaced.insert(index, text.into());
    }

    /// Removes token `index`; what was inserted around it stays.
    pub(crate) fn remove(&mut self, index: usize) {
        self.replaced.insert(index, String::new());
    }

    /// Removes token `index` and what was inserted around it.
    pub(crate) fn erase(&mut self, index: usize) {
        self.remove(index);
        self.before.remove(&index);
        self.after.remove(&index);
    }

    /// Adds `text` in front of token `index`, after what was added there before.
    pub(crate) fn insert_before(&mut self, index: usize, text: &str) {
        self.before.entry(index).or_default().push_str(text);
    }

    /// Adds `text` behind token `index`.
    pub(crate) fn insert_after(&mut self, index: usize, text: &str) {
        self.after.entry(index).or_default().push_str(text);
    }

    /// The new text.
    pub(crate) fn apply(&self, tokens: &Tokens<'_>) -> Patched {
        let mut text = String::with_capacity(tokens.text.len() + tokens.text.len() / 8);
        let mut anchors = Vec::with_capacity(tokens.len());
        let mut end = 0usize;
        for (index, token) in tokens.list.iter().enumerate() {
            let range = token.range();
            text.push_str(tokens.text.get(end..range.start).unwrap_or(""));
            anchors.push((text.len(), range.start));
            if let Some(before) = self.before.get(&index) {
                push_spaced(&mut text, before);
            }
            match self.replaced.get(&index) {
                // A removed token still separates its neighbours.
                Some(new) if new.is_empty() => text.push(' '),
                Some(new) => text.push_str(new),
                None => text.push_str(tokens.get(index)),
            }
            if let Some(after) = self.after.get(&index) {
                push_spaced(&mut text, after);
            }
            end = range.end;
        }
        text.push_str(tokens.text.get(end..).unwrap_or(""));
        Patched { text, anchors }
    }
}

fn push_spaced(text: &mut String, insertion: &str) {
    text.push(' ');
    text.push_str(insertion);
    text.push(' ');
}

/// A rewritten text that remembers where its tokens came from.
#[derive(Debug)]
pub(crate) struct Patched {
    pub(crate) text: String,
    /// (offset in the new text, offset in the old), ascending.
    anchors: Vec<(usize, usize)>,
}

impl Patched {
    /// A text that was not changed.
    pub(crate) fn unchanged(text: &str) -> Self {
        Patched {
            text: text.to_owned(),
            anchors: Vec::new(),
        }
    }

    /// The old offset of the token that `offset` of the new text belongs to.
    pub(crate) fn origin(&self, offset: usize) -> usize {
        let next = self.anchors.partition_point(|(new, _)| *new <= offset);
        next.checked_sub(1)
            .and_then(|index| self.anchors.get(index))
            .map_or(offset, |(_, old)| *old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_and_origins_lead_back() {
        let tokens = Tokens::new("kernel void f(device float* a)\n{ a; }");
        let mut patch = Patch::default();
        patch.remove(0);
        patch.remove(4);
        patch.insert_before(7, "__restrict");
        let patched = patch.apply(&tokens);
        assert_eq!(patched.text, "  void f(  float*  __restrict a)\n{ a; }");
        let at = patched.text.find("a)").unwrap_or(0);
        assert_eq!(patched.origin(at), tokens.text.find("a)").unwrap_or(0));
        assert_eq!(patched.text.lines().count(), tokens.text.lines().count());
    }
}
