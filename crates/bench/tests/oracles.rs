//! The oracles against numbers that others produced: MLX's, recorded by `fixtures/make.py`, and published ones.
//!
//! `MLX_PYTHON=/path/to/python` also runs `make.py` with that Python and compares with what its MLX says.

use assay_bench::formula::Sizes;
use assay_bench::inputs;
use assay_bench::oracle::{self, Call, Tensor};
use assay_bench::registry::{self, Registry};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

#[derive(Deserialize)]
struct Recorded {
    mlx: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    oracle: String,
    sizes: Sizes,
    scalars: BTreeMap<String, f64>,
    inputs: Vec<Input>,
    output: Vec<Number>,
}

#[derive(Deserialize)]
struct Input {
    shape: Vec<usize>,
    values: Vec<Number>,
}

/// A number; JSON has no infinity, so that is a word.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Word(String),
}

impl Number {
    fn value(&self) -> f64 {
        match self {
            Self::Finite(value) => f64::from(*value as f32),
            Self::Word(word) => word.parse().expect("inf or -inf"),
        }
    }
}

/// Single precision carries 24 bits; MLX adds up in an order of its own, and approximates functions.
const RELATIVE: f64 = 4e-6;
const ABSOLUTE: f64 = 2e-6;

fn compare(case: &Case) -> Result<(), String> {
    let oracle = oracle::named(&case.oracle).ok_or("no such oracle")?;
    let inputs = case.inputs.iter().map(|input| {
        let values = input.values.iter().map(Number::value).collect();
        Tensor::new(input.shape.clone(), values).map_err(|error| error.to_string())
    });
    let inputs: Vec<Tensor> = inputs.collect::<Result<_, _>>()?;
    let scalars: Vec<(String, f64)> = case
        .scalars
        .iter()
        .map(|(name, value)| (name.clone(), *value))
        .collect();
    let call = Call {
        sizes: &case.sizes,
        scalars: &scalars,
        inputs: &inputs,
        rows: None,
    };
    let answers = oracle(&call).map_err(|error| error.to_string())?;
    let [answer] = answers.as_slice() else {
        return Err("not one output".to_owned());
    };
    if answer.values.len() != case.output.len() {
        return Err(format!(
            "{} elements, MLX has {}",
            answer.values.len(),
            case.output.len()
        ));
    }
    for (place, (value, recorded)) in answer.values.iter().zip(&case.output).enumerate() {
        let (recorded, scale) = (recorded.value(), answer.scale[place]);
        let near = (value - recorded).abs() <= ABSOLUTE + RELATIVE * scale;
        if !near && *value != recorded {
            return Err(format!("element {place} is {value}, MLX says {recorded}"));
        }
        if scale < value.abs() {
            return Err(format!(
                "element {place}: scale {scale} is below the value {value}"
            ));
        }
    }
    Ok(())
}

fn compare_all(text: &str) -> BTreeSet<String> {
    let recorded: Recorded = serde_json::from_str(text).expect("a recording");
    let failures: Vec<String> = recorded
        .cases
        .iter()
        .filter_map(|case| {
            compare(case)
                .err()
                .map(|why| format!("{}: {why}", case.oracle))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "MLX {}:\n{}",
        recorded.mlx,
        failures.join("\n")
    );
    recorded.cases.into_iter().map(|case| case.oracle).collect()
}

#[test]
fn oracles_say_what_mlx_says() {
    let compared = compare_all(include_str!("../fixtures/mlx.json"));
    let all: BTreeSet<String> = oracle::all().map(|(name, _)| name.to_owned()).collect();
    let missing: Vec<&String> = all.difference(&compared).collect();
    assert!(missing.is_empty(), "nothing recorded for {missing:?}");
}

#[test]
fn oracles_say_what_the_installed_mlx_says() {
    let Some(python) = std::env::var_os("MLX_PYTHON") else {
        assay_fixtures::skip(assay_fixtures::Tool::Variable("MLX_PYTHON"));
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mlx-live.json");
    let status = std::process::Command::new(python)
        .arg(folder.join("make.py"))
        .arg(&target)
        .status();
    assert!(status.expect("Python runs").success());
    compare_all(&std::fs::read_to_string(target).expect("a recording"));
}

#[test]
fn every_kernel_has_an_oracle_and_every_oracle_a_kernel() {
    let registry = Registry::embedded().unwrap();
    let used: BTreeSet<&str> = registry
        .kernels()
        .map(|kernel| kernel.oracle.operation(&kernel.name))
        .collect();
    let known: BTreeSet<&str> = oracle::all().map(|(name, _)| name).collect();
    assert_eq!(used, known);
}

fn one(name: &str, x: f64) -> f64 {
    let inputs = [Tensor::new(vec![1], vec![x]).unwrap()];
    let call = Call {
        sizes: &Sizes::new(),
        scalars: &[],
        inputs: &inputs,
        rows: None,
    };
    oracle::named(name).unwrap()(&call).unwrap()[0].values[0]
}

/// Φ(1) and Φ(2) from tables of the normal distribution; σ, tanh and log 2 to more digits than MLX has.
#[test]
fn functions_have_their_published_values() {
    for (name, x, published) in [
        ("gelu", 1.0, 0.841_344_746_068_542_9),
        ("gelu", 2.0, 2.0 * 0.977_249_868_051_820_8),
        ("sigmoid", 1.0, 0.731_058_578_630_004_9),
        ("tanh", 1.0, 0.761_594_155_955_764_9),
        ("softplus", 0.0, std::f64::consts::LN_2),
        ("exp", 1.0, std::f64::consts::E),
        ("selu", 1.0, 1.050_700_987_355_480_5),
    ] {
        let value = one(name, x);
        assert!((value - published).abs() < 1e-14, "{name}({x}) = {value}");
    }
}

/// A kernel of the registry with another oracle in its description, and other files beside it.
fn with_oracle(name: &str, oracle: &str, beside: &[(&str, &str)]) -> Result<Registry, String> {
    let known = Registry::embedded().unwrap();
    let kernel = known.kernel(name).unwrap();
    let lines = known.description(kernel).unwrap().lines();
    let lines = lines.map(|line| match line.starts_with("oracle =") {
        true => format!("oracle = {oracle}\n"),
        false => format!("{line}\n"),
    });
    let description: String = lines.collect();
    let source = known.source(kernel, None).unwrap().text;
    let mut files = vec![
        (format!("common/{name}/kernel.toml"), description),
        (format!("common/{name}/{name}.metal"), source),
    ];
    let other = beside.iter();
    files.extend(other.map(|(file, text)| (format!("common/{name}/{file}"), (*text).to_owned())));
    let files = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()));
    Registry::from_files(files).map_err(|error| error.to_string())
}

