//! Says which accesses go to which buffer.
//!
//! Metal's buffers do not overlap where the kernel says so (`noalias` arguments: Apple's AIR
//! has them, and so have sources compiled with our headers). Apple's compiler also notes on
//! every load and store what it may touch; clang does not, once everything is inlined. Here
//! accesses whose pointer leads back to such an argument are given an alias set of its own,
//! so that everybody after this can tell a store to one buffer from a load of another.

use assay_ssa::{
    Access, AliasId, AliasSet, Function, IdMap, Inst, InstData, Kernel, Value, ValueDef,
};

/// Steps an address is followed back through.
const MOST_STEPS: usize = 64;

/// Gives accesses without alias set one that names their buffer.
pub fn mark_aliases(kernel: &Kernel, function: &mut Function) -> bool {
    let Some(buffers) = Buffers::new(kernel, function) else {
        return false;
    };
    let mut changed = false;
    for position in 0..function.blocks().len() {
        let block = function.blocks()[position];
        for at in 0..function.insts(block).len() {
            let inst = function.insts(block)[at];
            changed |= mark(function, inst, &buffers);
        }
    }
    changed
}

/// The alias set of each buffer, by its parameter.
struct Buffers {
    sets: IdMap<Value, Option<AliasId>>,
}

impl Buffers {
    /// Nothing when there are fewer than two buffers to tell apart, or accesses were marked by somebody else.
    fn new(kernel: &Kernel, function: &mut Function) -> Option<Self> {
        let params = function.params(function.entry()?).to_vec();
        let apart: Vec<Value> = kernel
            .arguments
            .iter()
            .filter(|argument| argument.no_alias)
            .filter_map(|argument| params.get(argument.param? as usize).copied())
            .take(u64::BITS as usize)
            .collect();
        if apart.len() < 2 {
            return None;
        }
        let all = u64::MAX >> (u64::BITS - apart.len() as u32);
        // Marked here before: what has become visible since is marked, too.
        let is_own = function.alias_domains == [all]
            && function.alias_sets().len() == apart.len()
            && function
                .alias_sets()
                .all(|(_, set)| set.scopes.is_power_of_two() && set.noalias == all & !set.scopes);
        if function.alias_sets().len() > 0 && !is_own {
            return None;
        }
        let mut sets = IdMap::new(None);
        for (bit, param) in apart.into_iter().enumerate() {
            let scopes = 1 << bit;
            let noalias = all & !scopes;
            sets[param] = Some(function.alias_set(AliasSet { scopes, noalias }));
        }
        let buffers = Buffers { sets };
        if is_own && !buffers.agree(function) {
            return None;
        }
        function.alias_domains = vec![all];
        Some(buffers)
    }

    /// Returns true if accesses that are marked already have the set of their buffer.
    fn agree(&self, function: &Function) -> bool {
        let blocks = function.blocks().iter();
        let mut insts = blocks.flat_map(|&block| function.insts(block));
        insts.all(|&inst| {
            let (ptr, alias) = match *function.inst(inst) {
                InstData::Load { ptr, access }
                | InstData::Store { ptr, access, .. }
                | InstData::AtomicRmw { ptr, access, .. }
                | InstData::AtomicCompareExchange { ptr, access, .. } => (ptr, access.alias),
                _ => return true,
            };
            let own = argument(function, ptr).and_then(|param| self.sets[param]);
            alias.is_none() || own.is_none() || alias == own
        })
    }
}

fn mark(function: &mut Function, inst: Inst, buffers: &Buffers) -> bool {
    let pointer = match *function.inst(inst) {
        InstData::Load { ptr, access }
        | InstData::Store { ptr, access, .. }
        | InstData::AtomicRmw { ptr, access, .. }
        | InstData::AtomicCompareExchange { ptr, access, .. }
            if access.alias.is_none() =>
        {
            ptr
        }
        _ => return false,
    };
    let Some(set) = argument(function, pointer).and_then(|param| buffers.sets[param]) else {
        return false;
    };
    if let InstData::Load { access, .. }
    | InstData::Store { access, .. }
    | InstData::AtomicRmw { access, .. }
    | InstData::AtomicCompareExchange { access, .. } = function.inst_mut(inst)
    {
        *access = Access {
            alias: Some(set),
            ..*access
        };
    }
    true
}

/// The parameter of the function a pointer was computed from, if it is one.
fn argument(function: &Function, pointer: Value) -> Option<Value> {
    let mut root = pointer;
    for _ in 0..MOST_STEPS {
        match (function.def(root), function.def_data(root)) {
            (_, Some(&InstData::PtrAdd { base, .. })) => root = base,
            (ValueDef::Param(block, _), _) if Some(block) == function.entry() => return Some(root),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::pipeline;

    fn loads_after(arguments: &str) -> usize {
        let text = format!(
            "module \"m\"\nkernel \"k\" f0 {{\n{arguments}}}\n\
             function f0 \"k\" -> void {{\nb0(v0: ptr.device, v1: ptr.device):\n\
             v2: f32 = load v0 align 4\nstore v1, v2 align 4\n\
             v3: f32 = load v0 align 4\nv4: f32 = fadd v2, v3\nstore v1, v4 align 4\nreturn\n}}\n"
        );
        let mut module = assay_ssa::parse(&text).expect("a module");
        pipeline::optimize(&mut module).expect("no calls");
        assay_ssa::verify(&module).expect("a program");
        assay_ssa::print(&module).matches("load").count()
    }

    #[test]
    fn a_store_to_one_buffer_leaves_the_others() {
        let apart = "\"a\" buffer 0 param 0 space device noalias\n\
                     \"b\" buffer 1 param 1 space device noalias\n";
        assert_eq!(loads_after(apart), 1);
        let unknown = "\"a\" buffer 0 param 0 space device\n\"b\" buffer 1 param 1 space device\n";
        assert_eq!(loads_after(unknown), 2);
    }
}
