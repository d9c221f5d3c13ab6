//! Random structured programs: what the machine code computes must be what the program
//! says, however few registers there are.
//!
//! A program is a tree; it is run here, thread by thread, and written as text for the
//! back end. All variables are read at the end, so nothing goes unnoticed.

use crate::common::{compile, run};
use std::fmt::Write;

/// Words each thread may load from, and that it stores.
const INPUT: u32 = 16;
const THREADS: usize = 64;

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) % end.max(1) as u64) as usize
    }

    fn chance(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }
}

/// A run of half registers: first half in the flat state, and how many.
#[derive(Clone, Copy, Debug)]
struct Place {
    reg: usize,
    half: usize,
    width: usize,
    count: usize,
}

#[derive(Debug)]
enum Source {
    Place(Place),
    Imm(u64),
}

#[derive(Debug)]
enum Statement {
    /// 16-, 32- or 64-bit sum.
    Add(Place, Place, Place),
    Xor(Place, Place, Place),
    /// 32-bit product plus.
    Mad(Place, Place, Place, Place),
    Copy(Vec<(Place, Source)>),
    /// Elements from the thread's input, from this element on.
    Load(Place, usize),
    /// Elements to the thread's output.
    Store(Place, usize),
    If(Place, u32, Vec<Statement>, Vec<Statement>),
    /// Runs (thread & mask) + 1 times; may leave in the middle when a word is small.
    Loop(
        usize,
        u32,
        Vec<Statement>,
        Option<(Place, u32)>,
        Vec<Statement>,
    ),
}

/// Sizes of the registers, in halves, and the program.
struct Program {
    registers: Vec<usize>,
    statements: Vec<Statement>,
    outputs: usize,
}

struct Generator {
    random: Random,
    registers: Vec<usize>,
    /// Variables that are always there.
    pool: usize,
    outputs: usize,
}

impl Generator {
    fn place(&mut self, width: usize, count: usize) -> Place {
        // A part of a pool register that is wide enough.
        loop {
            let reg = self.random.below(self.pool);
            let size = self.registers[reg];
            if size < width * count {
                continue;
            }
            let choices = (size - width * count) / width + 1;
            let half = self.random.below(choices) * width;
            return Place {
                reg,
                half,
                width,
                count,
            };
        }
    }

    fn fresh(&mut self, halves: usize) -> usize {
        self.registers.push(halves);
        self.registers.len() - 1
    }

    fn statements(&mut self, count: usize, depth: usize) -> Vec<Statement> {
        let mut list = Vec::new();
        for _ in 0..count {
            let statement = self.statement(depth);
            list.push(statement);
        }
        list
    }

    fn statement(&mut self, depth: usize) -> Statement {
        match self.random.below(if depth < 3 { 14 } else { 11 }) {
            0 => Statement::Add(self.place(1, 1), self.place(1, 1), self.place(1, 1)),
            1 | 2 => Statement::Add(self.place(2, 1), self.place(2, 1), self.place(2, 1)),
            3 => Statement::Add(self.place(4, 1), self.place(4, 1), self.place(2, 1)),
            4 => Statement::Xor(self.place(2, 1), self.place(2, 1), self.place(2, 1)),
            5 => {
                let (a, b, c) = (self.place(2, 1), self.place(2, 1), self.place(2, 1));
                Statement::Mad(self.place(2, 1), a, b, c)
            }
            6 | 7 => self.copy(),
            8 | 9 => {
                let count = 1 + self.random.below(4);
                let width = 1 + self.random.below(2);
                let at = self.random.below(INPUT as usize);
                Statement::Load(self.place(width, count.min(8 / width)), at)
            }
            10 => {
                let count = 1 + self.random.below(4);
                let place = self.place(2, count);
                self.outputs += count;
                Statement::Store(place, self.outputs - count)
            }
            11 | 12 => {
                let condition = self.place(2, 1);
                let limit = self.limit();
                let then = 1 + self.random.below(5);
                let other = self.random.below(5);
                let then = self.statements(then, depth + 1);
                let other = self.statements(other, depth + 1);
                Statement::If(condition, limit, then, other)
            }
            _ => {
                let counter = self.fresh(2);
                let (first, second) = (1 + self.random.below(4), 1 + self.random.below(4));
                let mask = [0, 1, 3][self.random.below(3)];
                let first = self.statements(first, depth + 1);
                let second = self.statements(second, depth + 1);
                let leave = match self.random.chance(2) {
                    true => Some((self.place(2, 1), self.limit())),
                    false => None,
                };
                Statement::Loop(counter, mask, first, leave, second)
            }
        }
    }

    fn limit(&mut self) -> u32 {
        [5, 100, 0x4000_0000, 0x8000_0000, 0xf000_0000][self.random.below(5)]
    }

