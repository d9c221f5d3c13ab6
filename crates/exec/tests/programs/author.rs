//! Writes random kernels, as SSA text, for tests and for fuzzing.
//!
//! Each thread has variables in thread memory and eight words of buffer 0 to itself; buffer 1 is read at any index. Lanes diverge
//! by conditions and loops that depend on their thread; they exchange numbers only where all of them are active. So a kernel's
//! result is defined, whatever the optimiser does with it and however it is run.

use std::fmt::Write as _;

/// Words of buffer 0 that each thread has.
pub(crate) const OWN_WORDS: u32 = 8;
/// Words of buffer 1; a power of two.
pub(crate) const SHARED_WORDS: u32 = 64;

/// Variables of each type.
const VARIABLES: u32 = 3;

/// Writes a kernel `k` from random bytes; when they run out, everything is zero.
pub(crate) fn kernel(bytes: &[u8]) -> String {
    let mut author = Author {
        bytes: bytes.iter(),
        text: String::new(),
        values: 100,
        blocks: 1,
    };
    author.statements(3, true);
    author.statements(3, true);
    let body = author.text;
    let variables = (0..VARIABLES).map(|at| {
        format!(
            "v{}: ptr.thread = alloca i32 align 4\nv{}: ptr.thread = alloca i64 align 8\nv{}: ptr.thread = alloca f32 align 4\n\
             store v{}, v4 align 4\nstore v{}, i64 {at} align 8\nstore v{}, v7 align 4\n",
            10 + at, 20 + at, 30 + at, 10 + at, 20 + at, 30 + at
        )
    });
    let variables: String = variables.collect();
    let ending: String = (0..VARIABLES)
        .map(|at| {
            let (int, long, float, first) = (10 + at, 20 + at, 30 + at, 50 + at * 10);
            format!(
                "v{first}: i32 = load v{int} align 4\nv{}: ptr.device = ptr_add v9 + {}\nstore v{}, v{first} align 4\n\
                 v{}: i64 = load v{long} align 8\nv{}: i32 = trunc v{}\n\
                 v{}: f32 = load v{float} align 4\nv{}: i32 = bitcast v{}\nv{}: i32 = xor v{}, v{}\n\
                 v{}: ptr.device = ptr_add v9 + {}\nstore v{}, v{} align 4\n",
                first + 1, at * 8, first + 1,
                first + 2, first + 3, first + 2,
                first + 4, first + 5, first + 4, first + 6, first + 3, first + 5,
                first + 7, at * 8 + 4, first + 7, first + 6,
            )
        })
        .collect();
    format!(
        "module \"random\"\nkernel \"k\" f0 {{\n\
         \"own\" buffer 0 param 0 space device read_write type \"int\" size 4 align 4\n\
         \"shared\" buffer 1 param 1 space device read type \"int\" size 4 align 4\n}}\n\
         function f0 \"k\" -> void {{\nb0(v0: ptr.device, v1: ptr.device):\n\
         v2: v3i32 = call thread_position_in_grid()\nv4: i32 = extract v2, i32 0\n\
         v5: i32 = and v4, i32 31\nv6: i32 = sub v5, i32 9\nv7: f32 = stof v6\n\
         v8: i32 = mul v4, i32 {OWN_WORDS}\nv9: ptr.device = ptr_add v0 + v8 * 4\n\
         {variables}{body}{ending}return\n}}\n"
    )
}

struct Author<'a> {
    bytes: std::slice::Iter<'a, u8>,
    text: String,
    /// The next value and block.
    values: u32,
    blocks: u32,
}

