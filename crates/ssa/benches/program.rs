//! How fast a program is checked, written, read and analysed: `cargo bench -p assay-ssa`.
//!
//! The program is a nest of loops with divergent branches, about 5,000 instructions.

use assay_ssa::analysis::{Cfg, Dominators, Loops, UniformityInfo};
use assay_ssa::{
    Access, BinaryOp, Builder, Builtin, Flags, Function, IntCond, Module, Space, Type, parse,
    print, verify,
};
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

/// `count` loops one after the other, each with a divergent branch inside.
fn program(count: usize) -> Module {
    let mut function = Function::new("bench", Type::VOID);
    let mut b = Builder::new(&mut function);
    let entry = b.block(&[Type::pointer(Space::Device)]);
    b.switch_to(entry);
    let data = b.param(entry, 0);
    let id = b
        .builtin(Builtin::ThreadPositionInGrid.call(), &[], Type::I32)
        .unwrap();
    let (zero, one) = (b.i32(0), b.i32(1));
    for _ in 0..count {
        let blocks = [
            b.block(&[Type::I32, Type::F32]),
            b.block(&[]),
            b.block(&[Type::F32]),
            b.block(&[]),
        ];
        let [header, extra, latch, exit] = blocks;
        let start = b.f32(0.0);
        b.jump(header, &[zero, start]);
        b.switch_to(header);
        let (index, sum) = (b.param(header, 0), b.param(header, 1));
        let address = b.ptr_add(data, Some(index), 4, 0, Flags::INBOUNDS);
        let value = b.load(Type::F32, address, Access::aligned(4));
        let added = b.binary(BinaryOp::FAdd, sum, value, Flags::NONE);
        let odd = b.icmp(IntCond::Ult, id, index);
        b.branch(odd, (extra, &[]), (latch, &[added]));
        b.switch_to(extra);
        let doubled = b.binary(BinaryOp::FMul, added, value, Flags::CONTRACT);
        b.jump(latch, &[doubled]);
        b.switch_to(latch);
        let next = b.binary(BinaryOp::Add, index, one, Flags::NSW);
        let limit = b.i32(64);
        let more = b.icmp(IntCond::Slt, next, limit);
        let result = b.param(latch, 0);
        b.branch(more, (header, &[next, result]), (exit, &[]));
        b.switch_to(exit);
        b.store(address, result, Access::aligned(4));
    }
    b.ret(None);
    let mut module = Module::new("bench");
    module.add_function(function);
    module
}

fn instructions(module: &Module) -> ItemsCount {
    let count = |f: &Function| {
        f.blocks()
            .iter()
            .map(|&block| f.insts(block).len())
            .sum::<usize>()
    };
    ItemsCount::new(
        module
            .functions
            .iter()
            .map(|(_, f)| count(f))
            .sum::<usize>(),
    )
}

fn with_program(bencher: divan::Bencher<'_, '_>, run: impl Fn(&Module) + Sync) {
    let module = program(400);
    bencher
        .counter(instructions(&module))
        .bench(|| run(divan::black_box(&module)));
}

#[divan::bench]
fn verify_it(bencher: divan::Bencher<'_, '_>) {
    with_program(bencher, |module| verify(module).unwrap());
}

#[divan::bench]
fn clone_it(bencher: divan::Bencher<'_, '_>) {
    with_program(bencher, |module| {
        divan::black_box(module.clone());
    });
}

#[divan::bench]
fn print_it(bencher: divan::Bencher<'_, '_>) {
    with_program(bencher, |module| {
        divan::black_box(print(module));
    });
}

#[divan::bench]
fn parse_it(bencher: divan::Bencher<'_, '_>) {
    let module = program(400);
    let text = print(&module);
    bencher
        .counter(instructions(&module))
        .bench(|| parse(divan::black_box(&text)).unwrap());
}

#[divan::bench]
fn find_loops(bencher: divan::Bencher<'_, '_>) {
    with_program(bencher, |module| {
        for (_, function) in module.functions.iter() {
            let cfg = Cfg::new(function);
            let dominators = Dominators::new(&cfg, function);
            divan::black_box(Loops::new(&cfg, &dominators, function));
        }
    });
}

#[divan::bench]
fn find_uniformity(bencher: divan::Bencher<'_, '_>) {
    with_program(bencher, |module| {
        for (_, function) in module.functions.iter() {
            divan::black_box(UniformityInfo::of_kernel(function));
        }
    });
}
