//! Pieces of a launch as a command line or a comment writes them.

use crate::evaluate;
use crate::formula::{Formula, Sizes};
use crate::template::Grid;
use crate::{Error, Extent};
use std::fmt;

/// A named size with the values it takes: `N=4096,1000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its name.
    pub name: String,
    /// Its values, one per case.
    pub values: Vec<u64>,
}

impl std::str::FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Size, String> {
        let (name, values) = text.split_once('=').ok_or("write NAME=NUMBER[,NUMBER…]")?;
        let name = name.trim();
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !starts || !name.chars().all(letters) {
            return Err(format!(
                "`{name}` is not a name: write NAME=NUMBER, the name of letters, digits and _"
            ));
        }
        let values = values.split(',').map(|value| {
            let value = value.trim();
            let number = value.parse();
            number.map_err(|_| format!("`{value}` is not a whole number: write {name}=1024"))
        });
        Ok(Size {
            name: name.to_owned(),
            values: values.collect::<Result<_, String>>()?,
        })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.values.iter().map(u64::to_string).collect();
        write!(f, "{}={}", self.name, values.join(","))
    }
}

/// The cases of some sizes: the first values of all, the second values of all, … A size with one value has it in every
/// case.
///
/// ```
/// use assay_launch::cases;
/// let sizes = ["N=4096,1000".parse()?, "D=64".parse()?];
/// let cases = cases(&sizes)?;
/// assert_eq!((cases[1]["N"], cases[1]["D"]), (1000, 64));
/// # Ok::<(), String>(())
/// ```
pub fn cases(sizes: &[Size]) -> Result<Vec<Sizes>, String> {
    let longest = sizes.iter().max_by_key(|size| size.values.len());
    let count = longest.map_or(1, |size| size.values.len());
    let mut cases = vec![Sizes::new(); count];
    for size in sizes {
        if size.values.len() != 1 && size.values.len() != count {
            let longest = longest.map_or("", |size| size.name.as_str());
            return Err(format!(
                "{} has {} values and {longest} has {count}: give each one value, or as many",
                size.name,
                size.values.len()
            ));
        }
        for (case, sizes) in cases.iter_mut().enumerate() {
            let value = size.values.get(case).or(size.values.first());
            let fresh = sizes.insert(size.name.clone(), value.copied().unwrap_or(0));
            if fresh.is_some() {
                return Err(format!("{} is there twice", size.name));
            }
        }
    }
    Ok(cases)
}

/// One to three extents with commas between them; those left out are 1.
pub fn extent(text: &str) -> Result<[Formula; 3], String> {
    let parts = top_level(text);
    if parts.len() > 3 {
        return Err("more than three numbers: write X, X,Y or X,Y,Z".to_owned());
    }
    let mut extent = [(); 3].map(|()| Formula::number(1));
    for (place, part) in extent.iter_mut().zip(parts) {
        *place = Formula::parse(part.trim()).map_err(|error| format!("`{part}`: {error}"))?;
    }
    Ok(extent)
}

/// The parts between commas outside parentheses.
pub(crate) fn top_level(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    let commas = text.char_indices().filter_map(|(at, character)| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (character == ',' && depth == 0).then_some(at)
    });
    let mut parts = Vec::new();
    let mut start = 0;
    for comma in commas {
        parts.push(&text[start..comma]);
        start = comma + 1;
    }
    parts.push(&text[start..]);
    parts
}

impl Grid {
    /// The grid at certain sizes.
    pub fn at(&self, sizes: &Sizes) -> Result<Extent, Error> {
        Ok(match self {
            Grid::Threads(threads) => Extent::Threads(numbers(threads, sizes)?),
            Grid::Groups(groups) => Extent::Groups(numbers(groups, sizes)?),
        })
    }
}

impl Formula {
    /// Its value in 32 bits.
    pub fn number_at(&self, sizes: &Sizes) -> Result<u32, Error> {
        evaluate::number(self, sizes)
    }
}

/// Three extents at certain sizes.
fn numbers(formulas: &[Formula; 3], sizes: &Sizes) -> Result<[u32; 3], Error> {
    let mut numbers = [0; 3];
    for (number, formula) in numbers.iter_mut().zip(formulas) {
        *number = formula.number_at(sizes)?;
    }
    Ok(numbers)
}

/// Returns true if formulas use no name: a launch in plain numbers, which says nothing about other sizes.
pub fn is_plain<'a>(formulas: impl IntoIterator<Item = &'a Formula>) -> bool {
    formulas
        .into_iter()
        .all(|formula| formula.names().is_empty())
}

/// Sizes in words: `N = 4096, D = 64`.
pub fn describe(sizes: &Sizes) -> String {
    let words = sizes
        .iter()
        .map(|(name, value)| format!("{name} = {value}"));
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_formulas_and_commas_inside_parentheses_are_theirs() {
        let grid = extent("ceil_div(N, 64), M").expect("two extents");
        let sizes = cases(&["N=130".parse().unwrap(), "M=7".parse().unwrap()]).unwrap();
        assert_eq!(numbers(&grid, &sizes[0]), Ok([3, 7, 1]));
        assert!(!is_plain(&grid));
        assert!(is_plain(&extent("64,2").unwrap()));
        assert_eq!(
            extent("1,2,3,4"),
            Err("more than three numbers: write X, X,Y or X,Y,Z".to_owned())
        );
        let unknown = numbers(&extent("K").unwrap(), &sizes[0]).unwrap_err();
        assert!(unknown.to_string().contains("no size \"K\""), "{unknown}");
    }

    #[test]
    fn sizes_make_cases_side_by_side() {
        let sizes = |texts: &[&str]| {
            let sizes: Vec<Size> = texts.iter().map(|text| text.parse().unwrap()).collect();
            cases(&sizes)
        };
        assert_eq!(sizes(&[]).unwrap(), [Sizes::new()]);
        assert_eq!(sizes(&["N=1,2", "M=3"]).unwrap().len(), 2);
        assert!(sizes(&["N=1,2", "M=3,4,5"]).is_err());
        assert!(sizes(&["N=1", "N=2"]).is_err());
        assert!("4=N".parse::<Size>().is_err());
    }
}
