//! What `assay inspect` found, for people.

use super::document::{Document, Kernel, Library, Slice};
use assay_report::blocks::Detail;
use assay_report::number::{bytes, grouped, or_unknown};
use assay_report::style::{Painter, Role};
use assay_report::table::{Cell, Column, Table};

/// The report, at most `width` columns wide.
pub fn render(document: &Document, detail: Detail, painter: Painter, width: usize) -> String {
    let mut screen = Screen {
        out: String::new(),
        detail,
        left_out: 0,
    };
    let file = &document.file;
    screen.push(&format!(
        "{}: {}, {}\n",
        painter.paint(Role::Name, &file.path),
        file.kind,
        bytes(file.bytes)
    ));
    let several = document.metallibs.len() > 1;
    for (index, library) in screen
        .first(&document.metallibs, ROWS / 2)
        .iter()
        .enumerate()
    {
        screen.push(&library_line(library, several.then_some(index)));
    }
    if !document.slices.is_empty() {
        let shown = screen.first(&document.slices, ROWS / 2);
        screen.push(&format!("\n{}", slices(shown, painter, width)));
    }
    let of_form = |form: &str| document.all().filter(|one| one.form == form).collect();
    let air: Vec<&Kernel> = of_form("air");
    let machine: Vec<&Kernel> = of_form("agx");
    let (listed, alone): (Vec<&Kernel>, Vec<&Kernel>) =
        air.iter().partition(|kernel| kernel.metallib.is_some());
    if let Some(first) = alone.first() {
        screen.push(&module_line(first, alone.len()));
    }
    let described: Vec<&Kernel> = air
        .into_iter()
        .filter(|one| one.arguments.is_some())
        .collect();
    if !listed.is_empty() {
        let alone = described.is_empty() && machine.is_empty();
        let shown = screen.first(&listed, if alone { ROWS } else { ROWS / 3 });
        let libraries = document.metallibs.len();
        let table = air_functions(shown, libraries, painter, width);
        screen.push(&format!("\n{table}"));
    }
    if !machine.is_empty() {
        let shown = screen.first(&machine, ROWS / 2);
        screen.push(&format!("\n{}", machine_functions(shown, painter, width)));
    }
    let only = document.all().count() == 1;
    for kernel in described {
        screen.push_if_it_fits(only, &format!("\n{}", arguments(kernel, painter, width)));
    }
    screen.ended()
}

/// Lines of a first screen, with its last line and the prompt's.
const LINES: usize = 21;
/// Rows of its only table.
const ROWS: usize = 14;

/// What is shown, as far as a first screen goes; everything when asked for.
struct Screen {
    out: String,
    detail: Detail,
    /// Rows and kernels that are not shown.
    left_out: usize,
}

impl Screen {
    fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// The first rows of a table, and a note of the others.
    fn first<'t, T>(&mut self, rows: &'t [T], most: usize) -> &'t [T] {
        let shown = rows.get(..self.detail.rows(most)).unwrap_or(rows);
        self.left_out += rows.len() - shown.len();
        shown
    }

    /// A kernel for which there is room, or the only one.
    fn push_if_it_fits(&mut self, only: bool, text: &str) {
        let lines = |text: &str| text.matches('\n').count();
        let fits = self.left_out == 0 && lines(&self.out) + lines(text) <= LINES;
        match fits || only || self.detail == Detail::Full {
            true => self.push(text),
            false => self.left_out += 1,
        }
    }

    fn ended(mut self) -> String {
        if self.left_out > 0 {
            let rest = grouped(self.left_out as u64);
            self.push(&format!("and {rest} more: --full, or one with -f NAME\n"));
        }
        self.out
    }
}

fn library_line(library: &Library, index: Option<usize>) -> String {
    let mut parts = Vec::new();
    match &library.target {
        Some(version) => parts.push(format!("{} {version}", library.platform)),
        None => parts.push(library.platform.clone()),
    }
    parts.push(library.kind.clone());
    parts.push(format!("format {}", library.format));
    if let Some(uuid) = &library.uuid {
        parts.push(format!("UUID {uuid}"));
    }
    if library.source_archives > 0 {
        parts.push(format!("{} source archives", library.source_archives));
    }
    parts.push(count(library.functions, "function"));
    let place = match (&library.section, index) {
        _ if library.member.is_some() => {
            format!(" in {}", library.member.as_deref().unwrap_or_default())
        }
        (Some(section), _) => format!(" in {section} at {:#x}", library.offset),
        (None, Some(_)) => format!(" at {:#x}", library.offset),
        (None, None) => String::new(),
    };
    let number = index.map_or(String::new(), |index| format!(" {index}"));
    format!("metallib{number}{place}: {}\n", parts.join(", "))
}

fn count(number: u64, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{} {what}s", grouped(number)),
    }
}

