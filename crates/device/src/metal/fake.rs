//! A driver that answers as it is told, for tests of the logic above it. Its times are made up and stay in tests.

use super::driver::{
    Completed, Copy, Driver, GpuFacts, OnCompletion, RawArgument, RawBinding, RawDispatch, RawKind,
    RawPipelineFacts, Resident, SourceOptions,
};
use super::failure::Failure;
use super::textures::Piece;
use crate::{Constant, Storage};
use assay_texture::{Layout, Sampler};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// What goes wrong.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Trouble {
    #[default]
    None,
    /// The compiler says this.
    Compile(&'static str),
    /// No pipeline, because of this.
    Pipeline(&'static str),
    /// No memory for buffers.
    NoMemory,
    /// The queue gives no command buffer.
    NoCommands,
    /// No encoder.
    NoEncoder,
    /// The command buffer fails with this code of Metal's and these words.
    Fails(i64, &'static str),
    /// The command buffer never completes.
    Hangs,
    /// The completion handler is dropped without a call.
    Dropped,
    /// The GPU gives no times.
    NoTimes,
    /// Captures are off.
    NoCapture,
    /// The archive cannot be written.
    Archive(&'static str),
}

/// What stands for textures and samplers in argument buffers.
pub(super) const TEXTURE_ID: u64 = 0x7e07;
pub(super) const SAMPLER_ID: u64 = 0x5a01;

/// What happened, in order; shared with the test.
pub(super) type Log = Rc<RefCell<Vec<String>>>;

#[derive(Debug)]
pub(crate) struct Fake {
    pub(super) trouble: Trouble,
    pub(super) counters: bool,
    pub(super) log: Log,
    /// Handlers of command buffers that never complete, kept so that they are not dropped.
    hanging: RefCell<Vec<OnCompletionBox>>,
}

struct OnCompletionBox(#[allow(dead_code, reason = "held, never called")] OnCompletion);

impl std::fmt::Debug for OnCompletionBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("handler")
    }
}

#[derive(Debug)]
pub(crate) struct FakeBuffer {
    bytes: Rc<RefCell<Vec<u8>>>,
    storage: Storage,
}

#[derive(Debug, Default)]
pub(crate) struct FakeCommands {
    dispatches: usize,
    /// Run in order at commit, as a queue does.
    work: Vec<Work>,
}

#[derive(Debug)]
enum Work {
    /// The fake's only kernel adds one to every byte of buffer 0.
    Increment(Rc<RefCell<Vec<u8>>>),
    Copy {
        from: Rc<RefCell<Vec<u8>>>,
        from_offset: usize,
        to: Rc<RefCell<Vec<u8>>>,
        to_offset: usize,
        length: usize,
    },
}

impl Fake {
    pub(super) fn new(trouble: Trouble) -> Fake {
        Fake {
            trouble,
            counters: true,
            log: Log::default(),
            hanging: RefCell::default(),
        }
    }

    fn note(&self, what: impl Into<String>) {
        self.log.borrow_mut().push(what.into());
    }
}

impl Work {
    fn run(self) {
        match self {
            Work::Increment(bytes) => {
                for byte in bytes.borrow_mut().iter_mut() {
                    *byte = byte.wrapping_add(1);
                }
            }
            Work::Copy {
                from,
                from_offset,
                to,
                to_offset,
                length,
            } => {
                let bytes = from.borrow()[from_offset..from_offset + length].to_vec();
                to.borrow_mut()[to_offset..to_offset + length].copy_from_slice(&bytes);
            }
        }
    }
}

impl Driver for Fake {
    type Library = ();
    type Pipeline = ();
    type Buffer = FakeBuffer;
    type Commands = FakeCommands;
    type Texture = Rc<RefCell<Vec<u8>>>;
    type Sampler = u64;

    fn facts(&self) -> GpuFacts {
        GpuFacts {
            name: "Fake GPU".to_owned(),
            max_threadgroup: [1024, 1024, 1024],
            max_threadgroup_memory: 32768,
            max_buffer: 1 << 20,
            dispatch_timing: match self.counters {
                true => Ok("at dispatches"),
                false => Err("the GPU samples no counters".to_owned()),
            },
        }
    }

    fn compile(&self, text: &str, options: &SourceOptions) -> Result<(), String> {
        self.note(format!("compile {} {options:?}", text.len()));
        match self.trouble {
            Trouble::Compile(words) => Err(words.to_owned()),
            _ => Ok(()),
        }
    }

    fn load(&self, metallib: &[u8]) -> Result<(), String> {
        self.note(format!("load {}", metallib.len()));
        Ok(())
    }

    fn functions(&self, (): &()) -> Vec<String> {
        vec!["increment".to_owned(), "decrement".to_owned()]
    }

    fn pipeline(
        &self,
        (): &(),
        function: &str,
        constants: &[Constant],
    ) -> Result<((), RawPipelineFacts), String> {
        self.note(format!("pipeline {function} {}", constants.len()));
        if let Trouble::Pipeline(words) = self.trouble {
            return Err(words.to_owned());
        }
        let argument = |name: &str, kind, index, used| RawArgument {
            name: name.to_owned(),
            kind,
            index,
            used,
            writes: index == 0,
            size: 4,
            align: 4,
        };
        let facts = RawPipelineFacts {
            max_threads: 512,
            threadgroup_memory: 1024,
            execution_width: 32,
            arguments: vec![
                argument("data", RawKind::Buffer, 0, true),
                argument("unused", RawKind::Buffer, 1, false),
                argument("scratch", RawKind::ThreadgroupMemory, 0, true),
            ],
        };
        Ok(((), facts))
    }

    fn buffer(&self, bytes: u64, storage: Storage) -> Option<FakeBuffer> {
        let bytes = usize::try_from(bytes).ok()?;
        (self.trouble != Trouble::NoMemory).then(|| FakeBuffer {
            bytes: Rc::new(RefCell::new(vec![0; bytes])),
            storage,
        })
    }

    fn write(&self, buffer: &mut FakeBuffer, offset: u64, bytes: &[u8]) {
        assert_eq!(
            buffer.storage,
            Storage::Shared,
            "the CPU cannot see private memory"
        );
        self.note("write");
        let start = offset as usize;
        buffer.bytes.borrow_mut()[start..start + bytes.len()].copy_from_slice(bytes);
    }

    fn read(&self, buffer: &FakeBuffer, offset: u64, bytes: &mut [u8]) {
        assert_eq!(
            buffer.storage,
            Storage::Shared,
            "the CPU cannot see private memory"
        );
        self.note("read");
        let start = offset as usize;
        bytes.copy_from_slice(&buffer.bytes.borrow()[start..start + bytes.len()]);
    }

    fn address(&self, buffer: &FakeBuffer) -> u64 {
        buffer.bytes.as_ptr() as u64
    }

    fn texture(&self, layout: &Layout) -> Result<Self::Texture, String> {
        self.note(format!("texture {layout}"));
        match self.trouble {
            Trouble::NoMemory => Err("Metal has no memory for the texture".to_owned()),
            _ => Ok(Rc::new(RefCell::new(vec![0; layout.bytes() as usize]))),
        }
    }

    fn texture_id(&self, _: &Self::Texture) -> u64 {
        TEXTURE_ID
    }

    fn sampler(&self, sampler: &Sampler) -> Result<u64, String> {
        self.note(format!("sampler {sampler}"));
        Ok(SAMPLER_ID)
    }

    fn sampler_id(&self, sampler: &u64) -> u64 {
        *sampler
    }

    fn encode_texels(
        &self,
        commands: &mut FakeCommands,
        buffer: &FakeBuffer,
        texture: &Self::Texture,
        pieces: &[Piece],
        into_texture: bool,
    ) -> Result<(), String> {
        self.note(match into_texture {
            true => "texels into a texture",
            false => "texels into a buffer",
        });
        let (from, to) = match into_texture {
            true => (&buffer.bytes, texture),
            false => (texture, &buffer.bytes),
        };
        commands.work.extend(pieces.iter().map(|piece| Work::Copy {
            from: from.clone(),
            from_offset: piece.offset as usize,
            to: to.clone(),
            to_offset: piece.offset as usize,
            length: (piece.bytes_per_image * u64::from(piece.size[2])) as usize,
        }));
        Ok(())
    }

    fn commands(&self, label: &str) -> Option<FakeCommands> {
        self.note(format!("commands {label}"));
        (self.trouble != Trouble::NoCommands).then(FakeCommands::default)
    }

    fn encode(
        &self,
        commands: &mut FakeCommands,
        dispatch: &RawDispatch<'_, Self>,
    ) -> Result<(), String> {
        self.note(format!(
            "encode {} {:?} by {:?}",
            dispatch.label, dispatch.extent, dispatch.threadgroup
        ));
        if self.trouble == Trouble::NoEncoder {
            return Err("Metal gave no compute encoder".to_owned());
        }
        commands.dispatches += 1;
        for resident in &dispatch.resident {
            self.note(match resident {
                Resident::Buffer(_) => "resident buffer",
                Resident::Texture(_) => "resident texture",
            });
        }
        for (index, binding) in &dispatch.bindings {
            match binding {
                RawBinding::Buffer { buffer, .. } if *index == 0 => {
                    commands.work.push(Work::Increment(buffer.bytes.clone()));
                }
                RawBinding::Texture(texture) if *index == 0 => {
                    commands.work.push(Work::Increment((*texture).clone()));
                }
                RawBinding::Bytes(bytes) => self.note(format!("bytes {index}: {bytes:?}")),
                RawBinding::ThreadgroupMemory(bytes) => {
                    assert_eq!(bytes % 16, 0, "Metal wants multiples of 16");
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn encode_copy(
        &self,
        commands: &mut FakeCommands,
        copy: &Copy<'_, FakeBuffer>,
    ) -> Result<(), String> {
        self.note("copy");
        commands.work.push(Work::Copy {
            from: copy.from.bytes.clone(),
            from_offset: copy.from_offset as usize,
            to: copy.to.bytes.clone(),
            to_offset: copy.to_offset as usize,
            length: copy.length as usize,
        });
        Ok(())
    }

    fn commit(&self, commands: FakeCommands, done: OnCompletion) {
        self.note("commit");
        let mut completed = Completed {
            times: (10.0, 10.000_5),
            failure: None,
            dispatches: Vec::new(),
        };
        match &self.trouble {
            Trouble::Hangs => {
                self.hanging.borrow_mut().push(OnCompletionBox(done));
                return;
            }
            Trouble::Dropped => return,
            Trouble::Fails(code, words) => {
                completed.failure = Some(Failure::new(*code, (*words).to_owned()));
            }
            Trouble::NoTimes => completed.times = (0.0, 0.0),
            _ => {}
        }
        if self.counters {
            completed.dispatches = vec![Duration::from_micros(100); commands.dispatches];
        }
        for work in commands.work {
            work.run();
        }
        // Metal calls handlers from a thread of its own.
        let caller = std::thread::spawn(move || done(completed));
        caller.join().expect("the handler does not panic");
    }

    fn start_capture(&self, path: &Path) -> Result<(), String> {
        self.note(format!("capture {}", path.display()));
        match self.trouble {
            Trouble::NoCapture => Err("captures are off; set MTL_CAPTURE_ENABLED=1".to_owned()),
            _ => Ok(()),
        }
    }

    fn stop_capture(&self) {
        self.note("stop capture");
    }

    fn archive(
        &self,
        (): &(),
        function: &str,
        _constants: &[Constant],
        path: &Path,
    ) -> Result<(), String> {
        self.note(format!("archive {function}"));
        match self.trouble {
            Trouble::Archive(words) => Err(words.to_owned()),
            _ => std::fs::write(path, b"archive").map_err(|error| error.to_string()),
        }
    }
}
