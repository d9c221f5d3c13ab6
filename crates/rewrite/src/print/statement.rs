//! The control tree as statements.
//!
//! Where falling off the end of a region means the same as leaving a scope or repeating a loop, nothing is written. What is
//! left are `break` and `continue`, of the innermost loop where that is enough, else by a flag that each loop on the way
//! out looks at. A scope that is left from its middle becomes `do { … } while (false)`.

use super::plan::RegionId;
use super::{PrintError, Printer, types};
use assay_opt::control::{Item, Label, Region, edge};
use assay_ssa::{Block, Builtin, Callee, Inst, InstData, LoopHint, Value, ValueDef};
use std::collections::HashSet;

/// A statement, before indentation.
#[derive(Debug)]
pub(super) enum Statement {
    Line(String),
    If {
        cond: String,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    Loop {
        /// What goes before it.
        pragma: Option<String>,
        body: Vec<Statement>,
    },
    /// A scope left from its middle.
    Once(Vec<Statement>),
}

/// Where control can go by a jump of the tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    /// The end of a scope.
    End(Label),
    /// The next iteration of a loop.
    Again(Label),
}

/// A construct that `break` leaves.
struct Frame {
    /// What reaching the place behind it means.
    behind: Vec<Target>,
    /// The loop it is, if it is one.
    repeats: Option<Label>,
    /// The flag that says the construct around it is to be left too, once one was needed.
    flag: Option<String>,
}

/// Makes the statements of a kernel.
pub(super) struct Statements<'p, 'm> {
    printer: &'p mut Printer<'m>,
    /// Scopes that are left from their middle.
    once: HashSet<Label>,
    frames: Vec<Frame>,
    next_region: RegionId,
    /// Variables whose declaration has been written with their first assignment.
    declared: HashSet<Value>,
}

/// What was asked for about a loop, as a pragma.
fn unrolling(hint: LoopHint) -> Option<String> {
    Some(match hint {
        LoopHint::None => return None,
        LoopHint::NoUnroll => "#pragma clang loop unroll(disable)".to_owned(),
        LoopHint::Unroll => "#pragma unroll".to_owned(),
        LoopHint::UnrollFull => "#pragma clang loop unroll(full)".to_owned(),
        LoopHint::UnrollCount(count) => format!("#pragma unroll({})", count.max(1)),
    })
}

/// A jump that no `break` in reach can make: the scope has to become breakable.
enum Stop {
    Needs(Label),
    Error(PrintError),
}

impl From<PrintError> for Stop {
    fn from(error: PrintError) -> Self {
        Stop::Error(error)
    }
}

/// The statements of the whole body.
pub(super) fn body(
    printer: &mut Printer<'_>,
    region: &Region,
) -> Result<Vec<Statement>, PrintError> {
    let mut once = HashSet::new();
    loop {
        let mut statements = Statements {
            printer,
            once: once.clone(),
            frames: Vec::new(),
            next_region: 0,
            declared: HashSet::new(),
        };
        match statements.region(region, &[]) {
            Ok(mut made) => {
                if matches!(made.last(), Some(Statement::Line(line)) if line == "return;") {
                    made.pop();
                }
                return Ok(made);
            }
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Needs(label)) => {
                if !once.insert(label) {
                    return Err(PrintError::Operation("a jump out of nested loops"));
                }
            }
        }
    }
}

impl Statements<'_, '_> {
    /// `tail`: what falling off the end of the region means.
    fn region(&mut self, region: &Region, tail: &[Target]) -> Result<Vec<Statement>, Stop> {
        let id = self.next_region;
        self.next_region += 1;
        let mut out = Vec::new();
        for (at, item) in region.iter().enumerate() {
            if let Some(values) = self.printer.plan.ahead.get(&(id, at)) {
                for value in values.clone() {
                    let line = if self.printer.allocas.contains_key(&value) {
                        self.printer.array(value)?
                    } else {
                        format!("{};", self.declaration(value)?)
                    };
                    out.push(Statement::Line(line));
                }
            }
            let rest = region.get(at + 1..).unwrap_or(&[]);
            let behind = after(rest, tail);
            self.item(item, &behind, &mut out)?;
        }
        Ok(out)
    }

