//! Names of variables: those of the source where they are known, else by role.

use assay_ssa::{
    Block, BlockCall, Function, FunctionConstantId, GlobalId, Id, IdMap, InstData, Kernel, Module,
    Type, TypeKind, Value, ValueDef,
};
use std::collections::{HashMap, HashSet};

/// Words that cannot be a name in Metal.
const RESERVED: &[&str] = &[
    "alignas",
    "and",
    "asm",
    "auto",
    "bfloat",
    "bool",
    "break",
    "case",
    "char",
    "class",
    "const",
    "constant",
    "constexpr",
    "continue",
    "default",
    "delete",
    "device",
    "do",
    "double",
    "else",
    "enum",
    "explicit",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "half",
    "if",
    "inline",
    "int",
    "kernel",
    "long",
    "main",
    "mutable",
    "namespace",
    "new",
    "not",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "ray_data",
    "register",
    "return",
    "sampler",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "texture",
    "this",
    "thread",
    "threadgroup",
    "true",
    "typedef",
    "typename",
    "uchar",
    "uint",
    "ulong",
    "union",
    "unsigned",
    "ushort",
    "using",
    "vec",
    "vertex",
    "fragment",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
    // Functions the printer itself calls.
    "abs",
    "all",
    "any",
    "clamp",
    "clz",
    "ctz",
    "dot",
    "exp",
    "fabs",
    "fast",
    "floor",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "length",
    "log",
    "max",
    "metal",
    "min",
    "mix",
    "popcount",
    "pow",
    "precise",
    "rotate",
    "round",
    "select",
    "sign",
    "simd",
    "sin",
    "cos",
    "tan",
    "sqrt",
    "step",
    "tanh",
    "trunc",
];

/// The name of every variable.
pub(super) struct Names {
    values: IdMap<Value, Option<String>>,
    globals: Vec<String>,
    function_constants: Vec<String>,
    used: HashSet<String>,
}

impl Names {
    pub(super) fn new(module: &Module, kernel: &Kernel, function: &Function) -> Names {
        let mut names = Names {
            values: IdMap::with_len(None, function.num_values()),
            globals: Vec::new(),
            function_constants: Vec::new(),
            used: RESERVED.iter().map(|&word| word.to_owned()).collect(),
        };
        names.fresh(&kernel.name);
        let parameters = function
            .entry()
            .map_or(&[][..], |entry| function.params(entry));
        for argument in &kernel.arguments {
            let param = argument.param.and_then(|at| parameters.get(at as usize));
            if let Some(&value) = param {
                let name = names.fresh(&argument.name);
                names.values.set(value, Some(name));
            }
        }
        for (_, constant) in module.function_constants.iter() {
            let name = names.fresh(&constant.name);
            names.function_constants.push(name);
        }
        for (_, global) in module.globals.iter() {
            let name = names.fresh(&source_name(&global.name));
            names.globals.push(name);
        }
        names.variables(function);
        names
    }

    /// Names for results and block parameters, in the order they are made.
    fn variables(&mut self, function: &Function) {
        let mut incoming: HashMap<Block, Vec<BlockCall>> = HashMap::new();
        for &block in function.blocks() {
            if let Some(terminator) = function.terminator(block) {
                function.for_each_target(terminator, |call| {
                    incoming.entry(call.block).or_default().push(call);
                });
            }
        }
        for &block in function.blocks() {
            let calls = incoming.get(&block).map_or(&[][..], Vec::as_slice);
            for &param in function.params(block) {
                if self.values[param].is_none() {
                    let name = self.fresh(param_role(function, calls, param));
                    self.values.set(param, Some(name));
                }
            }
            for &inst in function.insts(block) {
                if let Some(value) = function.result(inst) {
                    let name = self.fresh(result_role(function, value));
                    self.values.set(value, Some(name));
                }
            }
        }
    }

    /// A name that nothing else has, made from a wish.
    pub(super) fn fresh(&mut self, wish: &str) -> String {
        let mut base: String = wish
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        if base.is_empty()
            || base.starts_with(|c: char| c.is_ascii_digit())
            || base.starts_with("__")
        {
            base.insert(0, 'v');
        }
        let mut name = base.clone();
        let mut number = 1;
        while !self.used.insert(name.clone()) {
            number += 1;
            name = format!("{base}{number}");
            if base.ends_with(|c: char| c.is_ascii_digit()) {
                name = format!("{base}_{number}");
            }
        }
        name
    }

