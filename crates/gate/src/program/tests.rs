//! Limits of programs, one figure at a time.

use super::*;

fn measured(us: f64, dispatches: u64, bytes: u64, faults: &[&str]) -> Measured {
    Measured {
        times: vec![ProgramTime {
            chip: "m2".to_owned(),
            us,
            band: [us / 2.0, us * 2.0],
        }],
        dispatches,
        bytes,
        faults: faults.iter().map(|fault| (*fault).to_owned()).collect(),
        unpredicted: Vec::new(),
    }
}

#[track_caller]
fn check(
    limits: &[&str],
    base: Option<Result<Measured, String>>,
    head: Result<Measured, String>,
    expected: &[&str],
) -> Report {
    let mut program = Program::named("infer=./infer").unwrap();
    program.fail_on = limits.iter().map(|text| text.parse().unwrap()).collect();
    let config = crate::Config::parse("").unwrap();
    let mut report = crate::judge(
        &crate::Judge::new(&config),
        None,
        &crate::Snapshot::default(),
    );
    report.hold(&Held {
        program: &program,
        place: Place::default(),
        base,
        head,
    });
    let rules: Vec<&str> = report.problems.iter().map(|one| one.rule).collect();
    assert_eq!(rules, expected, "{report:#?}");
    assert_eq!(report.passed, expected.is_empty());
    assert_eq!(
        report.summary.failed_programs,
        usize::from(!expected.is_empty())
    );
    report
}

#[test]
fn what_grew_by_more_than_its_limit_fails() {
    let before = || Some(Ok(measured(100.0, 10, 1000, &[])));
    let same = check(&[], before(), Ok(measured(100.0, 10, 1000, &[])), &[]);
    assert_eq!(same.programs[0].outcome, Outcome::Same);
    check(&[], before(), Ok(measured(104.0, 10, 1009, &[])), &[]);
    let report = check(
        &[],
        before(),
        Ok(measured(106.0, 10, 1000, &[])),
        &["program-slower"],
    );
    let message = &report.problems[0].message;
    assert_eq!(
        message,
        "time m2 grew from 100 to 106 (+6.0 %, allowed 5 %; modelled: GPU time, µs)"
    );
    let grew = ["program-grew", "program-grew"];
    check(&[], before(), Ok(measured(100.0, 11, 1020, &[])), &grew);
    // What is not named is shown.
    check(
        &["time:10%"],
        before(),
        Ok(measured(106.0, 11, 2000, &[])),
        &[],
    );
}

#[test]
fn faults_are_wrong_in_themselves_unless_they_were_there() {
    let faulty = |count: usize| {
        Ok(measured(
            1.0,
            1,
            1,
            &["out-of-bounds: a write", "race"][..count],
        ))
    };
    check(&[], None, faulty(0), &[]);
    check(&[], None, faulty(1), &["program-faults"]);
    check(&[], Some(faulty(1)), faulty(1), &[]);
    let report = check(&[], Some(faulty(1)), faulty(2), &["program-faults"]);
    assert_eq!(report.problems[0].message, "2 reports, 1 before: race");
}

#[test]
fn a_program_that_fails_is_compared_with_nothing() {
    let fails = || Err("it ended with 3: no such file".to_owned());
    let fine = || Ok(measured(1.0, 1, 1, &[]));
    check(&[], Some(fine()), fails(), &["program-fails"]);
    let report = check(&[], Some(fails()), fine(), &[]);
    assert_eq!(report.programs[0].outcome, Outcome::BrokenBefore);
    let mut hidden = measured(0.5, 1, 1, &[]);
    hidden.unpredicted.push("k: textures".to_owned());
    check(&[], Some(fine()), Ok(hidden), &["hidden"]);
}

#[test]
fn a_configuration_names_programs() {
    let text =
        "[[program]]\nname = 'infer'\nrun = './infer'\nbuild = 'make'\nfail_on = ['slower:3%']\n";
    let config = crate::Config::parse(text).unwrap();
    assert_eq!(config.program[0].fail_on[0].figure, "time");
    for wrong in [
        "fail_on = ['time']",
        "check = true\nexecute = false",
        "max_seconds = 0",
    ] {
        let text = format!("[[program]]\nname = 'a'\nrun = 'b'\n{wrong}\n");
        assert!(crate::Config::parse(&text).is_err(), "{wrong}");
    }
    assert!(Program::named("infer").is_err() && Program::named("=x").is_err());
}
