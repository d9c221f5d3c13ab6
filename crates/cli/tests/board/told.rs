//! What a figure refers to, in every format: the reference of a speed-up, the two times of a record that changes hands.

use super::{SESSION, assay, folder, json, no_clang, program, relu_of, text};
use serde_json::Value;

/// The field of this name in the only line of a CSV.
pub(super) fn of_csv(csv: &str, name: &str) -> String {
    let mut lines = csv.lines().map(fields);
    let (names, fields) = (lines.next().expect("names"), lines.next().expect("fields"));
    let place = names.iter().position(|known| known == name);
    fields[place.expect("a column")].clone()
}

/// The fields of a line; commas in quotes belong to their field.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => fields.last_mut().expect("one").push(other),
        }
    }
    fields
}

/// MLX cannot run on every machine, so another reference is named beside it.
#[test]
fn where_references_differ_every_speed_up_says_which_it_is_over() {
    let (_folder, board) = folder();
    let bench = |kernel: &str, reference: &str| {
        let words = ["bench", kernel, "--quick", "--dtype", "f32", "--reference"];
        assay(&board, &[&words[..], &[reference]].concat())
    };
    if no_clang(&bench("relu", "oracle")) {
        return;
    }
    bench("abs", "none");
    let database = rusqlite::Connection::open(&board).expect("a board");
    let named = "UPDATE run SET reference = 'mlx compiled', reference_samples = samples WHERE reference IS NULL";
    assert_eq!(database.execute(named, []).expect("changed"), 1);
    drop(database);
    let shown = text(&assay(&board, &["board"]).stdout);
    assert!(shown.contains("× oracle"), "{shown}");
    assert!(shown.contains("1.00× mlx compiled"), "{shown}");
}

#[test]
fn a_claimed_speed_up_says_what_it_is_over() {
    let (folder, board) = folder();
    let file = folder.path().join("a.json");
    std::fs::write(&file, SESSION.replace("Infinity", "2.5")).expect("written");
    assay(&board, &["board", "import", &file.to_string_lossy()]);
    let shown = |arguments: &[&str]| text(&assay(&board, arguments).stdout);
    let claims = json(&assay(&board, &["board", "--claims", "--format", "json"]));
    assert_eq!(claims["claims"][0]["speedup_over"], "mlx");
    for arguments in [
        &["board", "--claims"][..],
        &["board", "export", "--format", "markdown"],
        &["board", "export", "--format", "html"],
    ] {
        let shown = shown(arguments);
        assert!(shown.contains("2.50× over mlx"), "{shown}");
    }
    let csv = shown(&["board", "export", "--format", "csv"]);
    assert_eq!(of_csv(&csv, "reference"), "mlx");
}

#[test]
fn old_and_new_time_are_told_when_a_record_changes_hands() {
    let (folder, board) = folder();
    let file = folder.path().join("relu.metal");
    let bench = |steps, format: &[&str]| {
        std::fs::write(&file, relu_of(steps, "")).expect("written");
        let shown = file.to_string_lossy();
        let words = ["bench", "relu", "--quick", "--reference", "none"];
        assay(
            &board,
            &[&words[..], &["--source", &shown], format].concat(),
        )
    };
    if no_clang(&bench(40_000, &[])) {
        return;
    }
    let row = json(&bench(4000, &["--format", "json"]))["kernels"][0].clone();
    assert!(row["first_launch_ms"].as_f64().is_some_and(|ms| ms > 0.0));
    let on_board = &row["board"];
    assert_eq!(on_board["standing"], "record", "{on_board}");
    let ms = |of: &Value, name: &str| of[name].as_f64().expect("a time");
    assert!(ms(on_board, "old_ms") > 1.5 * ms(on_board, "new_ms"));
    let shown = text(&bench(400, &[]).stdout);
    // Long lines are broken between words.
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = " in turns with the old holder's ";
    assert!(
        shown.contains("a new record: ") && shown.contains(told),
        "{shown}"
    );
    assert!(shown.contains("first launch "), "{shown}");
    let results = json(&assay(&board, &["board", "--format", "json"]));
    let beaten = &results["results"][0]["beaten"];
    assert!(ms(beaten, "old_ms") > 1.5 * ms(beaten, "new_ms"));
    for arguments in [&["board"][..], &["board", "export", "--format", "html"]] {
        let mut wide = program(&board, arguments);
        let shown = text(
            &wide
                .env("COLUMNS", "100")
                .output()
                .expect("assay runs")
                .stdout,
        );
        assert!(
            shown.contains("record from → to") && shown.contains("s → "),
            "{shown}"
        );
    }
    let csv = text(&assay(&board, &["board", "export", "--format", "csv"]).stdout);
    let old: f64 = of_csv(&csv, "record_old_ms").parse().expect("a time");
    assert!((old - ms(beaten, "old_ms")).abs() < 1e-9 * old, "{old}");
}
