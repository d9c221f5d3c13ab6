//! An expression as a plain Metal kernel: what `assay write` starts from.
//!
//! A thread per element of the output, reductions as loops: maps, matrix products and stencils come out as people first write
//! them. Where an array of the oracle's own has the output's leading indices, or the output reads its own earlier elements,
//! a thread does a whole row: row reductions and scans. Nothing is fast, everything is right; `assay tune` goes on from it.

use super::{Definition, Expression, Function, Kind, Node, Reduction};
use crate::Dtype;
use assay_launch::template::{Argument, Role};
use std::fmt::Write as _;

/// A kernel that computes an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    /// Metal source with a function per element type.
    pub source: String,
    /// Threads of the grid, as formulas over sizes.
    pub threads: Vec<String>,
    /// What kind of kernel it is: `map`, `row reduction`, `matmul`, `stencil` or `scan`.
    pub shape: &'static str,
}

/// Code that is being written.
struct Writer<'e> {
    expression: &'e Expression,
    arguments: &'e [Argument],
    output: &'e Definition,
    /// Indices in scope: names of `int` variables.
    indices: Vec<String>,
    /// Arrays that are values of the row.
    row_values: Vec<String>,
    code: String,
    depth: usize,
    temporaries: usize,
}

impl Expression {
    /// The expression as a kernel over these arguments, named `name_DTYPE`.
    pub fn to_metal(
        &self,
        name: &str,
        arguments: &[Argument],
        dtypes: &[Dtype],
    ) -> Result<Plain, String> {
        let is_output = |argument: &&Argument| matches!(argument.role, Role::Output { .. });
        let mut outputs = arguments.iter().filter(is_output);
        let (Some(output), None) = (outputs.next(), outputs.next()) else {
            return Err(
                "a kernel with one output can be written, and this has another number".to_owned(),
            );
        };
        let Role::Output { shape } = &output.role else {
            return Err("the output has no shape".to_owned());
        };
        let defined = self.definitions.iter().find(|it| it.array == output.name);
        let defined = defined.ok_or_else(|| format!("no line defines {}", output.name))?;
        let rows = by_rows(self, defined);
        let mut source = "#include <metal_stdlib>\nusing namespace metal;\n".to_owned();
        for dtype in dtypes {
            let mut writer = Writer {
                expression: self,
                arguments,
                output: defined,
                indices: Vec::new(),
                row_values: Vec::new(),
                code: String::new(),
                depth: 1,
                temporaries: 0,
            };
            source += &writer.kernel(name, *dtype, rows)?;
        }
        let extents: Vec<String> = shape
            .iter()
            .map(|extent| extent.text().to_owned())
            .collect();
        let (looped, threaded) = match rows {
            true => extents
                .split_last()
                .map_or((1, &[][..]), |(_, rest)| (1, rest)),
            false => (0, extents.as_slice()),
        };
        let mut threads = grid(threaded);
        if looped == 1 && threads.is_empty() {
            threads.push("1".to_owned());
        }
        Ok(Plain {
            source,
            threads,
            shape: shape_of(self, defined, rows),
        })
    }
}

/// The grid for these extents, the last along x; more than three are multiplied into z.
fn grid(extents: &[String]) -> Vec<String> {
    let mut reversed: Vec<String> = extents.iter().rev().cloned().collect();
    if reversed.len() > 3 {
        let rest = reversed.split_off(2);
        let factors = rest.iter().map(|extent| format!("({extent})"));
        reversed.push(factors.collect::<Vec<_>>().join(" * "));
    }
    reversed
}

/// Returns true if a thread should do a whole row: an own array has the leading indices, or elements follow from earlier ones.
fn by_rows(expression: &Expression, output: &Definition) -> bool {
    let mut rows = false;
    let Some((_, leading)) = output.indices.split_last() else {
        return false;
    };
    visit(&output.value, &mut |kind| {
        if let Kind::Element(array, at) = kind {
            rows |= *array == output.array;
            let own = expression.definitions.iter().any(|it| it.array == *array);
            rows |= own && at.len() <= leading.len();
        }
    });
    rows
}

