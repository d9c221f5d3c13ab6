//! Kernels in words and numbers, without running them.

use crate::Failure;
use crate::Question;
use crate::select::Kernels;
use assay_bench::registry::{Case, CaseBinding, CaseExtent, CaseRole, Kernel, Registry, Resolved};
use assay_report::blocks::{Answer, Block, Detail, View};
use assay_report::number;
use assay_report::style::Role;
use assay_report::table::{Column, Table};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Kernels of a first screen.
const ROWS: usize = 20;

/// A row for each kernel; of a first screen the first ones, and how to see the others.
pub fn list(kernels: &[&Kernel], detail: Detail, view: &View) -> String {
    let mut table = Table::new([
        Column::left("kernel"),
        Column::left("set"),
        Column::left("types"),
        Column::left("what it computes").shrink(),
    ])
    .painter(view.painter);
    let most = detail.rows(ROWS);
    for kernel in kernels.iter().take(most) {
        let types: Vec<&str> = kernel.dtypes.iter().map(|dtype| dtype.name()).collect();
        table.row([
            kernel.name.clone(),
            kernel.set.name().to_owned(),
            types.join(" "),
            kernel.summary.clone(),
        ]);
    }
    let mut answer = Answer::default();
    answer.push(table);
    let left = kernels.len().saturating_sub(most);
    if left > 0 {
        let hint = format!(
            "and {left} more of {}: assay bench --list --full, or --list --set standard",
            kernels.len()
        );
        answer.push(Block::noted(hint, Role::Dim));
    }
    answer.terminal(view)
}

/// Arguments, sizes and geometry of kernels.
pub fn describe(kernels: &[&Kernel], registry: &Registry) -> Result<String, Failure> {
    let mut text = String::new();
    for kernel in kernels {
        let source = registry
            .source(kernel, None)
            .map_err(|error| Failure::input(error.to_string()))?;
        let _ = writeln!(
            text,
            "{}: {}\n  source {} ({})",
            kernel.name, kernel.summary, source.path, source.hash
        );
        for (place, line) in kernel.oracle.told().lines().enumerate() {
            let word = if place == 0 { "oracle" } else { "" };
            let _ = writeln!(text, "  {word:6} {}", line.trim());
        }
        for dtype in &kernel.dtypes {
            if let Some(tolerance) = kernel.tolerance(*dtype) {
                let (relative, absolute) = (tolerance.relative, tolerance.absolute);
                let _ = writeln!(
                    text,
                    "  {dtype}: within {relative:e} × scale + {absolute:e}: {}",
                    tolerance.reason
                );
            }
        }
        for set in &kernel.sizes {
            let sizes: Vec<String> = set
                .sizes
                .iter()
                .map(|(name, value)| format!("{name} {value}"))
                .collect();
            let _ = writeln!(text, "  sizes {:9} {}", set.name, sizes.join(", "));
        }
        let Some(dtype) = kernel.dtypes.first() else {
            continue;
        };
        let case = Case::new(kernel, "reference", *dtype)
            .map_err(|error| Failure::input(error.to_string()))?;
        describe_case(&case, &mut text);
    }
    Ok(text)
}

/// Arguments and passes at the reference sizes.
fn describe_case(case: &Case, text: &mut String) {
    for argument in &case.arguments {
        let extents = |shape: &[usize]| {
            shape
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(" × ")
        };
        let what = match &argument.role {
            CaseRole::Input { shape, values, .. } => {
                format!("input {} {}, {values:?}", argument.dtype, extents(shape))
            }
            CaseRole::Output { shape } => format!("output {} {}", argument.dtype, extents(shape)),
            CaseRole::Scratch { shape } => format!("scratch {} {}", argument.dtype, extents(shape)),
            CaseRole::Scalar { value } => format!("scalar {} {value}", argument.dtype),
        };
        let _ = writeln!(text, "  {:16} {what}", argument.name);
    }
    for pass in &case.passes {
        let bindings = pass.bindings.iter().map(|binding| match binding {
            CaseBinding::Argument(place) => case
                .arguments
                .get(*place)
                .map_or("?", |argument| argument.name.as_str())
                .to_owned(),
            CaseBinding::Number(value) => value.to_string(),
        });
        let bindings: Vec<String> = bindings.collect();
        let extent = match pass.extent {
            CaseExtent::Threads([x, y, z]) => format!("{x} × {y} × {z} threads"),
            CaseExtent::Groups([x, y, z]) => format!("{x} × {y} × {z} groups"),
        };
        let [x, y, z] = pass.threadgroup;
        let _ = writeln!(
            text,
            "  {}({})\n    {extent} of {x} × {y} × {z}",
            pass.function,
            bindings.join(", ")
        );
    }
    let _ = writeln!(
        text,
        "  {} operations, {} bytes",
        number::grouped(case.flops),
        number::grouped(case.bytes)
    );
}