fn quick(registry: &Registry, name: &str) -> registry::Case {
    let kernel = registry.kernel(name).unwrap();
    registry::Case::new(kernel, "quick", assay_bench::Dtype::F32).unwrap()
}

/// What an oracle says about a kernel at its quick sizes, beside what the function of this crate says.
fn both(name: &str, registry: &Registry, rows: Option<&[usize]>) -> [oracle::Answer; 2] {
    let ours = quick(Registry::embedded().unwrap(), name);
    let theirs = quick(registry, name);
    let inputs = inputs::random(&ours, 3, inputs::Kind::Usual);
    [(&theirs, rows), (&ours, None)].map(|(case, rows)| {
        let answers = oracle::answers_at(case, &inputs, rows);
        answers
            .unwrap_or_else(|error| panic!("{name}: {error}"))
            .remove(0)
    })
}

/// Operations of the registry, as expressions.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("relu", "y[i, j] = max(x[i, j], 0)"),
    (
        "softmax",
        "m[r < rows] = max(k < cols: x[r, k])\n\
         s[r < rows] = sum(k < cols: exp(x[r, k] - m[r]))\n\
         y[r, c] = exp(x[r, c] - m[r]) / s[r]",
    ),
    (
        "layer_norm",
        "mean[r < rows] = sum(k < cols: x[r, k]) / cols  # of a row\n\
         var[r < rows] = sum(k < cols: (x[r, k] - mean[r]) * (x[r, k] - mean[r])) / cols\n\
         y[r, c] = (x[r, c] - mean[r]) * rsqrt(var[r] + eps)",
    ),
    ("sqr_mm", "c[i, j] = sum(p < k: a[i, p] * b[p, j])"),
    ("dot_product", "y[i] = sum(p < n: x[p] * z[p])"),
    ("argmax", "y[r] = argmax(k < cols: x[r, k])"),
    (
        "cumsum",
        "y[r, c] = if(c > 0, y[r, max(c - 1, 0)], 0) + x[r, c]",
    ),
    (
        "avg_pool1d",
        "y[b, i, c] = sum(w < window: x[b, i * stride + w, c]) / window",
    ),
    (
        "conv1d",
        "y[b, i, f] = sum(t < window: sum(c < channels:\n  x[b, i * stride + t, c] * w[f, t, c]))",
    ),
    (
        "gelu",
        "y[i, j] = x[i, j] * (1 + erf(x[i, j] / sqrt(2))) / 2",
    ),
];