fn shape_of(expression: &Expression, output: &Definition, rows: bool) -> &'static str {
    let (mut itself, mut reductions, mut products, mut shifted) = (false, 0, false, false);
    for definition in &expression.definitions {
        visit(&definition.value, &mut |kind| match kind {
            Kind::Reduce { body, .. } => {
                reductions += 1;
                products |= matches!(&body.kind, Kind::Apply(Function::Multiply, _));
            }
            Kind::Element(array, at) => {
                itself |= *array == output.array;
                shifted |= at.iter().any(|index| matches!(index.kind, Kind::Apply(..)));
            }
            _ => {}
        });
    }
    match (itself, reductions, products, shifted) {
        (true, ..) => "scan",
        (_, 1, true, _) if !rows && output.indices.len() >= 2 => "matmul",
        (_, 1.., ..) => "row reduction",
        (_, _, _, true) => "stencil",
        _ => "map",
    }
}

fn visit(node: &Node, see: &mut dyn FnMut(&Kind)) {
    see(&node.kind);
    match &node.kind {
        Kind::Number(_) | Kind::Name(_) => {}
        Kind::Element(_, nodes) | Kind::Apply(_, nodes) => {
            nodes.iter().for_each(|node| visit(node, see));
        }
        Kind::Reduce { limit, body, .. } => {
            visit(limit, see);
            visit(body, see);
        }
    }
}

