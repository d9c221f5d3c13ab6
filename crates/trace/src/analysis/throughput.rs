//! Throughput of operations whose work is known, against what the chip could do.

use super::document::{ChipInfo, Label, Throughput};
use super::stats::{fraction, rounded};
use crate::work::Work;

/// Operations by GPU time. Single dispatches are preferred where they were timed: an encoder
/// may hold several.
pub(crate) fn table(
    work: &[Work],
    labels: &[Label],
    kernels: &[Label],
    chip: Option<&ChipInfo>,
) -> Vec<Throughput> {
    let whole: f64 = labels.iter().map(|label| label.total_ms).sum();
    let mut taken_labels = vec![false; labels.len()];
    let mut taken_kernels = vec![false; kernels.len()];
    let mut rows: Vec<Throughput> = Vec::new();
    for item in work {
        let in_kernels = sum(item, kernels, &mut taken_kernels);
        let (timed, (count, total_ms)) = match in_kernels {
            Some(found) => ("dispatches", found),
            None => match sum(item, labels, &mut taken_labels) {
                Some(found) => ("encoder executions", found),
                None => continue,
            },
        };
        rows.push(row(item, timed, count, total_ms, whole, chip));
    }
    rows.sort_by(|a, b| {
        let by_time = b.total_ms.total_cmp(&a.total_ms);
        by_time.then_with(|| a.operation.cmp(&b.operation))
    });
    rows
}

/// Executions and time under the labels an operation matches, each label taken once.
fn sum(item: &Work, rows: &[Label], taken: &mut [bool]) -> Option<(u64, f64)> {
    let mut found: Option<(u64, f64)> = None;
    for (row, taken) in rows.iter().zip(taken) {
        if !*taken && item.matches(&row.label) {
            *taken = true;
            let (count, total) = found.unwrap_or((0, 0.0));
            found = Some((count + row.count, total + row.total_ms));
        }
    }
    found
}

fn row(
    item: &Work,
    timed: &str,
    count: u64,
    total_ms: f64,
    whole: f64,
    chip: Option<&ChipInfo>,
) -> Throughput {
    let per_second = |each: Option<f64>| {
        let all = each? * count as f64;
        (total_ms > 0.0).then(|| rounded(all / total_ms / 1e6))
    };
    let gflops = per_second(item.flops);
    let gbs = per_second(item.bytes);
    let part =
        |value: Option<f64>, of: Option<f64>| Some(rounded(value? / of.filter(|&v| v > 0.0)?));
    let of_compute = part(gflops, chip.and_then(|chip| chip.peak_gflops));
    let of_bandwidth = part(gbs, chip.and_then(|chip| chip.bandwidth_gbs));
    Throughput {
        operation: item.pattern.clone(),
        source: item.source.clone(),
        timed: timed.to_owned(),
        count,
        total_ms: rounded(total_ms),
        share: fraction(total_ms, whole),
        flops: item.flops,
        bytes: item.bytes,
        gflops,
        gbs,
        of_compute,
        of_bandwidth,
        nearer: of_compute.zip(of_bandwidth).map(|(compute, memory)| {
            if memory >= compute {
                "memory"
            } else {
                "compute"
            }
            .to_owned()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(label: &str, count: u64, total_ms: f64) -> Label {
        Label {
            label: label.to_owned(),
            count,
            total_ms,
            share: 0.0,
            mean_us: 0.0,
            median_us: 0.0,
            max_us: 0.0,
        }
    }

    #[test]
    fn work_is_divided_by_the_time_of_what_it_matches() {
        let work = crate::read_work("w.csv", b"matmul,1e9,1e6\nnothing,1,1\n").expect("a file");
        let labels = [
            label("layer 1:matmul", 10, 4.0),
            label("layer 2:matmul", 10, 6.0),
            label("layer 1:softmax", 10, 10.0),
        ];
        let chip = ChipInfo {
            name: "m1".to_owned(),
            bandwidth_gbs: Some(68.25),
            peak_gflops: Some(2617.0),
            note: String::new(),
        };
        let rows = table(&work, &labels, &[], Some(&chip));
        let [row] = rows.as_slice() else {
            panic!("{rows:?}");
        };
        assert_eq!((row.count, row.share), (20, 0.5));
        // 20 × 1e9 FLOPs and 20 × 1e6 bytes in 10 ms.
        assert_eq!((row.gflops, row.gbs), (Some(2000.0), Some(2.0)));
        assert_eq!(row.nearer.as_deref(), Some("compute"));
        let without = table(&work, &labels, &[], None);
        assert_eq!(without[0].of_bandwidth, None);
    }

    #[test]
    fn timed_dispatches_are_preferred_to_encoders() {
        let work = crate::read_work("w.csv", b"matmul,-,1e6\n").expect("a file");
        let rows = table(
            &work,
            &[label("matmul", 1, 9.0)],
            &[label("matmul", 4, 2.0)],
            None,
        );
        assert_eq!((rows[0].timed.as_str(), rows[0].count), ("dispatches", 4));
        assert_eq!((rows[0].gflops, rows[0].gbs), (None, Some(2.0)));
    }
}
