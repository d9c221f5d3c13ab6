//! What a checked run found, as a compiler shows an error: the line, a mark under the access, and what to do.

use super::report::{Finding, Party};
use crate::Place;
use assay_report::blocks::View;
use assay_report::style::Role;
use assay_report::wrap::hanging;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Faults that are shown at all; the others are counted.
const MOST: usize = 10;
/// Faults that are shown with their lines where there are more than [`FEW`].
const IN_FULL: usize = 2;
/// As many faults have room with their lines.
const FEW: usize = 3;

/// What to do about a fault, by its kind.
const ADVICE: &[(&str, &str)] = &[
    (
        "out-of-bounds",
        "guard the access, as in if (i < n), or bind a larger buffer",
    ),
    (
        "misaligned",
        "access it through a packed_ type, or align the offset",
    ),
    (
        "uninitialised",
        "give it a value first; what another thread writes is there after a barrier",
    ),
    (
        "race",
        "put threadgroup_barrier(mem_flags::mem_threadgroup) between the two accesses",
    ),
    (
        "group-race",
        "let one threadgroup own each element, or make the access atomic",
    ),
    (
        "divergent-barrier",
        "move the barrier out of the branch, or let no thread return before it",
    ),
    (
        "inactive-lane",
        "call the shuffle outside the branch, with a lane below the simdgroup's width",
    ),
    (
        "partial-matrix",
        "let all lanes of the simdgroup take part: branch on the simdgroup, not on the lane",
    ),
    (
        "equal-race",
        "put a barrier between the two accesses; values that differ would be lost",
    ),
    ("division-by-zero", "test the divisor"),
    ("oversized-shift", "mask the count: x << (n & 31)"),
    (
        "conversion-overflow",
        "clamp the float before it becomes an integer",
    ),
    (
        "texture-out-of-bounds",
        "guard the access with get_width() and get_height()",
    ),
    (
        "unsuitable-texture",
        "bind a texture of the format and kind that the kernel declares",
    ),
    (
        "missing-fence",
        "call texture.fence() between the write and the read",
    ),
    ("tensor-out-of-bounds", "guard the slice with get_extent()"),
    (
        "tensor-scope",
        "run it by as many simdgroups as its scope says",
    ),
    (
        "tensor-shapes",
        "let the inner extents of the operands agree",
    ),
];

/// Reads a file whose lines are shown.
pub type ReadFile = fn(&Path) -> Option<String>;

/// Lines of the files that places name.
struct Lines {
    read: ReadFile,
    files: BTreeMap<String, Option<String>>,
}

impl Lines {
    fn line(&mut self, file: &str, line: usize) -> Option<String> {
        let read = |file: &str| (self.read)(Path::new(file));
        let text = self
            .files
            .entry(file.to_owned())
            .or_insert_with(|| read(file));
        let line = text.as_ref()?.lines().nth(line.checked_sub(1)?)?;
        Some(line.to_owned())
    }
}

/// The verdict in a line.
pub(crate) fn verdict(kernel: &str, found: &[Finding], view: &View) -> String {
    if found.is_empty() {
        let line = format!("{kernel}: nothing found");
        return view.painter.paint(Role::Good, &line).to_string() + "\n";
    }
    let warnings = found.iter().filter(|it| it.severity == "warning").count();
    let errors = found.len() - warnings;
    let counted = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    };
    let words = match (errors, warnings) {
        (0, _) => counted(warnings, "warning"),
        (_, 0) => counted(errors, "fault"),
        _ => format!(
            "{}, {}",
            counted(errors, "fault"),
            counted(warnings, "warning")
        ),
    };
    let role = if errors == 0 { Role::Warn } else { Role::Bad };
    let line = format!("{kernel}: {words}");
    view.painter.paint(role, &line).to_string() + "\n"
}