/// Metal's name of an element type.
fn type_name(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::F16 => "half",
        Dtype::Bf16 => "bfloat",
        Dtype::U32 => "uint",
        Dtype::I32 => "int",
        _ => "float",
    }
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.code, "{:1$}{text}", "", self.depth * 4);
    }

    fn temporary(&mut self) -> String {
        self.temporaries += 1;
        format!("t{}", self.temporaries)
    }

    fn kernel(&mut self, name: &str, dtype: Dtype, rows: bool) -> Result<String, String> {
        let mut parameters = Vec::new();
        for (index, argument) in self.arguments.iter().enumerate() {
            let of = type_name(argument.dtype.unwrap_or(dtype));
            let name = &argument.name;
            parameters.push(match &argument.role {
                Role::Input { .. } => format!("device const {of} *{name} [[buffer({index})]]"),
                Role::Output { .. } | Role::Scratch { .. } => {
                    format!("device {of} *{name} [[buffer({index})]]")
                }
                Role::Scalar { .. } => format!("constant {of} &{name} [[buffer({index})]]"),
            });
        }
        parameters.push("uint3 position [[thread_position_in_grid]]".to_owned());
        let own: Vec<String> = self
            .output
            .indices
            .iter()
            .map(|(index, _)| index.clone())
            .collect();
        let (threaded, last) = match own.split_last() {
            Some((last, rest)) if rows => (rest.to_vec(), Some(last.clone())),
            _ => (own.clone(), None),
        };
        self.coordinates(&threaded)?;
        self.indices = threaded;
        if let Some(last) = last {
            self.rows_first()?;
            let limit = self.extent(self.output.indices.len() - 1)?;
            self.line(&format!(
                "for (int {last} = 0; {last} < int({limit}); {last}++) {{"
            ));
            self.depth += 1;
            self.indices.push(last);
            self.store(dtype)?;
            self.depth -= 1;
            self.line("}");
        } else {
            self.store(dtype)?;
        }
        Ok(format!(
            "\nkernel void {name}_{dtype}({}) {{\n{}}}\n",
            parameters.join(",\n    "),
            self.code
        ))
    }

    /// Variables for the indices that threads have.
    fn coordinates(&mut self, threaded: &[String]) -> Result<(), String> {
        let axes = ["x", "y", "z"];
        let count = threaded.len();
        for (place, name) in threaded.iter().enumerate().rev() {
            let from_last = count - 1 - place;
            if from_last < 2 || count <= 3 {
                self.line(&format!(
                    "int {name} = int(position.{});",
                    axes[from_last.min(2)]
                ));
            } else {
                // The rest share z.
                let mut inner = String::new();
                for between in place + 1..count - 2 {
                    let _ = write!(inner, " / int({})", self.extent(between)?);
                }
                let own = self.extent(place)?;
                let wrap = if place == 0 {
                    String::new()
                } else {
                    format!(" % int({own})")
                };
                self.line(&format!("int {name} = int(position.z){inner}{wrap};"));
            }
        }
        Ok(())
    }

    /// The extent of an axis of the output, as Metal.
    fn extent(&self, axis: usize) -> Result<String, String> {
        let argument = self
            .arguments
            .iter()
            .find(|it| it.name == self.output.array);
        let shape = match argument.map(|it| &it.role) {
            Some(Role::Output { shape }) => shape.as_slice(),
            _ => &[],
        };
        let formula = shape
            .get(axis)
            .ok_or("the output has fewer axes than indices")?;
        self.formula(formula.text())
    }

    /// A formula over sizes as Metal: every name must be a scalar of the kernel.
    fn formula(&self, text: &str) -> Result<String, String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_+-*() ".contains(c);
        let names = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let mut names = names.filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
        let missing = names.find(|name| !self.is_scalar(name));
        match missing {
            Some(name) => Err(format!(
                "the kernel needs {name}: give it as a scalar argument of the description"
            )),
            None if !text.chars().all(plain) => {
                Err(format!("{text} is too involved for a plain kernel"))
            }
            None => Ok(format!("({text})")),
        }
    }

    fn is_scalar(&self, name: &str) -> bool {
        let mut arguments = self.arguments.iter();
        arguments.any(|it| it.name == name && matches!(it.role, Role::Scalar { .. }))
    }

    /// Values of the row: own arrays with the leading indices.
    fn rows_first(&mut self) -> Result<(), String> {
        for definition in &self.expression.definitions {
            if definition.array == self.output.array {
                continue;
            }
            let names: Vec<&String> = definition.indices.iter().map(|(name, _)| name).collect();
            if names.len() > self.indices.len() {
                continue;
            }
            // The definition's indices by the thread's.
            for (own, outer) in names.iter().zip(self.indices.clone()) {
                if **own != outer {
                    self.line(&format!("int {own} = {outer};"));
                }
            }
            let before = self.indices.clone();
            self.indices
                .extend(names.iter().map(|name| (*name).clone()));
            let value = self.value(&definition.value)?;
            self.line(&format!("float {} = {value};", definition.array));
            self.indices = before;
            self.row_values.push(definition.array.clone());
        }
        Ok(())
    }

    fn store(&mut self, dtype: Dtype) -> Result<(), String> {
        let output = self.output;
        let value = self.value(&output.value)?;
        let argument = self.arguments.iter().find(|it| it.name == output.array);
        let of = type_name(argument.and_then(|it| it.dtype).unwrap_or(dtype));
        let at: Vec<String> = output
            .indices
            .iter()
            .map(|(name, _)| name.clone())
            .collect();
        let place = self.place(&output.array, &at)?;
        self.line(&format!("{}[{place}] = {of}({value});", output.array));
        Ok(())
    }

    /// The offset of an element.
    fn place(&self, array: &str, at: &[String]) -> Result<String, String> {
        let argument = self.arguments.iter().find(|it| it.name == array);
        let shape = match argument.map(|it| &it.role) {
            Some(Role::Input { shape, .. } | Role::Output { shape } | Role::Scratch { shape }) => {
                shape
            }
            _ => return Err(format!("{array} is no array of the kernel")),
        };
        let mut place = String::from("0");
        for (axis, (index, extent)) in at.iter().zip(shape).enumerate() {
            place = match axis {
                0 => index.clone(),
                _ => format!(
                    "({place}) * int({}) + {index}",
                    self.formula(extent.text())?
                ),
            };
        }
        Ok(place)
    }

    fn number(value: f64) -> String {
        format!("{value:?}f")
    }

    /// The value of a node, as an expression in floats; statements that it needs come first.
    fn value(&mut self, node: &Node) -> Result<String, String> {
        match &node.kind {
            Kind::Number(value) => Ok(Self::number(*value)),
            Kind::Name(name) if self.indices.contains(name) || self.is_scalar(name) => {
                Ok(format!("float({name})"))
            }
            Kind::Name(name) => Err(format!(
                "the kernel needs {name}: give it as a scalar argument of the description"
            )),
            Kind::Element(array, at) => self.element(array, at),
            Kind::Apply(Function::If, parts) => self.branch(parts),
            Kind::Apply(function, parts) => {
                let mut values = Vec::new();
                for part in parts {
                    values.push(self.value(part)?);
                }
                Ok(applied(*function, &values))
            }
            Kind::Reduce {
                reduction,
                index,
                limit,
                body,
            } => self.reduce(*reduction, index, limit, body),
        }
    }

    fn element(&mut self, array: &str, at: &[Node]) -> Result<String, String> {
        if self.row_values.iter().any(|known| known == array) {
            return Ok(array.to_owned());
        }
        let mut indices = Vec::new();
        for node in at {
            indices.push(self.index(node)?);
        }
        let own = self
            .expression
            .definitions
            .iter()
            .find(|it| it.array == array);
        if let Some(own) = own.filter(|own| own.array != self.output.array) {
            return self.inlined(&own.clone(), &indices);
        }
        let place = self.place(array, &indices)?;
        Ok(format!("float({array}[{place}])"))
    }

    /// An element of an own array, computed where it is needed.
    fn inlined(&mut self, own: &Definition, at: &[String]) -> Result<String, String> {
        let result = self.temporary();
        self.line(&format!("float {result};"));
        self.line("{");
        self.depth += 1;
        let before = self.indices.clone();
        let given: Vec<String> = at.iter().map(|index| format!("({index})")).collect();
        for ((name, _), index) in own.indices.iter().zip(&given) {
            if index != &format!("({name})") {
                self.line(&format!("int {name} = {index};"));
            }
            self.indices.push(name.clone());
        }
        let value = self.value(&own.value)?;
        self.line(&format!("{result} = {value};"));
        self.indices = before;
        self.depth -= 1;
        self.line("}");
        Ok(result)
    }

    fn branch(&mut self, parts: &[Node]) -> Result<String, String> {
        let [condition, yes, no] = parts else {
            return Err("if takes three".to_owned());
        };
        let condition = self.value(condition)?;
        let result = self.temporary();
        self.line(&format!("float {result};"));
        self.line(&format!("if ({condition} != 0.0f) {{"));
        for (place, side) in [yes, no].into_iter().enumerate() {
            if place == 1 {
                self.line("} else {");
            }
            self.depth += 1;
            let value = self.value(side)?;
            self.line(&format!("{result} = {value};"));
            self.depth -= 1;
        }
        self.line("}");
        Ok(result)
    }

    fn reduce(
        &mut self,
        reduction: Reduction,
        index: &str,
        limit: &Node,
        body: &Node,
    ) -> Result<String, String> {
        let limit = self.index(limit)?;
        let (best, at) = (self.temporary(), self.temporary());
        let start = match reduction {
            Reduction::Sum => "0.0f",
            Reduction::Product => "1.0f",
            Reduction::Min | Reduction::Argmin => "INFINITY",
            Reduction::Max | Reduction::Argmax => "-INFINITY",
        };
        let argument = matches!(reduction, Reduction::Argmin | Reduction::Argmax);
        self.line(&format!("float {best} = {start};"));
        if argument {
            self.line(&format!("int {at} = 0;"));
        }
        self.line(&format!(
            "for (int {index} = 0; {index} < int({limit}); {index}++) {{"
        ));
        self.depth += 1;
        self.indices.push(index.to_owned());
        let value = self.value(body)?;
        let step = match reduction {
            Reduction::Sum => format!("{best} += {value};"),
            Reduction::Product => format!("{best} *= {value};"),
            Reduction::Min => format!("{best} = min({best}, {value});"),
            Reduction::Max => format!("{best} = max({best}, {value});"),
            Reduction::Argmin => {
                format!("float v = {value}; if (v < {best}) {{ {best} = v; {at} = {index}; }}")
            }
            Reduction::Argmax => {
                format!("float v = {value}; if (v > {best}) {{ {best} = v; {at} = {index}; }}")
            }
        };
        self.line(&step);
        self.indices.pop();
        self.depth -= 1;
        self.line("}");
        Ok(if argument {
            format!("float({at})")
        } else {
            best
        })
    }

    /// The value of a node as a whole number.
    fn index(&mut self, node: &Node) -> Result<String, String> {
        match &node.kind {
            Kind::Number(value) if value.fract() == 0.0 => Ok(format!("{value}")),
            Kind::Name(name) if self.indices.contains(name) => Ok(name.clone()),
            Kind::Name(name) if self.is_scalar(name) => Ok(format!("int({name})")),
            Kind::Apply(function, parts) => {
                if let (Function::Floor, [inner]) = (function, parts.as_slice())
                    && let Kind::Apply(Function::Divide, sides) = &inner.kind
                    && let [a, b] = sides.as_slice()
                {
                    return Ok(format!("(({}) / ({}))", self.index(a)?, self.index(b)?));
                }
                let mark = match function {
                    Function::Add => "+",
                    Function::Subtract => "-",
                    Function::Multiply => "*",
                    Function::Remainder => "%",
                    _ => {
                        let value = self.value(node)?;
                        return Ok(format!("int({value})"));
                    }
                };
                let mut sides = Vec::new();
                for part in parts {
                    sides.push(format!("({})", self.index(part)?));
                }
                Ok(match sides.as_slice() {
                    [only] => format!("(-{only})"),
                    _ => format!("({})", sides.join(mark)),
                })
            }
            _ => {
                let value = self.value(node)?;
                Ok(format!("int({value})"))
            }
        }
    }
}

