//! Where kernels stand under the roof of their chip.

use super::figure;
use crate::claim::Claim;
use crate::entry::{Device, Entry};
use assay_bench::score::Peaks;
use assay_report::chart::{Chart, Point};
use assay_report::html::escape;
use assay_report::number;

/// The chart of a device's results, with its caption; nothing when no result has a place in it.
pub(super) fn of_results(device: &Device, entries: &[&Entry]) -> Option<String> {
    let holders = entries.iter().filter(|entry| entry.record);
    let points: Vec<Point> = holders.filter_map(|entry| point(entry)).collect();
    let without = entries.iter().filter(|entry| entry.record).count() - points.len();
    let roof = device.peaks();
    let caption = match &roof {
        Some(peaks) => roof_sentence(peaks),
        None if device.origin == "measured" => {
            "No roof is drawn: the peaks of this chip are not known.".to_owned()
        }
        None => "No roof is drawn: these are times of a CPU.".to_owned(),
    };
    figure_of(points, roof, &device.heading(), &caption, without)
}

/// The chart of a device's claims.
pub(super) fn of_claims(device: &str, claims: &[&Claim]) -> Option<String> {
    let points: Vec<Point> = claims.iter().filter_map(|claim| claimed(claim)).collect();
    let without = claims.len() - points.len();
    let roof = claims.iter().find_map(|claim| claim.peaks());
    let caption = match &roof {
        Some(peaks) => format!("{} Points above it cannot be true.", roof_sentence(peaks)),
        None => "No roof is drawn: this chip is not known.".to_owned(),
    };
    let heading = format!("{device} (claimed)");
    figure_of(points, roof, &heading, &caption, without)
}

fn roof_sentence(peaks: &Peaks) -> String {
    format!(
        "The roof is modelled: {} Gflop/s by lanes and clock, {} GB/s by published bandwidth.",
        number::grouped(peaks.gflops.round() as u64),
        figure(peaks.gbps)
    )
}

fn point(entry: &Entry) -> Option<Point> {
    let run = &entry.run;
    let x = run.intensity.filter(|x| *x > 0.0)?;
    let roofline = run.roofline.map_or(String::new(), |part| {
        format!(", {:.0} % of the roof", part * 100.0)
    });
    Some(Point {
        x,
        y: run.gflops,
        class: match entry.set.as_str() {
            "standard" => "set-standard",
            "full" => "set-full",
            _ => "set-common",
        },
        title: format!(
            "{}, {} sizes: {} Gflop/s, {} GB/s{roofline}",
            entry.title(),
            entry.size_set,
            figure(run.gflops),
            figure(run.gbps)
        ),
    })
}

fn claimed(claim: &Claim) -> Option<Point> {
    let (x, y) = (claim.intensity()?, claim.gflops?);
    (x > 0.0 && y > 0.0).then(|| Point {
        x,
        y,
        class: "claim",
        title: format!("{} (claimed): {} Gflop/s", claim.kernel, figure(y)),
    })
}

fn figure_of(
    points: Vec<Point>,
    roof: Option<Peaks>,
    heading: &str,
    caption: &str,
    without: usize,
) -> Option<String> {
    if points.is_empty() {
        return None;
    }
    let lines = roof.map(|peaks| line(&peaks, &points));
    let chart = Chart {
        x: "operations per byte".to_owned(),
        y: "Gflop/s".to_owned(),
        lines: lines.into_iter().collect(),
        points,
    };
    let without = match without {
        0 => String::new(),
        without => format!(" {without} without floating-point operations have no place in it."),
    };
    Some(format!(
        "<figure><div class=\"scroll\">{}</div><figcaption>{}{without}</figcaption></figure>\n",
        chart.svg(&format!("Roofline of {heading}")),
        escape(caption)
    ))
}

/// The roof over all points: bandwidth up to the ridge, then arithmetic.
fn line(peaks: &Peaks, points: &[Point]) -> Vec<(f64, f64)> {
    let ridge = peaks.ridge();
    let least = points.iter().map(|point| point.x).fold(ridge, f64::min);
    let most = points.iter().map(|point| point.x).fold(ridge, f64::max);
    // Whole powers of ten, so that the roof ends where the axis does.
    let (least, most) = (
        10f64.powf(least.log10().floor()),
        10f64.powf(most.log10().floor() + 1.0),
    );
    vec![
        (least, least * peaks.gbps),
        (ridge, peaks.gflops),
        (most, peaks.gflops),
    ]
}
