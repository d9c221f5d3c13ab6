//! Lines for instructions that have lost theirs.
//!
//! An optimiser that moves an instruction out of a loop, or makes one out of two, drops its
//! line: a debugger would otherwise jump about. For a profile the line it works for is wanted
//! instead. What computes a value works for the first line that uses it; what makes no value
//! belongs to its neighbours in the block.

use assay_ssa::{Block, Function, IdMap, Inst, Loc, Locations, Value};

/// Walks over a function; a value used only by others without line is found in the second.
const WALKS: usize = 2;

/// Gives instructions without a line that of what they work for.
pub(super) fn fill(function: &mut Function, locations: &Locations) {
    if locations.iter().len() == 0 {
        return;
    }
    let known = |function: &Function, inst: Inst| {
        let loc = function.loc(inst)?;
        locations.resolve(loc, |_| true).map(|_| loc)
    };
    let blocks = function.blocks().to_vec();
    let mut wanted: IdMap<Value, Option<Loc>> = IdMap::with_len(None, function.num_values());
    for _ in 0..WALKS {
        let mut missing = false;
        for &block in blocks.iter().rev() {
            missing |= from_users(function, block, &known, &mut wanted);
        }
        if !missing {
            return;
        }
    }
    for &block in &blocks {
        from_neighbours(function, block, &known);
    }
    // A block without any line of its own has the one of where it goes.
    for &block in blocks.iter().rev() {
        let Some(last) = function.terminator(block) else {
            continue;
        };
        if known(function, last).is_none() {
            let mut next = None;
            function.for_each_successor(block, |to| next = next.or(Some(to)));
            let first = next.and_then(|next| function.insts(next).first().copied());
            if let Some(loc) = first.and_then(|first| known(function, first)) {
                for at in 0..function.insts(block).len() {
                    let inst = function.insts(block)[at];
                    function.set_loc(inst, Some(loc));
                }
            }
        }
    }
}

/// From the end of a block to its start, so that the first user comes last and is the one
/// that counts. Whether something stays without.
fn from_users(
    function: &mut Function,
    block: Block,
    known: &impl Fn(&Function, Inst) -> Option<Loc>,
    wanted: &mut IdMap<Value, Option<Loc>>,
) -> bool {
    let mut missing = false;
    for at in (0..function.insts(block).len()).rev() {
        let inst = function.insts(block)[at];
        let mut loc = known(function, inst);
        if loc.is_none() {
            loc = function.result(inst).and_then(|result| wanted[result]);
            if loc.is_some() {
                function.set_loc(inst, loc);
            }
        }
        match loc {
            None => missing = true,
            Some(_) => function.for_each_operand(inst, |value| wanted[value] = loc),
        }
    }
    missing
}

/// The line of the instruction before, or of the first one behind that has any.
fn from_neighbours(
    function: &mut Function,
    block: Block,
    known: &impl Fn(&Function, Inst) -> Option<Loc>,
) {
    let first = |function: &Function| {
        let mut insts = function.insts(block).iter();
        insts.find_map(|&inst| known(function, inst))
    };
    let mut last = first(function);
    for at in 0..function.insts(block).len() {
        let inst = function.insts(block)[at];
        match known(function, inst) {
            Some(loc) => last = Some(loc),
            None if last.is_some() => function.set_loc(inst, last),
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn what_has_lost_its_line_takes_that_of_its_first_user() {
        let text = "module \"m\"\nfile0 = \"a.metal\"\n!0 = file0:3:1\n!1 = file0:5:1\n\
            function f0 \"f\" -> void {\nb0(v0: ptr.device, v1: i32):\n\
            v2: i32 = mul v1, v1\n\
            v3: i32 = add v2, i32 1\n\
            jump b1\n\
            b1:\n\
            v4: ptr.device = ptr_add v0 + v3 * 4 !1\n\
            store v4, v2 align 4 !0\n\
            return\n}\n";
        let mut module = assay_ssa::parse(text).expect("a module");
        let locations = module.locations.clone();
        let function = &mut module.functions.as_mut_slice()[0];
        fill(function, &locations);
        let lines: Vec<u32> = function
            .all_insts()
            .map(|inst| {
                let line = function.loc(inst).and_then(|loc| locations.get(loc));
                line.map_or(0, |line| line.line)
            })
            .collect();
        assert_eq!(lines, [5, 5, 5, 5, 3, 3]);
    }
}