#[test]
fn an_expression_says_what_the_function_says() {
    for (name, expression) in EXPRESSIONS {
        let written = format!("{{ expression = '''{expression}''' }}");
        let registry = with_oracle(name, &written, &[]).unwrap();
        let [theirs, ours] = both(name, &registry, None);
        assert_eq!(theirs.values.len(), ours.values.len(), "{name}");
        for (place, value) in theirs.values.iter().enumerate() {
            let (expected, scale) = (ours.values[place], ours.scale[place].max(1e-300));
            assert!(
                (value - expected).abs() <= 1e-12 * scale,
                "{name}: {value} {expected}"
            );
            // The scale that is carried along is no smaller than the one that was thought out.
            let ratio = theirs.scale[place] / scale;
            assert!(ratio >= 0.99 || scale < 1e-12, "{name}: {ratio}");
            assert!(theirs.scale[place] >= value.abs(), "{name}");
        }
    }
}

#[test]
fn only_rows_that_are_asked_for_are_computed() {
    let written = "{ expression = 'y[i, j] = max(x[i, j], 0)' }";
    let registry = with_oracle("relu", written, &[]).unwrap();
    let [theirs, ours] = both("relu", &registry, Some(&[1]));
    let columns = ours.values.len() / 3;
    let middle = columns..2 * columns;
    assert_eq!(theirs.values[middle.clone()], ours.values[middle]);
    assert!(theirs.values[0].is_nan() && theirs.values[2 * columns].is_nan());
}

#[test]
fn what_is_wrong_with_an_expression_has_its_place() {
    let deep = format!("y[i, j] = {}x[i, j]", "(".repeat(100));
    for (expression, told) in [
        (
            "y[i, j] = max(x[i, j], 0",
            "line 1, column 25: \")\" is missing",
        ),
        ("y[i, j] = z[i, j]", "line 1, column 11: there is no \"z\""),
        ("y[i, j] = x[i]", "\"x\" has 2 extents, not 1"),
        ("y[i] = 0", "\"y\" has another number of extents"),
        (
            "t[i] = 0\ny[i, j] = t[i]",
            "\"t\" is no output: its indices need limits",
        ),
        ("t[i < rows] = 0", "the output \"y\" is not defined"),
        ("y[i, j] = frob(1)", "there is no function \"frob\""),
        ("y[i, j] = sum(1, 2)", "runs over an index: sum(k < n: …)"),
        ("y[i, j] = exp(1, 2)", "\"exp\" takes 1 number"),
        ("y[i, j] = 1 $ 2", "'$' means nothing here"),
        ("y[i, j] = 1 2", "the line should end here"),
        ("", "there is no definition"),
        (&deep, "nested too deeply"),
        ("t[i < 99999999999] = 0\ny[i, j] = 0", "too many elements"),
    ] {
        let written = format!("{{ expression = '''{expression}''' }}");
        let error = with_oracle("relu", &written, &[]).err().unwrap_or_default();
        assert!(error.contains(told), "{expression}: {error}");
    }
    // These have values, but not everywhere.
    for (expression, told) in [
        (
            "y[i, j] = x[i, j + 1]",
            "index 701 of \"x\" is outside of 0..701",
        ),
        ("y[i, j] = y[i, j]", "not computed yet"),
        ("y[i, j] = 0 / 0", "element 0 is not a number"),
    ] {
        let written = format!("{{ expression = '''{expression}''' }}");
        let registry = with_oracle("relu", &written, &[]).unwrap();
        let case = quick(&registry, "relu");
        let inputs = inputs::random(&case, 3, inputs::Kind::Usual);
        let error = oracle::answers(&case, &inputs).unwrap_err().to_string();
        assert!(error.contains(told), "{expression}: {error}");
    }
}

const NUMPY_SOFTMAX: &str = "
import numpy as np

def oracle(x, cols):
    assert x.shape[1] == cols and x.dtype == np.float64
    e = np.exp(x - x.max(axis=1, keepdims=True))
    y = e / e.sum(axis=1, keepdims=True)
    return {'y': y, 'y.scale': 2 * y}
";

#[test]
fn a_numpy_function_is_an_oracle() {
    if assay_bench::reference::python::interpreter("numpy").is_none() {
        assay_fixtures::skip(assay_fixtures::Tool::Variable("ASSAY_PYTHON"));
        return;
    }
    let named = "{ python = 'mine.py' }";
    let registry = with_oracle("softmax", named, &[("mine.py", NUMPY_SOFTMAX)]).unwrap();
    let [theirs, ours] = both("softmax", &registry, None);
    for (place, value) in theirs.values.iter().enumerate() {
        assert!((value - ours.values[place]).abs() <= 1e-13, "{value}");
        assert_eq!(theirs.scale[place], 2.0 * value);
    }
    // Whoever changes the function measures something else.
    let other = with_oracle("softmax", named, &[("mine.py", "def oracle(x): return x")]).unwrap();
    let provenance = |one: &Registry| one.provenance(one.kernel("softmax").unwrap());
    assert_ne!(provenance(&registry), provenance(&other));
    let missing = with_oracle("softmax", named, &[]).unwrap_err();
    assert!(
        missing.contains("there is no \"mine.py\" beside it"),
        "{missing}"
    );
}
