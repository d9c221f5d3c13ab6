//! The blocks of a profile's first screen that need no launch: what limits the code, what fits on a core, what to do.

use super::Sources;
use super::lines::{LineCost, lines};
use super::text::{loop_name, remarks};
use crate::cost::number;
use crate::findings::{Finding, Severity};
use crate::profile::{Profile, stand_in};
use assay_report::blocks::{Advice, Answer, Block, Detail, Figure, Headline, Source, SourceLine};
use assay_report::rule::slug;
use assay_report::style::Role;

/// Findings after the first that are named on a first screen.
const OTHERS: usize = 3;

/// The kernel, and the cycles of its hottest loop.
pub fn lead(profile: &Profile) -> Headline {
    let (bounds, hot) = profile.verdict();
    let what = match hot {
        Some(report) => format!(
            "a turn of {} at {:#x}",
            loop_name(report).trim_start_matches('·'),
            report.start
        ),
        None => "the program".to_owned(),
    };
    Headline {
        name: name(profile).to_owned(),
        place: format!("on {}", profile.chip),
        value: match bounds.estimate {
            Some(cycles) => format!("{} cycles", number(cycles)),
            None => "cycles unknown".to_owned(),
        },
        note: format!("{what}, per simdgroup; modelled"),
        role: None,
    }
}

/// A kernel's name, or that it has none.
pub fn name(profile: &Profile) -> &str {
    match profile.name.as_str() {
        "" => "(unnamed)",
        name => name,
    }
}

/// What limits the hottest loop.
pub fn limit(profile: &Profile) -> Figure {
    let (bounds, _) = profile.verdict();
    match bounds.verdict {
        Some(kind) => Figure::new("limited by", kind.name())
            .role(Role::Bad)
            .note(format!("assay explain {}", slug(kind.short()))),
        None => Figure::new("limited by", bounds.refused.clone().unwrap_or_default()),
    }
}

/// How many threads share a core, and what they use.
pub fn occupancy(profile: &Profile) -> Figure {
    let occupancy = &profile.occupancy;
    let role = match occupancy.share {
        share if share >= 0.75 => Role::Good,
        share if share >= 0.5 => Role::Warn,
        _ => Role::Bad,
    };
    let spills = match profile.scratch_bytes.filter(|&bytes| bytes > 0) {
        Some(bytes) => format!("{bytes} bytes of scratch a thread"),
        None => "no spills".to_owned(),
    };
    let mut note = format!(
        "{} of 1024 threads a core, {} half-registers, {spills}",
        occupancy.threads, occupancy.half_registers
    );
    if occupancy.limit != "nothing" {
        note += &format!("; limit: {}", occupancy.limit);
    }
    Figure::new("occupancy", format!("{:.0} %", occupancy.share * 100.0))
        .role(role)
        .note(note)
}

/// The dearest lines of a simdgroup that runs alone.
pub fn hot_lines(profile: &Profile, sources: Option<&Sources>, most: usize) -> Source {
    let mut costs = lines(profile);
    let total: f64 = costs.iter().map(LineCost::time).sum();
    costs.sort_by(|a, b| b.time().total_cmp(&a.time()));
    let mut files: Vec<u32> = costs.iter().take(most).map(|cost| cost.file).collect();
    files.dedup();
    let line = |cost: &LineCost| {
        let file = profile.main.files.get(cost.file as usize);
        let file = file.map_or("?", String::as_str);
        let base = file.rsplit('/').next().unwrap_or(file);
        let text = sources.and_then(|sources| sources.line(file, cost.line));
        SourceLine {
            place: match files.len() {
                0 | 1 => cost.line.to_string(),
                _ => format!("{base}:{}", cost.line),
            },
            share: cost.time() / total.max(1e-9),
            text: text.unwrap_or_default().trim().to_owned(),
            why: String::new(),
        }
    };
    Source {
        title: "Hot lines (one simdgroup alone, loops by known trip counts)".to_owned(),
        lines: costs.iter().take(most).map(line).collect(),
    }
}

