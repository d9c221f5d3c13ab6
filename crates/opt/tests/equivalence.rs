//! Random programs give the same results before and after every pass, and after all of them.
//!
//! Programs are structured: variables in thread memory, an array, a vector and a buffer;
//! assignments, conditions, loops with known and unknown counts, early exits, switches,
//! pointer walks, copies. What they compute is hashed; the buffer is compared byte by byte.

mod interpreter;

use assay_opt::{lower_switch, pass, pipeline};
use assay_ssa::{
    Access, BinaryOp, Block, Builder, CastOp, Flags, FloatCond, Function, InstData, IntCond,
    LoopHint, Module, Scalar, Space, Type, Value,
};
use interpreter::Thread;
use proptest::prelude::*;

const BUFFER: usize = 64;
const ELEMENTS: u32 = 4;

/// Makes a program out of random bytes; when they run out, everything is zero.
struct Author<'a> {
    bytes: std::slice::Iter<'a, u8>,
    builder: Builder<'a>,
    /// Variables of type `i32`.
    ints: Vec<Value>,
    /// Variables of type `f32`.
    floats: Vec<Value>,
    array: Value,
    other: Value,
    vector: Value,
    buffer: Value,
    /// Where `break` goes.
    exits: Vec<Block>,
    blocks: u32,
}

const INT: Type = Type::I32;
const FLOAT: Type = Type::F32;
const VECTOR: Type = Type::vector(Scalar::I32, ELEMENTS as u8);

fn access() -> Access {
    Access::aligned(4)
}