    fn item(&mut self, item: &Item, tail: &[Target], out: &mut Vec<Statement>) -> Result<(), Stop> {
        match item {
            Item::Run(block) => self.run(*block, out)?,
            Item::Pass { from, arm } => {
                if let Some(call) = edge(self.printer.function, *from, *arm) {
                    let args = self.printer.function.list_values(call.args).to_vec();
                    let params = self.printer.function.params(call.block).to_vec();
                    self.pass(&params, &args, out)?;
                }
            }
            Item::If {
                cond,
                then,
                otherwise,
            } => {
                let cond = *cond;
                let text = self.printer.value(cond)?.text;
                let then = self.region(then, tail)?;
                let otherwise = self.region(otherwise, tail)?;
                out.push(Statement::If {
                    cond: text,
                    then,
                    otherwise,
                });
            }
            Item::Scope { label, body } => {
                let mut inside = vec![Target::End(*label)];
                inside.extend_from_slice(tail);
                if self.once.contains(label) {
                    self.frames.push(Frame {
                        behind: inside.clone(),
                        repeats: None,
                        flag: None,
                    });
                    let body = self.region(body, &inside)?;
                    self.leave_frame(Statement::Once(body), out);
                } else {
                    out.extend(self.region(body, &inside)?);
                }
            }
            Item::Loop { label, body } => {
                self.frames.push(Frame {
                    behind: tail.to_vec(),
                    repeats: Some(*label),
                    flag: None,
                });
                let body = self.region(body, &[Target::Again(*label)])?;
                let hint = self.printer.function.block(label.0).loop_hint;
                let body = Statement::Loop {
                    pragma: unrolling(hint),
                    body,
                };
                self.leave_frame(body, out);
            }
            Item::Leave(label) => self.jump(Target::End(*label), tail, out)?,
            Item::Repeat(label) => self.jump(Target::Again(*label), tail, out)?,
            Item::Return(None) => out.push(Statement::Line("return;".to_owned())),
            Item::Return(Some(_)) => {
                return Err(Stop::Error(PrintError::Operation("a kernel with a result")));
            }
            Item::Unreachable => {}
        }
        Ok(())
    }

    /// Ends a breakable construct: where a flag was needed to leave the one around it too, declares and looks at it.
    fn leave_frame(&mut self, construct: Statement, out: &mut Vec<Statement>) {
        let flag = self.frames.pop().and_then(|frame| frame.flag);
        if let Some(flag) = &flag {
            out.push(Statement::Line(format!("bool {flag} = false;")));
        }
        out.push(construct);
        if let Some(flag) = flag {
            out.push(Statement::If {
                cond: flag,
                then: vec![Statement::Line("break;".to_owned())],
                otherwise: Vec::new(),
            });
        }
    }

    fn jump(
        &mut self,
        target: Target,
        tail: &[Target],
        out: &mut Vec<Statement>,
    ) -> Result<(), Stop> {
        if tail.contains(&target) {
            return Ok(());
        }
        if let Target::Again(label) = target
            && self
                .frames
                .last()
                .is_some_and(|frame| frame.repeats == Some(label))
        {
            out.push(Statement::Line("continue;".to_owned()));
            return Ok(());
        }
        let found = self
            .frames
            .iter()
            .rposition(|frame| frame.behind.contains(&target));
        let Some(outer) = found else {
            return Err(match target {
                Target::End(label) => Stop::Needs(label),
                Target::Again(_) => {
                    Stop::Error(PrintError::Operation("a repetition of an outer loop"))
                }
            });
        };
        // Every construct inside the one to leave is left first, each by a flag of its own.
        let innermost = self.frames.len() - 1;
        for at in (outer + 1..=innermost).rev() {
            let flag = match self.frames[at].flag.clone() {
                Some(flag) => flag,
                None => self.printer.names.fresh("leave"),
            };
            out.push(Statement::Line(format!("{flag} = true;")));
            self.frames[at].flag = Some(flag);
        }
        out.push(Statement::Line("break;".to_owned()));
        Ok(())
    }

