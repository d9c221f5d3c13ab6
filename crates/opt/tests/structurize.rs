//! The control tree runs every lane through the same blocks as the graph does, and
//! brings lanes together where the rules say.

use assay_opt::control::{Item, Region};
use assay_opt::structurize::{StructurizeError, structurize};
use assay_ssa::{Block, Builder, Function, Id, InstData, Type};
use expect_test::{Expect, expect};
use proptest::prelude::*;

/// A function from its graph: for each block its successors, none for a return.
fn function(graph: &[Vec<usize>]) -> Function {
    let mut function = Function::new("graph", Type::VOID);
    let mut builder = Builder::new(&mut function);
    let blocks: Vec<Block> = graph.iter().map(|_| builder.block(&[])).collect();
    let cond = builder.constant(Type::I1, 1);
    for (block, successors) in blocks.iter().zip(graph) {
        builder.switch_to(*block);
        match successors[..] {
            [] => builder.ret(None),
            [one] => builder.jump(blocks[one], &[]),
            [yes, no, ..] => builder.branch(cond, (blocks[yes], &[]), (blocks[no], &[])),
        };
    }
    function
}

const LANES: usize = 4;
const STEPS: usize = 300;

/// What a lane decides at a block: some fixed function of lane, block and visit.
fn decides(lane: usize, block: usize, visit: usize) -> bool {
    let mixed = (lane * 31 + block * 17 + visit * 7 + 3).wrapping_mul(2654435761);
    (mixed >> 13) & 1 == 1
}

/// The blocks one lane visits, walking the graph.
fn walk(graph: &[Vec<usize>], lane: usize) -> Vec<usize> {
    let (mut at, mut path, mut visits) = (0, Vec::new(), vec![0; graph.len()]);
    while path.len() < STEPS {
        path.push(at);
        let visit = visits[at];
        visits[at] += 1;
        at = match graph[at][..] {
            [] => break,
            [one] => one,
            [yes, no, ..] => {
                if decides(lane, at, visit) {
                    yes
                } else {
                    no
                }
            }
        };
    }
    path
}

/// Runs the tree with a mask, by the rules of `control` and nothing else.
struct Machine {
    paths: Vec<Vec<usize>>,
    visits: Vec<Vec<usize>>,
    last: Block,
    /// The masks with which each block ran.
    masks: Vec<(usize, u32)>,
}

/// Lanes on their way to a label, or out.
type Waiting = Vec<(Item, u32)>;

impl Machine {
    fn region(&mut self, region: &Region, mut mask: u32, waiting: &mut Waiting) -> u32 {
        for item in region {
            if mask == 0 {
                return 0;
            }
            mask = self.item(item, mask, waiting);
        }
        mask
    }

    fn item(&mut self, item: &Item, mask: u32, waiting: &mut Waiting) -> u32 {
        match item {
            Item::Run(block) => self.run(*block, mask),
            Item::Pass { .. } => mask,
            Item::If {
                then, otherwise, ..
            } => {
                let at = self.last.index();
                let yes = (0..LANES)
                    .filter(|&lane| mask >> lane & 1 == 1)
                    .filter(|&lane| decides(lane, at, self.visits[lane][at] - 1))
                    .fold(0, |bits, lane| bits | 1 << lane);
                self.region(then, yes, waiting) | self.region(otherwise, mask & !yes, waiting)
            }
            Item::Scope { label, body } => {
                let out = self.region(body, mask, waiting);
                out | collect(waiting, &Item::Leave(*label))
            }
            Item::Loop { label, body } => {
                let mut mask = mask;
                while mask != 0 && self.masks.len() < STEPS * LANES {
                    mask = self.region(body, mask, waiting);
                    mask |= collect(waiting, &Item::Repeat(*label));
                }
                0
            }
            Item::Leave(_) | Item::Repeat(_) | Item::Return(_) | Item::Unreachable => {
                waiting.push((item.clone(), mask));
                0
            }
        }
    }

    fn run(&mut self, block: Block, mask: u32) -> u32 {
        self.last = block;
        self.masks.push((block.index(), mask));
        let mut left = mask;
        for lane in 0..LANES {
            if mask >> lane & 1 == 1 {
                if self.paths[lane].len() >= STEPS {
                    left &= !(1 << lane);
                    continue;
                }
                self.paths[lane].push(block.index());
                self.visits[lane][block.index()] += 1;
            }
        }
        left
    }
}

fn collect(waiting: &mut Waiting, wanted: &Item) -> u32 {
    let mut mask = 0;
    waiting.retain(|(item, lanes)| {
        let fits = item == wanted;
        mask |= if fits { *lanes } else { 0 };
        !fits
    });
    mask
}

fn run_tree(graph: &[Vec<usize>], body: &Region) -> Machine {
    let mut machine = Machine {
        paths: vec![Vec::new(); LANES],
        visits: vec![vec![0; graph.len()]; LANES],
        last: Block::from_index(0),
        masks: Vec::new(),
    };
    let mut waiting = Waiting::new();
    machine.region(body, (1 << LANES) - 1, &mut waiting);
    let lost = waiting
        .iter()
        .find(|(item, _)| matches!(item, Item::Leave(_) | Item::Repeat(_)));
    assert!(
        lost.is_none(),
        "lanes wait for a label that is not around them: {lost:?}"
    );
    machine
}