    /// Several copies at once, to disjoint places.
    fn copy(&mut self) -> Statement {
        let mut copies: Vec<(Place, Source)> = Vec::new();
        for _ in 0..1 + self.random.below(6) {
            let width = [1, 2, 2, 4][self.random.below(4)];
            let to = self.place(width, 1);
            let clash = |other: &Place| {
                other.reg == to.reg
                    && other.half < to.half + to.width
                    && to.half < other.half + other.width
            };
            if copies.iter().any(|(other, _)| clash(other)) {
                continue;
            }
            let from = match self.random.chance(4) {
                true => Source::Imm(self.random.below(1 << 16) as u64),
                false => Source::Place(self.place(width, 1)),
            };
            copies.push((to, from));
        }
        Statement::Copy(copies)
    }
}

fn generate(seed: u64, pool: usize, statements: usize) -> Program {
    let mut generator = Generator {
        random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        registers: Vec::new(),
        pool,
        outputs: 0,
    };
    // One of each kind at least, so that every place can be found.
    let kinds = [8, 4, 2, 1, 2, 2, 6, 3];
    generator.registers = (0..pool).map(|n| kinds[n % kinds.len()]).collect();
    let mut list = Vec::new();
    for reg in 0..pool {
        let size = generator.registers[reg];
        for half in 0..size {
            let place = Place {
                reg,
                half,
                width: 1,
                count: 1,
            };
            list.push(Statement::Load(place, (reg * 3 + half) % INPUT as usize));
        }
    }
    list.extend(generator.statements(statements, 0));
    for reg in 0..pool {
        for half in 0..generator.registers[reg] {
            let place = Place {
                reg,
                half,
                width: 1,
                count: 1,
            };
            list.push(Statement::Store(place, generator.outputs));
            generator.outputs += 1;
        }
    }
    Program {
        registers: generator.registers,
        statements: list,
        outputs: generator.outputs,
    }
}

/// One thread of the program, run here.
struct Thread<'a> {
    state: Vec<Vec<u16>>,
    input: &'a [u32],
    output: Vec<u32>,
    index: usize,
}

impl Thread<'_> {
    fn read(&self, place: Place) -> u64 {
        let halves = &self.state[place.reg][place.half..place.half + place.width * place.count];
        halves
            .iter()
            .rev()
            .fold(0, |value, half| value << 16 | u64::from(*half))
    }

    fn write(&mut self, place: Place, value: u64) {
        for n in 0..place.width {
            self.state[place.reg][place.half + n] = (value >> (16 * n)) as u16;
        }
    }

    fn element(place: Place, n: usize) -> Place {
        Place {
            half: place.half + n * place.width,
            count: 1,
            ..place
        }
    }

    fn run(&mut self, list: &[Statement]) {
        for statement in list {
            match statement {
                Statement::Add(to, a, b) => {
                    self.write(*to, self.read(*a).wrapping_add(self.read(*b)));
                }
                Statement::Xor(to, a, b) => self.write(*to, self.read(*a) ^ self.read(*b)),
                Statement::Mad(to, a, b, c) => {
                    let product = self.read(*a).wrapping_mul(self.read(*b));
                    self.write(*to, product.wrapping_add(self.read(*c)));
                }
                Statement::Copy(copies) => {
                    let values: Vec<u64> = copies
                        .iter()
                        .map(|(_, from)| match from {
                            Source::Place(from) => self.read(*from),
                            Source::Imm(value) => *value,
                        })
                        .collect();
                    for ((to, _), value) in copies.iter().zip(values) {
                        self.write(*to, value);
                    }
                }
                Statement::Load(to, at) => {
                    for n in 0..to.count {
                        let value = match to.width {
                            // Sixteen-bit elements of the same memory.
                            1 => {
                                let half = at + n;
                                u64::from(self.input[half / 2] >> (16 * (half % 2)) & 0xffff)
                            }
                            _ => u64::from(self.input[at + n]),
                        };
                        self.write(Self::element(*to, n), value);
                    }
                }
                Statement::Store(from, at) => {
                    for n in 0..from.count {
                        self.output[at + n] = self.read(Self::element(*from, n)) as u32;
                    }
                }
                Statement::If(condition, limit, then, other) => {
                    let holds = (self.read(*condition) as u32) < *limit;
                    self.run(if holds { then } else { other });
                }
                Statement::Loop(_, mask, first, leave, second) => {
                    for _ in 0..(self.index as u32 & mask) + 1 {
                        self.run(first);
                        if let Some((condition, limit)) = leave
                            && (self.read(*condition) as u32) < *limit
                        {
                            break;
                        }
                        self.run(second);
                    }
                }
            }
        }
    }
}

/// Writes the text of a program.
struct Writer<'a> {
    program: &'a Program,
    text: String,
    blocks: Vec<(Vec<usize>, String)>,
    index: usize,
    base: usize,
    limits: Vec<(u32, usize)>,
}

