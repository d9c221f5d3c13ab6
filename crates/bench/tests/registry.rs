//! The registry against the kernels it was made after, and against its own rules.

use assay_bench::Dtype;
use assay_bench::registry::{Case, CaseExtent, CaseRole, Error, Registry, Set, SizeUse};

fn registry() -> &'static Registry {
    Registry::embedded().unwrap()
}

#[test]
fn there_are_116_kernels_in_three_sets() {
    let count = |set| registry().set(set).count();
    assert_eq!(
        [count(Set::Common), count(Set::Standard), count(Set::Full)],
        [75, 35, 6]
    );
}

/// Extents of a case's inputs or outputs.
fn extents(case: &Case, output: bool) -> Vec<Vec<usize>> {
    let shapes = case
        .arguments
        .iter()
        .filter_map(|argument| match &argument.role {
            CaseRole::Input { shape, .. } if !output => Some(shape.clone()),
            CaseRole::Output { shape } if output => Some(shape.clone()),
            _ => None,
        });
    shapes.collect()
}

/// Where the bytes stated there are not inputs read once and outputs written once.
const OTHER_BYTES: &[(&str, &str)] = &[
    ("mse_loss", "counts three arrays for two"),
    ("avg_pool1d", "counts the last line, which is in no window"),
    ("max_pool1d", "counts the last line, which is in no window"),
    ("embedding", "counts the rows written but not the rows read"),
    ("transformer_block", "counts one more array of rows"),
    ("llama_decoder_layer", "counts one more array of rows"),
];

#[test]
fn names_and_extents_are_those_of_metalbench() {
    let mut differences = Vec::new();
    let mut names = Vec::new();
    for line in include_str!("../fixtures/reference.tsv").lines().skip(3) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, _, inputs, output, _, bytes] = fields[..] else {
            panic!("{line}")
        };
        names.push(name.to_owned());
        let kernel = registry().kernel(name).unwrap();
        let case = Case::new(kernel, "reference", Dtype::F32).unwrap();
        let shape = |text: &str| {
            text.split_whitespace()
                .map(|extent| extent.parse().unwrap())
                .collect::<Vec<usize>>()
        };
        let stated: Vec<Vec<usize>> = inputs.split(';').map(shape).collect();
        if extents(&case, false) != stated {
            differences.push(format!(
                "{name}: inputs {:?}, there {stated:?}",
                extents(&case, false)
            ));
        }
        if extents(&case, true) != [shape(output)] {
            differences.push(format!(
                "{name}: output {:?}, there {output}",
                extents(&case, true)
            ));
        }
        let known = OTHER_BYTES.iter().any(|(known, _)| *known == name);
        if (case.bytes.to_string() == bytes) == known {
            differences.push(format!("{name}: {} bytes, there {bytes}", case.bytes));
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
    let mut ours: Vec<&str> = registry()
        .kernels()
        .map(|kernel| kernel.name.as_str())
        .collect();
    ours.sort_unstable();
    names.sort_unstable();
    assert_eq!(ours, names);
}

#[test]
fn quick_sizes_have_several_threadgroups_and_a_tail() {
    for kernel in registry().kernels() {
        let set = kernel
            .sizes
            .iter()
            .find(|set| set.use_ == SizeUse::Quick)
            .unwrap();
        let case = Case::new(kernel, &set.name, kernel.dtypes[0]).unwrap();
        assert!(
            case.passes.iter().any(|pass| pass.groups() >= 2),
            "{}",
            kernel.name
        );
        assert!(
            set.sizes.values().any(|size| size % 2 == 1),
            "{}",
            kernel.name
        );
    }
}

#[test]
fn kernels_of_matrices_norms_softmax_and_attention_have_half_and_brain_variants() {
    for name in [
        "sqr_mm",
        "rect_mm",
        "batch_mm",
        "layer_norm",
        "rms_norm",
        "softmax",
        "log_softmax",
        "softmax_attention",
        "scaled_dot_product",
        "group_norm",
    ] {
        let kernel = registry().kernel(name).unwrap();
        assert_eq!(
            kernel.dtypes,
            [Dtype::F32, Dtype::F16, Dtype::Bf16],
            "{name}"
        );
    }
}

