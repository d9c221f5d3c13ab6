//! The HTML page in a real browser: it draws, zooms, finds and explains, without
//! asking anybody for anything.

#![allow(clippy::print_stderr, reason = "figures of the page are shown")]

#[allow(missing_docs)]
mod support;

use assay_trace::synth::{Scenario, Table, Trace, write_table};
use assay_trace::{CompareOptions, Options, compare_html, report_html};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A browser, if this machine has one.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|file| file.is_file());
    if found.is_none() {
        assay_fixtures::skip(assay_fixtures::Tool::Browser);
    }
    found
}

/// Runs the browser for at most ninety seconds; what it printed.
fn run(browser: &Path, folder: &Path, arguments: &[String]) -> String {
    let profile = folder.join("profile");
    let output = folder.join("output");
    let mut child = Command::new(browser)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ])
        .args([
            "--no-first-run",
            "--disable-extensions",
            "--disable-background-networking",
        ])
        .args([
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1400,1100",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&output).expect("a file"))
        .stderr(Stdio::null())
        .spawn()
        .expect("the browser starts");
    let began = Instant::now();
    loop {
        if child.try_wait().expect("a child").is_some() {
            return std::fs::read_to_string(&output).expect("its output");
        }
        if began.elapsed() > Duration::from_secs(90) {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the browser did not finish in 90 seconds");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn page(scenario: &Scenario) -> (usize, String) {
    let (count, recording) = recorded(scenario);
    let (_, page) = report_html(&recording, &Options::default()).expect("a page");
    (count, page)
}

fn recorded(scenario: &Scenario) -> (usize, assay_trace::Recording) {
    let trace = Trace::new(scenario);
    let texts: Vec<String> = [Table::Toc, Table::GpuIntervals]
        .iter()
        .map(|&table| {
            let mut bytes = Vec::new();
            write_table(&trace, table, &mut bytes).expect("memory");
            String::from_utf8(bytes).expect("UTF-8")
        })
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    (trace.executions().len(), support::load_texts(&texts))
}

/// What a person would do, as events; the answers end up in the document.
const ACTIONS: &str = r#"
<script>
addEventListener("error", (event) => { document.title = "error: " + event.message; });
addEventListener("load", () => {
  const say = (name, value) => {
    const line = document.createElement("p");
    line.className = "answer";
    line.textContent = name + "=" + value;
    document.body.append(line);
  };
  const canvas = document.getElementById("timeline");
  const box = canvas.getBoundingClientRect();
  const event = (type, x, y, more) => canvas.dispatchEvent(
    new (type === "wheel" ? WheelEvent : MouseEvent)(type, Object.assign(
      { clientX: box.left + x, clientY: box.top + y, bubbles: true, cancelable: true }, more)));
  const before = timelineView();
  say("lanes", before.lanes);
  say("total", before.to - before.from === before.total);
  for (let i = 0; i < 40; i++) event("wheel", 700, 40, { deltaY: -120 });
  const zoomed = timelineView();
  say("zoomed", (zoomed.to - zoomed.from) < before.total / 1000);
  const pointer = (type, x, y, id) => canvas.dispatchEvent(new PointerEvent(type,
    { clientX: box.left + x, clientY: box.top + y, bubbles: true, pointerId: id, pointerType: "touch" }));
  pointer("pointerdown", 700, 40, 1);
  pointer("pointermove", 500, 40, 1);
  pointer("pointerup", 500, 40, 1);
  say("moved", timelineView().from > zoomed.from);
  const apart = timelineView();
  pointer("pointerdown", 600, 40, 1);
  pointer("pointerdown", 700, 40, 2);
  pointer("pointermove", 500, 40, 1);
  pointer("pointermove", 800, 40, 2);
  pointer("pointerup", 500, 40, 1);
  pointer("pointerup", 800, 40, 2);
  const pinched = timelineView();
  say("pinched", pinched.to - pinched.from < (apart.to - apart.from) / 2);
  event("dblclick", 700, 40);
  say("all", timelineView().to - timelineView().from === before.total);
  const search = document.getElementById("search");
  search.value = "SEARCHED";
  search.dispatchEvent(new Event("input"));
  say("matches", timelineView().matches);
  document.getElementById("next").click();
  const hit = timelineView();
  say("jumped", hit.to - hit.from < before.total);
  const tip = document.getElementById("tip");
  let seen = "";
  for (let y = 30; y < canvas.clientHeight && !seen; y += 11) {
    for (let x = 200; x < canvas.clientWidth && !seen; x += 2) {
      pointer("pointermove", x, y, 3);
      if (tip.style.display === "block" && tip.textContent.includes("committed")) seen = tip.textContent;
    }
  }
  say("tip", seen.replaceAll("\n", " / "));
  // Keys alone: from interval to interval, from lane to lane, closer, and what is said.
  const said = document.getElementById("said");
  const key = (name, more) => canvas.dispatchEvent(new KeyboardEvent("keydown",
    Object.assign({ key: name, bubbles: true, cancelable: true }, more)));
  key("0");
  canvas.focus();
  key("ArrowRight");
  key("Home");
  say("first", said.textContent);
  key("ArrowRight");
  say("second", said.textContent);
  key("ArrowDown");
  say("lane", said.textContent);
  key("ArrowUp");
  key("Enter");
  const closer = timelineView();
  say("closer", closer.to - closer.from < before.total / 100);
  key("End");
  say("last", said.textContent);
  key("ArrowRight", { shiftKey: true });
  key("/");
  say("search", document.activeElement === search);
  const named = [...document.querySelectorAll("canvas, button, input, .wide")];
  say("unnamed", named.filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim())).length);
  const greys = [...document.querySelectorAll(".legend i")].map((i) => i.style.background);
  say("legend", greys.length === new Set(greys).size);
  search.value = "";
  search.dispatchEvent(new Event("input"));
  // Drawing at every zoom from all to little, as a wheel does it.
  event("dblclick", 700, 40);
  const start = performance.now();
  for (let i = 0; i < 40; i++) {
    event("wheel", 700, 40, { deltaY: -60 });
    timelineView().draw();
  }
  say("frame", ((performance.now() - start) / 40).toFixed(2));
  say("requests", performance.getEntriesByType("resource").length);
});
</script>"#;

fn answers(dom: &str) -> Vec<(String, String)> {
    dom.split("<p class=\"answer\">")
        .skip(1)
        .filter_map(|rest| rest.split("</p>").next()?.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn a_hundred_thousand_intervals_can_be_zoomed_searched_and_read() {
    let Some(browser) = browser() else {
        return;
    };
    let (count, html) = page(&Scenario::eager(210));
    assert!(count > 100_000, "{count}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    let actions = ACTIONS.replace("SEARCHED", "SoftMax");
    let html = html.replace("</body>", &format!("{actions}</body>"));
    std::fs::write(&file, &html).expect("a file");
    let log = folder.path().join("net.json");
    let dom = run(
        &browser,
        folder.path(),
        &[
            format!("--log-net-log={}", log.display()),
            "--dump-dom".to_owned(),
            format!("file://{}", file.display()),
        ],
    );
    let answers = answers(&dom);
    let answer = |name: &str| {
        let found = answers.iter().find(|(key, _)| key == name);
        found.map_or_else(
            || panic!("no {name} in {answers:?}"),
            |(_, value)| value.as_str(),
        )
    };
    for yes in [
        "total", "zoomed", "moved", "pinched", "all", "jumped", "closer", "search", "legend",
    ] {
        assert_eq!(answer(yes), "true", "{yes}");
    }
    assert_eq!(answer("unnamed"), "0");
    for (name, part) in [
        ("first", "(1 of 102,900 intervals on Compute)"),
        ("second", "(2 of 102,900 intervals on Compute)"),
        ("lane", "gap: "),
        ("last", "(102,900 of 102,900 intervals on Compute)"),
    ] {
        assert!(answer(name).contains(part), "{name}: {}", answer(name));
    }
    assert_eq!(answer("matches"), (count / 7).to_string());
    let tip = answer("tip");
    assert!(tip.contains("softmax") || tip.contains("layer"), "{tip}");
    assert!(tip.contains("committed") && tip.contains("µs"), "{tip}");
    assert_eq!(answer("requests"), "0");
    let frame: f64 = answer("frame").parse().expect("a number");
    eprintln!(
        "{count} intervals, page of {} bytes, {frame} ms per frame",
        html.len()
    );
    assert!(frame < 50.0, "{frame} ms per frame");
    // The browser itself may call home; nothing may be asked for by the page.
    if let Ok(log) = std::fs::read_to_string(&log) {
        assert!(
            !log.contains("\"initiator\":\"file://"),
            "the page asked for something"
        );
    }
}

#[test]
fn text_from_outside_cannot_break_out_of_the_page() {
    let scenario = Scenario {
        kernels: vec![(
            "</script><script>document.title='broken'</script>".to_owned(),
            50_000,
        )],
        ..Scenario::compiled(30)
    };
    let (_, html) = page(&scenario);
    assert!(!html.contains("</script><script>document"));
    assert!(html.contains("Content-Security-Policy"));
    assert!(!html.contains("http://") && !html.contains("https://"));
}

/// Both runs on one axis, and stretched until their steps coincide.
const ALIGNED: &str = r#"
<script>
addEventListener("load", () => {
  const say = (name, value) => {
    const line = document.createElement("p");
    line.className = "answer";
    line.textContent = name + "=" + value;
    document.body.append(line);
  };
  const canvas = document.getElementById("timeline"), said = document.getElementById("said");
  const key = (name) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  const by_time = timelineView().total;
  key("ArrowRight");
  say("before", said.textContent);
  for (let i = 0; i < 8; i++) key("ArrowDown");
  say("after", said.textContent);
  const align = document.getElementById("align");
  align.click();
  say("pressed", align.getAttribute("aria-pressed"));
  say("shorter", timelineView().total <= by_time);
  align.click();
  say("back", timelineView().total === by_time);
  say("wide", document.documentElement.scrollWidth <= innerWidth);
});
</script>"#;

#[test]
fn two_runs_share_an_axis_and_can_be_aligned_by_steps() {
    let Some(browser) = browser() else {
        return;
    };
    let (_, eager) = recorded(&Scenario::eager(4));
    let (_, compiled) = recorded(&Scenario::compiled(4));
    let (_, html) = compare_html(&eager, &compiled, &CompareOptions::default()).expect("a page");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("compare.html");
    let html = html.replace("</body>", &format!("{ALIGNED}</body>"));
    std::fs::write(&file, html).expect("a file");
    let dom = run(
        &browser,
        folder.path(),
        &[
            "--dump-dom".to_owned(),
            format!("file://{}", file.display()),
        ],
    );
    let answers = answers(&dom);
    let answer = |name: &str| {
        let found = answers.iter().find(|(key, _)| key == name);
        found.map_or_else(|| panic!("no {name} in {answers:?}"), |(_, v)| v.as_str())
    };
    for yes in ["pressed", "shorter", "back", "wide"] {
        assert_eq!(answer(yes), "true", "{yes}");
    }
    assert!(
        answer("before").contains("before, Compute"),
        "{}",
        answer("before")
    );
    assert!(answer("after").contains("after, "), "{}", answer("after"));
}
