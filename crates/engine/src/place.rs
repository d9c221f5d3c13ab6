//! Where something is in a source.

/// A file, a line and a column: what faults and lines of code name as `FILE:LINE` or `FILE:LINE:COLUMN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// The file.
    pub file: &'a str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 where only the line is known.
    pub column: u32,
}

impl Place<'_> {
    /// Reads a place.
    ///
    /// ```
    /// use assay_engine::Place;
    ///
    /// let place = Place::parse("/a/k.metal:6:3").unwrap();
    /// assert_eq!((place.file, place.line, place.column), ("/a/k.metal", 6, 3));
    /// assert_eq!(Place::parse("k.metal:6").unwrap().column, 0);
    /// assert_eq!(Place::parse("k.metal"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Place<'_>> {
        let (rest, last) = text.rsplit_once(':')?;
        let last = last.parse().ok()?;
        let before = rest.rsplit_once(':');
        let with_column = before.and_then(|(file, line)| Some((file, line.parse().ok()?)));
        Some(match with_column {
            Some((file, line)) => Place {
                file,
                line,
                column: last,
            },
            None => Place {
                file: rest,
                line: last,
                column: 0,
            },
        })
    }
}