impl Writer<'_> {
    fn place(&self, place: Place) -> String {
        let bits = place.width * 16;
        match place.count {
            1 => format!("%{}[{}:{bits}]", place.reg, place.half),
            count => format!("%{}[{}:{bits}x{count}]", place.reg, place.half),
        }
    }

    fn line(&mut self, line: String) {
        let block = self.blocks.last_mut().unwrap();
        writeln!(block.1, "  {line}").unwrap();
    }

    fn edge(&mut self, from: usize, to: usize) {
        self.blocks[from].0.push(to);
    }

    fn block(&mut self) -> usize {
        self.blocks.push((Vec::new(), String::new()));
        self.blocks.len() - 1
    }

    fn limit(&self, limit: u32) -> usize {
        self.limits
            .iter()
            .find(|(other, _)| *other == limit)
            .unwrap()
            .1
    }

    fn write(&mut self, list: &[Statement], depth: usize) {
        for statement in list {
            self.statement(statement, depth);
        }
    }

    fn statement(&mut self, statement: &Statement, depth: usize) {
        match statement {
            Statement::Add(to, a, b) => {
                let (to, a, b) = (self.place(*to), self.place(*a), self.place(*b));
                self.line(format!("iadd {to}, {a}, {b}"));
            }
            Statement::Xor(to, a, b) => {
                let (to, a, b) = (self.place(*to), self.place(*a), self.place(*b));
                self.line(format!("xor {to}, {a}, {b}"));
            }
            Statement::Mad(to, a, b, c) => {
                let (to, a) = (self.place(*to), self.place(*a));
                let (b, c) = (self.place(*b), self.place(*c));
                self.line(format!("imadd {to}, {a}, {b}, {c}"));
            }
            Statement::Copy(copies) => {
                let copies: Vec<String> = copies
                    .iter()
                    .map(|(to, from)| match from {
                        Source::Place(from) => {
                            format!("{} = {}", self.place(*to), self.place(*from))
                        }
                        Source::Imm(value) => format!("{} = {value}", self.place(*to)),
                    })
                    .collect();
                self.line(format!("copy {}", copies.join(", ")));
            }
            Statement::Load(to, at) => self.load(*to, *at),
            Statement::Store(from, at) => {
                let (data, mask) = (self.place(*from), mask(from.count));
                let at = self.base + at;
                let format = if from.width == 1 { "i16" } else { "i32" };
                // Outputs are words; a half goes to the low one.
                let scale = if from.width == 1 { 2 } else { 1 };
                let address = self.index + 2;
                self.line(format!("imadd %{address}, %{}, {scale}, 0", self.index + 1));
                self.line(format!("copy %{} = {}", self.index + 3, at * scale));
                self.line(format!("iadd %{address}, %{address}, %{}", self.index + 3));
                self.line(format!(
                    "device_store 0, {format}, {mask}, {data}, u2_u3, %{address}, unsigned, 0 \
                     !alias 1"
                ));
            }
            Statement::If(condition, limit, then, other) => {
                let condition = self.place(*condition);
                let limit = self.limit(*limit);
                let before = self.blocks.len() - 1;
                self.line(format!("if_icmp r0l, ult, {condition}, %{limit}, 1"));
                let first = self.block();
                self.edge(before, first);
                self.write(then, depth + 1);
                let then_end = self.blocks.len() - 1;
                let second = self.block();
                self.edge(before, second);
                self.line("else_icmp r0l, ueq, 0, 0, 1".to_owned());
                self.write(other, depth + 1);
                let other_end = self.blocks.len() - 1;
                let join = self.block();
                self.edge(then_end, join);
                self.edge(other_end, join);
                self.line("pop_exec r0l, 1".to_owned());
            }
            Statement::Loop(counter, mask, first, leave, second) => {
                let before = self.blocks.len() - 1;
                self.line(format!("and %{counter}, %{}, {mask}", self.index));
                self.line("if_icmp r0l, ueq, 0, 0, 1".to_owned());
                let head = self.block();
                self.edge(before, head);
                self.write(first, depth + 1);
                let mut leaves = Vec::new();
                if let Some((condition, limit)) = leave {
                    let condition = self.place(*condition);
                    let limit = self.limit(*limit);
                    self.line(format!("while_icmp r0l, ugte, {condition}, %{limit}, 1"));
                    let middle = self.blocks.len() - 1;
                    leaves.push(middle);
                    let next = self.block();
                    self.edge(middle, next);
                }
                self.write(second, depth + 1);
                self.line(format!("copy %{} = %{counter}", self.index + 4));
                self.line(format!("isub %{counter}, %{counter}, 1"));
                self.line(format!("while_icmp r0l, nueq, %{}, 0, 1", self.index + 4));
                self.line(format!("jmp_exec_any mb{head}"));
                let latch = self.blocks.len() - 1;
                leaves.push(latch);
                self.edge(latch, head);
                let exit = self.block();
                for leave in leaves {
                    self.edge(leave, exit);
                }
                self.line("pop_exec r0l, 1".to_owned());
            }
        }
    }

    fn load(&mut self, to: Place, at: usize) {
        let (data, mask) = (self.place(to), mask(to.count));
        let format = if to.width == 1 { "i16" } else { "i32" };
        // Each thread's input is 32 words: room beyond the last element.
        let scale = if to.width == 1 { 64 } else { 32 };
        let address = self.index + 2;
        self.line(format!("copy %{} = {at}", self.index + 3));
        self.line(format!(
            "imadd %{address}, %{}, {scale}, %{}",
            self.index,
            self.index + 3
        ));
        self.line(format!(
            "device_load 0, {format}, {mask}, {data}, u0_u1, %{address}, unsigned !alias 0"
        ));
    }
}

