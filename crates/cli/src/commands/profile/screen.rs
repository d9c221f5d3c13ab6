//! What a terminal shows of a profile: the first screen, or the sections that were asked for.

use super::{Args, By};
use crate::context::Context;
use assay_engine::answer::{overview, profiled};
use assay_predict::Predicted;
use assay_profile::Profile;
use assay_profile::render::{self, Section, Sources, Style, View};
use assay_report::blocks::{Answer, Block, Detail};
use assay_report::style::Role;

/// The report, as long as was asked for.
pub(super) fn text(
    profiles: &[Profile],
    predicted: &[Option<Predicted>],
    sources: Option<&Sources>,
    args: &Args,
    context: &Context,
) -> String {
    let both: Vec<(&Profile, Option<&Predicted>)> = profiles
        .iter()
        .zip(predicted.iter().map(Option::as_ref))
        .collect();
    let sections = sections(args);
    if both.len() > 1 && sections.is_empty() && !args.full {
        let mut answer = overview(&both, Detail::Screen);
        let hint = "more: -f NAME shows one kernel, --full all of them";
        answer.push(Block::noted(hint, Role::Dim));
        return answer.terminal(&context.view());
    }
    let texts: Vec<String> = both
        .iter()
        .map(|(profile, time)| one(profile, *time, sources, args, context))
        .collect();
    texts.join("\n")
}

fn one(
    profile: &Profile,
    time: Option<&Predicted>,
    sources: Option<&Sources>,
    args: &Args,
    context: &Context,
) -> String {
    let style = Style {
        sources,
        painter: context.painter,
        width: context.width,
        view: match args.by {
            By::Line => View::Line,
            By::Function => View::Function,
            By::Chain => View::Chain,
        },
    };
    let sections = sections(args);
    if args.disasm_only {
        return render::listing(&profile.main, &style);
    }
    if args.full {
        let mut answer = profiled(profile, time, sources, Detail::Full);
        lead_to_launch(&mut answer, time);
        let mut all = sections_of_full();
        all.extend(sections.iter().filter(|one| **one == Section::Asm));
        let first = answer.terminal(&context.view());
        return format!("{first}\n{}", render::sections(profile, &style, &all));
    }
    if !sections.is_empty() {
        let mut answer = Answer::default();
        if let Some(time) = time {
            answer.push(assay_predict::render::lead(time));
        }
        let first = answer.terminal(&context.view());
        return first + &render::sections(profile, &style, &sections);
    }
    let mut answer = profiled(profile, time, sources, Detail::Screen);
    lead_to_launch(&mut answer, time);
    let hint = "more: --show units,loops,waits,blocks,mix,asm · --full · -o page.html";
    answer.push(Block::noted(hint, Role::Dim));
    answer.terminal(&context.view())
}

/// What `--full` adds: the findings stand above already.
fn sections_of_full() -> Vec<Section> {
    let all = Section::ALL.into_iter();
    all.filter(|one| !matches!(one, Section::Asm | Section::Findings))
        .collect()
}

/// The sections that were asked for; another view of the source asks for the source's.
fn sections(args: &Args) -> Vec<Section> {
    let named = |name: &String| Section::ALL.into_iter().find(|one| one.name() == name);
    let mut sections: Vec<Section> = args.show.iter().filter_map(named).collect();
    if args.by != By::Line && !sections.contains(&Section::Lines) {
        sections.push(Section::Lines);
    }
    sections
}

/// How to get a predicted time, where there is none.
fn lead_to_launch(answer: &mut Answer, time: Option<&Predicted>) {
    if time.is_none() {
        let hint = "a launch gives the predicted time: --grid 65536 --threadgroup 256, or a comment \
                    // assay: launch in the source";
        answer.push(Block::noted(hint, Role::Dim));
    }
}