    fn run(&mut self, block: Block, out: &mut Vec<Statement>) -> Result<(), Stop> {
        for &inst in self.printer.function.insts(block) {
            let data = self.printer.function.inst(inst);
            if self.printer.plan.inline[inst] || data.is_terminator() {
                continue;
            }
            for line in self.statement(inst)? {
                out.push(Statement::Line(line));
            }
        }
        Ok(())
    }

    /// `float x`, or for a variable that is declared already `x`.
    fn target(&mut self, value: Value) -> Result<String, PrintError> {
        if self.printer.plan.declared_ahead[value] || !self.declared.insert(value) {
            return Ok(self.printer.names.of(value));
        }
        self.declaration(value)
    }

    fn declaration(&self, value: Value) -> Result<String, PrintError> {
        let name = self.printer.names.of(value);
        Ok(format!("{} {name}", self.printer.variable_type(value)?))
    }

    fn statement(&mut self, inst: Inst) -> Result<Vec<String>, PrintError> {
        let function = self.printer.function;
        let result = function.result(inst);
        // Where the variable is first assigned is decided before anything borrows the printer.
        let target = match result {
            Some(value)
                if self.printer.plan.uses[value] > 0 && has_assignment(function.inst(inst)) =>
            {
                self.target(value)?
            }
            _ => String::new(),
        };
        let printer = &*self.printer;
        match *function.inst(inst) {
            InstData::Store { ptr, value, access } => Ok(vec![printer.store(ptr, value, access)?]),
            InstData::Alloca { .. } => match result {
                Some(value) if !printer.plan.declared_ahead[value] => {
                    Ok(vec![printer.array(value)?])
                }
                _ => Ok(Vec::new()),
            },
            InstData::AtomicCompareExchange { expected, .. } => {
                let Some(value) = result else {
                    return Err(PrintError::Operation("an exchange without a result"));
                };
                let old = printer.names.of(value);
                let first = format!("{target} = {};", printer.value(expected)?.text);
                Ok(vec![first, printer.compare_exchange(inst, &old)?])
            }
            InstData::Call {
                callee: Callee::Builtin(call),
                args,
                ..
            } if matches!(
                call.builtin,
                Builtin::MatrixLoad
                    | Builtin::MatrixStore
                    | Builtin::MatrixMultiply
                    | Builtin::MatrixMultiplyAdd
            ) =>
            {
                self.matrix(call.builtin, function.list_values(args), result)
            }
            InstData::Insert {
                vector,
                element,
                index,
            } => self.insert([vector, element, index], result, &target),
            InstData::Construct { args } if function.result_type(inst).is_matrix() => {
                self.matrix_of_elements(function.list_values(args), result, &target)
            }
            InstData::Cast { arg, .. } if function.result_type(inst).is_matrix() => {
                let name = result
                    .map(|value| printer.names.of(value))
                    .unwrap_or_default();
                let text = printer.value(arg)?.text;
                Ok(vec![
                    format!("{target};"),
                    format!("{name}.thread_elements() = {text};"),
                ])
            }
            InstData::MemCopy { .. } | InstData::MemSet { .. } => {
                Err(PrintError::Operation("a copy of varying length"))
            }
            _ => {
                let text = match (result, function.inst(inst)) {
                    (Some(value), InstData::PtrAdd { .. }) => printer.made_pointer(value)?.text,
                    _ => printer.instruction(inst)?.text,
                };
                match result {
                    Some(value) if printer.plan.uses[value] > 0 => {
                        let converted = self.converted(value, text)?;
                        Ok(vec![format!("{target} = {converted};")])
                    }
                    _ => Ok(vec![format!("{text};")]),
                }
            }
        }
    }