impl Author<'_> {
    fn pick(&mut self, below: u32) -> u32 {
        u32::from(self.bytes.next().copied().unwrap_or(0)) % below
    }

    fn int_variable(&mut self) -> Value {
        let at = self.pick(self.ints.len() as u32);
        self.ints[at as usize]
    }

    fn float_variable(&mut self) -> Value {
        let at = self.pick(self.floats.len() as u32);
        self.floats[at as usize]
    }

    fn int(&mut self, depth: u32) -> Value {
        if depth == 0 {
            return match self.pick(3) {
                0 => {
                    let number = self.pick(256) as i32 - 100;
                    self.builder.i32(number)
                }
                _ => {
                    let variable = self.int_variable();
                    self.builder.load(INT, variable, access())
                }
            };
        }
        match self.pick(10) {
            0..=3 => {
                let ops = [
                    BinaryOp::Add,
                    BinaryOp::Sub,
                    BinaryOp::Mul,
                    BinaryOp::SDiv,
                    BinaryOp::URem,
                    BinaryOp::Shl,
                    BinaryOp::AShr,
                    BinaryOp::And,
                    BinaryOp::Or,
                    BinaryOp::Xor,
                ];
                let op = ops[self.pick(ops.len() as u32) as usize];
                let (a, b) = (self.int(depth - 1), self.int(depth - 1));
                self.builder.binary(op, a, b, Flags::NONE)
            }
            4 => {
                let cond = self.condition(depth - 1);
                let (a, b) = (self.int(depth - 1), self.int(depth - 1));
                self.builder.select(cond, a, b, Flags::NONE)
            }
            5 => {
                let place = self.element(depth - 1);
                self.builder.load(INT, place, access())
            }
            6 => {
                let vector = self.builder.load(VECTOR, self.vector, access());
                let lane = self.pick(ELEMENTS);
                self.builder.extract_lane(vector, lane)
            }
            7 => {
                let value = self.float(depth - 1);
                self.builder.cast(CastOp::Bitcast, value, INT, Flags::NONE)
            }
            8 => {
                let narrow = [Scalar::I8, Scalar::I16][self.pick(2) as usize];
                let op = [CastOp::SExt, CastOp::ZExt][self.pick(2) as usize];
                let value = self.int(depth - 1);
                let narrow = Type::scalar(narrow);
                let value = self.builder.cast(CastOp::Trunc, value, narrow, Flags::NONE);
                self.builder.cast(op, value, INT, Flags::NONE)
            }
            _ => {
                let place = self.buffer_place(depth - 1);
                self.builder.load(INT, place, access())
            }
        }
    }

    fn float(&mut self, depth: u32) -> Value {
        if depth == 0 {
            let variable = self.float_variable();
            return self.builder.load(FLOAT, variable, access());
        }
        match self.pick(4) {
            0 => {
                let value = self.int(depth - 1);
                self.builder.cast(CastOp::SToF, value, FLOAT, Flags::NONE)
            }
            1 => self.builder.f32([0.0, -0.0, 1.0, 0.5][depth as usize % 4]),
            _ => {
                let ops = [BinaryOp::FAdd, BinaryOp::FSub, BinaryOp::FMul];
                let op = ops[self.pick(3) as usize];
                let (a, b) = (self.float(depth - 1), self.float(depth - 1));
                self.builder.binary(op, a, b, Flags::NONE)
            }
        }
    }

    fn condition(&mut self, depth: u32) -> Value {
        if self.pick(4) == 0 {
            let (a, b) = (self.float(depth), self.float(depth));
            return self.builder.fcmp(FloatCond::Olt, a, b, Flags::NONE);
        }
        let cond = IntCond::ALL[self.pick(IntCond::ALL.len() as u32) as usize];
        let (a, b) = (self.int(depth), self.int(depth));
        self.builder.icmp(cond, a, b)
    }

    /// The address of an element of one of the arrays, at a known or computed index.
    fn element(&mut self, depth: u32) -> Value {
        let array = [self.array, self.other, self.vector][self.pick(3) as usize];
        if self.pick(2) == 0 {
            let offset = i64::from(self.pick(ELEMENTS)) * 4;
            return self.builder.ptr_add(array, None, 1, offset, Flags::NONE);
        }
        let index = self.int(depth);
        let mask = self.builder.i32(ELEMENTS as i32 - 1);
        let index = self.builder.binary(BinaryOp::And, index, mask, Flags::NONE);
        self.builder.ptr_add(array, Some(index), 4, 0, Flags::NONE)
    }

    /// An element of the buffer, at an index computed in one of several ways.
    fn buffer_place(&mut self, depth: u32) -> Value {
        const WIDE: Type = Type::I64;
        let elements = BUFFER as i32 / 4;
        let way = self.pick(3);
        let limit = if way == 0 { elements } else { elements / 2 };
        let index = self.int_below(depth, limit);
        let widen = [CastOp::SExt, CastOp::ZExt][self.pick(2) as usize];
        let index = match way {
            0 => index,
            1 => {
                let other = self.int_below(depth, limit);
                let wide =
                    [index, other].map(|index| self.builder.cast(widen, index, WIDE, Flags::NONE));
                self.builder
                    .binary(BinaryOp::Add, wide[0], wide[1], Flags::NONE)
            }
            _ => {
                let more = self.pick(limit as u32) as i32;
                let more = self.builder.i32(more);
                let flags = [Flags::NSW, Flags::NUW, Flags::NONE][self.pick(3) as usize];
                let sum = self.builder.binary(BinaryOp::Add, index, more, flags);
                self.builder.cast(widen, sum, WIDE, Flags::NONE)
            }
        };
        self.builder
            .ptr_add(self.buffer, Some(index), 4, 0, Flags::NONE)
    }

    /// A number below a power of two.
    fn int_below(&mut self, depth: u32, limit: i32) -> Value {
        let value = self.int(depth);
        let mask = self.builder.i32(limit - 1);
        self.builder.binary(BinaryOp::And, value, mask, Flags::NONE)
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..=self.pick(4) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        match self.pick(if depth == 0 { 6 } else { 12 }) {
            0 | 1 => {
                let value = self.int(2);
                let variable = self.int_variable();
                self.builder.store(variable, value, access());
            }
            2 => {
                let value = self.float(2);
                let variable = self.float_variable();
                self.builder.store(variable, value, access());
            }
            3 => {
                let value = self.int(1);
                let place = self.element(1);
                self.builder.store(place, value, access());
            }
            4 => {
                let value = self.int(1);
                let place = self.buffer_place(1);
                self.builder.store(place, value, access());
            }
            5 => self.whole(),
            6 | 7 => self.condition_statement(depth),
            8 => self.counted_loop(depth),
            9 => self.pointer_walk(),
            10 => self.hinted_loop(depth),
            _ => self.choice(depth),
        }
    }

    /// All elements at once: a copy, or a vector.
    fn whole(&mut self) {
        match self.pick(3) {
            0 => {
                let size = self.builder.i64(i64::from(ELEMENTS) * 4);
                let data = InstData::MemCopy {
                    dst: self.other,
                    src: self.array,
                    size,
                    align_log2: 2,
                    overlap: false,
                    alias: None,
                };
                self.builder.inst(data, Type::VOID);
            }
            1 => {
                let value = self.builder.load(VECTOR, self.array, access());
                self.builder.store(self.vector, value, access());
            }
            _ => {
                let value = self.builder.load(VECTOR, self.vector, access());
                let element = self.int(1);
                let lane = self.pick(ELEMENTS) as i32;
                let lane = self.builder.i32(lane);
                let value = self.builder.insert(value, element, lane);
                let turned = self.builder.shuffle(value, value, &[3, 1, 6, 0]);
                let sum = self
                    .builder
                    .binary(BinaryOp::Add, value, turned, Flags::NONE);
                self.builder.store(self.vector, sum, access());
            }
        }
    }

    fn block(&mut self, params: &[Type]) -> Block {
        self.blocks += 1;
        self.builder.block(params)
    }

    fn condition_statement(&mut self, depth: u32) {
        let cond = self.condition(1);
        let (then, otherwise, join) = (self.block(&[]), self.block(&[]), self.block(&[]));
        self.builder.branch(cond, (then, &[]), (otherwise, &[]));
        self.builder.switch_to(then);
        self.statements(depth - 1);
        match self.exits.last().copied() {
            Some(exit) if self.pick(3) == 0 => self.builder.jump(exit, &[]),
            _ => self.builder.jump(join, &[]),
        };
        self.builder.switch_to(otherwise);
        if self.pick(2) == 0 {
            self.statements(depth - 1);
        }
        self.builder.jump(join, &[]);
        self.builder.switch_to(join);
    }

    /// A loop over a counter that also indexes an array; the count is known half of the time.
    fn counted_loop(&mut self, depth: u32) {
        let bound = match self.pick(2) {
            0 => {
                let number = self.pick(6) as i32;
                self.builder.i32(number)
            }
            _ => {
                let value = self.int(1);
                let seven = self.builder.i32(7);
                self.builder
                    .binary(BinaryOp::And, value, seven, Flags::NONE)
            }
        };
        let (header, exit) = (self.block(&[INT, INT, Type::I64]), self.block(&[]));
        let zero = self.builder.i32(0);
        let start = self.pick(3) as i32;
        let (start, wide_zero) = (self.builder.i32(start), self.builder.i64(0));
        let body = self.block(&[]);
        self.builder.jump(header, &[zero, start, wide_zero]);
        self.builder.switch_to(header);
        let counter = self.builder.param(header, 0);
        let (other, wide) = (self.builder.param(header, 1), self.builder.param(header, 2));
        let goes_on = self.builder.icmp(IntCond::Slt, counter, bound);
        self.builder.branch(goes_on, (body, &[]), (exit, &[]));
        self.builder.switch_to(body);
        let mask = self.builder.i32(ELEMENTS as i32 - 1);
        let index = self
            .builder
            .binary(BinaryOp::And, counter, mask, Flags::NONE);
        let place = self
            .builder
            .ptr_add(self.array, Some(index), 4, 0, Flags::NONE);
        let old = self.builder.load(INT, place, access());
        let new = self.builder.binary(BinaryOp::Add, old, other, Flags::NONE);
        self.builder.store(place, new, access());
        let wide_place = self
            .builder
            .ptr_add(self.buffer, Some(wide), 4, 0, Flags::NONE);
        self.builder.store(wide_place, new, access());
        self.exits.push(exit);
        self.statements(depth - 1);
        self.exits.pop();
        let one = self.builder.i32(1);
        let next = self
            .builder
            .binary(BinaryOp::Add, counter, one, Flags::NONE);
        let other = self.builder.binary(BinaryOp::Add, other, one, Flags::NONE);
        let wide_one = self.builder.i64(1);
        let wide = self
            .builder
            .binary(BinaryOp::Add, wide, wide_one, Flags::NONE);
        // Another way out, which says how far the wide counter can go.
        let bound = self
            .builder
            .cast(CastOp::ZExt, bound, Type::I64, Flags::NONE);
        let goes_on = self.builder.icmp(IntCond::Ult, wide, bound);
        self.builder
            .branch(goes_on, (header, &[next, other, wide]), (exit, &[]));
        self.builder.switch_to(exit);
    }

    /// A loop that tests at its end, with a hint to unroll it by a number: up or down, in numbers near where they wrap, too.
    fn hinted_loop(&mut self, depth: u32) {
        let near = [0, i32::MAX - 7, -16][self.pick(3) as usize];
        let near = self.builder.i32(near);
        let (first, last) = (self.int_below(1, 4), self.int_below(1, 32));
        let mut from = self.builder.binary(BinaryOp::Add, first, near, Flags::NONE);
        let mut to = self.builder.binary(BinaryOp::Add, last, near, Flags::NONE);
        let step = [1, 2, 5, -1, -3][self.pick(5) as usize];
        let mut conds = [
            IntCond::Ult,
            IntCond::Ule,
            IntCond::Slt,
            IntCond::Sle,
            IntCond::Ne,
        ];
        if step < 0 {
            (from, to) = (to, from);
            conds = conds.map(|cond| {
                if cond == IntCond::Ne {
                    cond
                } else {
                    cond.swapped()
                }
            });
        }
        let cond = conds[self.pick(5) as usize];
        let (header, exit) = (self.block(&[INT, INT]), self.block(&[]));
        self.builder.jump(header, &[from, first]);
        self.builder.switch_to(header);
        let hint = LoopHint::UnrollCount(2 + self.pick(4));
        self.builder.function().set_loop_hint(header, hint);
        let (counter, sum) = (self.builder.param(header, 0), self.builder.param(header, 1));
        let three = self.builder.i32(3);
        let tripled = self.builder.binary(BinaryOp::Mul, sum, three, Flags::NONE);
        let added = self
            .builder
            .binary(BinaryOp::Add, tripled, counter, Flags::NONE);
        if self.pick(2) == 0 {
            self.statement(depth - 1);
        }
        let step = self.builder.i32(step);
        let next = self
            .builder
            .binary(BinaryOp::Add, counter, step, Flags::NONE);
        let tested = [counter, next][self.pick(2) as usize];
        let goes_on = self.builder.icmp(cond, tested, to);
        let after = self.block(&[INT]);
        match self.pick(2) {
            0 => self
                .builder
                .branch(goes_on, (header, &[next, added]), (after, &[sum])),
            _ => {
                let ends = self.builder.icmp(cond.inverse(), tested, to);
                self.builder
                    .branch(ends, (after, &[added]), (header, &[next, added]))
            }
        };
        self.builder.switch_to(after);
        let passed = self.builder.param(after, 0);
        let result = self
            .builder
            .binary(BinaryOp::Xor, passed, added, Flags::NONE);
        let result = self
            .builder
            .binary(BinaryOp::Add, result, next, Flags::NONE);
        let variable = self.int_variable();
        self.builder.store(variable, result, access());
        self.builder.jump(exit, &[]);
        self.builder.switch_to(exit);
    }

    /// `for (p = array; p != array + 4; ++p) *p += x`
    fn pointer_walk(&mut self) {
        let array = [self.array, self.other][self.pick(2) as usize];
        let (body, exit) = (self.block(&[Type::pointer(Space::Thread)]), self.block(&[]));
        let added = self.int(1);
        let end = i64::from(ELEMENTS) * 4;
        let end = self.builder.ptr_add(array, None, 1, end, Flags::NONE);
        self.builder.jump(body, &[array]);
        self.builder.switch_to(body);
        let pointer = self.builder.param(body, 0);
        let old = self.builder.load(INT, pointer, access());
        let new = self.builder.binary(BinaryOp::Add, old, added, Flags::NONE);
        self.builder.store(pointer, new, access());
        let next = self.builder.ptr_add(pointer, None, 1, 4, Flags::NONE);
        let cond = [IntCond::Ne, IntCond::Ult][self.pick(2) as usize];
        let goes_on = self.builder.icmp(cond, next, end);
        self.builder.branch(goes_on, (body, &[next]), (exit, &[]));
        self.builder.switch_to(exit);
    }

    fn choice(&mut self, depth: u32) {
        let value = self.int(1);
        let three = self.builder.i32(3);
        let value = self
            .builder
            .binary(BinaryOp::And, value, three, Flags::NONE);
        let (a, b, join) = (self.block(&[]), self.block(&[]), self.block(&[]));
        let cases: &[(u64, Block, &[Value])] = &[(0, a, &[]), (1, b, &[]), (3, a, &[])];
        self.builder.switch(value, (join, &[]), cases);
        for block in [a, b] {
            self.builder.switch_to(block);
            self.statements(depth - 1);
            self.builder.jump(join, &[]);
        }
        self.builder.switch_to(join);
    }

    /// A number made of everything.
    fn finish(mut self) {
        let mut hash = self.builder.i32(17);
        let mut places = self.ints.clone();
        places.extend(&self.floats);
        for array in [self.array, self.other, self.vector] {
            for lane in 0..i64::from(ELEMENTS) {
                places.push(self.builder.ptr_add(array, None, 1, lane * 4, Flags::NONE));
            }
        }
        for place in places {
            let value = self.builder.load(INT, place, access());
            let factor = self.builder.i32(31);
            let hashed = self
                .builder
                .binary(BinaryOp::Mul, hash, factor, Flags::NONE);
            hash = self
                .builder
                .binary(BinaryOp::Xor, hashed, value, Flags::NONE);
        }
        self.builder.ret(Some(hash));
    }
}

