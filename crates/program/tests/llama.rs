//! The predictions of docs/llama.md beside published rates. What the page says of them is calculated here: `BLESS=1` writes it.

use assay_recording::content_hash;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::LazyLock;

/// The tables of predictions as they were committed before published rates were looked at. Whoever predicts again leaves these.
const COMMITTED: &str = "45c0460282d02498d37f6313c0315445cfd5c66f397973334fccd175478c5336";

const FORMATS: [&str; 3] = ["F16", "Q8_0", "Q4_0"];

/// A predicted rate with its band.
#[derive(Clone, Copy)]
struct Predicted {
    rate: f64,
    low: f64,
    high: f64,
}

/// A published row: prompt and token of each format.
struct Published {
    later: bool,
    chip: String,
    cores: u32,
    rates: [[Option<f64>; 2]; 3],
}

/// What is compared: the page's heading, the column of a published row, and the largest factor that was asked for.
struct Kind {
    heading: &'static str,
    name: &'static str,
    column: usize,
    most: f64,
}

const KINDS: [Kind; 2] = [
    Kind {
        heading: "## Generation",
        name: "generation",
        column: 1,
        most: 1.25,
    },
    Kind {
        heading: "## Prompt",
        name: "prompt",
        column: 0,
        most: 1.4,
    },
];

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/llama.md")
}

/// The page, read once: a test may be writing it anew.
fn page() -> &'static str {
    static PAGE: LazyLock<String> =
        LazyLock::new(|| std::fs::read_to_string(path()).expect("the page"));
    &PAGE
}

/// From a heading to the next.
fn section<'t>(page: &'t str, heading: &str) -> &'t str {
    let start = page.find(heading).expect(heading);
    let rest = &page[start..];
    let end = rest[3..].find("\n## ").map_or(rest.len(), |end| end + 4);
    &rest[..end]
}

fn number(text: &str) -> f64 {
    text.replace(',', "").parse().expect(text)
}

fn predictions(section: &str) -> BTreeMap<String, [Predicted; 3]> {
    let rows = section.lines().filter(|line| line.starts_with("| m"));
    let cell = |text: &str| {
        let (rate, band) = text.trim().split_once(" (").expect(text);
        let (low, high) = band.trim_end_matches(')').split_once(" to ").expect(text);
        Predicted {
            rate: number(rate),
            low: number(low),
            high: number(high),
        }
    };
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').collect();
        let rates = [cell(cells[2]), cell(cells[3]), cell(cells[4])];
        (cells[1].trim().to_owned(), rates)
    };
    rows.map(row).collect()
}

fn published() -> Vec<Published> {
    let lines = include_str!("llama/published.tsv").lines();
    let rows = lines.filter(|line| !line.starts_with('#')).skip(1);
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let rate = |at: usize| (cells[at] != "-").then(|| number(cells[at]));
        Published {
            later: cells[0] == "later",
            chip: cells[1].to_owned(),
            cores: cells[2].parse().expect("cores"),
            rates: [0, 1, 2].map(|format| [rate(3 + 2 * format), rate(4 + 2 * format)]),
        }
    };
    rows.map(row).collect()
}

/// The rows of chips with all their cores: what the predictions are about.
fn whole(published: &[Published], later: bool) -> Vec<&Published> {
    let most = |chip: &str| {
        let own = published.iter().filter(|row| row.chip == chip);
        own.map(|row| row.cores).max()
    };
    let rows = published.iter().filter(|row| row.later == later);
    rows.filter(|row| Some(row.cores) == most(&row.chip))
        .collect()
}

/// Predictions beside published rates.
struct Judged {
    count: usize,
    /// Geometric mean of max(predicted/published, published/predicted).
    factor: f64,
    /// Geometric mean of predicted/published.
    bias: f64,
    /// The chip that is predicted worst, and predicted/published there.
    worst: (String, f64),
    /// Pairs of chips in the right order, in the wrong one, and with figures that are the same.
    pairs: [u32; 3],
    in_band: usize,
}

