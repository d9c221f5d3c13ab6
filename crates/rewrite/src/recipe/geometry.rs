//! How a kernel is dispatched, as far as recipes change it.

use assay_launch::formula::Function;
use assay_launch::template::{Argument, Binding, Grid, Pass, Role};
use assay_launch::{Bound, Error, Formula, Mistake, Sizes, Target, Written, contents, extent};

/// The axes of a grid.
pub const AXES: [&str; 3] = ["x", "y", "z"];

/// The last index of threadgroup memory that Metal has.
const MOST_MEMORY: usize = 30;

/// Grid, threadgroup, and the whole numbers among the arguments.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// The grid.
    pub grid: Grid,
    /// Threads of a threadgroup.
    pub threadgroup: [Formula; 3],
    /// Bytes of threadgroup memory 0, 1, 2, …
    pub threadgroup_memory: Vec<Formula>,
    /// Whole numbers whose value is known, and those that recipes added.
    pub numbers: Vec<Number>,
    /// Sizes that the kernel is most often dispatched at, if they are known: what is worth trying may depend on them, what
    /// is right does not.
    pub sizes: Sizes,
}

/// A 32-bit whole number that a kernel reads from a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// The buffer's index.
    pub buffer: u32,
    /// Its place in the buffer, in bytes.
    pub offset: u32,
    /// Its value.
    pub value: Formula,
    /// A recipe added the argument: whoever dispatches the kernel must bind it.
    pub added: bool,
}

impl Geometry {
    /// A grid in threads and a threadgroup, as a command line writes them: `N, M` and `16, 16`.
    pub fn threads(grid: &str, threadgroup: &str) -> Result<Geometry, String> {
        Ok(Geometry {
            grid: Grid::Threads(extent(grid)?),
            threadgroup: extent(threadgroup)?,
            threadgroup_memory: Vec::new(),
            numbers: Vec::new(),
            sizes: Sizes::new(),
        })
    }

    /// A dispatch in plain numbers.
    pub fn plain(grid: [u32; 3], threadgroup: [u32; 3]) -> Geometry {
        let numbers = |extent: [u32; 3]| extent.map(|n| Formula::number(u64::from(n)));
        Geometry {
            grid: Grid::Threads(numbers(grid)),
            threadgroup: numbers(threadgroup),
            threadgroup_memory: Vec::new(),
            numbers: Vec::new(),
            sizes: Sizes::new(),
        }
    }

    /// The geometry of a launch whose arguments are bound by index.
    pub fn of_launch(launch: &Written) -> Result<Geometry, Mistake> {
        let missing = |what: &str| Mistake::usage(format!("{what} is missing"));
        let mut numbers = Vec::new();
        for bound in &launch.bytes {
            let buffer = bound.index().unwrap_or_default();
            let values = bound.value.numbers().into_iter();
            numbers.extend(values.map(|(offset, value)| Number {
                buffer,
                offset,
                value,
                added: false,
            }));
        }
        let mut memory = Vec::new();
        for bound in &launch.memory {
            let index = bound.index().unwrap_or_default() as usize;
            if index > MOST_MEMORY {
                let why =
                    format!("--tgmem {bound}: indices of threadgroup memory end at {MOST_MEMORY}");
                return Err(Mistake::usage(why));
            }
            memory.resize(memory.len().max(index + 1), Formula::number(0));
            memory[index] = bound.value.clone();
        }
        Ok(Geometry {
            grid: launch.grid.clone().ok_or_else(|| missing("--grid"))?,
            threadgroup: launch
                .threadgroup
                .clone()
                .ok_or_else(|| missing("--threadgroup"))?,
            threadgroup_memory: memory,
            numbers,
            sizes: launch.first_sizes()?,
        })
    }

    /// The launch a geometry was made of, with this geometry; numbers that recipes added are bound.
    pub fn to_launch(&self, launch: &Written) -> Written {
        let mut launch = launch.clone();
        launch.grid = Some(self.grid.clone());
        launch.threadgroup = Some(self.threadgroup.clone());
        let added = self.numbers.iter().filter(|number| number.added);
        launch.bytes.extend(added.map(|number| Bound {
            target: Target::Index(number.buffer),
            value: contents::Values::new(&format!("u32:{}", number.value.word()), None),
        }));
        launch
    }

