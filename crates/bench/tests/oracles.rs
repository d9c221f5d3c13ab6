//! The oracles against numbers that others produced: MLX's, recorded by `fixtures/make.py`, and published ones.
//!
//! `MLX_PYTHON=/path/to/python` also runs `make.py` with that Python and compares with what its MLX says.

use assay_bench::formula::Sizes;
use assay_bench::oracle::{self, Call, Tensor};
use assay_bench::registry::Registry;
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
        .map(|kernel| kernel.oracle.as_str())
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
