//! Roles that text can play, and how a role is shown.
//!
//! Reports mark *why* a piece of text stands out, not its colour. A [`Painter`]
//! turns roles into terminal escapes or leaves the text plain.

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Section headings.
    Heading,
    /// Secondary text: offsets, units, hints.
    Dim,
    /// A good result.
    Good,
    /// Something to look at.
    Warn,
    /// Something wrong, or the bottleneck.
    Bad,
    /// Names: kernels, registers, files.
    Name,
    /// Figures that matter.
    Figure,
}

/// Paints text by role; plain when colour is off.
#[derive(Clone, Copy, Debug, Default)]
pub struct Painter {
    escapes: Escapes,
}

#[derive(Clone, Copy, Debug, Default)]
enum Escapes {
    #[default]
    None,
    Plain,
    /// Each begins with this number.
    Sealed(u64),
}

impl Painter {
    /// A painter that emits ANSI escapes when `colour` is true.
    pub fn new(colour: bool) -> Self {
        let escapes = match colour {
            true => Escapes::Plain,
            false => Escapes::None,
        };
        Painter { escapes }
    }

    /// A painter whose escapes begin with a number. Text that is painted may hold escapes of its own, names of files for example: what
    /// writes to the terminal knows the number, takes it out, and shows other escapes instead of obeying them.
    ///
    /// ```
    /// use assay_report::style::{Painter, Role};
    /// assert_eq!(Painter::sealed(77).paint(Role::Good, "ok"), "\u{1b}[77;32mok\u{1b}[77;0m");
    /// ```
    pub fn sealed(seal: u64) -> Self {
        let escapes = Escapes::Sealed(seal);
        Painter { escapes }
    }

    /// Whether this painter emits escapes.
    pub fn is_colour(self) -> bool {
        !matches!(self.escapes, Escapes::None)
    }

    /// `text` as `role`.
    ///
    /// ```
    /// use assay_report::style::{Painter, Role};
    /// assert_eq!(Painter::new(false).paint(Role::Bad, "spills"), "spills");
    /// assert_eq!(Painter::new(true).paint(Role::Bad, "spills"), "\u{1b}[1;31mspills\u{1b}[0m");
    /// ```
    pub fn paint(self, role: Role, text: &str) -> String {
        let seal = match self.escapes {
            Escapes::Plain if !text.is_empty() => String::new(),
            Escapes::Sealed(seal) if !text.is_empty() => format!("{seal};"),
            _ => return text.to_owned(),
        };
        let code = match role {
            Role::Heading => "1",
            Role::Dim => "2",
            Role::Good => "32",
            Role::Warn => "33",
            Role::Bad => "1;31",
            Role::Name => "36",
            Role::Figure => "1",
        };
        format!("\u{1b}[{seal}{code}m{text}\u{1b}[{seal}0m")
    }
}
