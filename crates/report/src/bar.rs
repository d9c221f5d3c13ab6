//! Horizontal bars drawn with eighth-blocks.

const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// A bar of `width` cells filled to `fraction` (clamped to 0..=1; NaN is empty).
///
/// ```
/// assert_eq!(assay_report::bar::bar(0.5, 4), "██  ");
/// assert_eq!(assay_report::bar::bar(0.3125, 4), "█▎  ");
/// ```
pub fn bar(fraction: f64, width: usize) -> String {
    let fraction = if fraction.is_nan() {
        0.0
    } else {
        fraction.clamp(0.0, 1.0)
    };
    let eighths = (fraction * width as f64 * 8.0).round() as usize;
    let (full, rest) = (eighths / 8, eighths % 8);
    let mut out = "█".repeat(full);
    if full < width {
        out.push(EIGHTHS[rest]);
        out.push_str(&" ".repeat(width - full - 1));
    }
    out
}
