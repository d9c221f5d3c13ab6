//! The token pass: from preprocessed Metal to C++ that clang compiles.

use crate::apple_rules;
use crate::attributes;
use crate::kernel_info::{KernelInfo, MODULE_SYMBOL};
use crate::lexer::{Kind, Tokens};
use crate::outline::Outline;
use crate::parameter;
use crate::patch::{Patch, Patched};
use crate::specification::{Treatment, treatment};
use crate::stages::{self, StageFunction};
use crate::text_rules;
use crate::{
    casts, components, constants, kernels, labels, literals, overloads, program_scope, spaces,
    vector_sizes,
};
use std::collections::HashSet;

/// What the pass makes of a source.
#[derive(Debug)]
pub(crate) struct Rewritten {
    pub(crate) patched: Patched,
    pub(crate) kernels: Vec<KernelInfo>,
    pub(crate) others: Vec<StageFunction>,
    pub(crate) problems: Vec<Problem>,
}

/// Something the pass cannot translate, at an offset of the preprocessed text.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) offset: usize,
    pub(crate) message: String,
    /// A second place, and what is there.
    pub(crate) note: Option<(usize, String)>,
}

/// Facts about the compilation that are recorded in the module.
#[derive(Clone, Debug)]
pub(crate) struct ModuleRecord<'a> {
    pub(crate) language: &'a str,
    pub(crate) fast_math: bool,
    pub(crate) source: &'a str,
}

/// Translates `preprocessed`.
pub(crate) fn rewrite(preprocessed: &str, record: &ModuleRecord<'_>) -> Rewritten {
    let tokens = Tokens::new(preprocessed);
    let outline = Outline::new(&tokens);
    let fates = spaces::fates(&tokens, &outline);
    let mut patch = Patch::default();
    words(&tokens, &fates, &mut patch);
    spaces::move_alignments(&tokens, &mut patch);
    components::rewrite(&tokens, &mut patch);
    labels::rewrite(&tokens, &mut patch);
    vector_sizes::rewrite(&tokens, &outline, &mut patch);
    remove_attributes(&tokens, &mut patch);
    let unknown = constants::rewrite(&tokens, &outline, &mut patch);
    let found = kernels::rewrite(&tokens, &outline, &mut patch);
    let outside = program_scope::rewrite(&tokens, &outline, &mut patch);
    let conflicts = overloads::merge(&tokens, &outline, &fates, &mut patch);
    let offset = |index: usize| {
        tokens
            .list
            .get(index)
            .map_or(0, |token| token.start as usize)
    };
    let mut problems: Vec<Problem> = conflicts
        .into_iter()
        .map(|conflict| Problem {
            offset: offset(conflict.second),
            message: "these two differ only in address spaces, and do different things; \
                      Assay tells functions apart by address space, but not constructors, conversions, \
                      classes and specialisations"
                .to_owned(),
            note: Some((offset(conflict.first), "the other one is here".to_owned())),
        })
        .collect();
    problems.extend(unknown.into_iter().map(|index| Problem {
        offset: offset(index),
        message: "the index of a function constant must be a constant expression".to_owned(),
        note: None,
    }));
    problems.extend(outside);
    problems.extend(apple_rules::check(&tokens, &outline));
    problems.extend(found.unknown.iter().map(|&index| Problem {
        offset: offset(index),
        message: refusal(tokens.get(index)),
        note: None,
    }));
    let erased = stages::erase(&tokens, &outline, &mut patch);
    let is_left = |problem: &Problem| {
        let token = tokens
            .list
            .partition_point(|token| (token.start as usize) < problem.offset);
        !erased.contains(token)
    };
    problems.retain(is_left);
    let kernels = found.found.into_iter();
    let kernels = kernels.filter(|kernel| {
        let bare = kernel.name.rsplit("::").next();
        let mut others = erased.functions.iter();
        !others.any(|other| Some(other.name.as_str()) == bare)
    });
    let mut patched = patch.apply(&tokens);
    patched.text.push_str(&module_record(record));
    Rewritten {
        patched,
        kernels: kernels.collect(),
        others: erased.functions,
        problems,
    }
}

/// Why a kernel cannot have this attribute.
fn refusal(name: &str) -> String {
    match treatment(name) {
        Some(Treatment::Refused(feature)) => {
            format!("attribute '{name}' of a kernel: {feature}: not supported")
        }
        Some(_) => format!("attribute '{name}' belongs to functions that are no kernels"),
        None => {
            let nearest = parameter::nearest_builtin(name);
            format!("kernel arguments have no attribute '{name}'; the nearest is '{nearest}'")
        }
    }
}

