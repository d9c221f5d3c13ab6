//! What buffers and arguments hold when a kernel starts, as a launch writes it.
//!
//! One grammar for flags, comments and descriptions: `zeros:f32:64x32`, `iota:u32:N`, `random:f32:RxC:7`,
//! `index:u32:N:BOUND`, `empty:f32:N`, `same:0`, `out`, or the name of a file. Where the type is left out it is that of the kernel's argument,
//! where the seed is left out it follows from the binding, so that no two buffers hold the same numbers by accident.

use crate::element::{ELEMENTS, Element};
use crate::fill::{Fill, Rule};
use crate::formula::{Formula, Sizes};
use std::fmt;
use std::str::FromStr;

/// How the contents of a buffer are written, for advice.
pub const BUFFER_FORMS: &str = "a buffer is FILE.npy, zeros:TYPE:SHAPE, iota:TYPE:SHAPE, \
                                random:TYPE:SHAPE[:SEED], index:TYPE:SHAPE:BOUND[:SEED], \
                                empty:TYPE:SHAPE or same:J, as in 0=zeros:f32:64x32";

/// How values are written, for advice.
pub const VALUE_FORMS: &str =
    "write INDEX=TYPE:VALUE[,VALUE…], as in 3=u32:64 or 3=u32:64,32,f32:0.5";

/// What words mean: another number when a launch that is written the same makes other bytes, so that what was computed with
/// the old ones is not found again.
pub const VERSION: u32 = 2;

/// Most bytes one buffer is filled with.
pub const MOST_BYTES: u64 = 8 << 30;

/// What a buffer holds before a run, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// Elements by a rule.
    Made(Made),
    /// An array in a file.
    File(String),
    /// The buffer that is bound to another argument, by its index or name.
    Same(String),
}

/// Elements by a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The rule.
    pub word: Word,
    /// Their type; `None` stands for that of the kernel's argument.
    pub element: Option<&'static Element>,
    /// How many; `None`, for outputs only, stands for as many as the largest buffer and the grid have.
    pub shape: Option<Shape>,
    /// Picks the numbers; `None` stands for [`seed_of`] the binding.
    pub seed: Option<u64>,
}

/// The word a rule starts with.
#[derive(Clone, Debug, PartialEq)]
pub enum Word {
    /// Zeros.
    Zeros,
    /// Zeros that the kernel overwrites.
    Out,
    /// Memory that nothing has written: zeros, of which a check reports reads.
    Empty,
    /// 0, 1, 2, …
    Iota,
    /// Random numbers.
    Random,
    /// Random whole numbers below a bound.
    Index(Formula),
}

/// The seed of random numbers that are bound to an index and say none of their own.
pub fn seed_of(index: u32) -> u64 {
    u64::from(index) + 1
}

impl FromStr for Contents {
    type Err = String;

    fn from_str(text: &str) -> Result<Contents, String> {
        let text = text.trim();
        let (word, rest) = match text.split_once(':') {
            Some((word, rest)) => (word, Some(rest)),
            None => (text, None),
        };
        if let ("same", Some(of)) = (word, rest) {
            return Ok(Contents::Same(of.to_owned()));
        }
        if !matches!(
            word,
            "zeros" | "empty" | "out" | "iota" | "random" | "index"
        ) {
            return Ok(Contents::File(text.to_owned()));
        }
        let mut parts: Vec<&str> = rest.map_or(Vec::new(), |rest| rest.split(':').collect());
        // What may follow the shape: a bound, a seed.
        let after = match word {
            "index" => 2,
            "random" => 1,
            _ => 0,
        };
        let needed = if word == "index" { 2 } else { 1 };
        let element = match parts.first() {
            Some(name) => Element::named(name),
            None => None,
        };
        if element.is_some() {
            parts.remove(0);
        } else if parts.len() > after + 1 || word != "random" && parts.len() > needed {
            known(parts.first().unwrap_or(&""))?;
        }
        let mut parts = parts.into_iter();
        let shape = parts.next().map(Shape::new).transpose()?;
        if shape.is_none() && word != "out" {
            return Err(format!("it has no shape: expected {word}:TYPE:SHAPE"));
        }
        let word = match (word, parts.as_slice()) {
            ("index", []) => {
                return Err("index has a bound: index:TYPE:SHAPE:BOUND".to_owned());
            }
            ("index", [bound, ..]) => {
                let bound = Formula::parse(bound).map_err(|error| format!("`{bound}`: {error}"))?;
                parts.next();
                Word::Index(bound)
            }
            ("zeros", _) => Word::Zeros,
            ("empty", _) => Word::Empty,
            ("out", _) => Word::Out,
            ("iota", _) => Word::Iota,
            _ => Word::Random,
        };
        let seeded = matches!(word, Word::Random | Word::Index(_));
        let seed = match parts.next() {
            Some(text) if seeded => {
                let seed = text.parse();
                Some(seed.map_err(|_| format!("`{text}` is not a seed: expected a whole number"))?)
            }
            Some(extra) => return Err(format!("unexpected `:{extra}` after the shape")),
            None => None,
        };
        match parts.next() {
            Some(extra) => Err(format!("unexpected `:{extra}` after the seed")),
            None => Ok(Contents::Made(Made {
                word,
                element,
                shape,
                seed,
            })),
        }
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made = match self {
            Contents::Made(made) => made,
            Contents::File(name) => return f.write_str(name),
            Contents::Same(of) => return write!(f, "same:{of}"),
        };
        f.write_str(match &made.word {
            Word::Zeros => "zeros",
            Word::Empty => "empty",
            Word::Out => "out",
            Word::Iota => "iota",
            Word::Random => "random",
            Word::Index(_) => "index",
        })?;
        if let Some(element) = made.element {
            write!(f, ":{}", element.name)?;
        }
        if let Some(shape) = &made.shape {
            write!(f, ":{shape}")?;
        }
        if let Word::Index(bound) = &made.word {
            write!(f, ":{}", bound.word())?;
        }
        match made.seed {
            Some(seed) => write!(f, ":{seed}"),
            None => Ok(()),
        }
    }
}

