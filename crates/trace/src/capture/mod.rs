//! `.gputrace` capture bundles: the calls a program made to Metal, with its resources.
//!
//! A capture holds no times (unless it was profiled, which adds files that are not
//! read here), but everything else: command buffers, encoders, dispatches with their
//! kernel, grid and buffers, the points where the program waited, the shader
//! libraries, and what the compiler said about each pipeline.

mod archive;
mod calls;
mod code;
pub mod document;
mod mtsp;
mod statistics;
pub(crate) mod text;
mod xdic;

pub use document::Capture;

use crate::error::{Error, Problem};
use crate::recording::{Origin, Recording, Warning};
use document::{CaptureDevice, Member};
use plist::Value;
use std::collections::BTreeMap;

/// The files of a bundle.
pub trait Bundle {
    /// Names of the files at its top level.
    fn names(&self) -> Vec<String>;
    /// The size of a file.
    fn size(&self, name: &str) -> Option<u64>;
    /// At most `limit` bytes of a file.
    fn read(&self, name: &str, limit: u64) -> std::io::Result<Vec<u8>>;
}

impl Bundle for BTreeMap<String, Vec<u8>> {
    fn names(&self) -> Vec<String> {
        self.keys().cloned().collect()
    }

    fn size(&self, name: &str) -> Option<u64> {
        self.get(name).map(|bytes| bytes.len() as u64)
    }

    fn read(&self, name: &str, limit: u64) -> std::io::Result<Vec<u8>> {
        let bytes = self.get(name).ok_or(std::io::ErrorKind::NotFound)?;
        let limit = usize::try_from(limit)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        Ok(bytes.get(..limit).unwrap_or(&[]).to_vec())
    }
}

/// Largest file of a bundle that is read.
const LARGEST: u64 = 1 << 30;

/// Whether a folder is a capture, from its contents.
pub fn is_capture(bundle: &dyn Bundle) -> bool {
    let stream = |name: &str| bundle.read(name, 4).is_ok_and(|head| head == b"MTSP");
    stream("capture") || stream("unsorted-capture")
}

/// Opens members of a bundle, packed or not.
struct Members<'a> {
    bundle: &'a dyn Bundle,
    index: xdic::Index,
    store: Vec<u8>,
}

impl<'a> Members<'a> {
    fn open(bundle: &'a dyn Bundle, problems: &mut Vec<Problem>) -> Self {
        let read = |name: &str| bundle.read(name, LARGEST);
        let mut members = Members {
            bundle,
            index: xdic::Index::default(),
            store: Vec::new(),
        };
        match read("index").map(|bytes| xdic::read(&bytes)) {
            Ok(Ok(index)) => members.index = index,
            Ok(Err(error)) => problems.push(problem(&error)),
            Err(error) => problems.push(Problem {
                offset: None,
                message: format!("index: {error}; packed members cannot be read"),
            }),
        }
        if !members.index.packed.is_empty() {
            match read("store0") {
                Ok(store) => members.store = store,
                Err(error) => problems.push(Problem {
                    offset: None,
                    message: format!("store0: {error}; packed members cannot be read"),
                }),
            }
        }
        members
    }

    fn get(&self, name: &str) -> Result<Vec<u8>, Error> {
        if let Some(&packed) = self.index.packed.get(name) {
            return xdic::unpack(&self.store, name, packed);
        }
        // Names inside a bundle never lead out of it.
        if name.contains(['/', '\\']) || name == ".." {
            return Err(Error::Read(format!("{name}: not a member's name")));
        }
        self.bundle
            .read(name, LARGEST)
            .map_err(|error| Error::Read(format!("{name}: {error}")))
    }

    /// The bytes of a member, if it begins like a file of code.
    fn code(&self, member: &Member) -> Option<Vec<u8>> {
        let head = match member.packed {
            true => None,
            false => Some(self.bundle.read(&member.name, 4).ok()?),
        };
        if head.is_some_and(|head| !code::is_code(&head)) {
            return None;
        }
        self.get(&member.name)
            .ok()
            .filter(|bytes| code::is_code(bytes))
    }

