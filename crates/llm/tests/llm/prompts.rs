//! Prompts, word for word. A change here is a change of a template: it gets another version.

use assay_llm::prompt::{self, Brief, Mode};
use assay_tune::attempts::{Attempt, Failure, Genome, Geometry, Outcome, Phase, Prediction, Stage};
use assay_tune::session::Proposal;
use assay_tune::session::proposer::{Fault, Situation, Story};
use expect_test::expect_file;

fn brief() -> Brief {
    Brief {
        kernel: "twice".to_owned(),
        chip: vec![
            "The chip is the Apple M2.".to_owned(),
            "GPU cores: 10".to_owned(),
        ],
        launch: vec!["buffer 0: output y f32 [64]".to_owned()],
        tolerance: "Floats may differ by 1e-4.".to_owned(),
        findings: vec!["line 3: loads of 4 bytes (recipes: vectorize)".to_owned()],
        knobs: Vec::new(),
    }
}

fn attempt(ordinal: u32, time_us: f64, steps: &[&str]) -> Attempt {
    Attempt {
        ordinal,
        parent: None,
        phase: Phase::Original,
        genome: Genome {
            knobs: Vec::new(),
            steps: steps.iter().map(|step| (*step).to_owned()).collect(),
        },
        program: None,
        class: None,
        geometry: Some(Geometry {
            grid: vec!["N".to_owned()],
            threadgroup: vec!["64".to_owned()],
            ..Geometry::default()
        }),
        source: Some("kernel void twice() {}\n".to_owned()),
        outcome: Outcome::Timed(Prediction {
            time_us,
            low_us: time_us / 2.0,
            high_us: time_us * 2.0,
            limited_by: "memory latency".to_owned(),
            class: "memory".to_owned(),
            terms: vec![("memory latency".to_owned(), time_us)],
        }),
    }
}

fn said(mode: Mode) -> String {
    let (original, best) = (attempt(0, 100.0, &[]), attempt(1, 50.0, &["coarsen:x=4"]));
    let choices = [Proposal {
        recipe: "vectorize".to_owned(),
        step: "vectorize".to_owned(),
    }];
    let stories = [Story {
        attempt: None,
        technique: "magic".to_owned(),
        genome: String::new(),
        hypothesis: None,
        time: None,
        failure: Some("there is no recipe \"magic\"".to_owned()),
    }];
    let situation = Situation {
        round: 1,
        original: &original,
        best: &best,
        choices: &choices,
        stories: &stories,
    };
    let user = prompt::user(mode, &brief(), &situation, "Lower the largest term.");
    format!("{}\n=====\n{user}", prompt::system(mode, &brief()))
}

#[test]
fn recipe_mode() {
    expect_file!["snapshots/recipe-1.txt"].assert_eq(&said(Mode::Recipe));
}

#[test]
fn source_mode() {
    expect_file!["snapshots/source-2.txt"].assert_eq(&said(Mode::Source));
}

#[test]
fn repairs_have_the_exact_message() {
    let fault = Fault {
        place: Some(1),
        technique: "wide loads".to_owned(),
        failure: Failure::new(
            Stage::Compile,
            "candidate.metal:3:1: error: unknown type name 'float5'",
        ),
    };
    let text = prompt::repair(&[fault]);
    assert!(text.contains(
        "- proposal 2 (wide loads), compile: candidate.metal:3:1: error: unknown type name 'float5'"
    ));
}
