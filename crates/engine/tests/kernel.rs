//! One kernel of a file of bitcode, asked everything.

use assay_chip::Chip;
use assay_device::Checks;
use assay_engine::{Error, Kernel, Kind, Settings, Workspace};
use assay_front::{Bytes, Compiler, CompilerError, Source, SourceOptions};
use assay_launch::{NoFiles, Written};
use assay_predict::{Cache, Target};
use assay_profile::Options;
use std::path::Path;
use std::sync::Arc;

/// There is no compiler: what is opened here is compiled.
#[derive(Debug)]
struct None;

impl Compiler for None {
    fn bitcode(&self, _: Source<'_>, _: &SourceOptions) -> Result<Vec<u8>, CompilerError> {
        Err(CompilerError::Missing {
            message: "there is no compiler".to_owned(),
            advice: Option::None,
        })
    }
}

fn workspace() -> Workspace {
    Workspace::new(Arc::new(None), Arc::new(NoFiles))
}

fn open(path: &str, function: Option<&str>) -> Result<Kernel, Error> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let bytes = Bytes::from(std::fs::read(&path).expect("a fixture"));
    workspace().open(&path, &bytes, function, &Settings::default())
}

const BITCODE: &str = "../air/tests/fixtures/clang-19.bc";

fn saxpy() -> Kernel {
    open(BITCODE, Some("saxpy")).expect("a kernel")
}

fn written(text: &str) -> Written {
    Written::parse(text).expect("a launch").1
}

const LAUNCH: &str =
    "--size N=100,33 --grid N --threadgroup 64 --arg x=iota:N --arg y=zeros:N --arg n=N";

#[test]
fn arguments_are_bound_by_name_and_results_come_back_by_index() {
    let kernel = saxpy();
    let launched = kernel
        .launched(written(LAUNCH))
        .expect("fine")
        .expect("a launch");
    let cases = launched.launch.cases().expect("two sizes");
    for sizes in &cases {
        let after = kernel.run(&launched, sizes).expect("a run");
        let lengths: Vec<(u32, usize)> = after.iter().map(|(at, it)| (*at, it.len())).collect();
        let bytes = sizes["N"] as usize * 4;
        assert_eq!(lengths, [(0, bytes), (1, bytes)]);
        assert!(after[1].1.iter().any(|byte| *byte != 0));
        let checks = Checks::default();
        let found = kernel.check(&launched, sizes, checks).expect("a check");
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn code_profile_and_prediction_are_of_the_same_program() {
    let kernel = saxpy();
    let first: *const _ = kernel.code().expect("code");
    assert!(
        std::ptr::eq(first, kernel.code().expect("code")),
        "made once"
    );
    let chip = Chip::named("m2").expect("a chip");
    let profile = kernel
        .profile(&Options::new(chip.clone()))
        .expect("a profile");
    assert_eq!(profile.name, "saxpy");
    let launched = kernel
        .launched(written(LAUNCH))
        .expect("fine")
        .expect("a launch");
    let target = Target::of(chip);
    let report = kernel
        .predict(&launched, &[target], Cache::Warm)
        .expect("a report");
    let kernels = report.predictions.iter().map(|it| it.kernel.as_str());
    assert_eq!(kernels.collect::<Vec<_>>(), ["saxpy N=100", "saxpy N=33"]);
}

#[test]
fn what_is_wrong_says_who_is_to_blame() {
    let kind = |error: Error| error.kind;
    let several = open(BITCODE, Option::None).err().expect("several kernels");
    assert!(
        several
            .advice
            .as_deref()
            .is_some_and(|it| it.contains("saxpy"))
    );
    assert_eq!(kind(several), Kind::Usage);
    let unknown = open(BITCODE, Some("saxpi")).err().expect("another name");
    assert!(
        unknown
            .advice
            .as_deref()
            .is_some_and(|it| it.contains("saxpy"))
    );
    assert_eq!(kind(unknown), Kind::Usage);
    let bytes = Bytes::from(b"kernel void k() {}".to_vec());
    let source = workspace().open(
        Path::new("k.metal"),
        &bytes,
        Option::None,
        &Settings::default(),
    );
    assert_eq!(source.err().map(kind), Some(Kind::Missing));
    let empty = Bytes::from(Vec::new());
    let nothing = workspace().open(
        Path::new("k.bc"),
        &empty,
        Option::None,
        &Settings::default(),
    );
    assert_eq!(nothing.err().map(kind), Some(Kind::Input));
    let kernel = saxpy();
    let named = kernel.launched(written("--grid 1 --threadgroup 1 --arg z=4"));
    assert_eq!(named.err().map(kind), Some(Kind::Usage));
    assert!(kernel.launched(Written::default()).expect("fine").is_none());
}