    fn list(&self) -> Vec<Member> {
        let files = self.bundle.names().into_iter().map(|name| Member {
            bytes: self.bundle.size(&name).unwrap_or(0),
            name,
            packed: false,
        });
        let packed = self.index.packed.iter().map(|(name, packed)| Member {
            name: name.clone(),
            bytes: u64::from(packed.size),
            packed: true,
        });
        files.chain(packed).collect()
    }
}

/// The bytes of a member of a bundle: a metallib, a buffer's contents.
pub fn read_capture_member(bundle: &dyn Bundle, name: &str) -> Result<Vec<u8>, Error> {
    Members::open(bundle, &mut Vec::new()).get(name)
}

/// The members of a bundle that begin like metallibs, binary archives or Mach-Os, with their bytes.
pub fn capture_code(bundle: &dyn Bundle) -> Vec<(String, Vec<u8>)> {
    let members = Members::open(bundle, &mut Vec::new());
    let list = members.list().into_iter();
    list.filter_map(|member| Some((member.name.clone(), members.code(&member)?)))
        .collect()
}

/// Reads a bundle.
pub fn read_capture(bundle: &dyn Bundle) -> Result<Recording, Error> {
    let mut problems = Vec::new();
    let members = Members::open(bundle, &mut problems);
    let names = bundle.names();
    let resources = |name: &&String| {
        let name = name
            .trim_start_matches("delta-")
            .trim_start_matches("unused-");
        name.starts_with("device-resources-")
    };
    // Objects first, then the calls that use them, in the program's order.
    let mut streams: Vec<&str> = names.iter().filter(resources).map(String::as_str).collect();
    let ordered = ["unsorted-capture", "capture"];
    let calls_in = ordered.into_iter().find(|name| bundle.size(name).is_some());
    streams.extend(calls_in);
    let mut calls = calls::Calls::default();
    for name in streams {
        let result = members.get(name).and_then(|bytes| calls.read(name, &bytes));
        if let Err(error) = result {
            problems.push(problem(&error));
        }
    }
    if calls.calls == 0 {
        return Err(Error::Unrecognised(match problems.first() {
            Some(problem) => format!("no call of this capture can be read: {}", problem.message),
            None => "this capture holds no calls".to_owned(),
        }));
    }
    let mut capture = calls.finish(&mut |name| match members.get(name) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            problems.push(problem(&error));
            None
        }
    });
    capture.members = members.list();
    capture.code = code::slices(&members, &capture.members);
    capture.device = members
        .get("(device info)")
        .ok()
        .and_then(|bytes| device(&bytes));
    capture.uuid = bundle
        .read("metadata", 1 << 20)
        .ok()
        .and_then(|bytes| archive::unfold(&bytes))
        .and_then(|value| {
            Some(
                value
                    .as_dictionary()?
                    .get("(uuid)")?
                    .as_string()?
                    .to_owned(),
            )
        });
    let mut recording = Recording::empty(Origin::Capture);
    let warning = |problem: Problem| Warning {
        input: "capture".to_owned(),
        problem,
    };
    recording.warnings = problems.into_iter().map(warning).collect();
    recording.capture = Some(Box::new(capture));
    Ok(recording)
}

fn problem(error: &Error) -> Problem {
    Problem {
        offset: None,
        message: error.to_string(),
    }
}

fn device(bytes: &[u8]) -> Option<CaptureDevice> {
    let value = archive::unfold(bytes)?;
    let info = value.as_dictionary()?;
    let text = |key: &str| info.get(key).and_then(Value::as_string).map(str::to_owned);
    let contexts = info
        .get("supportedGLProfileContextsInfo")
        .and_then(Value::as_array);
    let gpu = contexts
        .and_then(|contexts| contexts.first()?.as_dictionary()?.get("name")?.as_string())
        .map(str::to_owned);
    Some(CaptureDevice {
        gpu,
        product: text("productType"),
        os_version: text("version"),
        os_build: text("build"),
        metal_version: text("metalVersion"),
    })
}