fn program(bytes: &[u8]) -> Module {
    let mut module = Module::new("random");
    let array_type = module.types.array(INT, ELEMENTS);
    let mut function = Function::new("random", INT);
    let mut builder = Builder::new(&mut function);
    let entry = builder.block(&[Type::pointer(Space::Device), INT, INT, FLOAT]);
    builder.switch_to(entry);
    let params: Vec<Value> = (0..4).map(|at| builder.param(entry, at)).collect();
    let ints: Vec<Value> = (0..3).map(|_| builder.alloca(INT, 4)).collect();
    let floats: Vec<Value> = (0..2).map(|_| builder.alloca(FLOAT, 4)).collect();
    let [array, other, vector] = [array_type, array_type, VECTOR].map(|ty| builder.alloca(ty, 16));
    builder.store(ints[0], params[1], access());
    builder.store(ints[1], params[2], access());
    let zero = builder.i32(0);
    builder.store(ints[2], zero, access());
    builder.store(floats[0], params[3], access());
    let one = builder.f32(1.5);
    builder.store(floats[1], one, access());
    let start = builder.construct(VECTOR, &[params[1], params[2], zero, params[1]]);
    for place in [array, other, vector] {
        builder.store(place, start, access());
    }
    let mut author = Author {
        bytes: bytes.iter(),
        builder,
        ints,
        floats,
        array,
        other,
        vector,
        buffer: params[0],
        exits: Vec::new(),
        blocks: 0,
    };
    author.statements(3);
    author.statements(3);
    author.finish();
    module.functions.push(function);
    module
}

