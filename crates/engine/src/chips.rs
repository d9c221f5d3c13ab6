//! Chips, instruction costs and their sources, as a document and as text.

use assay_chip::{Chip, Cost, CostModel, CostTable, Key, NO_COST, OPS, Parameter};
use assay_report::blocks::View;
use assay_report::number::or_unknown;
use assay_report::style::{Painter, Role};
use assay_report::table::{Cell, Column, Table};
use serde::Serialize;
use std::collections::BTreeMap;

#[cfg(feature = "schema")]
use schemars::JsonSchema;

/// The JSON document.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Document {
    chips: Vec<ChipEntry>,
    /// Instruction costs, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    costs: Option<Costs>,
    /// The result of the check, when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Check>,
    /// The publications figures refer to.
    sources: Vec<SourceEntry>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
struct ChipEntry {
    name: &'static str,
    title: &'static str,
    /// Metal GPU family.
    family: u8,
    /// Apple's name of the GPU; null where no public source tells.
    gpu: Option<&'static str>,
    /// Numbers of GPU cores it is sold with.
    variants: Vec<u32>,
    /// Whether instruction costs, and so cycles, are available.
    has_costs: bool,
    /// Figures by name; a figure that is not here is unknown.
    figures: BTreeMap<&'static str, FigureEntry>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
struct FigureEntry {
    value: f64,
    unit: &'static str,
    source: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    note: &'static str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
struct Costs {
    /// `measured` or `mesa`.
    table: &'static str,
    rows: Vec<CostEntry>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
struct CostEntry {
    key: &'static str,
    unit: &'static str,
    /// Cycles of the unit per simdgroup instruction per scheduler; null when unknown.
    cycles: Option<f64>,
    /// Issue slots of the scheduler; null when unknown.
    dispatch: Option<f64>,
    /// Cycles until a dependent instruction can issue; null when unknown.
    latency: Option<f64>,
    /// `measured`, `derived`, `assumed`, `modelled`, `left-out`.
    basis: &'static str,
    source: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    note: &'static str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
struct SourceEntry {
    id: &'static str,
    title: &'static str,
    address: &'static str,
}

/// Whether the cost tables answer for every instruction.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
pub struct Check {
    /// Operations of the instruction set.
    operations: u64,
    /// Rows of a cost table.
    rows: u64,
    /// Rows of the measured table with something unknown, and the reason.
    unknown: Vec<Unknown>,
    /// What is wrong; empty when all is well.
    faults: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
struct Unknown {
    /// A row, or an operation without one.
    what: String,
    /// `cycles`, `dispatch`, `latency`.
    unknown: Vec<&'static str>,
    reason: &'static str,
}

impl Document {
    /// These chips, with a cost table and the result of a check where they are asked for.
    pub fn new(chips: &[Chip], costs: Option<&'static CostTable>, check: Option<Check>) -> Self {
        Document {
            chips: chips.iter().map(entry).collect(),
            costs: costs.map(|table| Costs {
                table: table.model().name(),
                rows: table.rows().iter().map(cost_entry).collect(),
            }),
            check,
            sources: sources(),
        }
    }
}

impl Check {
    /// Returns true if every instruction has a cost or a reason why not.
    pub fn is_fine(&self) -> bool {
        self.faults.is_empty()
    }
}

fn entry(chip: &Chip) -> ChipEntry {
    let figures = Parameter::ALL
        .iter()
        .filter_map(|&parameter| {
            let figure = chip.figure(parameter)?;
            let entry = FigureEntry {
                value: figure.value,
                unit: parameter.unit(),
                source: figure.source.id,
                note: figure.note,
            };
            Some((parameter.name(), entry))
        })
        .collect();
    ChipEntry {
        name: chip.name,
        title: chip.title,
        family: chip.family,
        gpu: chip.gpu,
        variants: chip.variants.clone(),
        has_costs: chip.has_costs(),
        figures,
    }
}

fn cost_entry(cost: &Cost) -> CostEntry {
    CostEntry {
        key: cost.key.name(),
        unit: cost.unit.name(),
        cycles: cost.cycles,
        dispatch: cost.dispatch,
        latency: cost.latency,
        basis: cost.basis.name(),
        source: cost.source.id,
        note: cost.note,
    }
}

fn sources() -> Vec<SourceEntry> {
    assay_chip::sources()
        .iter()
        .map(|source| SourceEntry {
            id: source.id,
            title: source.title,
            address: source.address,
        })
        .collect()
}

/// Looks whether the cost tables answer for every instruction.
pub fn check() -> Check {
    let mut faults = Vec::new();
    for model in CostModel::ALL {
        faults.extend(CostTable::of(model).check());
    }
    for &op in OPS {
        let declared = NO_COST.iter().any(|(known, _)| *known == op);
        if (Key::of_op(op) == Key::Unknown) != declared {
            faults.push(format!(
                "{op:?} has no row and is not declared free of cost"
            ));
        }
    }
    let table = CostTable::of(CostModel::Measured);
    let mut unknown: Vec<Unknown> = table.rows().iter().filter_map(unknown_of).collect();
    unknown.extend(NO_COST.iter().map(|(op, reason)| Unknown {
        what: format!("{op:?}"),
        unknown: vec!["cycles", "dispatch", "latency"],
        reason,
    }));
    Check {
        operations: OPS.len() as u64,
        rows: Key::ALL.len() as u64,
        unknown,
        faults,
    }
}

fn unknown_of(cost: &Cost) -> Option<Unknown> {
    let parts = [
        ("cycles", cost.cycles),
        ("dispatch", cost.dispatch),
        ("latency", cost.latency),
    ];
    let unknown: Vec<_> = parts
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|(name, _)| *name)
        .collect();
    (!unknown.is_empty()).then(|| Unknown {
        what: cost.key.to_string(),
        unknown,
        reason: cost.note,
    })
}

/// A row for each chip.
pub fn render_list(chips: &[Chip], view: &View) -> String {
    let View { painter, width, .. } = *view;
    let mut table = Table::new([
        Column::left("chip"),
        Column::right("family"),
        Column::left("GPU"),
        Column::left("cores"),
        Column::right("GHz"),
        Column::right("L2 KiB"),
        Column::right("SLC MiB"),
        Column::right("GB/s"),
        Column::right("TFLOPS"),
        Column::left("costs"),
    ])
    .painter(painter);
    for chip in chips {
        let variants: Vec<_> = chip.variants.iter().map(u32::to_string).collect();
        table.row([
            Cell::new(chip.name, Role::Name),
            chip.family.to_string().into(),
            or_unknown(chip.gpu).into(),
            variants.join(" or ").into(),
            figure(chip, Parameter::ClockGhz),
            figure(chip, Parameter::L2Kib),
            figure(chip, Parameter::SlcMib),
            figure(chip, Parameter::DramGbs),
            known(
                chip.peak_flops()
                    .map(|flops| format!("{:.2}", flops / 1e12)),
            ),
            match chip.has_costs() {
                true => Cell::new("known", Role::Good),
                false => Cell::new("–", Role::Dim),
            },
        ]);
    }
    let mut out = table.render(width);
    out.push_str(
        "Figures are for the largest variant. assay chips NAME shows all, with sources.\n",
    );
    out
}

fn known(text: Option<String>) -> Cell {
    match text {
        Some(text) => text.into(),
        None => Cell::new("unknown", Role::Dim),
    }
}

fn figure(chip: &Chip, parameter: Parameter) -> Cell {
    known(chip.get(parameter).map(|value| value.to_string()))
}

/// Every figure of a chip.
pub fn render_chip(chip: &Chip, full: bool, view: &View) -> String {
    let View { painter, width, .. } = *view;
    let mut out = format!(
        "{}: Metal GPU family {}, GPU {}\n",
        painter.paint(Role::Heading, chip.title),
        chip.family,
        or_unknown(chip.gpu)
    );
    let mut table = Table::new([
        Column::left("parameter"),
        Column::right("value"),
        Column::left(""),
        Column::left("source"),
        Column::left("meaning").shrink(),
    ])
    .painter(painter);
    let mut unknown = Vec::new();
    for &parameter in Parameter::ALL {
        let found = chip.figure(parameter);
        if found.is_none() && !full {
            unknown.push(parameter.name());
            continue;
        }
        let note = found.map_or("", |figure| figure.note);
        let meaning = match note {
            "" => parameter.meaning().to_owned(),
            note => format!("{}; {note}", parameter.meaning()),
        };
        table.row([
            parameter.name().into(),
            figure(chip, parameter),
            found.map_or("", |_| parameter.unit()).into(),
            Cell::new(found.map_or("", |figure| figure.source.id), Role::Dim),
            meaning.into(),
        ]);
    }
    out.push_str(&table.render(width));
    if !full {
        let known = match unknown.as_slice() {
            [] => String::new(),
            names => format!("unknown: {}; ", names.join(" ")),
        };
        let hint = format!("{known}sources: --full");
        let hint = assay_report::wrap::hanging(&hint, width, 0, 2).join("\n  ");
        return out + &hint + "\n";
    }
    out.push('\n');
    out.push_str(match chip.has_costs() {
        true => "Instruction costs: `--costs measured` (default for profiles), `--costs mesa`.\n",
        false => "No instruction costs are published for this family, so no cycles are modelled.\n",
    });
    out.push_str(&render_sources(painter));
    out
}

fn render_sources(painter: Painter) -> String {
    let mut out = String::from("\nSources:\n");
    for source in assay_chip::sources() {
        out.push_str(&format!(
            "  {}  {}  {}\n",
            painter.paint(Role::Dim, source.id),
            source.title,
            source.address
        ));
    }
    out
}

/// A cost table.
pub fn render_costs(costs: &CostTable, view: &View) -> String {
    let View { painter, width, .. } = *view;
    let mut table = Table::new([
        Column::left("instruction"),
        Column::left("unit"),
        Column::right("cycles"),
        Column::right("dispatch"),
        Column::right("latency"),
        Column::left("basis"),
        Column::left("source"),
        Column::left("note").shrink(),
    ])
    .painter(painter);
    for cost in costs.rows() {
        let cell = |value: Option<f64>| known(value.map(|value| value.to_string()));
        table.row([
            Cell::new(cost.key.name(), Role::Name),
            cost.unit.name().into(),
            cell(cost.cycles),
            cell(cost.dispatch),
            cell(cost.latency),
            cost.basis.name().into(),
            Cell::new(cost.source.id, Role::Dim),
            cost.note.into(),
        ]);
    }
    format!(
        "Cost table `{}`: cycles per simdgroup instruction per scheduler.\n\n{}{}",
        costs.model(),
        table.render(width),
        render_sources(painter)
    )
}

/// The result of the check.
pub fn render_check(check: &Check, view: &View) -> String {
    let View { painter, width, .. } = *view;
    let mut table = Table::new([
        Column::left("not fully known"),
        Column::left("unknown"),
        Column::left("reason").shrink(),
    ])
    .painter(painter);
    for row in &check.unknown {
        table.row([
            row.what.clone(),
            row.unknown.join(", "),
            row.reason.to_owned(),
        ]);
    }
    let mut out = table.render(width);
    out.push('\n');
    for fault in &check.faults {
        out.push_str(&format!("{} {fault}\n", painter.paint(Role::Bad, "fault:")));
    }
    let verdict = match check.faults.is_empty() {
        true => "every instruction has a cost or a reason why not",
        false => "the tables are incomplete",
    };
    out.push_str(&format!(
        "{} operations, {} rows in each table, {} with something unknown: {verdict}\n",
        check.operations,
        check.rows,
        check.unknown.len()
    ));
    out
}