#[test]
fn every_source_is_known_by_its_own_hash() {
    let mut hashes: Vec<String> = registry()
        .kernels()
        .map(|kernel| registry().source(kernel, Some("m2")).unwrap().hash)
        .collect();
    hashes.sort_unstable();
    hashes.dedup();
    // Models that are only lists of passes over the same layers share their text but for its first line.
    assert_eq!(hashes.len(), 116);
}

#[test]
fn unknown_names_come_with_near_ones() {
    let error = registry().kernel("softmx").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("no kernel is called \"softmx\""),
        "{error}"
    );
    let error = registry().kernel("conv").unwrap_err();
    assert!(error.to_string().contains("conv1d"), "{error}");
}

const SOUND: &str = include_str!("../kernels/common/softmax/kernel.toml");

fn read(text: &str) -> Result<Registry, Error> {
    Registry::from_files([
        ("common/softmax/kernel.toml", text),
        ("common/softmax/softmax.metal", ""),
    ])
}

#[test]
fn mistakes_in_files_are_told_with_their_place() {
    read(SOUND).unwrap();
    for (old, new, expected) in [
        (
            "[\"rows\", \"cols\"], extremes",
            "[\"rows\", \"colls\"], extremes",
            "sizes.reference: \"colls\": column 1: there is no size \"colls\"",
        ),
        (
            "role = \"output\"",
            "role = \"out\"",
            "unknown variant `out`",
        ),
        (
            "value = \"cols\"",
            "",
            "arguments.cols: scalars, and nothing else, have a value",
        ),
        (
            "quick = ",
            "slow = ",
            "sizes.slow: names start with reference, quick, odd or held_out",
        ),
        (
            "quick = { rows = 3, cols = 301 }\n",
            "",
            "sizes: there is no set \"quick\"",
        ),
        (
            "odd = { rows = 5, ",
            "odd = { rws = 5, ",
            "every size set has the same sizes",
        ),
        (
            "odd = { rows = 5",
            "odd = { rows = 0",
            "makes the argument empty or too large",
        ),
        (
            "odd = { rows = 5",
            "odd = { rows = 99999999999",
            "makes the argument empty or too large",
        ),
        (
            "[\"256\"]",
            "[\"256\", \"1\", \"1\", \"1\"]",
            "passes.threadgroup: one to three numbers belong here",
        ),
        (
            "[\"1\", \"rows\"]",
            "[\"rows - 3\", \"rows\"]",
            "\"rows - 3\" is 0, which starts no thread",
        ),
        (
            "[tolerance.f16]",
            "[tolerance.u32]",
            "tolerance.f16: every element type has a tolerance",
        ),
        ("oracle = ", "orakel = ", "unknown field `orakel`"),
    ] {
        let text = SOUND.replacen(old, new, 1);
        assert_ne!(text, SOUND, "{old}");
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains("common/softmax/kernel.toml"), "{error}");
        assert!(
            error.contains(expected),
            "{error}\nshould contain {expected}"
        );
    }
    let error = Registry::from_files([("softmax.metal", "")]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("softmax.metal: a registry has"),
        "{error}"
    );
    let error = Registry::from_files([("common/a/kernel.toml", SOUND)]).unwrap_err();
    assert_eq!(error.to_string(), "kernel \"a\" has no a.metal");
}

#[test]
fn cut_and_changed_files_are_refused_without_a_panic() {
    for end in (0..SOUND.len()).filter(|end| SOUND.is_char_boundary(*end)) {
        let _ = read(&SOUND[..end]);
    }
    for (place, _) in SOUND.char_indices() {
        for with in ["\"", "9", "-", "("] {
            let mut text = SOUND.to_owned();
            text.replace_range(place..=place, with);
            let _ = read(&text);
        }
    }
}

#[test]
fn knobs_of_a_description_are_sizes_with_the_sources_value() {
    let knobs = "[tune]\nTM = [4, 1]\nrestrict = [\"TM < 9\"]\n\n[cost]";
    let text = SOUND.replace("[cost]", knobs).replace(
        "groups = [\"1\", \"rows\"]",
        "groups = [\"1\", \"rows * TM / 4\"]",
    );
    let registry = read(&text).expect("a registry");
    let kernel = registry.kernel("softmax").expect("softmax");
    assert_eq!(kernel.tune, ["TM = 4,1", "restrict TM < 9"]);
    let case = Case::new(kernel, "quick", Dtype::F32).expect("a case");
    assert_eq!(case.passes[0].extent, CaseExtent::Groups([1, 3, 1]));
}