impl Contents {
    /// Returns true if nothing but the kernel gives it a value: what it holds before a run is zeros.
    pub fn starts_as_zeros(&self) -> bool {
        matches!(self, Contents::Made(made) if matches!(made.word, Word::Zeros | Word::Empty | Word::Out))
    }

    /// The same contents with other random numbers: a seed of its own is moved, one that follows from the binding is
    /// replaced by one that follows from both.
    pub fn reseed(&mut self, index: u32, by: u64) {
        if let Contents::Made(made) = self {
            made.seed = Some(made.seed.unwrap_or(seed_of(index)).wrapping_add(by));
        }
    }
}

impl Made {
    /// The rule in plain numbers, for elements of a type, bound to an index.
    pub fn fill(
        &self,
        element: &'static Element,
        index: u32,
        sizes: &Sizes,
    ) -> Result<Fill, String> {
        let rule = match &self.word {
            Word::Zeros | Word::Empty | Word::Out => return Ok(Fill::Zero),
            Word::Iota => Rule::Iota,
            Word::Random => Rule::Random,
            Word::Index(bound) => Rule::Below(value(bound, sizes)?),
        };
        Ok(Fill::Elements {
            element,
            rule,
            seed: self.seed.unwrap_or(seed_of(index)),
        })
    }
}

/// The extents of a buffer as they are written: `64`, `64x32`, `NxD` or `N*D`. A product is a shape, whatever its sign.
///
/// ```
/// use assay_launch::{Sizes, contents::Shape};
/// let sizes = Sizes::from([("N".to_owned(), 3), ("D".to_owned(), 2)]);
/// let axes = |text: &str| Shape::new(text)?.axes(&sizes);
/// assert_eq!(axes("64x32")?, [64, 32]);
/// assert_eq!(axes("N*D")?, [3, 2]);
/// assert_eq!(axes("NxD")?, [3, 2]);
/// assert_eq!(axes("NxD*4")?, [3, 8]);
/// assert_eq!(axes("N+D")?, [5]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape(String);

impl Shape {
    /// A shape that is written so.
    pub fn new(text: &str) -> Result<Shape, String> {
        let text: String = text.split_whitespace().collect();
        let is_formula = Formula::parse(&text).is_ok();
        if is_formula || text.split('x').all(|part| Formula::parse(part).is_ok()) {
            return Ok(Shape(text));
        }
        Err(format!(
            "`{text}` is not a shape: expected numbers or formulas such as 64, 64x32 or NxD"
        ))
    }

    /// The shape of these extents.
    pub fn of(axes: &[u64]) -> Shape {
        let words: Vec<String> = axes.iter().map(u64::to_string).collect();
        Shape(words.join("x"))
    }

    /// The extents at certain sizes. Names may contain an `x`: what is a formula as a whole is one.
    pub fn axes(&self, sizes: &Sizes) -> Result<Vec<u64>, String> {
        let text = self.0.as_str();
        let plain: Option<Vec<u64>> = text.split('x').map(|length| length.parse().ok()).collect();
        if let Some(plain) = plain {
            return Ok(plain);
        }
        let formula = |text: &str| {
            let formula = Formula::parse(text).map_err(|error| format!("`{text}`: {error}"))?;
            value(&formula, sizes)
        };
        let whole = formula(text);
        if whole.is_ok()
            && let Some(factors) = factors(text)
        {
            return factors.into_iter().map(formula).collect();
        }
        let parts = || text.split('x').map(formula).collect();
        whole.map(|value| vec![value]).or_else(|why| {
            let parts: Result<Vec<u64>, String> = parts();
            parts.map_err(|_| why)
        })
    }

