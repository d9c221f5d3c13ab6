//! Every rule against programs in `filetests/RULE.agx`: sections headed `; == trigger`,
//! `; == near-miss` (one or more, with a reason) and `; == repaired`. The gain a finding
//! promises must be what profiling the repaired program shows, within 5 % or the
//! percentage of a `; == tolerance` line.

use assay_agx::{Isa, Program, assemble};
use assay_chip::Chip;
use assay_profile::{Metric, Options, Profile, RULES};
use std::path::PathBuf;

struct Section {
    head: String,
    source: String,
}

fn sections(rule: &str) -> Vec<Section> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/filetests")
        .join(format!("{rule}.agx"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{rule} has no file test: {error}"));
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("; == ") {
            Some(head) => sections.push(Section {
                head: head.to_owned(),
                source: String::new(),
            }),
            None => {
                let section = sections.last_mut().expect("a head first");
                section.source += line;
                section.source.push('\n');
            }
        }
    }
    sections
}

fn profile(rule: &str, section: &Section) -> Profile {
    let code = assemble(Isa::G13, &section.source, 0)
        .unwrap_or_else(|error| panic!("{rule}, {}: {error}", section.head))
        .code;
    let program = Program {
        code,
        ..Program::new(Isa::G13, rule)
    };
    Profile::new(&program, &Options::new(Chip::named("m1").expect("m1"))).expect("a profile")
}

fn finds(profile: &Profile, rule: &str) -> bool {
    profile.findings.iter().any(|finding| finding.rule == rule)
}

#[test]
fn every_rule_fires_where_it_should_and_only_there() {
    let mut faults = Vec::new();
    for rule in RULES.iter().map(|rule| rule.id) {
        let sections = sections(rule);
        let heads = |start: &str| {
            sections
                .iter()
                .filter(|s| s.head.starts_with(start))
                .count()
        };
        assert!(heads("near-miss") >= 1, "{rule} has no near miss");
        assert_eq!((heads("trigger"), heads("repaired")), (1, 1), "{rule}");
        for section in sections.iter().filter(|s| !s.head.starts_with("tolerance")) {
            let wanted = section.head.starts_with("trigger");
            let profile = profile(rule, section);
            // One step up is still low; its near miss has a test of its own.
            let may_stay = rule == "low-occupancy" && !wanted;
            if finds(&profile, rule) != wanted && !may_stay {
                faults.push(format!(
                    "{rule}: {} found is {}: {:?}",
                    section.head, !wanted, profile.findings
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn low_occupancy_stops_at_three_quarters() {
    let sections = sections("low-occupancy");
    let near = sections
        .iter()
        .find(|s| s.head.starts_with("near"))
        .expect("one");
    assert!(!finds(&profile("low-occupancy", near), "low-occupancy"));
}

#[test]
fn promised_gains_are_what_the_repaired_program_shows() {
    let mut faults = Vec::new();
    for rule in RULES.iter().map(|rule| rule.id) {
        let sections = sections(rule);
        let find = |start: &str| sections.iter().find(|s| s.head.starts_with(start));
        let tolerance: f64 = find("tolerance")
            .and_then(|section| section.head.split(' ').nth(1)?.parse().ok())
            .unwrap_or(5.0);
        let before = profile(rule, find("trigger").expect("a trigger"));
        let after = profile(rule, find("repaired").expect("a repaired program"));
        let Some(gain) = before
            .findings
            .iter()
            .find(|finding| finding.rule == rule)
            .and_then(|finding| finding.gain)
        else {
            assert_eq!(rule, "unknown-instruction", "{rule} promises nothing");
            continue;
        };
        let (old, new) = (gain.metric.of(&before), gain.metric.of(&after));
        let seen = match gain.metric {
            Metric::Threads => new - old,
            _ => old - new,
        };
        if (gain.amount - seen).abs() > seen.abs() * tolerance / 100.0 {
            faults.push(format!(
                "{rule}: promised {} {}, seen {seen} ({old} → {new})",
                gain.amount,
                gain.metric.words()
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn one_of_a_kind_is_said_in_the_singular() {
    for (rule, words) in [
        ("reduction-in-loop", "1 reduction takes"),
        ("complex-in-loop", "1 operation (rcp) takes"),
        ("uniform-load", "1 load reads the same address"),
    ] {
        let sections = sections(rule);
        let trigger = sections.iter().find(|s| s.head.starts_with("trigger"));
        let profile = profile(rule, trigger.expect("a trigger"));
        let found = profile.findings.iter().find(|f| f.rule == rule);
        let message = &found.expect("the finding").message;
        assert!(message.starts_with(words), "{message}");
    }
}
