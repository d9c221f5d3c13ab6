//! Where kernels stand under the roof of their chip.

use super::figure;
use crate::claim::Claim;
use crate::entry::{Device, Entry};
use assay_bench::score::KnownPeaks;
use assay_report::chart::{Chart, Point};
use assay_report::html::escape;
use assay_report::number;

/// The chart of a device's results, each with the key of its row; nothing when no result has a place in it.
pub(super) fn of_results(device: &Device, entries: &[(String, &Entry)]) -> Option<String> {
    let holders = entries.iter().filter(|(_, entry)| entry.record);
    let points: Vec<Point> = holders
        .filter_map(|(key, entry)| point(key, entry))
        .collect();
    let without = entries.iter().filter(|(_, entry)| entry.record).count() - points.len();
    let roof = device.known_peaks();
    let caption = match roof_sentence(roof) {
        Some(sentence) => sentence,
        None if device.origin == "measured" => {
            "No roof is drawn: the peaks of this chip are not known.".to_owned()
        }
        None => "No roof is drawn: these are times of a CPU.".to_owned(),
    };
    figure_of(points, roof, &device.heading(), &caption, without)
}

/// The chart of a device's claims, each with the key of its row. What cannot be true does not set the axes.
pub(super) fn of_claims(device: &str, claims: &[(String, &Claim)]) -> Option<String> {
    let roof = claims.iter().map(|(_, claim)| claim.peaks());
    let roof = roof.max_by_key(|peaks| (peaks.gflops.is_some(), peaks.gbps.is_some()));
    let roof = roof.unwrap_or_default();
    let points: Vec<Point> = claims
        .iter()
        .filter_map(|(key, claim)| claimed(key, claim, roof))
        .collect();
    let without = claims.len() - points.len();
    let caption = match roof_sentence(roof) {
        Some(sentence) if points.iter().any(|point| point.doubtful) => format!(
            "{sentence} Points above it cannot be true; they do not set the axes, and an arrow stands for one \
             that lies outside."
        ),
        Some(sentence) => format!("{sentence} Points above it cannot be true."),
        None => "No roof is drawn: this chip is not known.".to_owned(),
    };
    let heading = format!("{device} (claimed)");
    figure_of(points, roof, &heading, &caption, without)
}

fn roof_sentence(peaks: KnownPeaks) -> Option<String> {
    let gflops = |gflops: f64| number::grouped(gflops.round() as u64);
    Some(match (peaks.gflops, peaks.gbps) {
        (Some(operations), Some(bytes)) => format!(
            "The roof is modelled: {} Gflop/s by lanes and clock, {} GB/s by published bandwidth.",
            gflops(operations),
            figure(bytes)
        ),
        (None, Some(bytes)) => format!(
            "The roof is modelled, and only that of memory is known: {} GB/s by published bandwidth. This chip's clock is not \
             known, so neither is how many operations it can do.",
            figure(bytes)
        ),
        (Some(operations), None) => format!(
            "The roof is modelled, and only that of arithmetic is known: {} Gflop/s by lanes and clock.",
            gflops(operations)
        ),
        (None, None) => return None,
    })
}

fn point(key: &str, entry: &Entry) -> Option<Point> {
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
        key: key.to_owned(),
        doubtful: false,
    })
}

fn claimed(key: &str, claim: &Claim, roof: KnownPeaks) -> Option<Point> {
    let (x, y) = (claim.intensity()?, claim.gflops?);
    let above =
        roof.gflops.is_some_and(|peak| y > peak) || roof.gbps.is_some_and(|peak| y > x * peak);
    (x > 0.0 && y > 0.0).then(|| Point {
        x,
        y,
        class: "claim",
        title: format!("{} (claimed): {} Gflop/s", claim.kernel, figure(y)),
        key: key.to_owned(),
        doubtful: above,
    })
}

fn figure_of(
    points: Vec<Point>,
    roof: KnownPeaks,
    heading: &str,
    caption: &str,
    without: usize,
) -> Option<String> {
    if points.is_empty() {
        return None;
    }
    let lines = line(roof, &points);
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

/// The roof over all points: bandwidth up to the ridge, then arithmetic; or the part of it that is known.
fn line(peaks: KnownPeaks, points: &[Point]) -> Option<Vec<(f64, f64)>> {
    // Operations per byte do not depend on the time: those of a claim that cannot be true may still be right.
    let places: Vec<f64> = points.iter().map(|point| point.x).collect();
    let (first, last) = match peaks.both() {
        Some(peaks) => (peaks.ridge(), peaks.ridge()),
        None => (f64::INFINITY, f64::NEG_INFINITY),
    };
    let least = places.iter().copied().fold(first, f64::min);
    let most = places.iter().copied().fold(last, f64::max);
    if !(least.is_finite() && most.is_finite()) {
        return None;
    }
    // Whole powers of ten, so that the roof ends where the axis does.
    let (least, most) = (
        10f64.powf(least.log10().floor()),
        10f64.powf(most.log10().floor() + 1.0),
    );
    match (peaks.gflops, peaks.gbps) {
        (Some(gflops), Some(gbps)) => Some(vec![
            (least, least * gbps),
            (gflops / gbps, gflops),
            (most, gflops),
        ]),
        (None, Some(gbps)) => Some(vec![(least, least * gbps), (most, most * gbps)]),
        (Some(gflops), None) => Some(vec![(least, gflops), (most, gflops)]),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_without_a_known_clock_has_the_roof_of_its_memory() {
        let peaks = KnownPeaks {
            gflops: None,
            gbps: Some(120.0),
        };
        let sentence = roof_sentence(peaks).unwrap();
        assert!(sentence.contains("only that of memory is known: 120 GB/s"));
        assert_eq!(roof_sentence(KnownPeaks::default()), None);
    }
}