    /// The extents as formulas, as far as the text tells without sizes.
    pub fn formulas(&self) -> Vec<String> {
        let text = self.0.as_str();
        let parts: Vec<&str> = text.split('x').collect();
        let are_axes = parts.len() > 1 && parts.iter().all(|part| Formula::parse(part).is_ok());
        let axes = factors(text).filter(|axes| axes.len() > 1);
        let axes = axes.or(are_axes.then_some(parts));
        let axes = axes.unwrap_or_else(|| vec![text]);
        axes.into_iter().map(str::to_owned).collect()
    }

    /// The elements at certain sizes.
    pub fn elements(&self, sizes: &Sizes) -> Result<u64, String> {
        let axes = self.axes(sizes)?;
        let count = axes
            .into_iter()
            .try_fold(1u64, |count, length| count.checked_mul(length));
        count.ok_or_else(|| format!("{self} is more than fits"))
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The factors of a text that is nothing but a product.
fn factors(text: &str) -> Option<Vec<&str>> {
    let mut depth = 0usize;
    let mut factors = Vec::new();
    let mut start = 0;
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '*' if depth == 0 => {
                factors.push(&text[start..at]);
                start = at + 1;
            }
            _ if depth > 0 => {}
            '+' | '-' | '/' | '%' | '<' | '>' | '=' | '!' | '&' | '|' => return None,
            _ => {}
        }
    }
    factors.push(&text[start..]);
    Some(factors)
}

/// The value of a formula, whose error says which.
pub(crate) fn value(formula: &Formula, sizes: &Sizes) -> Result<u64, String> {
    let value = formula.integer(sizes);
    value.map_err(|error| format!("`{}`: {error}", formula.text()))
}

fn known(name: &str) -> Result<&'static Element, String> {
    Element::named(name).ok_or_else(|| {
        let names: Vec<&str> = ELEMENTS.iter().map(|element| element.name).collect();
        format!(
            "`{name}` is not a type: expected one of {}",
            names.join(" ")
        )
    })
}

/// A few values as they are written: `u32:64,N,f32:0.5`. They lie one after the other, each aligned to its size as in a C
/// struct, whose end is aligned to the largest. A value may change the type, and integers may be formulas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values(String);

impl Values {
    /// Values that are written so; where the first has no type, it is this one.
    pub fn new(text: &str, element: Option<&'static Element>) -> Values {
        let text: String = text.split_whitespace().collect();
        let typed = text.split(',').next().is_some_and(|it| it.contains(':'));
        Values(match element.filter(|_| !typed) {
            Some(element) => format!("{}:{text}", element.name),
            None => text,
        })
    }

