//! Edits of a source: search/replace blocks, which long sources are answered with in place of a whole file.
//!
//! ```text
//! <<<<<<< SEARCH
//! float sum = 0;
//! =======
//! float4 sum = 0;
//! >>>>>>> REPLACE
//! ```

const SEARCH: &str = "<<<<<<< SEARCH";
const BETWEEN: &str = "=======";
const REPLACE: &str = ">>>>>>> REPLACE";

/// Edits of one answer at most.
const MOST_EDITS: usize = 64;

/// An edit: lines that are in the source once, and what replaces them.
#[derive(Debug, PartialEq, Eq)]
struct Edit {
    search: String,
    replace: String,
}

/// The source with edits applied one after the other.
///
/// ```
/// use assay_llm::edits::edited;
/// let source = "float a;\nfloat b;\n";
/// let edits = "<<<<<<< SEARCH\nfloat b;\n=======\nfloat4 b;\n>>>>>>> REPLACE";
/// assert_eq!(edited(source, edits)?, "float a;\nfloat4 b;\n");
/// # Ok::<(), String>(())
/// ```
pub fn edited(source: &str, edits: &str) -> Result<String, String> {
    let mut text = source.trim_end().to_owned() + "\n";
    for (number, edit) in (1..).zip(read(edits)?) {
        let places: Vec<usize> = places(&text, &edit.search);
        match places.as_slice() {
            [place] => text.replace_range(*place..place + edit.search.len(), &edit.replace),
            [] => {
                return Err(format!(
                    "edit {number}: its SEARCH lines are not in the source"
                ));
            }
            _ => {
                return Err(format!(
                    "edit {number}: its SEARCH lines are in the source {} times; add lines until they are there once",
                    places.len()
                ));
            }
        }
    }
    Ok(text)
}

/// Where whole lines begin that are these.
fn places(text: &str, lines: &str) -> Vec<usize> {
    let found = text.match_indices(lines).map(|(place, _)| place);
    found
        .filter(|&place| place == 0 || text.as_bytes().get(place - 1) == Some(&b'\n'))
        .collect()
}

fn read(text: &str) -> Result<Vec<Edit>, String> {
    let mut edits = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() {
            continue;
        }
        if line.trim_end() != SEARCH {
            return Err(format!("an edit begins with {SEARCH}, not with {line:?}"));
        }
        let search = until(&mut lines, BETWEEN)?;
        let replace = until(&mut lines, REPLACE)?;
        if search.trim().is_empty() {
            return Err("an edit has no SEARCH lines".to_owned());
        }
        edits.push(Edit { search, replace });
    }
    match edits.len() {
        0 => Err("the block has no edit".to_owned()),
        count if count > MOST_EDITS => Err(format!("{count} edits; {MOST_EDITS} at most")),
        _ => Ok(edits),
    }
}

/// The lines before a mark.
fn until<'t>(lines: &mut impl Iterator<Item = &'t str>, mark: &str) -> Result<String, String> {
    let mut text = String::new();
    for line in lines {
        if line.trim_end() == mark {
            return Ok(text);
        }
        text += line;
        text.push('\n');
    }
    Err(format!("an edit has no line {mark}"))
}

#[cfg(test)]
mod tests {
    use super::edited;

    fn edit(search: &str, replace: &str) -> String {
        format!("<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n")
    }

    #[test]
    fn edits_apply_in_order_and_may_delete() {
        let source = "a\nb\nc";
        let edits = edit("a\n", "") + &edit("b\nc\n", "b2\nd\n") + &edit("d\n", "e\n");
        assert_eq!(edited(source, &edits).unwrap(), "b2\ne\n");
    }

    #[test]
    fn what_cannot_be_applied_says_why() {
        let why = |edits: &str| edited("x = 1;\nx = 1;\ny = 2;\n", edits).unwrap_err();
        assert_eq!(
            why(&edit("z\n", "w\n")),
            "edit 1: its SEARCH lines are not in the source"
        );
        assert!(
            why(&edit("x = 1;\n", ""))
                .starts_with("edit 1: its SEARCH lines are in the source 2 times")
        );
        assert!(why(&edit("= 2;\n", "")).ends_with("are not in the source"));
        assert_eq!(why(&edit("", "w\n")), "an edit has no SEARCH lines");
        assert_eq!(why(""), "the block has no edit");
        assert!(why("x = 1;\n").starts_with("an edit begins with <<<<<<< SEARCH"));
        assert_eq!(why("<<<<<<< SEARCH\nx\n"), "an edit has no line =======");
    }
}