/// Keywords, numbers, casts and pragmas: what one token decides.
fn words(tokens: &Tokens<'_>, fates: &[Option<spaces::Fate>], patch: &mut Patch) {
    let has_bfloat = tokens.text.contains("bfloat");
    let uncertain = match has_bfloat {
        true => casts::uncertain_types(tokens),
        false => HashSet::new(),
    };
    if has_bfloat {
        casts::rewrite(tokens, &uncertain, patch);
        casts::rewrite_members(tokens, &uncertain, patch);
    }
    for index in 0..tokens.len() {
        if let Some(fate) = fates.get(index).copied().flatten() {
            patch.replace(index, spaces::spelling(fate));
            continue;
        }
        match tokens.kind(index) {
            Kind::Number => {
                if let Some(text) = literals::rewrite(tokens.get(index)) {
                    patch.replace(index, text);
                }
            }
            Kind::Word if has_bfloat && tokens.is(index, "static_cast") => {
                patch.replace(index, "::__metal_static_cast");
            }
            Kind::Word if has_bfloat && is_conversion(tokens, index) => {
                patch.replace(index, format!("::__metal_to_{}", tokens.get(index)));
            }
            Kind::Word if uncertain.contains(tokens.get(index)) && converts(tokens, index) => {
                patch.replace(index, format!("::__metal_make<{}>", tokens.get(index)));
            }
            Kind::Directive => {
                if let Some(text) = pragma(tokens.get(index)) {
                    patch.replace(index, text);
                }
            }
            _ => {}
        }
    }
}

/// Whether `half(…)` or `bfloat(…)` converts a value: C++ does not convert one of these
/// two types to the other.
fn is_conversion(tokens: &Tokens<'_>, index: usize) -> bool {
    (tokens.is(index, "half") || tokens.is(index, "bfloat")) && converts(tokens, index)
}

/// Whether the name of a type, with what is in parentheses behind it, is an expression.
fn converts(tokens: &Tokens<'_>, index: usize) -> bool {
    let declares = matches!(tokens.get(index + 2), "*" | "&" | ")");
    let before = index.checked_sub(1).map_or("", |at| tokens.get(at));
    let starts_expression = matches!(
        before,
        "(" | ","
            | "="
            | "+"
            | "-"
            | "*"
            | "/"
            | "<"
            | "?"
            | ":"
            | "return"
            | "{"
            | "["
            | "+="
            | "-="
            | "*="
            | "/="
            | "=="
            | "!="
            | "<="
            | ">="
            | "&&"
            | "||"
            | "!"
    );
    tokens.is(index + 1, "(") && !declares && starts_expression
}

/// `#pragma METAL fp contract(off|on|fast)` means what clang's own pragma says. Operators after
/// `#pragma METAL fp math_mode(safe)` carry no fast-math flags, and contract within a statement only; after
/// `relaxed` and `fast` they may be reassociated and divide by reciprocals. The other pragmas of Metal mean nothing to
/// clang; those that mean nothing to Metal are left out.
///
/// Functions are the same in every mode: which version an unqualified `sin` is, Metal's headers decide by a macro of the
/// command line. What the first pragma of a file says about operators of vectors, see
/// [`pragmas::begins_safe`](crate::pragmas::begins_safe).
fn pragma(line: &str) -> Option<String> {
    if !line.starts_with("#pragma") {
        return None;
    }
    let Some(rest) = line.strip_prefix("#pragma METAL") else {
        // Of the others nothing is known, and clang may do anything.
        return (!text_rules::pragma(line)).then(String::new);
    };
    let rest = rest.trim();
    let fp: String = rest
        .strip_prefix("fp")
        .unwrap_or("")
        .split_whitespace()
        .collect();
    Some(match fp.as_str() {
        "math_mode(safe)" => "#pragma float_control(precise, on)".to_owned(),
        "math_mode(relaxed)" | "math_mode(fast)" => {
            "#pragma clang fp reassociate(on) reciprocal(on) contract(fast)".to_owned()
        }
        contract if contract.starts_with("contract(") => format!("#pragma clang fp {contract}"),
        _ => String::new(),
    })
}

fn remove_attributes(tokens: &Tokens<'_>, patch: &mut Patch) {
    for list in attributes::find(tokens, 0..tokens.len()) {
        if !attributes::is_foreign(tokens, &list) {
            list.range.clone().for_each(|index| patch.remove(index));
        }
    }
}

