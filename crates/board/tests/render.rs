//! The board as text, Markdown, CSV and HTML.

mod common;

use assay_board::import::read;
use assay_board::render::{TextStyle, View, csv, html, markdown, text};
use assay_board::{Entry, Filter, Timed};
use assay_report::style::Painter;
use common::{mac, outcome, pc};
use expect_test::expect;

fn view(all: bool) -> View {
    view_and_history(all).0
}

/// What is shown, and all sources with their texts.
fn view_and_history(all: bool) -> (View, Vec<Entry>) {
    let folder = common::Fresh::new();
    let mut board = folder.open();
    let exactly = |ms: f64| vec![ms / 1e3; 20];
    let reference = |ms| Timed {
        name: "mlx compiled".to_owned(),
        samples: exactly(ms),
    };
    let runs = [
        outcome("relu", "fast", exactly(0.05), mac()).with_reference(reference(0.06)),
        outcome("relu", "slow", exactly(0.5), mac()),
        outcome("softmax", "text", exactly(0.25), mac()).with_reference(reference(0.2)),
        outcome("sqr_mm", "text", exactly(1.0), mac()),
        outcome("relu", "fast", exactly(12.5), pc()),
    ];
    for run in runs {
        board.record(&run).unwrap();
    }
    let session = read(include_bytes!("data/session.json")).unwrap();
    board.import(&session.claims, 0).unwrap();
    let filter = Filter {
        all,
        ..Filter::default()
    };
    let view = View {
        results: board.entries(&filter).unwrap(),
        claims: board.claims(&filter).unwrap(),
        modelled: Vec::new(),
    };
    let everything = Filter {
        all: true,
        with_sources: true,
        ..Filter::default()
    };
    (view, board.entries(&everything).unwrap())
}

fn shown(view: &View, width: usize, all: bool) -> String {
    let style = TextStyle {
        width,
        painter: Painter::default(),
        all,
    };
    text(view, style)
}