    /// The bytes at certain sizes.
    pub fn bytes(&self, sizes: &Sizes) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let mut element = None;
        let mut largest = 1;
        for value in crate::flags::top_level(&self.0) {
            let value = match value.split_once(':') {
                Some((name, value)) => {
                    element = Some(known(name)?);
                    value
                }
                None => value,
            };
            let element: &Element = element.ok_or("it has no type")?;
            bytes.resize(bytes.len().next_multiple_of(element.size), 0);
            bytes.extend(one(element, value.trim(), sizes)?);
            largest = largest.max(element.size);
        }
        bytes.resize(bytes.len().next_multiple_of(largest), 0);
        Ok(bytes)
    }

    /// The 32-bit whole numbers among the values, each with its place in bytes.
    ///
    /// ```
    /// use assay_launch::contents::Values;
    /// let numbers = Values::new("u32:64,N,f32:0.5", None).numbers();
    /// let numbers: Vec<(u32, &str)> = numbers.iter().map(|(at, formula)| (*at, formula.text())).collect();
    /// assert_eq!(numbers, [(0, "64"), (4, "N")]);
    /// ```
    pub fn numbers(&self) -> Vec<(u32, Formula)> {
        let mut found = Vec::new();
        let mut element: Option<&Element> = None;
        let mut end = 0usize;
        for value in crate::flags::top_level(&self.0) {
            let (name, value) = match value.split_once(':') {
                Some((name, value)) => (Some(name), value),
                None => (None, value),
            };
            element = name.map_or(element, Element::named);
            let Some(element) = element else {
                return found;
            };
            let place = end.next_multiple_of(element.size.max(1));
            end = place + element.size;
            if matches!(element.name, "u32" | "i32")
                && let (Ok(place), Ok(formula)) =
                    (u32::try_from(place), Formula::parse(value.trim()))
            {
                found.push((place, formula));
            }
        }
        found
    }
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A number as it is written, or the value of a formula.
fn one(element: &Element, text: &str, sizes: &Sizes) -> Result<Vec<u8>, String> {
    let written = element.parse(text);
    if written.is_ok() || sizes.is_empty() {
        return written;
    }
    match Formula::parse(text) {
        Ok(formula) => element.parse(&value(&formula, sizes)?.to_string()),
        Err(_) => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes() -> Sizes {
        Sizes::from([("N".to_owned(), 3), ("D".to_owned(), 2)])
    }

    /// Contents that are bound to index 0, as floats where they name no type.
    fn bytes(text: &str) -> Result<Vec<u8>, String> {
        let Contents::Made(made) = text.parse()? else {
            return Ok(Vec::new());
        };
        let element = made.element.or(Element::named("f32")).ok_or("no type")?;
        let count = made.shape.as_ref().ok_or("no shape")?.elements(&sizes())?;
        let fill = made.fill(element, 0, &sizes())?;
        Ok(fill.bytes(count as usize * element.size))
    }

    #[test]
    fn buffers_are_filled_as_said() {
        assert_eq!(bytes("zeros:f16:2x3").unwrap(), [0; 12]);
        assert_eq!(bytes("zeros:f16:N*D").unwrap(), [0; 12]);
        assert_eq!(bytes("zeros:NxD").unwrap(), [0; 24]);
        assert_eq!(bytes("iota:u16:3").unwrap(), [0, 0, 1, 0, 2, 0]);
        let below = bytes("index:u8:NxD:N").unwrap();
        assert!(below.len() == 6 && below.iter().all(|index| *index < 3));
        assert_eq!(bytes("random:f32:9:5"), bytes("random:float:9:5"));
        assert_eq!(bytes("random:f32:9:1"), bytes("random:9"));
        assert_ne!(bytes("random:f32:9:5"), bytes("random:f32:9:6"));
        for wrong in [
            "zeros:f31:2",
            "zeros:f32:2y",
            "zeros:f32:K",
            "zeros:f32:NxK",
            "zeros",
            "index:u32:4",
            "iota:u8:4:1",
            "random:f31:4:1",
            "random:f32:4:x",
        ] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "zeros:f32:64x32",
            "empty:f32:8",
            "same:0",
            "out",
            "iota:u32:N*D",
            "random:f32:N:7",
            "random:N",
            "index:u32:N:D*2:4",
            "weights.npy",
        ] {
            let contents: Contents = text.parse().unwrap();
            assert_eq!(contents.to_string(), text);
        }
    }

    #[test]
    fn factors_of_a_shape_are_axes() {
        let sizes = Sizes::from([
            ("R".to_owned(), 3),
            ("rows".to_owned(), 5),
            ("x".to_owned(), 4),
        ]);
        let axes = |text: &str| Shape::new(text).unwrap().axes(&sizes).unwrap();
        assert_eq!(axes("R*x"), [3, 4]);
        assert_eq!(axes("R*(x+1)"), [3, 5]);
        assert_eq!(axes("(R+1)*x"), [4, 4]);
        assert_eq!(axes("2*R/3"), [2]);
        assert_eq!(axes("rowsxR"), [5, 3]);
        assert_eq!(axes("max(R,rows)"), [5]);
    }

    #[test]
    fn values_are_laid_out_like_a_struct() {
        let bytes = |text: &str| Values::new(text, None).bytes(&sizes());
        assert_eq!(bytes("u32:5").unwrap(), [5, 0, 0, 0]);
        assert_eq!(bytes("u16:1,2").unwrap(), [1, 0, 2, 0]);
        assert_eq!(bytes("u16:N,max(N, 9)").unwrap(), [3, 0, 9, 0]);
        assert_eq!(bytes("u8:7,u32:1").unwrap(), [7, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes("u16:7,u8:1").unwrap(), [7, 0, 1, 0]);
        assert_eq!(bytes("u64:1,u32:2").unwrap().len(), 16);
        assert_eq!(bytes("u8:1,2,3").unwrap(), [1, 2, 3]);
        let typed = Values::new("N", Element::named("u16"));
        assert_eq!(typed.bytes(&sizes()).unwrap(), [3, 0]);
        assert!(bytes("5").is_err());
        assert!(bytes("u8:256").is_err());
        assert!(bytes("u32:K").is_err());
    }
}
