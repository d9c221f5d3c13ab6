//! The flame graph: chains of calls as boxes, as wide as what they cost, the kernel on top.

use super::stacks::{Frame, Stacks};
use crate::cost::number;
use crate::profile::Profile;
use assay_report::html::escape;

const WIDTH: f64 = 1100.0;
const HEIGHT: f64 = 20.0;
/// Boxes narrower than this, in units of the picture, are left out.
const NARROWEST: f64 = 1.0;
/// Units a letter takes.
const LETTER: f64 = 6.7;
/// Chains deeper than this are cut off.
const DEEPEST: usize = 48;

/// The flame graph of a profile; nothing without source lines.
pub(super) fn flame(profile: &Profile) -> String {
    let stacks = Stacks::of(profile);
    let Some(root) = stacks.frames.first().filter(|root| root.total > 0.0) else {
        return String::new();
    };
    let mut picture = Picture {
        profile,
        stacks: &stacks,
        total: root.total,
        boxes: String::new(),
        depth: 0,
    };
    picture.frame(root, 0.0, 0);
    let height = (picture.depth + 1) as f64 * HEIGHT;
    format!(
        "<h2>Flame graph</h2><p>A box is as wide as the cycles that one simdgroup alone spends in it (modelled: issue slots \
         and stalls, by known trip counts): the kernel on top, below it what it calls, last the lines. A line is a link.</p>\
         <div class=scroll><svg role=img aria-label=\"flame graph\" width={WIDTH} viewBox=\"0 0 {WIDTH} {height:.0}\" \
         xmlns=\"http://www.w3.org/2000/svg\">{}</svg></div>",
        picture.boxes
    )
}

struct Picture<'a> {
    profile: &'a Profile,
    stacks: &'a Stacks,
    total: f64,
    boxes: String,
    /// The deepest row.
    depth: usize,
}

impl Picture<'_> {
    fn frame(&mut self, frame: &Frame, left: f64, depth: usize) {
        let wide = frame.total / self.total * WIDTH;
        if wide < NARROWEST || depth > DEEPEST {
            return;
        }
        let place = frame.called_at.map_or(String::new(), |(file, line)| {
            format!(", called at {}:{line}", self.file(file))
        });
        let title = format!("{}{place}: {}", frame.function, self.words(frame.total));
        self.depth = self.depth.max(depth);
        self.boxes += &rectangle([left, wide], depth, "#e8a33d", &frame.function, &title);
        let mut left = left;
        let mut lines: Vec<_> = frame.lines.iter().collect();
        lines.sort_by(|a, b| b.time().total_cmp(&a.time()));
        for &call in &frame.calls {
            if let Some(call) = self.stacks.frames.get(call) {
                self.frame(call, left, depth + 1);
                left += call.total / self.total * WIDTH;
            }
        }
        for line in lines {
            let wide = line.time() / self.total * WIDTH;
            if wide >= NARROWEST {
                self.depth = self.depth.max(depth + 1);
                let name = format!("{}:{}", self.file(line.file), line.line);
                let title = format!("{name}: {}", self.words(line.time()));
                let shape = rectangle([left, wide], depth + 1, "#d9695f", &name, &title);
                self.boxes += &format!("<a href=\"#l{}-{}\">{shape}</a>", line.file, line.line);
            }
            left += wide;
        }
    }

    fn words(&self, cost: f64) -> String {
        let share = cost / self.total * 100.0;
        format!("{} cycles, {share:.1} %", number(cost))
    }

    fn file(&self, file: u32) -> &str {
        let name = self.profile.main.files.get(file as usize);
        let name = name.map_or("?", String::as_str);
        name.rsplit('/').next().unwrap_or(name)
    }
}

fn rectangle(
    [left, wide]: [f64; 2],
    depth: usize,
    colour: &str,
    name: &str,
    title: &str,
) -> String {
    let top = depth as f64 * HEIGHT;
    let letters = ((wide - 6.0) / LETTER).max(0.0) as usize;
    let text: String = match name.chars().count() > letters {
        true if letters < 3 => String::new(),
        true => name.chars().take(letters - 1).chain(['…']).collect(),
        false => name.to_owned(),
    };
    format!(
        "<g><title>{}</title><rect x={left:.1} y={top:.0} width={:.1} height={} rx=2 fill=\"{colour}\" \
         fill-opacity=.55 stroke=\"#8884\"/><text x={:.1} y={:.0}>{}</text></g>",
        escape(title),
        wide.max(0.5),
        HEIGHT - 1.0,
        left + 3.0,
        top + 14.0,
        escape(&text)
    )
}