fn slices(slices: &[Slice], painter: Painter, width: usize) -> String {
    let mut columns = vec![
        Column::left("slice for"),
        Column::right("offset"),
        Column::right("size"),
        Column::right("functions"),
    ];
    let members = slices.iter().any(|slice| slice.member.is_some());
    if members {
        columns.push(Column::left("member").shrink());
    }
    let mut table = Table::new(columns).painter(painter);
    for slice in slices {
        let mut row = vec![
            slice.target.clone(),
            format!("{:#x}", slice.offset),
            bytes(slice.bytes),
            grouped(slice.functions),
        ];
        if members {
            row.push(slice.member.clone().unwrap_or_default());
        }
        table.row(row);
    }
    let mut out = table.render(width);
    for slice in slices {
        if let Some(advice) = &slice.advice {
            let label = painter.paint(Role::Warn, "cannot be decoded:");
            out.push_str(&format!("{label} {}. {advice}\n", slice.target));
        }
    }
    out
}

fn air_functions(kernels: &[&Kernel], libraries: usize, painter: Painter, width: usize) -> String {
    let mut columns = vec![
        Column::left("function").shrink(),
        Column::left("type"),
        Column::right("air"),
        Column::right("metal"),
        Column::right("bitcode"),
        Column::left("hash"),
    ];
    if libraries > 1 {
        columns.push(Column::right("metallib"));
    }
    let mut table = Table::new(columns).painter(painter);
    for kernel in kernels {
        let hash = kernel.hash.as_deref().unwrap_or_default();
        let mut row = vec![
            name(kernel),
            kernel.kind.clone().into(),
            or_unknown(kernel.air.as_ref()).into(),
            or_unknown(kernel.metal.as_ref()).into(),
            kernel.bytes.map_or("declared".to_owned(), bytes).into(),
            hash.get(..12).unwrap_or(hash).to_owned().into(),
        ];
        if libraries > 1 {
            row.push(or_unknown(kernel.metallib).into());
        }
        table.row(row);
    }
    table.render(width)
}

/// What holds for all kernels of one module.
fn module_line(kernel: &Kernel, kernels: usize) -> String {
    let stated = [("AIR", &kernel.air), ("Metal", &kernel.metal)];
    let mut parts: Vec<String> = stated
        .into_iter()
        .filter_map(|(what, version)| Some(format!("{what} {}", version.as_ref()?)))
        .collect();
    parts.extend(kernel.compiler.clone());
    parts.push(count(kernels as u64, "kernel"));
    format!("{}\n", parts.join(", "))
}

/// The arguments of one kernel, under its name.
fn arguments(kernel: &Kernel, painter: Painter, width: usize) -> String {
    let name = kernel.name.as_deref().unwrap_or("(not named)");
    let mut out = painter.paint(Role::Name, name).to_string();
    if let Some(threads) = kernel.max_threads {
        out.push_str(&format!(", at most {threads} threads per threadgroup"));
    }
    out.push('\n');
    let list = kernel.arguments.as_deref().unwrap_or_default();
    if list.is_empty() {
        out.push_str("no arguments\n");
        return out;
    }
    let mut table = Table::new([
        Column::right("index"),
        Column::left("kind"),
        Column::left("access"),
        Column::left("type").shrink(),
        Column::left("name").shrink(),
    ])
    .painter(painter);
    for argument in list {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        table.row([
            argument.index.map_or(String::new(), |n| n.to_string()),
            argument.kind.clone(),
            text(&argument.access),
            text(&argument.type_name),
            text(&argument.name),
        ]);
    }
    out.push_str(&table.render(width));
    out
}

fn machine_functions(kernels: &[&Kernel], painter: Painter, width: usize) -> String {
    let mut table = Table::new([
        Column::left("function").shrink(),
        Column::left("stage"),
        Column::left("GPU"),
        Column::right("offset"),
        Column::right("main"),
        Column::right("constant"),
        Column::right("helpers"),
        Column::right("registers"),
        Column::right("spill"),
        Column::right("threadgroup"),
    ])
    .painter(painter);
    for kernel in kernels {
        let Some(machine) = &kernel.machine else {
            continue;
        };
        let size = |value: Option<u64>| value.map_or("none".to_owned(), bytes);
        let stated =
            |value: Option<u32>| value.map_or("not stated".to_owned(), |v| bytes(v.into()));
        table.row([
            name(kernel),
            kernel.kind.clone().into(),
            machine.gpu.clone().into(),
            kernel
                .offset
                .map_or(String::new(), |offset| format!("{offset:#x}"))
                .into(),
            size(machine.main_bytes).into(),
            size(machine.constant_program_bytes).into(),
            machine.helpers.len().to_string().into(),
            machine
                .registers
                .map_or("not stated".to_owned(), |registers| registers.to_string())
                .into(),
            stated(machine.spill_bytes).into(),
            stated(machine.threadgroup_bytes).into(),
        ]);
    }
    let mut out = table.render(width);
    for kernel in kernels {
        let error = kernel
            .machine
            .as_ref()
            .and_then(|m| m.metadata_error.as_ref());
        if let Some(error) = error {
            let label = painter.paint(Role::Warn, "metadata not read:");
            out.push_str(&format!("{label} {error}\n"));
        }
    }
    out
}

fn name(kernel: &Kernel) -> Cell {
    match &kernel.name {
        Some(name) => Cell::new(name.clone(), Role::Name),
        None => Cell::new("(not named)", Role::Dim),
    }
}