    /// Pointers are made as bytes by some operations; their variables have the type of what they point at.
    fn converted(&self, value: Value, text: String) -> Result<String, PrintError> {
        let pointer = self.printer.function.ty(value).is_pointer();
        let made = self.printer.function.def_data(value);
        let plain = matches!(made, Some(InstData::PtrAdd { .. }));
        if pointer && !plain {
            return Ok(format!("({})({text})", self.printer.pointer_type(value)?));
        }
        Ok(text)
    }

    fn insert(
        &self,
        [vector, element, index]: [Value; 3],
        result: Option<Value>,
        target: &str,
    ) -> Result<Vec<String>, PrintError> {
        let printer = &*self.printer;
        let Some(value) = result else {
            return Ok(Vec::new());
        };
        let name = printer.names.of(value);
        let ty = printer.function.ty(value);
        let start = match printer.function.def(vector) {
            // Every element of an undefined vector may be anything; zero is what the executor takes.
            ValueDef::Undef => printer.zero(ty)?,
            _ => printer.value(vector)?,
        };
        let first = format!("{target} = {};", start.text);
        let base = if ty.is_matrix() {
            format!("{name}.thread_elements()")
        } else {
            name
        };
        let element = printer.value(element)?.text;
        let lanes = u64::from(ty.lanes());
        Ok(match printer.function.def(index) {
            ValueDef::Const(at) if at >= lanes => vec![first],
            _ => vec![
                first,
                format!("{base}[{}] = {element};", printer.value(index)?.text),
            ],
        })
    }

    fn matrix_of_elements(
        &self,
        elements: &[Value],
        result: Option<Value>,
        target: &str,
    ) -> Result<Vec<String>, PrintError> {
        let Some(value) = result else {
            return Ok(Vec::new());
        };
        let name = self.printer.names.of(value);
        let mut lines = vec![format!("{target};")];
        for (at, &element) in elements.iter().enumerate() {
            let text = self.printer.value(element)?.text;
            lines.push(format!("{name}.thread_elements()[{at}] = {text};"));
        }
        Ok(lines)
    }

    fn matrix(
        &self,
        builtin: Builtin,
        args: &[Value],
        result: Option<Value>,
    ) -> Result<Vec<String>, PrintError> {
        let printer = &*self.printer;
        let mut lines = Vec::new();
        if let Some(value) = result
            && !printer.plan.declared_ahead[value]
        {
            lines.push(format!("{};", self.declaration(value)?));
        }
        let target = result
            .map(|value| printer.names.of(value))
            .unwrap_or_default();
        let text = |value: Value| printer.value(value).map(|expr| expr.text);
        let pointer = |at: usize, matrix: Value| -> Result<String, PrintError> {
            let of = printer.function.ty(matrix).element();
            let element = types::in_memory(
                assay_ssa::Type::scalar(of.unwrap_or(assay_ssa::Scalar::F32)),
                4,
            )?;
            Ok(printer.pointer_as(args[at], &element)?.text)
        };
        lines.push(match (builtin, args) {
            (Builtin::MatrixLoad, &[_, stride, origin, transposed]) => {
                let Some(value) = result else {
                    return Ok(Vec::new());
                };
                format!(
                    "simdgroup_load({target}, {}, {}, {}, {});",
                    pointer(0, value)?,
                    text(stride)?,
                    text(origin)?,
                    text(transposed)?
                )
            }
            (Builtin::MatrixStore, &[matrix, _, stride, origin, transposed]) => format!(
                "simdgroup_store({}, {}, {}, {}, {});",
                text(matrix)?,
                pointer(1, matrix)?,
                text(stride)?,
                text(origin)?,
                text(transposed)?
            ),
            (Builtin::MatrixMultiply, &[a, b]) => {
                format!("simdgroup_multiply({target}, {}, {});", text(a)?, text(b)?)
            }
            (Builtin::MatrixMultiplyAdd, &[a, b, c]) => format!(
                "simdgroup_multiply_accumulate({target}, {}, {}, {});",
                text(a)?,
                text(b)?,
                text(c)?
            ),
            _ => return Err(PrintError::Builtin(builtin.info().name)),
        });
        Ok(lines)
    }

