//! Writing fitted constants into the chip crate's table.

/// A constant to write.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// `all`, a family or a chip.
    pub scope: &'static str,
    /// The constant.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Whose data, as in the table of sources.
    pub source: &'static str,
    /// On what, and how well it is determined.
    pub note: String,
}

/// What separates a constant's meaning from how it was fitted.
const MARK: &str = "; fitted ";

/// The table with these constants. A row that is missing is added after the last of its
/// name, with that row's range and meaning.
pub fn with(table: &str, fitted: &[Fitted]) -> String {
    let mut lines: Vec<String> = table.lines().map(str::to_owned).collect();
    for constant in fitted {
        let cells = |line: &String| -> Vec<String> {
            line.split('\t').map(str::to_owned).collect::<Vec<String>>()
        };
        let is = |line: &String, scope: Option<&str>| {
            let cells = cells(line);
            cells.len() == 8
                && cells[1] == constant.name
                && scope.is_none_or(|scope| cells[0] == scope)
        };
        let own = lines.iter().position(|line| is(line, Some(constant.scope)));
        let Some(model) = own.or_else(|| lines.iter().rposition(|line| is(line, None))) else {
            continue;
        };
        let mut row = cells(&lines[model]);
        let meaning = row[7].split(MARK).next().unwrap_or_default().to_owned();
        row[0] = constant.scope.to_owned();
        row[2] = rounded(constant.value);
        row[5] = "fitted".to_owned();
        row[6] = constant.source.to_owned();
        row[7] = format!("{meaning}{MARK}{}", constant.note);
        let row = row.join("\t");
        match own {
            Some(at) => lines[at] = row,
            None => lines.insert(model + 1, row),
        }
    }
    lines.join("\n") + "\n"
}

/// Three significant digits.
fn rounded(value: f64) -> String {
    let digits = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6);
    let text = format!("{value:.*}", digits as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_replaced_and_a_narrower_one_added() {
        let table = "# head\nall\tx\t2\t1\t4\tassumed\tapple\tcycles of x\n";
        let fitted = |scope, value| Fitted {
            scope,
            name: "x".to_owned(),
            value,
            source: "metalbench",
            note: "on M2".to_owned(),
        };
        let once = with(table, &[fitted("all", 2.34567)]);
        assert!(once.contains("all\tx\t2.35\t1\t4\tfitted\tmetalbench\tcycles of x; fitted on M2"));
        let twice = with(&once, &[fitted("all", 3.0), fitted("family9", 0.5)]);
        assert_eq!(twice.lines().count(), 3);
        assert!(twice.contains("all\tx\t3\t1\t4\tfitted\tmetalbench\tcycles of x; fitted on M2"));
        assert!(twice.contains("family9\tx\t0.5\t1\t4"));
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(rounded(276.337), "276");
        assert_eq!(rounded(5.848), "5.85");
        assert_eq!(rounded(0.5), "0.5");
        assert_eq!(rounded(1.0), "1");
        assert_eq!(rounded(0.01234), "0.0123");
    }
}
