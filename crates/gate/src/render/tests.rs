//! One report in every form, and names that are markup somewhere.

use super::*;
use crate::{Config, Found, Judge, Kernel, Place, Snapshot, Time, judge};
use assay_report::style::Painter;
use serde_json::Value;

/// A kernel that became slower and racy, one that is new, one that is gone. Its names are hostile.
fn report() -> Report {
    let config = Config::parse("[[kernels]]\nfiles = ['**']\n").unwrap();
    let kernel = |function: &str, us| Kernel {
        figures: [("registers".to_owned(), 16.0)].into(),
        times: vec![Time {
            chip: "m2".to_owned(),
            sizes: "N = 64".to_owned(),
            us,
            launch: 0,
        }],
        ..Kernel::new("a b/<k>,1.metal", function)
    };
    let mut head = kernel("f|`g`", 20.0);
    head.findings.push(Found {
        kind: "race".to_owned(),
        warning: false,
        message: "two\nthreads & 100% of <them>".to_owned(),
        place: Some(Place {
            file: "a b/<k>,1.metal".to_owned(),
            line: 7,
            column: 3,
        }),
    });
    let base = Snapshot::of([kernel("f|`g`", 10.0), kernel("gone", 1.0)]);
    let head = Snapshot::of([head, kernel("new", 1.0)]);
    judge(&Judge::new(&config), Some(&base), &head)
}

#[test]
fn paths_are_those_of_the_repository() {
    assert_eq!(in_repository("", "a/b.metal"), "a/b.metal");
    assert_eq!(in_repository("gpu", "a/b.metal"), "gpu/a/b.metal");
    assert_eq!(in_repository("src/gpu", "../../lib/x.h"), "lib/x.h");
    assert_eq!(in_repository("", "/opt/x.h"), "/opt/x.h");
}

#[test]
fn text_names_place_rule_and_what_to_do() {
    let style = Style {
        painter: Painter::new(false),
        width: 100,
        all: false,
    };
    let text = text(&report(), &style);
    assert!(
        text.contains("a b/<k>,1.metal:7: error: f|`g`: race: two"),
        "{text}"
    );
    assert!(text.contains("[slower]\n  help: assay profile"), "{text}");
    assert!(text.contains("time m2 N = 64"), "{text}");
    assert!(
        text.ends_with("failed: 2 kernels: 1 failed, 1 changed, 1 new, 1 deleted\n"),
        "{text}"
    );
}

#[test]
fn the_page_leads_with_the_verdict_and_shows_names_and_not_their_markup() {
    let page = html(&report());
    let places = [
        "<h1>gate <span class=dim></span> <b class=bad>failed</b></h1>",
        "<h2>Kernels</h2>",
        "<td>f|`g`</td><td class=bad data-h=\"verdict\">failed</td>",
        "<td class=\"n bad\" data-h=\"time, µs\">10 → 20</td><td class=dim data-h=\"of\">m2 N = 64</td>",
        "<h2>What does not hold</h2>",
        "two\nthreads &amp; 100% of &lt;them&gt;",
        "<h2>Figures that changed</h2>",
        "<td class=n data-h=\"change\">+100.0 %</td><td class=n data-h=\"allowed\">5 %</td><td class=bad>worse</td>",
    ];
    let mut rest = page.as_str();
    for place in places {
        let (_, after) = rest
            .split_once(place)
            .unwrap_or_else(|| panic!("{place} in {page}"));
        rest = after;
    }
    assert!(!page.contains("<k>") && !page.contains("<them>"), "{page}");
}

#[test]
fn markdown_shows_names_and_not_their_markup() {
    let text = markdown(&report(), "sub");
    assert!(text.starts_with("## ❌ assay gate failed\n"), "{text}");
    assert!(
        text.contains("| `sub/a b/<k>,1.metal:7` | `f\\|'g'` |"),
        "{text}"
    );
    assert!(
        text.contains("two<br>threads &amp; 100% of &lt;them&gt;"),
        "{text}"
    );
    assert!(
        text.contains("| 10 | 20 | +100.0 % | **worse** |"),
        "{text}"
    );
}

#[test]
fn workflow_commands_stay_on_their_line() {
    let text = github(&report(), "");
    let first = text.lines().nth(1).unwrap();
    assert_eq!(
        first.split("::").nth(1).unwrap(),
        "error file=a b/<k>%2C1.metal,line=7,col=3,title=f|`g`%3A not-clean"
    );
    assert!(first.contains("two%0Athreads & 100%25 of"), "{first}");
    assert_eq!(text.lines().count(), 3);
}

/// What SARIF 2.1.0 requires of the objects that are written, and GitHub of results.
#[test]
fn sarif_has_every_required_property() {
    let document: Value = serde_json::from_str(&sarif(&report(), "")).unwrap();
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "assay");
    let rules = driver["rules"].as_array().unwrap();
    let mut ids: Vec<&str> = rules
        .iter()
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "rules are unique");
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        let physical = &result["locations"][0]["physicalLocation"];
        let uri = physical["artifactLocation"]["uri"].as_str().unwrap();
        assert_eq!(uri, "a%20b/%3Ck%3E%2C1.metal");
        assert!(physical["region"]["startLine"].as_u64().unwrap() >= 1);
        assert!(result["partialFingerprints"].is_object());
    }
}

#[test]
fn junit_has_a_case_per_kernel() {
    let text = junit(&report());
    assert!(
        text.contains("<testsuites name=\"assay gate\" tests=\"2\" failures=\"1\">"),
        "{text}"
    );
    assert_eq!(text.matches("<testcase").count(), 2, "{text}");
    assert_eq!(text.matches("<failure type=").count(), 1, "{text}");
    assert!(
        text.contains("[slower]") && text.contains("[not-clean]"),
        "{text}"
    );
    assert!(!text.contains("<them>"), "{text}");
}