    /// Gives the parameters of a block their values, all at once: an assignment waits until nothing else needs the old
    /// value of its variable; where that never happens, all new values are computed first.
    fn pass(
        &mut self,
        params: &[Value],
        args: &[Value],
        out: &mut Vec<Statement>,
    ) -> Result<(), PrintError> {
        let mut left: Vec<(Value, Value, Vec<Value>)> = Vec::new();
        for (&param, &arg) in params.iter().zip(args) {
            if param != arg && self.printer.plan.uses[param] > 0 {
                left.push((param, arg, self.printer.mentioned(arg)));
            }
        }
        let is_free = |left: &[(Value, Value, Vec<Value>)], param: Value| {
            !left
                .iter()
                .any(|(other, _, mentioned)| *other != param && mentioned.contains(&param))
        };
        while let Some(at) = left.iter().position(|(param, _, _)| is_free(&left, *param)) {
            let (param, arg, _) = left.remove(at);
            let text = self.printer.argument(param, arg)?;
            let target = self.target(param)?;
            out.push(Statement::Line(format!("{target} = {text};")));
        }
        let mut assignments = Vec::new();
        for (param, arg, _) in left {
            let text = self.printer.argument(param, arg)?;
            let next = self.printer.names.fresh("next");
            let declared = self.printer.variable_type(param)?;
            out.push(Statement::Line(format!("{declared} {next} = {text};")));
            assignments.push(format!("{} = {next};", self.printer.names.of(param)));
        }
        out.extend(assignments.into_iter().map(Statement::Line));
        Ok(())
    }
}

/// Returns true if the variable of an instruction is written `x = …`; matrices are filled in by calls.
fn has_assignment(data: &InstData) -> bool {
    match data {
        InstData::Alloca { .. } | InstData::Store { .. } => false,
        InstData::Call {
            callee: Callee::Builtin(call),
            ..
        } => !matches!(
            call.builtin,
            Builtin::MatrixLoad | Builtin::MatrixMultiply | Builtin::MatrixMultiplyAdd
        ),
        _ => true,
    }
}

/// What falling off an item means, given what follows it.
fn after(rest: &[Item], tail: &[Target]) -> Vec<Target> {
    match rest.first() {
        None => tail.to_vec(),
        Some(Item::Leave(label)) => vec![Target::End(*label)],
        Some(Item::Repeat(label)) => vec![Target::Again(*label)],
        Some(_) => Vec::new(),
    }
}

/// Writes statements as indented lines.
pub(super) fn write(statements: &[Statement], depth: usize, out: &mut String) {
    let pad = "    ".repeat(depth);
    for statement in statements {
        match statement {
            Statement::Line(line) if line == ";" => {}
            Statement::Line(line) => *out += &format!("{pad}{line}\n"),
            Statement::If {
                cond,
                then,
                otherwise,
            } => {
                if then.is_empty() && otherwise.is_empty() {
                    continue;
                }
                if then.is_empty() {
                    *out += &format!("{pad}if (!({cond})) {{\n");
                    write(otherwise, depth + 1, out);
                } else {
                    *out += &format!("{pad}if ({cond}) {{\n");
                    write(then, depth + 1, out);
                    if !otherwise.is_empty() {
                        *out += &format!("{pad}}} else {{\n");
                        write(otherwise, depth + 1, out);
                    }
                }
                *out += &format!("{pad}}}\n");
            }
            Statement::Loop { pragma, body } => {
                if let Some(pragma) = pragma {
                    *out += &format!("{pad}{pragma}\n");
                }
                *out += &format!("{pad}while (true) {{\n");
                write(body, depth + 1, out);
                *out += &format!("{pad}}}\n");
            }
            Statement::Once(body) => {
                *out += &format!("{pad}do {{\n");
                write(body, depth + 1, out);
                *out += &format!("{pad}}} while (false);\n");
            }
        }
    }
}
