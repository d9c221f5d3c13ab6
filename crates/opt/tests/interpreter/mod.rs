//! Runs one thread of a function without calls, as the program form's documentation says.
//!
//! Scalars, vectors and pointers are lists of bits, one per element; memory is one flat array
//! of bytes. It is written for clearness and nothing else. Anything it does not know, or that
//! a program must not do, is an error.

use assay_opt::evaluate;
use assay_ssa::{
    Aggregates, Block, BlockCall, Builtin, Callee, Function, IdMap, IndexExtend, Inst, InstData,
    Module, Scalar, Type, TypeKind, UNDEF_LANE, Value, ValueDef,
};

/// The elements of a value.
type Elements = Vec<u64>;

/// One thread.
pub(crate) struct Thread<'a> {
    types: &'a Aggregates,
    function: &'a Function,
    values: IdMap<Value, Option<Elements>>,
    /// Address 0 is the first byte of what the caller gave; allocas come behind.
    pub(crate) memory: Vec<u8>,
    steps: usize,
}

impl<'a> Thread<'a> {
    /// A thread that is about to start; `memory` is what pointers among the arguments see.
    pub(crate) fn new(module: &'a Module, function: &'a Function, memory: Vec<u8>) -> Self {
        Thread {
            types: &module.types,
            function,
            values: IdMap::new(None),
            memory,
            steps: 0,
        }
    }