fn mask(count: usize) -> &'static str {
    ["", "x", "xy", "xyz", "xyzw"][count]
}

fn text(program: &Program) -> String {
    let index = program.registers.len();
    let mut writer = Writer {
        program,
        text: "exec\n".to_owned(),
        blocks: Vec::new(),
        index,
        base: 0,
        limits: Vec::new(),
    };
    for (n, halves) in program.registers.iter().enumerate() {
        let align = match halves {
            1 => 1,
            2 => 2,
            3 | 6 => 2,
            _ => 4,
        };
        writeln!(writer.text, "%{n}: {halves} align {align}").unwrap();
    }
    // Thread, its first output, an address, two numbers.
    for n in 0..5 {
        writeln!(writer.text, "%{}: 2", index + n).unwrap();
    }
    writer.block();
    writer.line(format!("get_sr %{index}, sr80"));
    for (n, limit) in [5, 100, 0x4000_0000, 0x8000_0000u32, 0xf000_0000]
        .into_iter()
        .enumerate()
    {
        let reg = index + 5 + n;
        writeln!(writer.text, "%{reg}: 2").unwrap();
        writer.line(format!("copy %{reg} = {limit}"));
        writer.limits.push((limit, reg));
    }
    writer.line(format!("copy %{} = {}", index + 3, program.outputs));
    writer.line(format!("imadd %{}, %{index}, %{}, 0", index + 1, index + 3));
    writer.write(&writer.program.statements, 0);
    writer.line("stop".to_owned());
    for (n, (successors, lines)) in writer.blocks.iter().enumerate() {
        write!(writer.text, "mb{n}").unwrap();
        let names: Vec<String> = successors.iter().map(|to| format!("mb{to}")).collect();
        if !names.is_empty() {
            write!(writer.text, " -> {}", names.join(", ")).unwrap();
        }
        writeln!(writer.text).unwrap();
        writer.text += lines;
    }
    writer.text
}

fn check(seed: u64, pool: usize, statements: usize, limits: &[u16]) {
    let program = generate(seed, pool, statements);
    let mut random = Random(seed.wrapping_add(77) | 1);
    let input: Vec<u32> = (0..THREADS * 32)
        .map(|_| match random.chance(3) {
            true => random.below(200) as u32,
            false => (random.below(1 << 16) << 16 | random.below(1 << 16)) as u32,
        })
        .collect();
    let mut expected = Vec::new();
    for index in 0..THREADS {
        let mut thread = Thread {
            state: program
                .registers
                .iter()
                .map(|size| vec![0; *size])
                .collect(),
            input: &input[index * 32..],
            output: vec![0; program.outputs],
            index,
        };
        thread.run(&program.statements);
        expected.extend(thread.output);
    }
    let text = text(&program);
    for limit in limits {
        let compiled = compile(&text, *limit);
        let used = compiled.half_registers.unwrap();
        assert!(used <= *limit, "seed {seed}: {used} halves of {limit}");
        let buffers = [input.clone(), vec![0; expected.len()]];
        let found = run(&compiled, &buffers)
            .unwrap_or_else(|error| panic!("seed {seed}, {limit} halves: {error}\n{text}"));
        if found[1] != expected {
            let at = (0..expected.len()).find(|at| found[1][*at] != expected[*at]);
            panic!("seed {seed}, {limit} halves: output {at:?} differs\n{text}");
        }
    }
}

#[test]
fn small_programs_compute_what_they_say() {
    for seed in 0..150 {
        check(seed, 8, 12, &[256, 48, 30]);
    }
}

#[test]
fn programs_with_many_variables_compute_what_they_say() {
    for seed in 0..40 {
        check(1000 + seed, 24, 40, &[256, 100, 64, 40]);
    }
}
