//! What can be wrong with a registry.

/// Why a registry was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A file is not where files of a registry are.
    #[error(
        "{path}: a registry has SET/NAME/kernel.toml, SET/NAME/NAME.metal and include/NAME.h; SET is common, standard or full"
    )]
    Path {
        /// The file.
        path: String,
    },
    /// A file that is no TOML or has unknown fields.
    #[error("{path}: {why}")]
    Toml {
        /// The file.
        path: String,
        /// Why, with the line.
        why: String,
    },
    /// A field that makes no sense.
    #[error("{path}: {field}: {why}")]
    Entry {
        /// The file.
        path: String,
        /// The field.
        field: String,
        /// Why.
        why: String,
    },
    /// A kernel without description or without source.
    #[error("kernel \"{name}\" has no {missing}")]
    Incomplete {
        /// The kernel.
        name: String,
        /// The file it lacks.
        missing: String,
    },
    /// Two kernels of one name.
    #[error("there are two kernels \"{name}\"")]
    Twice {
        /// The name.
        name: String,
    },
    /// An `#include` of a file that is not there, or of itself.
    #[error("{path}:{line}: \"{include}\" {why}")]
    Include {
        /// The file with the line.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is included.
        include: String,
        /// What is wrong.
        why: &'static str,
    },
    /// An `#include` that cannot be put in place.
    #[error(
        "{path}: #include {include}: the text of this file would not be kept with results; name it in quotes, on a line of its own"
    )]
    Hidden {
        /// The source.
        path: String,
        /// What is written after the directive.
        include: String,
    },
    /// No kernel has this name.
    #[error("no kernel is called \"{name}\"{}", match .nearest.is_empty() { true => String::new(), false => format!("; near it are {}", .nearest.join(", ")) })]
    Unknown {
        /// The name asked for.
        name: String,
        /// Near names.
        nearest: Vec<String>,
    },
}