const INPUTS: [(u32, u32, f32); 3] = [(3, 0xffff_fff0, 1.25), (0, 1, -0.0), (77, 5, 3.0e10)];

/// What a program returns, and what it leaves in the buffer.
type Outcome = (Vec<u64>, Vec<u8>);

/// The outcome for each input.
fn results(module: &Module) -> Result<Vec<Outcome>, String> {
    let (_, function) = module.functions.iter().next().ok_or("no function")?;
    INPUTS
        .iter()
        .map(|&(a, b, x)| {
            let memory: Vec<u8> = (0..BUFFER as u8).collect();
            let mut thread = Thread::new(module, function, memory);
            let args = [0, u64::from(a), u64::from(b), u64::from(x.to_bits())];
            let returned = thread.run(&args.map(|bits| vec![bits]), 200_000)?;
            Ok((returned, thread.memory[..BUFFER].to_vec()))
        })
        .collect()
}

fn check(module: &Module, after: &str, expected: &[Outcome]) -> Result<(), String> {
    let show = || assay_ssa::print(module);
    assay_ssa::verify(module)
        .map_err(|errors| format!("after {after}: {:?}\n{}", errors.first(), show()))?;
    let found = results(module).map_err(|error| format!("after {after}: {error}\n{}", show()))?;
    match found == expected {
        true => Ok(()),
        false => Err(format!(
            "after {after}: {expected:?} became {found:?}\n{}",
            show()
        )),
    }
}