/// A finding as advice: what it costs, the line as it could be, and the command to copy.
pub fn advice(finding: &Finding) -> Advice {
    let cure = finding.cure.as_ref();
    let patch = cure.map_or(Vec::new(), |cure| {
        let lines = [("-", &cure.before), ("+", &cure.after)];
        let lines = lines
            .into_iter()
            .filter_map(|(sign, line)| Some((sign, line.as_ref()?)));
        lines
            .map(|(sign, line)| format!("{sign} {}", line.trim()))
            .collect()
    });
    let text = match cure {
        Some(cure) if !cure.advice.is_empty() => format!("{}; {}", finding.message, cure.advice),
        _ => finding.message.clone(),
    };
    let explained = || format!("assay explain {}", finding.rule);
    Advice {
        rule: finding.rule.to_owned(),
        weight: weight(finding),
        place: place(finding),
        text,
        patch,
        command: cure
            .and_then(|cure| cure.command.clone())
            .unwrap_or_else(explained),
        gain: gain(finding),
        role: Some(role(finding.severity)),
    }
}

/// The share of the time that goes away with it, or how much it matters where no launch is known.
fn weight(finding: &Finding) -> String {
    match &finding.weight {
        Some(weight) => format!("{:.0} %", 100.0 * weight.share),
        None => finding.severity.name().to_owned(),
    }
}

fn gain(finding: &Finding) -> String {
    let cured = finding.cure.as_ref().and_then(|cure| cure.gain);
    match (cured.or(finding.weight), finding.gain) {
        (Some(time), _) => format!("saves {}", time.words()),
        (None, Some(gain)) => format!(
            "saves up to {} {}",
            number(gain.amount),
            gain.metric.words()
        ),
        (None, None) => String::new(),
    }
}

fn role(severity: Severity) -> Role {
    match severity {
        Severity::High => Role::Bad,
        Severity::Medium => Role::Warn,
        Severity::Low => Role::Dim,
    }
}

fn place(finding: &Finding) -> String {
    match &finding.source {
        Some(source) => {
            let file = source.file.rsplit('/').next().unwrap_or(&source.file);
            format!("{file}:{}", source.line)
        }
        None => format!("{:#x}", finding.range.0),
    }
}

/// What to do first; the rest of the findings in a line, or all of them.
pub fn findings(answer: &mut Answer, profile: &Profile, detail: Detail) {
    let all = &profile.findings;
    let Some((first, others)) = all.split_first() else {
        answer.push(Block::text("No finding: no rule sees anything to do"));
        return;
    };
    if detail == Detail::Full {
        answer.push(Block::Heading("Findings".to_owned()));
        for finding in all {
            answer.push(advice(finding));
            let refused = finding.cure.iter().flat_map(|cure| &cure.refused);
            let refused = refused.map(|why| Block::noted(format!("not taken: {why}"), Role::Dim));
            answer.blocks.extend(refused);
        }
        return;
    }
    answer.push(Block::Heading("Do this first".to_owned()));
    answer.push(advice(first));
    if others.is_empty() {
        return;
    }
    let named = others.iter().take(OTHERS);
    let named: Vec<String> = named
        .map(|finding| format!("{} {} at {}", weight(finding), finding.rule, place(finding)))
        .collect();
    let more = others.len().saturating_sub(OTHERS);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text = format!("Then: {}{more} (--show findings)", named.join(", "));
    answer.push(Block::noted(text, Role::Dim));
}

/// Says that code, costs and registers are those of another chip, where they are.
pub fn estimate(profile: &Profile) -> Option<String> {
    stand_in(profile.chip)
}

/// What to know before any figure is believed.
pub fn warnings(answer: &mut Answer, profile: &Profile) {
    for text in remarks(profile) {
        answer.push(Block::noted(text, Role::Warn));
    }
}
