//! Reports that are known: a file with a line `RULE:KERNEL` for each, with `*` for any text and `#` before comments.

use crate::settings::settings;
use assay_objc::diagnostics::tell;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A line of the file, and how often it matched.
#[derive(Debug)]
struct Line {
    rule: String,
    kernel: String,
    used: AtomicU64,
}

static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
    let Some(path) = &settings().suppress else {
        return Vec::new();
    };
    match std::fs::read_to_string(path) {
        Ok(text) => lines(&text, &path.to_string_lossy()),
        Err(why) => {
            tell(&format!("{}: {why}; nothing is suppressed", path.display()));
            Vec::new()
        }
    }
});

fn lines(text: &str, path: &str) -> Vec<Line> {
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or("").trim();
        match line.split_once(':') {
            _ if line.is_empty() => {}
            Some((rule, kernel)) => all.push(Line {
                rule: rule.trim().to_owned(),
                kernel: kernel.trim().to_owned(),
                used: AtomicU64::new(0),
            }),
            None => tell(&format!("{path}:{}: {line}: expected RULE:KERNEL", at + 1)),
        }
    }
    all
}

/// Returns true if a report of a kernel is known.
pub(crate) fn is_known(rule: &str, kernel: &str) -> bool {
    let matching = |line: &&Line| matches(&line.rule, rule) && matches(&line.kernel, kernel);
    let found = LINES.iter().find(matching);
    found.is_some_and(|line| {
        line.used.fetch_add(1, Relaxed);
        true
    })
}

/// Lines that matched nothing.
pub(crate) fn unused() -> Vec<String> {
    let unused = LINES.iter().filter(|line| line.used.load(Relaxed) == 0);
    unused
        .map(|line| format!("{}:{}", line.rule, line.kernel))
        .collect()
}

/// Returns true if a text is of a pattern, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut left) = text.strip_prefix(start) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or("");
    for part in parts {
        let Some(at) = left.find(part) else {
            return false;
        };
        left = left.get(at + part.len()..).unwrap_or("");
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, text, expected) in [
            ("is_*_i64", "is_u8_i64", true),
            ("is_*_i64", "is_u8_i6", false),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("copy", "copy_f32", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_line_is_a_rule_and_a_kernel() {
        let all = lines(
            "# known\n race : copy_* # why\n\nout-of-bounds:gather\nnothing\n",
            "file",
        );
        let shown: Vec<_> = all
            .iter()
            .map(|line| (line.rule.as_str(), line.kernel.as_str()))
            .collect();
        assert_eq!(shown, [("race", "copy_*"), ("out-of-bounds", "gather")]);
    }
}