impl Author<'_> {
    fn pick(&mut self, below: u32) -> u32 {
        u32::from(self.bytes.next().copied().unwrap_or(0)) % below
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.pick(of.len() as u32) as usize]
    }

    fn variable(&mut self, first: u32) -> u32 {
        first + self.pick(VARIABLES)
    }

    /// Writes an instruction that gives a value of a type.
    fn give(&mut self, ty: &str, what: impl std::fmt::Display) -> String {
        let value = self.values;
        self.values += 1;
        let _ = writeln!(self.text, "v{value}: {ty} = {what}");
        format!("v{value}")
    }

    fn line(&mut self, what: impl std::fmt::Display) {
        let _ = writeln!(self.text, "{what}");
    }

    fn block(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks - 1
    }

    fn int(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.pick(5) {
                0 => format!("i32 {}", self.pick(256) as i32 - 100),
                1 => "v4".to_owned(),
                2 => "v6".to_owned(),
                _ => {
                    let variable = self.variable(10);
                    self.give("i32", format!("load v{variable} align 4"))
                }
            };
        }
        match self.pick(12) {
            0..=4 => {
                let op = self.one(&["add", "sub", "mul", "and", "or", "xor"]);
                let (a, b) = (self.int(depth - 1), self.int(depth - 1));
                self.give("i32", format!("{op} {a}, {b}"))
            }
            5 => {
                let op = self.one(&["shl", "lshr", "ashr"]);
                let (a, b) = (self.int(depth - 1), self.pick(32));
                self.give("i32", format!("{op} {a}, i32 {b}"))
            }
            6 => {
                let cond = self.condition(depth - 1);
                let (a, b) = (self.int(depth - 1), self.int(depth - 1));
                self.give("i32", format!("select {cond}, {a}, {b}"))
            }
            7 => {
                let wide = self.long(depth - 1);
                self.give("i32", format!("trunc {wide}"))
            }
            8 => {
                let (value, op) = (self.int(depth - 1), self.one(&["sext", "zext"]));
                let ty = self.one(&["i8", "i16"]);
                let narrow = self.give(ty, format!("trunc {value}"));
                self.give("i32", format!("{op} {narrow}"))
            }
            9 => {
                let value = self.float(depth - 1);
                self.give("i32", format!("bitcast {value}"))
            }
            10 => {
                let place = self.own_place();
                self.give("i32", format!("load {place} align 4"))
            }
            _ => {
                let index = self.int(depth - 1);
                let index = self.give("i32", format!("and {index}, i32 {}", SHARED_WORDS - 1));
                let place = self.give("ptr.device", format!("ptr_add v1 + {index} * 4"));
                self.give("i32", format!("load {place} align 4"))
            }
        }
    }

    fn long(&mut self, depth: u32) -> String {
        if depth == 0 || self.pick(3) == 0 {
            let variable = self.variable(20);
            return self.give("i64", format!("load v{variable} align 8"));
        }
        match self.pick(3) {
            0 => {
                let (value, op) = (self.int(depth - 1), self.one(&["sext", "zext"]));
                self.give("i64", format!("{op} {value}"))
            }
            _ => {
                let op = self.one(&["add", "sub", "mul", "and", "or", "xor"]);
                let (a, b) = (self.long(depth - 1), self.long(depth - 1));
                self.give("i64", format!("{op} {a}, {b}"))
            }
        }
    }

    fn float(&mut self, depth: u32) -> String {
        if depth == 0 {
            let variable = self.variable(30);
            return self.give("f32", format!("load v{variable} align 4"));
        }
        match self.pick(6) {
            0 => {
                let value = self.int(depth - 1);
                self.give("f32", format!("stof {value}"))
            }
            1 => self
                .one(&["f32 0.0", "f32 -0.0", "f32 1.0", "f32 0.5"])
                .to_owned(),
            2 => {
                let (a, b, c) = (
                    self.float(depth - 1),
                    self.float(depth - 1),
                    self.float(depth - 1),
                );
                self.give("f32", format!("fma {a}, {b}, {c}"))
            }
            _ => {
                let op = self.one(&["fadd", "fsub", "fmul"]);
                let (a, b) = (self.float(depth - 1), self.float(depth - 1));
                self.give("f32", format!("{op} {a}, {b}"))
            }
        }
    }

    fn condition(&mut self, depth: u32) -> String {
        let conds = [
            "eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge",
        ];
        match self.pick(5) {
            0 => {
                let (a, b) = (self.float(depth), self.float(depth));
                self.give("i1", format!("fcmp olt {a}, {b}"))
            }
            1 => {
                let cond = self.one(&conds);
                let (a, b) = (self.long(depth), self.long(depth));
                self.give("i1", format!("icmp {cond} {a}, {b}"))
            }
            _ => {
                let cond = self.one(&conds);
                let (a, b) = (self.int(depth), self.int(depth));
                self.give("i1", format!("icmp {cond} {a}, {b}"))
            }
        }
    }

    /// A word of the thread's own.
    fn own_place(&mut self) -> String {
        if self.pick(2) == 0 {
            let offset = self.pick(OWN_WORDS) * 4;
            return self.give("ptr.device", format!("ptr_add v9 + {offset}"));
        }
        let variable = self.variable(10);
        let index = self.give("i32", format!("load v{variable} align 4"));
        let index = self.give("i32", format!("and {index}, i32 {}", OWN_WORDS - 1));
        self.give("ptr.device", format!("ptr_add v9 + {index} * 4"))
    }

    fn statements(&mut self, depth: u32, all_active: bool) {
        for _ in 0..=self.pick(4) {
            self.statement(depth, all_active);
        }
    }

    fn statement(&mut self, depth: u32, all_active: bool) {
        match self.pick(if depth == 0 { 6 } else { 9 }) {
            0 | 1 => {
                let (value, variable) = (self.int(3), self.variable(10));
                self.line(format!("store v{variable}, {value} align 4"));
            }
            2 => {
                let (value, variable) = (self.long(2), self.variable(20));
                self.line(format!("store v{variable}, {value} align 8"));
            }
            3 => {
                let (value, variable) = (self.float(2), self.variable(30));
                self.line(format!("store v{variable}, {value} align 4"));
            }
            4 => {
                let (value, place) = (self.int(2), self.own_place());
                self.line(format!("store {place}, {value} align 4"));
            }
            5 if all_active => {
                let (value, variable) = (self.int(1), self.variable(10));
                let exchanged = match self.pick(3) {
                    0 => format!("call simd_sum.s({value})"),
                    1 => format!("call simd_shuffle_xor({value}, i16 {})", self.pick(32)),
                    _ => format!("call simd_broadcast({value}, i16 {})", self.pick(32)),
                };
                let exchanged = self.give("i32", exchanged);
                self.line(format!("store v{variable}, {exchanged} align 4"));
            }
            5..=7 => self.choice(depth),
            _ => self.counted_loop(depth),
        }
    }

    fn choice(&mut self, depth: u32) {
        if depth == 0 {
            return;
        }
        let cond = self.condition(1);
        let (then, otherwise, join) = (self.block(), self.block(), self.block());
        self.line(format!("branch {cond}, b{then}, b{otherwise}"));
        for arm in [then, otherwise] {
            self.line(format!("b{arm}:"));
            self.statements(depth - 1, false);
            self.line(format!("jump b{join}"));
        }
        self.line(format!("b{join}:"));
    }

    /// A loop of at most seven iterations, as many as a number of the thread's says, or the same for all.
    fn counted_loop(&mut self, depth: u32) {
        let bound = if self.pick(2) == 0 {
            format!("i32 {}", self.pick(6))
        } else {
            let value = self.int(1);
            self.give("i32", format!("and {value}, i32 7"))
        };
        let (header, body, exit) = (self.block(), self.block(), self.block());
        let counter = self.values;
        self.values += 1;
        self.line(format!(
            "jump b{header}(i32 0)\nb{header}(v{counter}: i32):"
        ));
        let goes_on = self.give("i1", format!("icmp slt v{counter}, {bound}"));
        self.line(format!("branch {goes_on}, b{body}, b{exit}\nb{body}:"));
        let variable = self.variable(10);
        let old = self.give("i32", format!("load v{variable} align 4"));
        let new = self.give("i32", format!("add {old}, v{counter}"));
        self.line(format!("store v{variable}, {new} align 4"));
        self.statements(depth - 1, false);
        if self.pick(3) == 0 {
            let (leaves, on) = (self.condition(1), self.block());
            self.line(format!("branch {leaves}, b{exit}, b{on}\nb{on}:"));
        }
        let next = self.give("i32", format!("add v{counter}, i32 1"));
        self.line(format!("jump b{header}({next})\nb{exit}:"));
    }
}
