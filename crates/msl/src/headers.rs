//! The library a kernel includes, as one text.
//!
//! The files under `include/` are written by us from the public description of the
//! language. They are joined in the order of their `#include`s, with line markers, so
//! that the compiler can be fed from memory and a precompiled header depends on no
//! file. Swizzles, too many to write by hand, are generated.

use std::collections::HashSet;
use std::fmt::Write as _;

/// Start of the file names under which our own headers appear in diagnostics and lines. Of a name
/// that does not start at the root a precompiled header would remember the folder it was made in.
pub(crate) const OWN_PREFIX: &str = "/<metal>/";

/// Whether a file name in line information is one of the headers that come with this crate, not
/// a file of the user's.
///
/// ```
/// assert!(assay_msl::is_own_header("/<metal>/metal_math"));
/// assert!(!assay_msl::is_own_header("softmax.metal"));
/// ```
pub fn is_own_header(file: &str) -> bool {
    file.contains(OWN_PREFIX)
}

macro_rules! headers {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../include/", $name)))),*]
    };
}

/// Every header and its text.
const HEADERS: &[(&str, &str)] = headers![
    "metal_array",
    "metal_atomic",
    "metal_common",
    "metal_compute",
    "metal_cooperative_tensor",
    "metal_geometric",
    "metal_graphics_names",
    "metal_integer",
    "metal_kernel_info",
    "metal_limits",
    "metal_logging",
    "metal_math",
    "metal_matrix",
    "metal_numeric",
    "metal_pack",
    "metal_quadgroup",
    "metal_relational",
    "metal_shared_names",
    "metal_simdgroup",
    "metal_simdgroup_matrix",
    "metal_stdlib",
    "metal_tensor",
    "metal_tensor_convolution",
    "metal_tensor_ops",
    "metal_texture",
    "metal_type_traits",
    "metal_types",
];

/// Macros for the preprocessing pass.
pub(crate) const MACROS: &str = include_str!("../include/metal_macros");

/// Headers that exist for `#include` and whose contents are part of the library anyway.
const ALIASES: [&str; 19] = [
    "simd/simd.h",
    "simd/types.h",
    "simd/vector_types.h",
    "simd/matrix_types.h",
    "metal_uniform",
    "metal_utility",
    "metal_config",
    "metal_assert",
    "metal_initializer_list",
    "metal_graphics",
    "metal_interpolate",
    "metal_imageblocks",
    "metal_command_buffer",
    "metal_mesh",
    "metal_raytracing",
    "metal_visible_function_table",
    "metal_os_log",
    "metal_simdgroup_future",
    "metal_extended_vector",
];

/// Headers whose names are there only for sources that include them.
const OPTIONAL: [(&str, &str); 4] = [
    ("TargetConditionals.h", TARGET_CONDITIONALS),
    (
        "MetalPerformancePrimitives/MetalPerformancePrimitives.h",
        TENSOR_OPS,
    ),
    (
        "MetalPerformancePrimitives/MPPTensorOpsMatMul2d.h",
        TENSOR_OPS,
    ),
    (
        "MetalPerformancePrimitives/MPPTensorOpsConvolution2d.h",
        TENSOR_OPS,
    ),
];
const TENSOR_OPS: &str = "#include <metal_tensor_ops>\n";
/// Kernels run on macOS.
const TARGET_CONDITIONALS: &str = include_str!("../include/TargetConditionals.h");

/// The files a kernel may include. Those whose contents are part of the library are empty.
pub(crate) fn include_files() -> impl Iterator<Item = (&'static str, &'static str)> {
    let library = HEADERS.iter().map(|(name, _)| *name).chain(ALIASES);
    library.map(|name| (name, "")).chain(OPTIONAL)
}

/// The part of the library that a source asks for. Tensor operations need a later C++ than kernels are otherwise compiled as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Everything but tensors.
    Common,
    /// The same with tensors.
    Tensors,
}

impl Part {
    /// What a preprocessed source includes, by its line markers.
    pub(crate) fn of(preprocessed: &str) -> Self {
        let tensors = ["metal_tensor", "metal_cooperative_tensor"]
            .iter()
            .any(|name| preprocessed.contains(&format!("\"{OWN_PREFIX}{name}")));
        if tensors { Self::Tensors } else { Self::Common }
    }
}

/// The library as one text.
pub(crate) fn library(part: Part) -> String {
    let mut out = String::with_capacity(1 << 19);
    let mut seen = HashSet::new();
    append("metal_stdlib", &mut out, &mut seen);
    if part == Part::Tensors {
        append("metal_tensor_convolution", &mut out, &mut seen);
    }
    out
}

