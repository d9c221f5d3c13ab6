//! What becomes a statement and what is written inside an expression, and where variables are declared.
//!
//! A value that is used once, in the block that makes it, is written where it is used, unless something between the two
//! writes memory it reads. Everything else gets a variable, declared in the innermost region that has all its mentions.

use assay_opt::control::{Item, Region, Tree, edge};
use assay_ssa::builtin::Family;
use assay_ssa::{Block, Callee, Function, Id, IdMap, Inst, InstData, Value, ValueDef};
use std::collections::HashMap;

/// The largest expression that is written in one piece, in operations.
const LARGEST_EXPRESSION: u32 = 10;

/// A region of the control tree, numbered in the order they are entered.
pub(super) type RegionId = usize;

/// The decisions.
pub(super) struct Plan {
    /// Instructions written inside the expression that uses them.
    pub(super) inline: IdMap<Inst, bool>,
    /// Variables declared before an item of a region, because no mention of them in that region is the first.
    pub(super) ahead: HashMap<(RegionId, usize), Vec<Value>>,
    /// Variables that `ahead` declares.
    pub(super) declared_ahead: IdMap<Value, bool>,
    /// How often each value is used.
    pub(super) uses: IdMap<Value, u32>,
}

impl Plan {
    /// `references` are pointers to arguments of constant memory that hold one number: reading one costs nothing to
    /// write again.
    pub(super) fn new(function: &Function, tree: &Tree, references: &[Value]) -> Plan {
        let uses = function.use_counts();
        let mut inline = IdMap::with_len(false, function.num_insts());
        for &block in function.blocks() {
            inline_block(function, block, &uses, references, &mut inline);
        }
        let mut places = Places {
            function,
            inline: &inline,
            parents: Vec::new(),
            first: IdMap::with_len(None, function.num_values()),
        };
        places.region(&tree.body, None);
        let mut ahead: HashMap<(RegionId, usize), Vec<Value>> = HashMap::new();
        let mut declared_ahead = IdMap::with_len(false, function.num_values());
        for index in 0..function.num_values() {
            let value = Value::from_index(index);
            let argument = matches!(function.def(value), ValueDef::Param(block, _) if Some(block) == function.entry());
            if let Some(place) = places.first[value]
                && !(place.direct || argument)
            {
                ahead
                    .entry((place.region, place.item))
                    .or_default()
                    .push(value);
                declared_ahead.set(value, true);
            }
        }
        Plan {
            inline,
            ahead,
            declared_ahead,
            uses,
        }
    }
}

/// Decides which instructions of a block are written inside their users.
fn inline_block(
    function: &Function,
    block: Block,
    uses: &IdMap<Value, u32>,
    references: &[Value],
    inline: &mut IdMap<Inst, bool>,
) {
    let insts = function.insts(block);
    // Where each instruction is written: its own place, or that of the statement it is written in.
    let mut written: Vec<usize> = (0..insts.len()).collect();
    let place: HashMap<Inst, usize> = insts.iter().enumerate().map(|(at, &i)| (i, at)).collect();
    // The last user of each value within the block, and the number of users there.
    let mut users: HashMap<Value, (usize, u32)> = HashMap::new();
    for (at, &inst) in insts.iter().enumerate() {
        function.for_each_operand(inst, |value| {
            let entry = users.entry(value).or_insert((at, 0));
            *entry = (at, entry.1 + 1);
        });
    }
    // Memory operations before each place: two places with the same number have none between them.
    let mut writes = Vec::with_capacity(insts.len() + 1);
    let mut count = 0u32;
    for &inst in insts {
        writes.push(count);
        let effects = function.effects(inst);
        count += u32::from(effects.writes || effects.convergent);
    }
    writes.push(count);
    let mut sizes: HashMap<Value, u32> = HashMap::new();
    for at in (0..insts.len()).rev() {
        let inst = insts[at];
        let Some(value) = function.result(inst) else {
            continue;
        };
        if is_argument(function, inst, references) {
            inline.set(inst, true);
            continue;
        }
        let Some(&(user, here)) = users.get(&value) else {
            continue;
        };
        if here != uses[value] || !may_be_inlined(function, inst, here) {
            continue;
        }
        let effects = function.effects(inst);
        let target = written[user];
        let moved_past_write = effects.reads && writes[at] != writes[target];
        if moved_past_write {
            continue;
        }
        written[at] = target;
        inline.set(inst, true);
    }
    // From the front: an expression that grew too large gets a variable of its own.
    for &inst in insts {
        let mut size = 1;
        function.for_each_operand(inst, |value| {
            let inlined = function
                .def_inst(value)
                .is_some_and(|made| inline[made] && place.contains_key(&made));
            size += if inlined {
                sizes.get(&value).copied().unwrap_or(0)
            } else {
                0
            };
        });
        let address = matches!(function.inst(inst), InstData::PtrAdd { .. });
        if size > LARGEST_EXPRESSION
            && inline[inst]
            && !address
            && !is_argument(function, inst, references)
        {
            inline.set(inst, false);
        }
        if let Some(value) = function.result(inst) {
            sizes.insert(value, size);
        }
    }
}