    /// The geometry of a pass of a launch with these arguments.
    pub fn of_pass(pass: &Pass, arguments: &[Argument]) -> Geometry {
        let number = |(buffer, binding): (u32, &Binding)| {
            let value = match binding {
                Binding::Number(value) => value,
                Binding::Argument(place) => {
                    let argument = arguments.get(*place)?;
                    let whole = argument.dtype.is_some_and(|dtype| !dtype.is_float());
                    match &argument.role {
                        Role::Scalar { value } if whole => value,
                        _ => return None,
                    }
                }
            };
            Some(Number {
                buffer,
                offset: 0,
                value: value.clone(),
                added: false,
            })
        };
        Geometry {
            grid: pass.grid.clone(),
            threadgroup: pass.threadgroup.clone(),
            threadgroup_memory: pass.threadgroup_memory.clone(),
            numbers: (0..).zip(&pass.bindings).filter_map(number).collect(),
            sizes: Sizes::new(),
        }
    }

    /// The pass a geometry was made of, with this geometry; numbers that recipes added are bound behind the others.
    pub fn to_pass(&self, pass: &Pass) -> Pass {
        let mut made = Pass {
            grid: self.grid.clone(),
            threadgroup: self.threadgroup.clone(),
            threadgroup_memory: self.threadgroup_memory.clone(),
            ..pass.clone()
        };
        for number in self.numbers.iter().filter(|number| number.added) {
            let place = number.buffer as usize;
            while made.bindings.len() <= place {
                made.bindings.push(Binding::Number(Formula::number(0)));
            }
            made.bindings[place] = Binding::Number(number.value.clone());
        }
        made
    }

    /// Threads of the grid along each axis.
    pub fn grid_threads(&self) -> [Formula; 3] {
        match &self.grid {
            Grid::Threads(threads) => threads.clone(),
            Grid::Groups(groups) => {
                std::array::from_fn(|axis| product(&groups[axis], &self.threadgroup[axis]))
            }
        }
    }

    /// Threads of the grid along each axis, and of a threadgroup, at certain sizes.
    pub fn at(&self, sizes: &Sizes) -> Result<([u32; 3], [u32; 3]), Error> {
        let numbers = |formulas: &[Formula; 3]| {
            let mut numbers = [0; 3];
            for (number, formula) in numbers.iter_mut().zip(formulas) {
                *number = formula.number_at(sizes)?;
            }
            Ok::<_, Error>(numbers)
        };
        Ok((numbers(&self.grid_threads())?, numbers(&self.threadgroup)?))
    }

    /// The threads of a threadgroup, if they are plain numbers.
    pub fn plain_threadgroup(&self) -> Option<[u32; 3]> {
        let mut plain = [0; 3];
        for (place, formula) in plain.iter_mut().zip(&self.threadgroup) {
            *place = u32::try_from(plain_number(formula)?).ok()?;
        }
        Some(plain)
    }

    /// The number at a place of a buffer, if it is known.
    pub fn number(&self, buffer: u32, offset: u32) -> Option<&Formula> {
        let found = self
            .numbers
            .iter()
            .find(|n| n.buffer == buffer && n.offset == offset);
        found.map(|number| &number.value)
    }
}

/// The value of a formula without names.
pub(super) fn plain_number(formula: &Formula) -> Option<u64> {
    if formula.names().is_empty() {
        return formula.integer(&Sizes::new()).ok();
    }
    None
}

/// `a * b`.
pub(super) fn product(a: &Formula, b: &Formula) -> Formula {
    match (plain_number(a), plain_number(b)) {
        (Some(1), _) => b.clone(),
        (_, Some(1)) => a.clone(),
        _ => settled(Formula::of(Function::Multiply, a, b)),
    }
}

/// `ceil_div(a, b)`.
pub(super) fn ceil_div(a: &Formula, b: u32) -> Formula {
    if b == 1 {
        return a.clone();
    }
    settled(Formula::of(
        Function::CeilDiv,
        a,
        &Formula::number(u64::from(b)),
    ))
}

/// `min(a, b)`.
pub(super) fn minimum(a: &Formula, b: &Formula) -> Formula {
    settled(Formula::of(Function::Min, a, b))
}

/// A formula without names as its value.
fn settled(formula: Formula) -> Formula {
    match plain_number(&formula) {
        Some(number) => Formula::number(number),
        None => formula,
    }
}
