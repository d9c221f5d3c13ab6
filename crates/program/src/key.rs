//! The hash of everything that decides what a launch executes.

use crate::recorded::{Given, Launch, Recorded};
use assay_predict::execution::VERSION;
use assay_recording::{Extent, Form, content_hash};

/// Part of every key: changes when the same launch may execute differently.
const LAYOUT: &str = "1";

/// Joins fields so that different ones never join to the same bytes.
#[derive(Default)]
struct Joined(Vec<u8>);

impl Joined {
    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0
            .extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    fn numbers(&mut self, numbers: impl IntoIterator<Item = u64>) -> &mut Self {
        let bytes: Vec<u8> = numbers.into_iter().flat_map(u64::to_le_bytes).collect();
        self.bytes(&bytes)
    }
}

/// The key of a launch in hexadecimal digits; none if it is not known what it runs.
pub(crate) fn key(recorded: &Recorded, launch: &Launch) -> Option<String> {
    let pipeline = recorded.pipelines.get(launch.pipeline as usize)?;
    let library = recorded.libraries.get(pipeline.library as usize)?;
    let mut all = Joined::default();
    all.bytes(LAYOUT.as_bytes());
    all.bytes(env!("CARGO_PKG_VERSION").as_bytes());
    all.numbers([u64::from(VERSION)]);
    all.bytes(&library.hash);
    match &library.form {
        Form::Compiled => all.bytes(b"compiled"),
        Form::Source {
            fast_math,
            standard,
            defines,
        } => {
            all.bytes(standard.as_bytes());
            all.numbers([u64::from(*fast_math), defines.len() as u64]);
            defines
                .iter()
                .fold(&mut all, |all, one| all.bytes(one.as_bytes()))
        }
    };
    all.bytes(pipeline.function.as_bytes());
    for constant in &pipeline.constants {
        all.bytes(constant.key.as_bytes());
        all.bytes(constant.kind.as_bytes());
        all.numbers(constant.elements.iter().copied());
    }
    let (kind, counts) = match launch.extent {
        Extent::Threads(counts) => (0, counts),
        Extent::Groups(counts) => (1, counts),
        Extent::Indirect { .. } => return None,
    };
    all.numbers([kind]);
    all.numbers(counts.map(u64::from));
    all.numbers(launch.threadgroup.map(u64::from));
    let memory = launch.memory.iter();
    all.numbers(memory.flat_map(|&(index, bytes)| [u64::from(index), u64::from(bytes)]));
    for (index, given) in &launch.arguments {
        match given {
            Given::Buffer(place) => all.numbers([u64::from(*index), u64::from(*place)]),
            Given::Bytes(bytes) => all.numbers([u64::from(*index)]).bytes(bytes),
        };
    }
    let digits = content_hash(&all.0);
    Some(digits.iter().map(|byte| format!("{byte:02x}")).collect())
}