#[test]
fn a_table_for_each_device_and_one_of_claims() {
    let view = view(false);
    expect![[r#"
        Apple M2, 8 cores
        measured by the GPU's clock
        kernel       sizes        time      ±  Gflop/s  GB/s  speed-up  roofline  runs  taken
        relu f32     reference   50 µs  0.0 %     5.24  41.9     1.20×      42 %     1  2023-11-14
        softmax f32  reference  250 µs  0.0 %     21.0  33.6     0.80×      34 %     1  2023-11-14
        sqr_mm f32   reference    1 ms  0.0 %     2147  12.6                75 %     1  2023-11-14
        speed-ups are over mlx compiled

        CPU, 2 threads
        host times of a CPU, which say nothing about a GPU
        kernel    sizes         time      ±  Gflop/s  GB/s  runs  taken
        relu f32  reference  12.5 ms  0.0 %     0.02  0.17     1  2023-11-14

        Claims of others, not verified and not ranked
        kernel               device       time        speed-up  what speaks against it
        matmul_sub_mul_relu  apple-m4     0 ns                  a time of 0: the clock was not read, or not…
        relu                 apple-m2  14.5 µs   552× over mlx  145 GB/s are more than memory's 100: the da…
        sqr_mm               apple-m2   910 µs  1.30× over mlx
    "#]].assert_eq(&shown(&view, 100, false));
    for width in [40, 50, 80, 100, 200] {
        let text = shown(&view, width, false);
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{width}:\n{text}");
    }
}

#[test]
fn every_source_is_told_apart_when_asked_for() {
    expect![[r#"
        Apple M2, 8 cores
        measured by the GPU's clock
        kernel       sizes      source             time      ±  Gflop/s  GB/s  speed-up  roofline  runs
        relu f32     reference  696a4291 record   50 µs  0.0 %     5.24  41.9     1.20×      42 %     1
        relu f32     reference  69f8ee4e         500 µs  0.0 %     0.52  4.19                 4 %     1
        softmax f32  reference  69d061bf record  250 µs  0.0 %     21.0  33.6     0.80×      34 %     1
        sqr_mm f32   reference  69d061bf record    1 ms  0.0 %     2147  12.6                75 %     1
        speed-ups are over mlx compiled

        CPU, 2 threads
        host times of a CPU, which say nothing about a GPU
        kernel    sizes      source              time      ±  Gflop/s  GB/s  runs
        relu f32  reference  696a4291 record  12.5 ms  0.0 %     0.02  0.17     1
    "#]].assert_eq(&shown(
        &View {
            claims: Vec::new(),
            ..view(true)
        },
        100,
        true,
    ));
}

#[test]
fn markdown_has_kernels_down_and_devices_across() {
    expect![[r#"
        # Best times

        Median time in milliseconds of the source that holds the record, and in brackets its speed-up over the reference. Every figure is of a kernel that was verified here. `measured` is a GPU's clock; `host` is a CPU's, which says nothing about a GPU. `—`: not run there.

        | kernel | type | set | sizes | Apple M2, 8 cores (measured) | CPU, 2 threads (host) |
        |---|---|---|---|---|---|
        | `relu` | f32 | common | reference: cols 16384, element 4, n 262144, rows 16, threads 65536 | 0.050 (1.20× over mlx compiled) | 12.500 |
        | `softmax` | f32 | common | reference: cols 1024, element 4, rows 1024 | 0.250 (0.80× over mlx compiled) | — |
        | `sqr_mm` | f32 | common | reference: element 4, k 1024, m 1024, n 1024 | 1.000 | — |

        3 kernels on 2 devices.

        ## Claims of others

        Read from other programs' files. Nothing here was verified, and nothing here is ranked with what was.

        | kernel | device | ms | speed-up | what speaks against it |
        |---|---|---|---|---|
        | `matmul_sub_mul_relu` | apple-m4 | 0.000 | — | a time of 0: the clock was not read, or nothing ran |
        | `relu` | apple-m2 | 0.015 | 552× over mlx | 145 GB/s are more than memory's 100: the data stayed in a cache, so this is no memory bandwidth; 14.5 µs are about what starting a kernel takes: the time says little about the kernel; 552 times as fast as the reference: look at the reference's time first |
        | `sqr_mm` | apple-m2 | 0.910 | 1.30× over mlx |  |
    "#]].assert_eq(&markdown(&view(false)));
}

#[test]
fn csv_has_a_line_for_each() {
    let mut view = view(true);
    if let Some(first) = view.results.first_mut() {
        first.device.name = "a \"b\", c".to_owned();
    }
    let csv = csv(&view);
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(lines.len(), 1 + 5 + 3 + 1);
    assert!(lines[0].starts_with("verified,kernel,"));
    assert!(
        lines[1].contains(",\"a \"\"b\"\", c\",measured,m2,8,,true,"),
        "{}",
        lines[1]
    );
    assert!(lines[6].starts_with("false,"), "{}", lines[6]);
    let commas = |line: &str| line.matches(',').count();
    assert_eq!(
        commas(lines[3]),
        commas(lines[0]) + 1,
        "the device's name has one"
    );
}

#[test]
fn the_page_has_roofs_and_fetches_nothing() {
    let (mut view, history) = view_and_history(true);
    if let Some(claim) = view.claims.first_mut() {
        claim.kernel = "<script>alert(1)</script>".to_owned();
    }
    let page = html(&view, &history);
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("alert(1)<"));
    // A roof for the M2 that was measured and one for the M2 of the claims; none for a CPU.
    assert_eq!(
        page.matches("<polyline").count(),
        2,
        "the M4's only claim has no rate"
    );
    assert!(page.contains("these are times of a CPU"));
    // 8 cores of 128 lanes at 1.398 GHz, two operations each.
    assert!(page.contains("2,863 Gflop/s"), "{page}");
    assert_eq!(page.matches("<circle").count(), 3 + 1 + 2);
    let empty = html(&View::default(), &[]);
    assert!(empty.contains("Nothing is on the board"));
}

/// The value of an attribute wherever it stands.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let before = format!("{attribute}=\"");
    let pieces: Vec<&str> = page.split(before.as_str()).skip(1).collect();
    let values = pieces.iter().filter_map(|piece| piece.split('"').next());
    values.collect()
}

#[test]
fn points_and_rows_have_the_same_keys() {
    let (view, history) = view_and_history(true);
    let page = html(&view, &history);
    let (chart, table): (Vec<_>, Vec<_>) = page.lines().partition(|line| line.contains("<circle"));
    let points: Vec<&str> = chart
        .iter()
        .flat_map(|line| values(line, "data-key"))
        .collect();
    let rows: Vec<&str> = table
        .iter()
        .flat_map(|line| values(line, "data-key"))
        .collect();
    assert_eq!(points.len(), 6);
    assert!(
        points.iter().all(|point| rows.contains(point)),
        "{points:?} {rows:?}"
    );
    let unique: std::collections::BTreeSet<&&str> = rows.iter().collect();
    assert_eq!(unique.len(), rows.len());
}

#[test]
fn a_source_is_on_the_page_once_with_what_it_changed() {
    let (view, history) = view_and_history(false);
    let page = html(&view, &history);
    let links: Vec<&str> = values(&page, "href");
    let sources: Vec<&str> = values(&page, "id");
    assert!(!links.is_empty());
    for link in &links {
        let id = link.trim_start_matches('#');
        assert_eq!(
            sources.iter().filter(|known| **known == id).count(),
            1,
            "{link}"
        );
    }
    // `slow` came after `fast`, and did not take the record: the page of records shows no difference.
    assert!(!page.contains("<del>"));
    let (view, history) = view_and_history(true);
    let page = html(&view, &history);
    assert!(page.contains("the source before it here"), "{page}");
    assert!(
        page.contains("<del>- ") && page.contains("<ins>+ "),
        "{page}"
    );
    assert!(html(&view, &[]).matches("<details").count() == 0);
}

#[test]
fn a_newer_chip_has_both_roofs() {
    let (mut view, _) = view_and_history(false);
    for entry in &mut view.results {
        if entry.device.origin == "measured" {
            entry.device.chip = Some("m4".to_owned());
            entry.device.gpu_cores = None;
        }
    }
    let page = html(&view, &[]);
    let words = "Gflop/s by lanes and clock, 120 GB/s by published bandwidth";
    assert!(page.contains(words), "{page}");
    assert_eq!(page.matches("<polyline").count(), 2);
}

#[test]
fn a_claim_that_cannot_be_true_does_not_set_the_axes() {
    let (mut view, _) = view_and_history(false);
    view.results.clear();
    let axes = |page: &str| page.matches("class=\"grid\"").count();
    let before = axes(&html(&view, &[]));
    for claim in &mut view.claims {
        if claim.kernel == "sqr_mm" {
            // A time a million times as short.
            claim.gflops = claim.gflops.map(|rate| rate * 1e6);
            claim.gbps = claim.gbps.map(|rate| rate * 1e6);
        }
    }
    let page = html(&view, &[]);
    assert_eq!(axes(&page), before);
    assert!(page.contains("point beyond claim"), "{page}");
    assert!(page.contains("an arrow stands for one that lies outside"));
}