fn applied(function: Function, values: &[String]) -> String {
    let word = Function::ALL.iter().find(|(_, known)| *known == function);
    let word = word.map_or("", |(word, _)| *word);
    match (function, values) {
        (Function::Subtract, [only]) => format!("(-{only})"),
        (Function::Add | Function::Subtract | Function::Multiply | Function::Divide, [a, b]) => {
            format!("({a} {word} {b})")
        }
        (Function::Remainder, [a, b]) => format!("({a} - {b} * floor({a} / {b}))"),
        (
            Function::Less
            | Function::LessEqual
            | Function::Greater
            | Function::GreaterEqual
            | Function::Equal
            | Function::NotEqual,
            [a, b],
        ) => format!("({a} {word} {b} ? 1.0f : 0.0f)"),
        (Function::Erf, [x]) => {
            // Metal has no error function: a rational approximation, good to 1.5e-7.
            format!(
                "(sign({x}) * (1.0f - ((((1.061405429f * (1.0f / (1.0f + 0.3275911f * abs({x}))) - 1.453152027f) * \
                 (1.0f / (1.0f + 0.3275911f * abs({x}))) + 1.421413741f) * (1.0f / (1.0f + 0.3275911f * abs({x}))) - 0.284496736f) * \
                 (1.0f / (1.0f + 0.3275911f * abs({x}))) + 0.254829592f) * (1.0f / (1.0f + 0.3275911f * abs({x}))) * exp(-{x} * {x})))"
            )
        }
        // The precise versions: what a plain kernel gets right must not depend on fast math.
        (
            Function::Exp
            | Function::Log
            | Function::Sin
            | Function::Cos
            | Function::Tanh
            | Function::Sqrt
            | Function::Rsqrt
            | Function::Pow,
            _,
        ) => {
            format!("precise::{word}({})", values.join(", "))
        }
        _ => format!("{word}({})", values.join(", ")),
    }
}