/// The definition of the global that describes the module. Of linked modules the first counts.
fn module_record(record: &ModuleRecord<'_>) -> String {
    let text = format!(
        "assay.module 1\nlanguage\t{}\nfast_math\t{}\nsource\t{}\n",
        record.language,
        u8::from(record.fast_math),
        record.source.replace(['\t', '\n', '\r'], " "),
    );
    format!(
        "\nextern \"C\" {{ extern const char __metal_module_record[] __asm(\"{MODULE_SYMBOL}\") __attribute__((used, weak)); \
         const char __metal_module_record[] = {}; }}\n",
        kernels::c_string(&text)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(text: &str) -> Rewritten {
        rewrite(
            text,
            &ModuleRecord {
                language: "metal3.1",
                fast_math: true,
                source: "t.metal",
            },
        )
    }

    fn squeezed(text: &str) -> String {
        let rewritten = pass(text);
        assert!(rewritten.problems.is_empty(), "{:?}", rewritten.problems);
        let end = rewritten.patched.text.find("\nextern \"C\" {").unwrap_or(0);
        rewritten.patched.text[..end]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn positions_leave_the_parameter_list() {
        let out = squeezed(
            "kernel void k(uint3 t [[thread_position_in_grid]], device float* a [[buffer(2)]], uint l [[thread_index_in_simdgroup]]) { a[t.x] = 1.0; }",
        );
        assert!(
            out.contains("void k( float* __restrict __metal_buffer_1 )"),
            "{out}"
        );
        assert!(
            out.contains(
                "{ uint3 t = ::__metal_thread_position_in_grid<::metal::remove_cv_t<uint3 >>();"
            ),
            "{out}"
        );
        assert!(out.contains("a[t.x] = 1.0f;"), "{out}");
    }

    #[test]
    fn overloads_with_one_body_merge_and_others_are_reported() {
        let out = squeezed(
            "void f(device float* a) { a[0] = 1; } void f(threadgroup float* b) { b[0] = 1; }",
        );
        assert_eq!(out, "void f( float* a) { a[0] = 1; }");
        let problems = pass(
            "struct S { S(device float* a) { x = 1; } S(threadgroup float* a) { x = 2; } int x; };",
        )
        .problems;
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].offset, 41);
    }

    #[test]
    fn the_first_of_overloads_that_differ_asks_for_the_space_and_calls_the_others() {
        let out = squeezed(
            "template <typename T> void f(device T* a, int n = 1) { a[0] = n; } \
             template <typename T> void f(threadgroup T* b, int n = 1) { b[0] = 2; } \
             template <typename T> void f(constant T* b, int n = 1) { b[0]; }",
        );
        assert!(
            out.starts_with("template <typename T > void __metal_variant_6_1(T * b , int n ); template <typename T>"),
            "{out}"
        );
        assert!(
            out.contains("{ if (!((::__metal_space(a) == 1u))) { return __metal_variant_6_1<T>(a, n); } a[0] = n; }"),
            "{out}"
        );
        assert!(
            out.contains("__metal_variant_6_1( T* b, int n = 1) { b[0] = 2; }"),
            "{out}"
        );
    }

    #[test]
    fn function_constants_carry_index_type_and_name() {
        let out = squeezed("constant bool has_mask [[function_constant(10 + 2)]];");
        assert_eq!(
            out,
            "extern const bool has_mask __asm(\"assay.function_constant.12.bool.has_mask\") ;"
        );
    }

    #[test]
    fn instantiations_are_listed_by_host_name() {
        let rewritten = pass(
            "template <typename T> [[kernel]] void k(device T* a, uint i [[thread_position_in_grid]]) {}\n\
             template [[host_name(\"k_\" \"f32\")]] [[kernel]] decltype(k<float>) k<float>;\n\
             template [[host_name(\"k_f16\")]] kernel void k<half>(device half* a, uint i);",
        );
        let names: Vec<_> = rewritten.kernels.iter().map(|k| k.name.as_str()).collect();
        assert_eq!(names, ["k_f32", "k_f16"]);
        assert!(
            rewritten.patched.text.contains("void k<half>(  half* a"),
            "{}",
            rewritten.patched.text
        );
    }

    #[test]
    fn plain_kernels_may_have_a_host_name_and_attributes_behind_theirs() {
        let rewritten = pass(
            "[[host_name(\"a\")]] kernel void k(device int* x) {}\n\
             kernel void l [[max_total_threads_per_threadgroup(64), host_name(\"b\")]] (device int* x) {}\n\
             kernel void m [[maybe_unused]] [[deprecated(\"so\")]] (device int* x) {}",
        );
        let kernels = rewritten.kernels.iter();
        let found: Vec<_> = kernels
            .map(|k| (k.name.as_str(), k.max_threads_per_threadgroup))
            .collect();
        assert_eq!(found, [("a", 0), ("b", 64), ("m", 0)]);
    }
}