/// The faults: a few with their lines, others in a line each, the rest counted.
pub(crate) fn text(found: &[Finding], view: &View, read: ReadFile) -> String {
    let mut lines = Lines {
        read,
        files: BTreeMap::new(),
    };
    let full = if found.len() <= FEW { FEW } else { IN_FULL };
    let mut out = String::new();
    for (number, finding) in found.iter().take(MOST).enumerate() {
        let role = match finding.severity {
            "warning" => Role::Warn,
            _ => Role::Bad,
        };
        let kind = view.painter.paint(role, finding.kind);
        let place = finding.place.as_deref().unwrap_or("place unknown");
        let what = match number < full {
            true => &finding.what,
            false => &finding.doing,
        };
        let _ = writeln!(out, "{kind}: {place}: {what}");
        if number < full {
            out += &snippets(finding, &mut lines, view);
        }
    }
    let mut rest: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in found.iter().skip(MOST) {
        *rest.entry(finding.kind).or_default() += 1;
    }
    if !rest.is_empty() {
        let counts = rest.iter().map(|(kind, count)| format!("{count} {kind}"));
        let counts: Vec<String> = counts.collect();
        let _ = writeln!(out, "and {}; --format json has all", counts.join(", "));
    }
    out
}

/// Both sides of a fault with their lines, and advice.
fn snippets(finding: &Finding, lines: &mut Lines, view: &View) -> String {
    let own = Party {
        place: finding.place.clone(),
        thread: finding.thread,
        action: finding.doing.clone(),
    };
    let mut sides: Vec<&Party> = vec![&own];
    sides.extend(&finding.other);
    let numbers = sides
        .iter()
        .filter_map(|side| Some(Place::parse(side.place.as_deref()?)?.line));
    let margin = numbers.max().unwrap_or(0).to_string().len();
    let mut out = String::new();
    for (number, side) in sides.iter().enumerate() {
        let [x, y, z] = side.thread;
        let thread = match (y, z) {
            (0, 0) => x.to_string(),
            (_, 0) => format!("({x}, {y})"),
            _ => format!("({x}, {y}, {z})"),
        };
        let also = if number == 0 { "" } else { "the other: " };
        let label = format!("{also}{}, thread {thread}", side.action);
        out += &snippet(side, &label, number > 0, margin, lines, view);
    }
    for caller in &finding.callers {
        out += &noted("=", &format!("called at {caller}"), margin, view);
    }
    let advice = ADVICE.iter().find(|(kind, _)| *kind == finding.kind);
    if let Some((_, advice)) = advice {
        let word = view.painter.paint(Role::Heading, "help");
        out += &noted("=", &format!("{word}: {advice}"), margin, view);
    }
    out
}

/// A line with a mark and what happened there.
fn snippet(
    side: &Party,
    label: &str,
    names_file: bool,
    margin: usize,
    lines: &mut Lines,
    view: &View,
) -> String {
    let spot = side.place.as_deref().and_then(Place::parse);
    let line = spot
        .as_ref()
        .and_then(|spot| lines.line(spot.file, spot.line as usize));
    let (Some(spot), Some(line)) = (spot, line) else {
        let place = side.place.as_deref().filter(|_| names_file);
        let place = place.map_or(String::new(), |place| format!(", at {place}"));
        return noted("=", &format!("{label}{place}"), margin, view);
    };
    let room = view.width.saturating_sub(margin + 4).max(20);
    let indent = line.len() - line.trim_start().len();
    let line: String = line.trim_start().chars().take(room).collect();
    let mark = (spot.column as usize)
        .saturating_sub(1)
        .saturating_sub(indent);
    let mark = mark.min(line.chars().count().saturating_sub(1));
    let mut out = format!("{:>margin$} | {line}\n", spot.line);
    let is_long = mark + 2 + label.chars().count() > room;
    if spot.column > 0 {
        let label = if is_long {
            String::new()
        } else {
            format!(" {label}")
        };
        let _ = writeln!(out, "{:margin$} | {:mark$}^{label}", "", "");
    }
    if spot.column == 0 || is_long {
        out += &noted("|", label, margin, view);
    }
    out
}

/// A remark under a line, folded where a terminal is narrow.
fn noted(sign: &str, text: &str, margin: usize, view: &View) -> String {
    let room = view.width.saturating_sub(margin + 3).max(20);
    let pieces = match view.folds {
        true => hanging(text, room, 0, 2),
        false => vec![text.to_owned()],
    };
    let mut out = String::new();
    for (number, piece) in pieces.iter().enumerate() {
        let indent = if number == 0 { "" } else { "  " };
        let _ = writeln!(out, "{:margin$} {sign} {indent}{}", "", piece.trim_end());
    }
    out
}
