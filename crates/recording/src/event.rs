//! What recordings hold.

use std::sync::Arc;

/// A record, in the order things happened on the host. Texts are shared: the same text is the same allocation.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Who was recorded.
    Process(Process),
    /// The device that the program saw.
    Device(Device),
    /// A library, before its first pipeline.
    Library(Library),
    /// A pipeline, before its first dispatch.
    Pipeline(Pipeline),
    /// A buffer, before its first use.
    Buffer(Buffer),
    /// A command buffer, when it is committed. Its commands follow.
    CommandBuffer(CommandBuffer),
    /// A command of the command buffer before it.
    Command(Command),
    /// A command buffer has run on the host's CPU.
    Completed(Completed),
    /// The program waited for a command buffer.
    Waited(Waited),
}

/// The program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Program and arguments.
    pub arguments: Vec<Arc<str>>,
    /// Whether kernels ran; if not, what they write is whatever was there.
    pub executed: bool,
}

/// The device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Device {
    /// Its name, as the program is told.
    pub name: Arc<str>,
    /// The chip in this project's spelling.
    pub chip: Arc<str>,
}

/// Compiled code or its source.
#[derive(Clone, Debug, PartialEq)]
pub struct Library {
    /// Its number, from 0.
    pub id: u32,
    /// What the contents are.
    pub form: Form,
    /// SHA-256 of the contents.
    pub hash: [u8; 32],
    /// Where they are.
    pub contents: Contents,
}

/// What a library's contents are.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// Metal source.
    Source {
        /// Whether arithmetic may be reordered.
        fast_math: bool,
        /// The version of the language: `metal3.1`.
        standard: Arc<str>,
        /// Macros, `NAME=VALUE`.
        defines: Vec<Arc<str>>,
    },
    /// A metallib.
    Compiled,
}

/// Where a library's contents are.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// In the recording.
    Here(Arc<[u8]>),
    /// In a file, which counts as long as its hash is the same.
    File(Arc<str>),
    /// Not known any more.
    Unknown,
}

/// A kernel ready to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// Its number, from 0.
    pub id: u32,
    /// The library.
    pub library: u32,
    /// The kernel's name.
    pub function: Arc<str>,
    /// Values of function constants.
    pub constants: Vec<Constant>,
    /// Bytes of threadgroup memory of the kernel itself.
    pub threadgroup_memory: u64,
    /// When it was made on the host: begin and end.
    pub made_ns: [u64; 2],
}

/// The value of a function constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its number or name.
    pub key: Arc<str>,
    /// Its type in Metal's spelling: `uint`, `float2`.
    pub kind: Arc<str>,
    /// The bits of each element.
    pub elements: Vec<u64>,
}

/// A buffer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buffer {
    /// Its number: no two of a program have the same.
    pub id: u64,
    /// Its length.
    pub bytes: u64,
    /// Its address on the host, which tells buffers that lie in one another.
    pub address: u64,
    /// Its label.
    pub label: Arc<str>,
    /// Whether Metal orders accesses to it by itself.
    pub tracked: bool,
}

/// A command buffer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandBuffer {
    /// Its number, from 1.
    pub id: u64,
    /// Its queue.
    pub queue: u64,
    /// Its label.
    pub label: Arc<str>,
    /// When the host made it.
    pub created_ns: u64,
    /// When the host committed it.
    pub committed_ns: u64,
    /// How many commands follow.
    pub commands: u64,
}

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// An encoder begins.
    Encoder(Encoder),
    /// A kernel is to run.
    Dispatch(Box<Dispatch>),
    /// Bytes of a buffer are set.
    Fill {
        /// The buffer.
        buffer: u64,
        /// From where.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// Bytes are copied.
    Copy {
        /// From this buffer.
        from: u64,
        /// From where.
        from_offset: u64,
        /// To this one.
        to: u64,
        /// To where.
        to_offset: u64,
        /// How many.
        bytes: u64,
    },
    /// All before it in the encoder ends before what follows begins.
    Barrier,
    /// The same for some memory: address ranges of the host.
    BarrierFor(Vec<[u64; 2]>),
    /// What follows a wait for this fence waits for the encoder.
    UpdateFence(u64),
    /// The encoder waits for a fence.
    WaitForFence(u64),
    /// An event gets a value.
    Signal {
        /// Which.
        event: u64,
        /// The value.
        value: u64,
    },
    /// The queue waits for an event's value.
    WaitForEvent {
        /// Which.
        event: u64,
        /// The value.
        value: u64,
    },
}

/// An encoder.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoder {
    /// What it encodes.
    pub kind: EncoderKind,
    /// Its label.
    pub label: Arc<str>,
    /// When the host made it.
    pub created_ns: u64,
}

/// What an encoder encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncoderKind {
    /// Dispatches, one after the other.
    Serial,
    /// Dispatches that may overlap unless a barrier is between them.
    Concurrent,
}

/// A dispatch.
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    /// The pipeline.
    pub pipeline: u32,
    /// How many threads.
    pub extent: Extent,
    /// Threads of a threadgroup.
    pub threadgroup: [u32; 3],
    /// What is bound, by index, ascending.
    pub bindings: Vec<(u32, Binding)>,
    /// Bytes of threadgroup memory, by index.
    pub memory: Vec<(u32, u32)>,
    /// The label of the encoder when it was encoded.
    pub label: Arc<str>,
    /// Debug groups, from the outside in, separated by `/`.
    pub group: Arc<str>,
    /// When the host encoded it.
    pub encoded_ns: u64,
}

/// How many threads a dispatch has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// So many threads.
    Threads([u32; 3]),
    /// So many threadgroups.
    Groups([u32; 3]),
    /// A buffer says how many threadgroups when it runs.
    Indirect {
        /// The buffer.
        buffer: u64,
        /// Where in it.
        offset: u64,
    },
}

/// What is bound at an index.
#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    /// A buffer, from an offset on.
    Buffer {
        /// The buffer.
        buffer: u64,
        /// From where.
        offset: u64,
    },
    /// Bytes by value.
    Bytes(Arc<[u8]>),
}

/// A command buffer's end on the host's CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completed {
    /// Which.
    pub command_buffer: u64,
    /// When the CPU began it.
    pub started_ns: u64,
    /// When the CPU had finished it.
    pub ended_ns: u64,
}

/// A wait of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waited {
    /// For which command buffer.
    pub command_buffer: u64,
    /// From when.
    pub from_ns: u64,
    /// Until when.
    pub to_ns: u64,
}