/// Returns true if an instruction with `uses` users in its own block can be part of an expression.
fn may_be_inlined(function: &Function, inst: Inst, uses: u32) -> bool {
    let effects = function.effects(inst);
    if effects.writes || effects.convergent || effects.terminator {
        return false;
    }
    match *function.inst(inst) {
        InstData::Alloca { .. } | InstData::AtomicRmw { .. } => false,
        // A matrix is filled in by a statement.
        InstData::Construct { .. } | InstData::Cast { .. }
            if function.result_type(inst).is_matrix() =>
        {
            false
        }
        InstData::Insert { .. } => false,
        // A pointer from memory is one to bytes; its variable has the type of what it points at.
        InstData::Load { .. } if function.result_type(inst).is_pointer() => false,
        InstData::Load { access, .. } => uses == 1 && !access.volatile && !access.is_atomic(),
        InstData::PtrAdd { index, .. } => uses == 1 || index.is_none(),
        _ => uses == 1,
    }
}

/// Returns true if an instruction only names an argument: a position, an element of one, a number in constant memory.
fn is_argument(function: &Function, inst: Inst, references: &[Value]) -> bool {
    match *function.inst(inst) {
        InstData::Call {
            callee: Callee::Builtin(call),
            ..
        } => call.info().family == Family::Position,
        InstData::Extract { vector, index } => {
            is_position(function, vector) && matches!(function.def(index), ValueDef::Const(_))
        }
        InstData::Load { ptr, .. } => references.contains(&ptr),
        _ => false,
    }
}

/// Returns true if a value is a position or size of the thread in the grid.
pub(super) fn is_position(function: &Function, value: Value) -> bool {
    matches!(
        function.def_data(value),
        Some(InstData::Call { callee: Callee::Builtin(call), .. })
            if call.info().family == Family::Position
    )
}

/// Where a value is first mentioned, in the innermost region that has all its mentions.
#[derive(Clone, Copy, Debug)]
struct Place {
    region: RegionId,
    item: usize,
    /// The first mention is an item of the region itself.
    direct: bool,
}

struct Places<'f> {
    function: &'f Function,
    inline: &'f IdMap<Inst, bool>,
    /// The region and item each region is part of.
    parents: Vec<Option<(RegionId, usize)>>,
    first: IdMap<Value, Option<Place>>,
}

impl Places<'_> {
    fn region(&mut self, region: &Region, parent: Option<(RegionId, usize)>) {
        let id = self.parents.len();
        self.parents.push(parent);
        for (at, item) in region.iter().enumerate() {
            self.item(item, id, at);
        }
    }

    fn item(&mut self, item: &Item, region: RegionId, at: usize) {
        let function = self.function;
        match item {
            Item::Run(block) => {
                for &inst in function.insts(*block) {
                    if self.inline[inst] || function.inst(inst).is_terminator() {
                        continue;
                    }
                    self.operands(inst, region, at);
                    if let Some(value) = function.result(inst) {
                        self.mention(value, region, at);
                    }
                }
            }
            Item::Pass { from, arm } => {
                if let Some(call) = edge(function, *from, *arm) {
                    for &value in function.list_values(call.args) {
                        self.value(value, region, at);
                    }
                    for &param in function.params(call.block) {
                        self.mention(param, region, at);
                    }
                }
            }
            Item::If {
                cond,
                then,
                otherwise,
            } => {
                self.value(*cond, region, at);
                self.region(then, Some((region, at)));
                self.region(otherwise, Some((region, at)));
            }
            Item::Scope { body, .. } | Item::Loop { body, .. } => {
                self.region(body, Some((region, at)));
            }
            Item::Return(Some(value)) => self.value(*value, region, at),
            Item::Return(None) | Item::Leave(_) | Item::Repeat(_) | Item::Unreachable => {}
        }
    }

    fn operands(&mut self, inst: Inst, region: RegionId, at: usize) {
        let mut values = Vec::new();
        self.function
            .for_each_operand(inst, |value| values.push(value));
        for value in values {
            self.value(value, region, at);
        }
    }

    /// A use: of the value itself, or of what its expression mentions.
    fn value(&mut self, value: Value, region: RegionId, at: usize) {
        match self.function.def(value) {
            ValueDef::Result(inst) if self.inline[inst] => self.operands(inst, region, at),
            ValueDef::Result(_) | ValueDef::Param(..) => self.mention(value, region, at),
            _ => {}
        }
    }

    fn mention(&mut self, value: Value, region: RegionId, at: usize) {
        let here = Place {
            region,
            item: at,
            direct: true,
        };
        let place = match self.first[value] {
            None => here,
            Some(first) => self.common(first, here),
        };
        self.first.set(value, Some(place));
    }

    /// The innermost region with both places.
    fn common(&self, first: Place, other: Place) -> Place {
        let mut first = first;
        let mut other = (other.region, other.item);
        // A region's number is larger than that of the region around it.
        while first.region != other.0 {
            if first.region > other.0 {
                match self.parents.get(first.region).copied().flatten() {
                    Some((region, item)) => {
                        first = Place {
                            region,
                            item,
                            direct: false,
                        };
                    }
                    None => break,
                }
            } else {
                match self.parents.get(other.0).copied().flatten() {
                    Some(outer) => other = outer,
                    None => break,
                }
            }
        }
        first
    }
}
