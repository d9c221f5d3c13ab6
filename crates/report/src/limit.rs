//! Limits on what may grow: `dispatches:0%`.

/// Which of some names a limit is about, and the largest growth it allows, as a fraction.
///
/// ```
/// let names = ["slower", "bytes"];
/// assert_eq!(assay_report::limit::parse("bytes:1%", &names), Ok((1, 0.01)));
/// assert!(assay_report::limit::parse("bytes", &names).is_err());
/// ```
pub fn parse(text: &str, names: &[&str]) -> Result<(usize, f64), String> {
    let known = || names.join(", ");
    let (name, limit) = text
        .split_once(':')
        .ok_or_else(|| format!("expected NAME:PERCENT, like slower:5% (names: {})", known()))?;
    let at = names.iter().position(|known| *known == name);
    let at = at.ok_or_else(|| format!("no gate named {name} (names: {})", known()))?;
    let number = limit.trim().trim_end_matches('%').trim();
    let percent: f64 = number
        .parse()
        .map_err(|_| format!("{limit} is not a percentage"))?;
    if !(percent.is_finite() && percent >= 0.0) {
        return Err(format!("{limit} is not a percentage of 0 or more"));
    }
    Ok((at, percent / 100.0))
}