fn graphs() -> impl Strategy<Value = Vec<Vec<usize>>> {
    (2usize..14).prop_flat_map(|count| {
        proptest::collection::vec(proptest::collection::vec(1..count, 0..3), count)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn every_lane_visits_the_blocks_of_the_graph(graph in graphs()) {
        match structurize(&function(&graph)) {
            Ok(tree) => {
                let machine = run_tree(&graph, &tree.body);
                for lane in 0..LANES {
                    let expected = walk(&graph, lane);
                    let got = &machine.paths[lane];
                    prop_assert_eq!(got, &expected, "lane {} of\n{}", lane, tree.to_text());
                }
            }
            Err(StructurizeError::Irreducible { .. }) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

fn check(graph: &[Vec<usize>], expected: Expect) {
    let tree = structurize(&function(graph)).expect("structured");
    expected.assert_eq(&tree.to_text());
}

#[test]
fn an_if_joins_behind_both_arms() {
    check(
        &[vec![1, 2], vec![3], vec![3], vec![]],
        expect![[r#"
            run b0
            if v0
              run b1
            else
              run b2
            run b3
            return
        "#]],
    );
}

#[test]
fn an_early_return_is_not_nested_around_the_rest() {
    check(
        &[vec![1, 2], vec![], vec![]],
        expect![[r#"
            run b0
            if v0
              run b1
              return
            run b2
            return
        "#]],
    );
}

#[test]
fn code_behind_a_loop_waits_for_every_lane() {
    // 0 → 1 (header) → 2 or exit 3; 2 → 1. Block 3 is dominated from inside the loop.
    check(
        &[vec![1], vec![3, 2], vec![1], vec![]],
        expect![[r#"
            run b0
            scope b3
              loop b1
                run b1
                if v0
                  leave b3
                run b2
            run b3
            return
        "#]],
    );
}

#[test]
fn a_return_inside_a_loop_runs_after_it() {
    check(
        &[vec![1], vec![2, 3], vec![4, 1], vec![], vec![]],
        expect![[r#"
            run b0
            scope b3
              scope b4
                loop b1
                  run b1
                  if v0
                  else
                    leave b3
                  run b2
                  if v0
                    leave b4
              run b4
              return
            run b3
            return
        "#]],
    );
}

#[test]
fn a_break_out_of_two_loops_goes_behind_the_outer_one() {
    check(
        &[vec![1], vec![2, 5], vec![3, 5], vec![2, 4], vec![1], vec![]],
        expect![[r#"
            run b0
            scope b5
              loop b1
                run b1
                if v0
                else
                  leave b5
                scope b4
                  loop b2
                    run b2
                    if v0
                    else
                      leave b5
                    run b3
                    if v0
                    else
                      leave b4
                run b4
            run b5
            return
        "#]],
    );
}

#[test]
fn a_cycle_with_two_entries_is_refused() {
    let graph = [vec![1, 2], vec![2], vec![1]];
    let error = structurize(&function(&graph)).expect_err("irreducible");
    assert!(
        matches!(error, StructurizeError::Irreducible { .. }),
        "{error}"
    );
}

#[test]
fn long_chains_of_blocks_and_of_early_exits_are_laid_flat() {
    let count = 5000;
    let to_end = |at: usize| {
        if at + 2 < count {
            vec![at + 1, count - 1]
        } else {
            vec![]
        }
    };
    let straight = |at: usize| if at + 1 < count { vec![at + 1] } else { vec![] };
    for graph in [
        (0..count).map(to_end).collect::<Vec<_>>(),
        (0..count).map(straight).collect(),
    ] {
        let tree = structurize(&function(&graph)).expect("structured");
        assert_eq!(run_tree(&graph, &tree.body).paths[1], walk(&graph, 1));
    }
}

#[test]
fn deep_nesting_is_refused_not_overflowed() {
    // Loops inside loops: block i heads a loop whose latch is block 2 n - i.
    let depth = 2000;
    let mut graph: Vec<Vec<usize>> = (0..depth).map(|at| vec![at + 1]).collect();
    graph.extend((0..depth).map(|at| vec![depth - at, depth + at + 1]));
    graph.push(vec![]);
    assert_eq!(
        structurize(&function(&graph)),
        Err(StructurizeError::TooDeep)
    );
}

#[test]
fn a_switch_is_refused() {
    let mut function = Function::new("switch", Type::VOID);
    let mut builder = Builder::new(&mut function);
    let (entry, end) = (builder.block(&[]), builder.block(&[]));
    builder.switch_to(entry);
    let on = builder.i32(1);
    builder.switch(on, (end, &[]), &[(1, end, &[])]);
    builder.switch_to(end);
    builder.ret(None);
    assert!(matches!(
        function.inst(*function.insts(entry).last().expect("terminator")),
        InstData::Switch { .. }
    ));
    assert_eq!(
        structurize(&function),
        Err(StructurizeError::Switch { block: entry })
    );
}