impl Judged {
    fn new(rows: &[(&str, Predicted, f64)]) -> Judged {
        let ratio = |row: &(&str, Predicted, f64)| row.1.rate / row.2;
        let mean = |logs: Vec<f64>| (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        let far = |row: &&(&str, Predicted, f64)| ratio(row).ln().abs();
        let worst = rows.iter().max_by(|a, b| far(a).total_cmp(&far(b)));
        let worst = worst.expect("chips");
        let mut pairs = [0; 3];
        for (at, one) in rows.iter().enumerate() {
            for other in &rows[..at] {
                let sign = (one.1.rate - other.1.rate) * (one.2 - other.2);
                let kind = if sign > 0.0 {
                    0
                } else if sign < 0.0 {
                    1
                } else {
                    2
                };
                pairs[kind] += 1;
            }
        }
        let in_band = rows
            .iter()
            .filter(|(_, predicted, rate)| (predicted.low..=predicted.high).contains(rate));
        Judged {
            count: rows.len(),
            factor: mean(rows.iter().map(|row| ratio(row).ln().abs()).collect()),
            bias: mean(rows.iter().map(|row| ratio(row).ln()).collect()),
            worst: (worst.0.to_owned(), ratio(worst)),
            pairs,
            in_band: in_band.count(),
        }
    }

    /// Kendall's tau-b: pairs whose figures are the same as printed count for neither side.
    fn tau(&self) -> f64 {
        let [right, wrong, same] = self.pairs.map(f64::from);
        (right - wrong) / ((right + wrong) * (right + wrong + same)).sqrt()
    }
}

fn judged(
    predicted: &BTreeMap<String, [Predicted; 3]>,
    rows: &[&Published],
    format: usize,
    column: usize,
) -> Judged {
    let pair = |row: &&'_ Published| {
        let rate = row.rates[format][column]?;
        let (chip, own) = predicted.get_key_value(&row.chip)?;
        Some((chip.as_str(), own[format], rate))
    };
    let rows: Vec<(&str, Predicted, f64)> = rows.iter().filter_map(pair).collect();
    Judged::new(&rows)
}

/// The tables that compare.
fn comparison(page: &str) -> String {
    let all = published();
    let rows = whole(&all, false);
    let mut text = String::from(
        "| | chips | factor | predicted / published | worst chip | τ | pairs right, wrong, same | in the band |\n|---|--:|--:|--:|---|--:|---|--:|\n",
    );
    let mut ratios = String::new();
    for kind in &KINDS {
        let predicted = predictions(section(page, kind.heading));
        for (format, name) in FORMATS.iter().enumerate() {
            let judged = judged(&predicted, &rows, format, kind.column);
            let [right, wrong, same] = judged.pairs;
            writeln!(
                text,
                "| {}, {name} | {} | **{:.2}** | {:.2} | {} {:.2} | {:.2} | {right}, {wrong}, {same} | {} |",
                kind.name, judged.count, judged.factor, judged.bias, judged.worst.0, judged.worst.1, judged.tau(), judged.in_band
            )
            .expect("text");
        }
    }
    let heads = KINDS
        .iter()
        .flat_map(|kind| FORMATS.map(|format| format!(" {}, {format} |", kind.name)));
    let heads: String = heads.collect();
    writeln!(
        ratios,
        "| chip | cores |{heads}\n|---|--:|{}",
        "--:|".repeat(6)
    )
    .expect("text");
    for row in rows.into_iter().chain(whole(&all, true)) {
        write!(ratios, "| {} | {} |", row.chip, row.cores).expect("text");
        for kind in &KINDS {
            let predicted = predictions(section(page, kind.heading));
            for (rates, predicted) in row.rates.iter().zip(&predicted[&row.chip]) {
                match rates[kind.column] {
                    Some(rate) => {
                        let ratio = predicted.rate / rate;
                        write!(ratios, " {rate} ({ratio:.2}) |").expect("text");
                    }
                    None => ratios.push_str(" – |"),
                }
            }
        }
        ratios.push('\n');
    }
    format!("\n{text}\nPublished rates, and in brackets predicted / published:\n\n{ratios}\n")
}

const BEGIN: &str = "<!-- calculated by crates/program/tests/llama.rs -->\n";
const END: &str = "<!-- end -->\n";

#[test]
fn the_page_says_how_far_predictions_are_from_published_rates() {
    let text = page();
    let (head, rest) = text.split_once(BEGIN).expect("a beginning");
    let (own, tail) = rest.split_once(END).expect("an end");
    let made = comparison(text);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path(), format!("{head}{BEGIN}{made}{END}{tail}")).expect("the page");
        return;
    }
    assert_eq!(
        own, made,
        "docs/llama.md is not current: BLESS=1 cargo test -p assay-program --test llama"
    );
}

#[test]
fn the_predictions_are_those_that_were_committed_before() {
    let text = page();
    let tables: String = KINDS
        .iter()
        .flat_map(|kind| section(text, kind.heading).lines())
        .filter(|line| line.starts_with("| m"))
        .collect();
    let digest: String = content_hash(tables.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    assert_eq!(digest, COMMITTED);
}

#[test]
fn predictions_are_as_near_as_was_asked_for() {
    let text = page();
    let all = published();
    let rows = whole(&all, false);
    for kind in &KINDS {
        let predicted = predictions(section(text, kind.heading));
        for (format, name) in FORMATS.iter().enumerate() {
            let judged = judged(&predicted, &rows, format, kind.column);
            let what = format!("{}, {name}", kind.name);
            assert!(judged.count >= 8, "{what}: {} chips", judged.count);
            assert!(judged.factor <= kind.most, "{what}: {}", judged.factor);
            assert!(judged.tau() >= 0.9, "{what}: {}", judged.tau());
        }
    }
}