fn append<'n>(name: &'n str, out: &mut String, seen: &mut HashSet<&'n str>) {
    if !seen.insert(name) {
        return;
    }
    if let Some(generated) = swizzles(name) {
        out.push_str(&generated);
        return;
    }
    let Some((_, text)) = HEADERS.iter().find(|(header, _)| *header == name) else {
        return;
    };
    let _ = writeln!(out, "# 1 \"{OWN_PREFIX}{name}\"");
    for (number, line) in text.lines().enumerate() {
        let included = line
            .strip_prefix("#include <")
            .and_then(|rest| rest.strip_suffix('>'));
        match included {
            Some(included) => {
                append(included, out, seen);
                let _ = writeln!(out, "# {} \"{OWN_PREFIX}{name}\"", number + 2);
            }
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
}

/// The members of a vector of `name`'s width, when `name` asks for them.
fn swizzles(name: &str) -> Option<String> {
    let (width, packed) = match name.strip_prefix("metal_packed_swizzle_") {
        Some(width) => (width, true),
        None => (name.strip_prefix("metal_swizzle_")?, false),
    };
    let width: usize = width.parse().ok().filter(|width| (2..=4).contains(width))?;
    let mut out = String::new();
    for length in 1..=4usize {
        for number in 0..width.pow(u32::try_from(length).unwrap_or(0)) {
            let mut rest = number;
            let mut components = [0usize; 4];
            for component in components.iter_mut().take(length).rev() {
                *component = rest % width;
                rest /= width;
            }
            swizzle(&components[..length], packed, &mut out);
        }
    }
    Some(out)
}

/// One swizzle: a getter, a setter when no component repeats, and the two properties
/// (`xyzw` and `rgba`) that use them.
fn swizzle(components: &[usize], packed: bool, out: &mut String) {
    let spell = |letters: &str| -> String {
        components
            .iter()
            .filter_map(|component| letters.chars().nth(*component))
            .collect()
    };
    let (name, colour) = (spell("xyzw"), spell("rgba"));
    let length = components.len();
    let element = |component: usize| match packed {
        true => ["x", "y", "z", "w"][component.min(3)].to_owned(),
        false => format!("__v[{component}]"),
    };
    let list = |separator: &str, text: &dyn Fn(usize, usize) -> String| -> String {
        let parts: Vec<String> = components
            .iter()
            .enumerate()
            .map(|(position, component)| text(position, *component))
            .collect();
        parts.join(separator)
    };
    let vector = match length {
        1 => "T".to_owned(),
        _ => format!("vec<T, {length}>"),
    };
    let value = match (length, packed) {
        (1, _) => format!("(T){}", element(components[0])),
        (_, true) => format!("{vector}({})", list(", ", &|_, c| element(c))),
        (_, false) => format!(
            "{vector}(__raw(), __builtin_shufflevector(__v, __v, {}))",
            list(", ", &|_, c| c.to_string())
        ),
    };
    let _ = writeln!(
        out,
        "METAL_FUNC constexpr {vector} __g{name}() const {{ return {value}; }}"
    );
    // Of volatile vectors, single elements.
    let single = length == 1 && !packed;
    if single {
        let _ = writeln!(
            out,
            "METAL_FUNC {vector} __g{name}() const volatile {{ return {value}; }}"
        );
    }
    let distinct = components.iter().collect::<HashSet<_>>().len() == length;
    let mut setter = String::new();
    if distinct {
        let target = |component: usize| match packed {
            true => element(component),
            false => format!("reinterpret_cast<__component *>(&__v)[{component}]"),
        };
        let source = |position: usize| match (length, packed) {
            (1, true) => "value".to_owned(),
            (1, false) => "(__component)value".to_owned(),
            (_, true) => format!("(T)value.__v[{position}]"),
            (_, false) => format!("value.__v[{position}]"),
        };
        let body = list(" ", &|p, c| format!("{} = {};", target(c), source(p)));
        // By value: `v.yx = v` reads all of it first. What is no variable is refused: the value would be lost.
        let _ = writeln!(
            out,
            "METAL_FUNC {vector} __p{name}({vector} value) & {{ {body} return value; }}\n\
             {vector} __p{name}({vector} value) && __METAL_NESTED;"
        );
        if single {
            let _ = writeln!(
                out,
                "METAL_FUNC {vector} __p{name}({vector} value) volatile & \
                 {{ reinterpret_cast<volatile __component *>(&__v)[{}] = (__component)value; return value; }}",
                components[0]
            );
        }
        setter = format!(", put=__p{name}");
    }
    for property in [name.as_str(), colour.as_str()] {
        // The single letters of a packed vector are its fields.
        if !(packed && length == 1 && property == name) {
            let _ = writeln!(
                out,
                "__declspec(property(get=__g{name}{setter})) {vector} {property};"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_swizzle_of_a_vector_exists_once() {
        let text = swizzles("metal_swizzle_4").unwrap_or_default();
        let properties = text
            .lines()
            .filter(|line| line.starts_with("__declspec"))
            .count();
        assert_eq!(properties, 2 * (4 + 16 + 64 + 256));
        assert!(text.contains("put=__pzyx)) vec<T, 3> bgr;"));
        assert!(!text.contains("put=__pxx"));
        assert!(swizzles("metal_swizzle_9").is_none());
    }

    #[test]
    fn the_library_includes_every_header_that_holds_something() {
        let text = library(Part::Tensors);
        let only_names = ["metal_common", "metal_numeric", "metal_quadgroup"];
        for (name, _) in HEADERS {
            let there = text.contains(&format!("# 1 \"{OWN_PREFIX}{name}\""));
            assert_eq!(there, !only_names.contains(name), "{name}");
        }
        assert!(!text.contains("#include"));
    }
}