    /// Runs to the end and gives what is returned.
    pub(crate) fn run(&mut self, args: &[Elements], most_steps: usize) -> Result<Elements, String> {
        let mut block = self.function.entry().ok_or("no entry")?;
        for (&param, arg) in self.function.params(block).iter().zip(args) {
            self.values[param] = Some(arg.clone());
        }
        'blocks: loop {
            for &inst in self.function.insts(block) {
                self.steps += 1;
                if self.steps > most_steps {
                    return Err("too many steps".into());
                }
                match *self.function.inst(inst) {
                    InstData::Jump { target } => {
                        block = self.enter(target)?;
                        continue 'blocks;
                    }
                    InstData::Branch {
                        cond,
                        then,
                        otherwise,
                    } => {
                        let target = if self.bits(cond)? & 1 == 1 {
                            then
                        } else {
                            otherwise
                        };
                        block = self.enter(target)?;
                        continue 'blocks;
                    }
                    InstData::Switch {
                        value,
                        default,
                        cases,
                    } => {
                        let bits = self.bits(value)?;
                        let cases = self.function.switch_cases(cases);
                        let case = cases.iter().find(|(number, _)| *number == bits);
                        block = self.enter(case.map_or(default, |&(_, call)| call))?;
                        continue 'blocks;
                    }
                    InstData::Return { value } => {
                        return value.map_or(Ok(Vec::new()), |value| self.get(value));
                    }
                    InstData::Unreachable => return Err("unreachable code was reached".into()),
                    _ => {
                        let made = self.step(inst)?;
                        if let Some(result) = self.function.result(inst) {
                            self.values[result] = Some(made);
                        }
                    }
                }
            }
            return Err("a block without an end".into());
        }
    }

    fn enter(&mut self, call: BlockCall) -> Result<Block, String> {
        let args = self.function.list_values(call.args);
        let passed: Vec<Elements> = args
            .iter()
            .map(|&arg| self.get(arg))
            .collect::<Result<_, _>>()?;
        for (&param, value) in self.function.params(call.block).iter().zip(passed) {
            self.values[param] = Some(value);
        }
        Ok(call.block)
    }

    fn get(&self, value: Value) -> Result<Elements, String> {
        let ty = self.function.ty(value);
        let lanes = usize::from(ty.lanes()).max(1);
        match self.function.def(value) {
            ValueDef::Undef => Ok(vec![0; lanes]),
            ValueDef::Result(_) | ValueDef::Param(..) => self.values[value]
                .clone()
                .ok_or_else(|| format!("{value} is used before it is made")),
            _ if ty.is_pointer() => Ok(vec![0]),
            _ => (0..lanes)
                .map(|lane| match lanes {
                    1 => self.function.const_bits(value),
                    _ => self.function.const_element(value, lane),
                })
                .collect::<Option<_>>()
                .ok_or_else(|| format!("{value} is no constant this knows")),
        }
    }

    fn bits(&self, value: Value) -> Result<u64, String> {
        self.get(value)?.first().copied().ok_or("no element".into())
    }

    fn scalar(&self, value: Value) -> Result<Scalar, String> {
        let ty = self.function.ty(value);
        match ty.kind() {
            TypeKind::Pointer(_) => Ok(Scalar::I64),
            _ => ty
                .element()
                .ok_or_else(|| format!("{value} has no elements")),
        }
    }

    fn step(&mut self, inst: Inst) -> Result<Elements, String> {
        let ty = self.function.result_type(inst);
        match *self.function.inst(inst) {
            InstData::Unary { op, arg, .. } => {
                let scalar = self.scalar(arg)?;
                let each = self.get(arg)?.into_iter();
                Ok(each.map(|bits| evaluate::unary(op, scalar, bits)).collect())
            }
            InstData::Binary { op, args, .. } => {
                self.pairs(args, |scalar, a, b| evaluate::binary(op, scalar, a, b))
            }
            InstData::Ternary {
                op,
                args: [a, b, c],
                ..
            } => {
                let scalar = self.scalar(a)?;
                let (a, b, c) = (self.get(a)?, self.get(b)?, self.get(c)?);
                (0..a.len())
                    .map(|lane| evaluate::ternary(op, scalar, [a[lane], b[lane], c[lane]]))
                    .collect::<Option<_>>()
                    .ok_or("no such operation".into())
            }
            InstData::IntCompare { cond, args, .. } => self.pairs(args, |scalar, a, b| {
                Some(u64::from(evaluate::int_compare(cond, scalar, a, b)))
            }),
            InstData::FloatCompare { cond, args, .. } => self.pairs(args, |scalar, a, b| {
                evaluate::float_compare(cond, scalar, a, b).map(u64::from)
            }),
            InstData::Select {
                cond, args: [a, b], ..
            } => {
                let (cond, a, b) = (self.get(cond)?, self.get(a)?, self.get(b)?);
                let choose = |lane: usize| cond[lane.min(cond.len() - 1)] & 1 == 1;
                Ok((0..a.len())
                    .map(|lane| if choose(lane) { a[lane] } else { b[lane] })
                    .collect())
            }
            InstData::Cast { op, arg, .. } => self.cast(op, arg, ty),
            InstData::Extract { vector, index } => {
                let (vector, index) = (self.get(vector)?, self.bits(index)? as usize);
                Ok(vec![*vector.get(index).ok_or("no such element")?])
            }
            InstData::Insert {
                vector,
                element,
                index,
            } => {
                let (mut vector, index) = (self.get(vector)?, self.bits(index)? as usize);
                *vector.get_mut(index).ok_or("no such element")? = self.bits(element)?;
                Ok(vector)
            }
            InstData::Shuffle { args: [a, b], mask } => {
                let mut all = self.get(a)?;
                all.extend(self.get(b)?);
                let mask = self.function.indices(mask).iter();
                let pick = |&from: &u32| match from {
                    UNDEF_LANE => Ok(0),
                    _ => all
                        .get(from as usize)
                        .copied()
                        .ok_or("no such element".into()),
                };
                mask.map(pick).collect()
            }
            InstData::Construct { args } => {
                let args = self.function.list_values(args).iter();
                args.map(|&arg| self.bits(arg)).collect()
            }
            _ => self.access(inst, ty),
        }
    }

    fn pairs(
        &self,
        [a, b]: [Value; 2],
        op: impl Fn(Scalar, u64, u64) -> Option<u64>,
    ) -> Result<Elements, String> {
        let scalar = self.scalar(a)?;
        let (a, b) = (self.get(a)?, self.get(b)?);
        a.iter()
            .zip(&b)
            .map(|(&a, &b)| op(scalar, a, b))
            .collect::<Option<_>>()
            .ok_or("no such operation".into())
    }

    fn cast(&self, op: assay_ssa::CastOp, arg: Value, ty: Type) -> Result<Elements, String> {
        let from = self.function.ty(arg);
        let elements = self.get(arg)?;
        if op == assay_ssa::CastOp::Bitcast && from.lanes() != ty.lanes() {
            let mut bytes = Vec::new();
            let width = self.scalar(arg)?.bytes() as usize;
            elements
                .iter()
                .for_each(|bits| bytes.extend_from_slice(&bits.to_le_bytes()[..width]));
            let width = ty.element().ok_or("no elements")?.bytes() as usize;
            return Ok(bytes.chunks(width).map(read).collect());
        }
        let (source, target) = (self.scalar(arg)?, ty.element().unwrap_or(Scalar::I64));
        elements
            .into_iter()
            .map(|bits| evaluate::cast(op, source, target, bits))
            .collect::<Option<_>>()
            .ok_or("no such conversion".into())
    }

    fn access(&mut self, inst: Inst, ty: Type) -> Result<Elements, String> {
        match *self.function.inst(inst) {
            InstData::Alloca { ty, .. } => {
                let start = self.memory.len().next_multiple_of(64);
                let size = self.types.store_size(ty) as usize;
                self.memory.resize(start + size, 0);
                Ok(vec![start as u64])
            }
            InstData::PtrAdd {
                base,
                index,
                scale,
                offset,
                extend,
                ..
            } => {
                let mut address = self.bits(base)?.wrapping_add(offset as u64);
                if let Some(index) = index {
                    let (scalar, bits) = (self.scalar(index)?, self.bits(index)?);
                    let index = match extend {
                        IndexExtend::Sign => evaluate::signed(scalar, bits) as u64,
                        IndexExtend::Zero => bits,
                    };
                    address = address.wrapping_add(index.wrapping_mul(u64::from(scale)));
                }
                Ok(vec![address])
            }
            InstData::Load { ptr, .. } => {
                let width = width(ty) as usize;
                let lanes = usize::from(ty.lanes()).max(1);
                let start = self.place(ptr, width * lanes)?;
                let bytes = &self.memory[start..start + width * lanes];
                Ok(bytes.chunks(width).map(read).collect())
            }
            InstData::Store { ptr, value, .. } => {
                let width = width(self.function.ty(value)) as usize;
                let elements = self.get(value)?;
                let start = self.place(ptr, width * elements.len())?;
                let places = self.memory[start..].chunks_mut(width);
                for (place, bits) in places.zip(elements) {
                    place.copy_from_slice(&bits.to_le_bytes()[..width]);
                }
                Ok(Vec::new())
            }
            InstData::MemCopy { dst, src, size, .. } => {
                let size = self.bits(size)? as usize;
                let (from, to) = (self.place(src, size)?, self.place(dst, size)?);
                self.memory.copy_within(from..from + size, to);
                Ok(Vec::new())
            }
            InstData::MemSet {
                dst, byte, size, ..
            } => {
                let size = self.bits(size)? as usize;
                let (to, byte) = (self.place(dst, size)?, self.bits(byte)? as u8);
                self.memory[to..to + size].fill(byte);
                Ok(Vec::new())
            }
            // What programs made to be checked hold besides: nothing is checked here, and memory starts as zero.
            InstData::Call {
                callee: Callee::Builtin(call),
                ..
            } => match call.builtin {
                Builtin::Uninitialised => Ok(vec![0; usize::from(ty.lanes())]),
                Builtin::Expect | Builtin::LifetimeStart | Builtin::LifetimeEnd => Ok(Vec::new()),
                _ => Err(format!("{call} is not known here")),
            },
            ref other => Err(format!("{other:?} is not known here")),
        }
    }

    fn place(&self, ptr: Value, size: usize) -> Result<usize, String> {
        let start = self.bits(ptr)?;
        let end = start.checked_add(size as u64);
        match end {
            Some(end) if end <= self.memory.len() as u64 => Ok(start as usize),
            _ => Err(format!("{ptr} points nowhere")),
        }
    }
}

/// The bytes an element of a type takes in memory.
fn width(ty: Type) -> u32 {
    ty.element().map_or(8, |scalar| scalar.bytes().max(1))
}

fn read(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