    pub(super) fn of(&self, value: Value) -> String {
        match &self.values[value] {
            Some(name) => name.clone(),
            None => format!("v{}", value.index()),
        }
    }

    pub(super) fn global(&self, global: GlobalId) -> String {
        self.globals
            .get(global.index())
            .cloned()
            .unwrap_or_default()
    }

    pub(super) fn function_constant(&self, id: FunctionConstantId) -> String {
        self.function_constants
            .get(id.index())
            .cloned()
            .unwrap_or_default()
    }
}

/// The last part of a mangled or dotted name: `_ZZ1kE4tile` and `k.tile` are `tile`.
fn source_name(name: &str) -> String {
    let last = name
        .rsplit(['.', ':'])
        .find(|part| !part.is_empty() && !part.chars().all(|c| c.is_ascii_digit()));
    let last = last.unwrap_or(name);
    if !last.starts_with("_Z") {
        return last.to_owned();
    }
    // A mangled name ends in the length of its last part and that part.
    let bytes = last.as_bytes();
    for start in (0..bytes.len()).rev() {
        if !bytes[start].is_ascii_digit() {
            continue;
        }
        let mut first = start;
        while first > 0 && bytes[first - 1].is_ascii_digit() {
            first -= 1;
        }
        let length: usize = last[first..=start].parse().unwrap_or(0);
        let part = last.get(start + 1..start + 1 + length);
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            return part.to_owned();
        }
    }
    "data".to_owned()
}

/// What a block parameter is called: a counter, a sum, a pointer, or just a value that depends on the way here.
fn param_role(function: &Function, incoming: &[BlockCall], param: Value) -> &'static str {
    let ValueDef::Param(_, at) = function.def(param) else {
        return "v";
    };
    let ty = function.ty(param);
    let arguments = || {
        let values = incoming.iter().map(|call| function.list_values(call.args));
        values.filter_map(|values| values.get(at as usize).copied())
    };
    let steps = arguments().any(|value| {
        matches!(
            function.def_data(value),
            Some(InstData::Binary { args, .. }) if args.contains(&param) && ty.is_int()
        )
    });
    let feeds_itself = arguments().any(|value| depends(function, value, param, 4));
    match ty.kind() {
        TypeKind::Pointer(_) => "p",
        _ if steps && ty.element() != Some(assay_ssa::Scalar::I1) => "i",
        _ if feeds_itself && ty.is_float() => "acc",
        _ => role(ty),
    }
}

/// Returns true if `value` is computed from `from` in at most `depth` steps.
fn depends(function: &Function, value: Value, from: Value, depth: u32) -> bool {
    if value == from {
        return true;
    }
    let Some(inst) = function.def_inst(value).filter(|_| depth > 0) else {
        return false;
    };
    let mut found = false;
    function.for_each_operand(inst, |operand| {
        found = found || depends(function, operand, from, depth - 1);
    });
    found
}

fn result_role(function: &Function, value: Value) -> &'static str {
    match function.def_data(value) {
        Some(InstData::Alloca { .. }) => "a",
        Some(InstData::PtrAdd { .. }) => "p",
        Some(InstData::IntCompare { .. } | InstData::FloatCompare { .. }) => "is",
        _ => role(function.ty(value)),
    }
}

fn role(ty: Type) -> &'static str {
    match ty.kind() {
        TypeKind::Matrix(_) => "m",
        TypeKind::Pointer(_) => "p",
        _ if ty.element() == Some(assay_ssa::Scalar::I1) => "is",
        _ if ty.is_float() => "x",
        _ => "n",
    }
}

#[cfg(test)]
mod tests {
    use super::source_name;

    #[test]
    fn the_name_of_a_mangled_variable_is_its_last_part() {
        assert_eq!(source_name("_ZZ12matmul_tiledE2As"), "As");
        assert_eq!(source_name("kernel.shared"), "shared");
        assert_eq!(source_name("tile.1"), "tile");
    }
}