/// What would be run.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Planned {
    kernels: Vec<PlannedKernel>,
}

/// A kernel at the sizes it would be timed at.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PlannedKernel {
    name: String,
    dtype: String,
    source: String,
    source_hash: String,
    sizes: BTreeMap<String, u64>,
    arguments: Vec<PlannedArgument>,
    dispatches: Vec<PlannedDispatch>,
    flops: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PlannedArgument {
    name: String,
    /// `input`, `output`, `scratch` or `scalar`.
    role: &'static str,
    dtype: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shape: Vec<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PlannedDispatch {
    function: String,
    groups: u64,
    threadgroup: [u32; 3],
}

/// What a command would run.
pub fn planned(asked: &Question, chosen: &Kernels<'_>) -> Result<Planned, Failure> {
    let mut kernels = Vec::new();
    for kernel in &chosen.sound {
        let source = chosen.registry.source(kernel, asked.chip.as_deref());
        let source = source.map_err(|error| Failure::input(error.to_string()))?;
        for dtype in &kernel.dtypes {
            if !asked.wants(*dtype) {
                continue;
            }
            let case = Case::new(kernel, &asked.sizes, *dtype);
            let case = case.map_err(|error| Failure::usage(format!("{}: {error}", kernel.name)))?;
            kernels.push(PlannedKernel::new(&case, &source));
        }
    }
    Ok(Planned { kernels })
}

impl Planned {
    /// For people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for kernel in &self.kernels {
            let (name, dtype, source) = (&kernel.name, &kernel.dtype, &kernel.source);
            let _ = writeln!(text, "{name} {dtype}: {source} ({})", kernel.source_hash);
            for dispatch in &kernel.dispatches {
                let [x, y, z] = dispatch.threadgroup;
                let (function, groups) = (&dispatch.function, dispatch.groups);
                let _ = writeln!(text, "  {function}: {groups} groups of {x} × {y} × {z}");
            }
        }
        let _ = writeln!(text, "{} would be run", self.kernels.len());
        text
    }
}

impl PlannedKernel {
    fn new(case: &Case, source: &Resolved) -> Self {
        let arguments = case.arguments.iter().map(|argument| {
            let (role, shape, value) = match &argument.role {
                CaseRole::Input { shape, .. } => ("input", shape.clone(), None),
                CaseRole::Output { shape } => ("output", shape.clone(), None),
                CaseRole::Scratch { shape } => ("scratch", shape.clone(), None),
                CaseRole::Scalar { value } => ("scalar", Vec::new(), Some(*value)),
            };
            PlannedArgument {
                name: argument.name.clone(),
                role,
                dtype: argument.dtype.name().to_owned(),
                shape,
                value,
            }
        });
        let dispatches = case.passes.iter().map(|pass| PlannedDispatch {
            function: pass.function.clone(),
            groups: pass.groups(),
            threadgroup: pass.threadgroup,
        });
        Self {
            name: case.kernel.clone(),
            dtype: case.dtype.name().to_owned(),
            source: source.path.clone(),
            source_hash: source.hash.clone(),
            sizes: case.sizes.clone(),
            arguments: arguments.collect(),
            dispatches: dispatches.collect(),
            flops: case.flops,
            bytes: case.bytes,
        }
    }
}
