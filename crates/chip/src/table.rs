//! Tab-separated tables compiled into the crate.

/// The rows under the heading: comments and blank lines left out, `N` cells each.
/// A row with another number of cells is left out; a test checks there is none.
pub(crate) fn rows<const N: usize>(text: &'static str) -> impl Iterator<Item = [&'static str; N]> {
    lines(text).filter_map(|line| {
        let mut cells = line.split('\t');
        let mut row = [""; N];
        for cell in &mut row {
            *cell = cells.next()?;
        }
        cells.next().is_none().then_some(row)
    })
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .skip(1)
}

/// A number, or `None` for `?`.
pub(crate) fn number(cell: &str) -> Option<f64> {
    cell.parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
pub(crate) fn line_count(text: &'static str) -> usize {
    lines(text).count()
}