/// Every pass alone on the program, then all in the pipeline's order, looking after each.
fn compare(bytes: &[u8]) -> Result<(), String> {
    let original = program(bytes);
    let expected = match results(&original) {
        Err(error) if error == "too many steps" => return Ok(()),
        other => other?,
    };
    check(&original, "nothing", &expected)?;
    for &(name, pass) in pass::PASSES {
        let mut module = original.clone();
        pass::run(&mut module, pass);
        check(&module, name, &expected)?;
    }
    let mut module = original.clone();
    for name in STEPS {
        let pass = pass::by_name(name).ok_or_else(|| format!("no pass {name}"))?;
        pass::run(&mut module, pass);
        check(&module, &format!("{name} in a row"), &expected)?;
    }
    let mut module = original;
    pass::run(&mut module, |module, function| {
        pipeline::optimize_function(module, function, &pipeline::Options::default());
        true
    });
    check(&module, "all", &expected)?;
    pass::run(&mut module, lower_switch::lower_switch);
    let (_, function) = module.functions.iter().next().ok_or("no function")?;
    assay_opt::structurize::structurize(function).map_err(|error| error.to_string())?;
    Ok(())
}

/// An order in which each pass finds work made by those before it.
const STEPS: &[&str] = &[
    "simplify_cfg",
    "index_pointers",
    "promote_memory",
    "simplify",
    "simplify_cfg",
    "unroll_loops",
    "unroll_partly",
    "simplify",
    "simplify_cfg",
    "promote_memory",
    "simplify",
    "remove_dead",
    "propagate_constants",
    "form_selects",
    "simplify_cfg",
    "remove_dead_stores",
    "number_values",
    "merge_counters",
    "narrow_indices",
    "hoist_invariants",
    "simplify",
    "forward_loads",
    "fuse_multiply_add",
    "lower_switch",
    "remove_dead",
    "simplify_cfg",
];

proptest! {
    #![proptest_config(ProptestConfig {
        cases: std::env::var("ASSAY_OPT_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn programs_mean_the_same_after_every_pass(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Err(error) = compare(&bytes) {
            prop_assert!(false, "{}", error);
        }
    }
}
