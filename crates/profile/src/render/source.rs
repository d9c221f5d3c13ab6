//! The text of source files, as far as someone has it.

/// Source files by the names that a program's lines give them.
///
/// ```
/// use assay_profile::render::Sources;
/// let mut sources = Sources::default();
/// sources.add("add.metal", "kernel void add()\n{ }\n");
/// assert_eq!(sources.line("add.metal", 2), Some("{ }"));
/// assert_eq!(sources.line("other.metal", 1), None);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<(String, Vec<String>)>,
}

impl Sources {
    /// Adds the text of a file.
    pub fn add(&mut self, name: &str, text: &str) {
        let lines = text.lines().map(|line| line.trim_end().to_owned());
        self.files.push((name.to_owned(), lines.collect()));
    }

    /// A line of a file, counted from 1.
    pub fn line(&self, file: &str, line: u32) -> Option<&str> {
        let line = (line as usize).checked_sub(1)?;
        self.lines(file)?.get(line).map(String::as_str)
    }

    /// All lines of a file.
    pub fn lines(&self, file: &str) -> Option<&[String]> {
        let found = self.files.iter().find(|(name, _)| name == file);
        found.map(|(_, lines)| lines.as_slice())
    }
}
