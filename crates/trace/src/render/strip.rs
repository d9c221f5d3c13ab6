//! A timeline one line high: dense or gappy at a glance.

use crate::events::Span;

/// Eighths of a character cell.
const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How busy each of `width` equal slices of `window` was, 0 to 1.
pub(crate) fn density(busy: &[Span], window: Span, width: usize) -> Vec<f64> {
    let mut cells = vec![0.0; width];
    let slice = window.duration() as f64 / width.max(1) as f64;
    if slice <= 0.0 {
        return cells;
    }
    for span in busy.iter().filter_map(|span| span.clip(window)) {
        let from = (span.start - window.start) as f64;
        let until = (span.end - window.start) as f64;
        let (first, last) = ((from / slice) as usize, (until / slice) as usize);
        for index in first..=last {
            let Some(cell) = cells.get_mut(index) else {
                break;
            };
            let start = index as f64 * slice;
            *cell += (until.min(start + slice) - from.max(start)).max(0.0) / slice;
        }
    }
    cells
}

/// A density as characters. Anything above nothing shows as at least one eighth.
pub(crate) fn strip(cells: &[f64]) -> String {
    cells
        .iter()
        .map(|&cell| {
            let level = if cell > 0.0 {
                ((cell * 8.0).round() as usize).clamp(1, 8)
            } else {
                0
            };
            LEVELS.get(level).copied().unwrap_or('█')
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_gaps_show() {
        let window = Span { start: 0, end: 80 };
        let busy = [
            Span { start: 0, end: 20 },
            Span { start: 25, end: 30 },
            Span { start: 70, end: 71 },
        ];
        let cells = density(&busy, window, 8);
        assert_eq!(strip(&cells), "██▄    ▁");
    }
}
