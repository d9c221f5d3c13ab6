//! LLVM's text form, written instruction by instruction.

use std::fmt::Write as _;

/// A function being written.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) body: String,
    next: u32,
}

/// Whether an operation is of one number or of 32 lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    One,
    Lanes,
}

impl Shape {
    /// The type of so many of a scalar type.
    pub(super) fn of(self, scalar: &str) -> String {
        match self {
            Self::One => scalar.to_owned(),
            Self::Lanes => format!("<32 x {scalar}>"),
        }
    }

    /// The end of an intrinsic's name.
    pub(super) fn suffix(self, scalar: &str) -> String {
        match self {
            Self::One => scalar.to_owned(),
            Self::Lanes => format!("v32{scalar}"),
        }
    }

    pub(super) fn number(self, bits: u32, value: u64) -> String {
        let value = if bits == 32 {
            i64::from(value as u32 as i32)
        } else {
            value as i64
        };
        match self {
            Self::One => value.to_string(),
            Self::Lanes => format!("splat (i{bits} {value})"),
        }
    }
}

impl Text {
    pub(super) fn name(&mut self) -> String {
        self.next += 1;
        format!("%t{}", self.next)
    }

    pub(super) fn label(&mut self) -> String {
        self.next += 1;
        format!("L{}", self.next)
    }

    pub(super) fn line(&mut self, line: &str) {
        self.body.push_str("  ");
        self.body.push_str(line);
        self.body.push('\n');
    }

    /// An instruction with a result.
    pub(super) fn make(&mut self, instruction: &str) -> String {
        let name = self.name();
        let _ = writeln!(self.body, "  {name} = {instruction}");
        name
    }

    pub(super) fn start(&mut self, label: &str) {
        let _ = writeln!(self.body, "{label}:");
    }

    pub(super) fn jump(&mut self, label: &str) {
        self.line(&format!("br label %{label}"));
    }

    pub(super) fn branch(&mut self, truth: &str, yes: &str, no: &str) {
        self.line(&format!("br i1 {truth}, label %{yes}, label %{no}"));
    }

    /// The same, where the first is what happens nearly always.
    pub(super) fn expect(&mut self, truth: &str, yes: &str, no: &str) {
        self.line(&format!(
            "br i1 {truth}, label %{yes}, label %{no}, !prof !0"
        ));
    }

    pub(super) fn splat(&mut self, scalar: &str, value: &str) -> String {
        let one = self.make(&format!(
            "insertelement <32 x {scalar}> poison, {scalar} {value}, i64 0"
        ));
        self.make(&format!(
            "shufflevector <32 x {scalar}> {one}, <32 x {scalar}> poison, <32 x i32> zeroinitializer"
        ))
    }
}

/// A constant vector.
pub(super) fn vector(scalar: &str, values: impl IntoIterator<Item = i64>) -> String {
    let values: Vec<String> = values
        .into_iter()
        .map(|value| format!("{scalar} {value}"))
        .collect();
    format!("<{}>", values.join(", "))
}

/// A mask of a shuffle, with its type.
pub(super) fn choice(places: &[usize]) -> String {
    let values = vector("i32", places.iter().map(|&place| place as i64));
    format!("<{} x i32> {values}", places.len())
}
