//! All there is between Assay and Objective-C: twenty operations, and plain values.
//!
//! [`super::MetalDevice`] holds the logic; whoever implements [`Driver`] only carries calls over.
//! On macOS that is `objc.rs`; in tests a fake that fails on demand.

use super::failure::Failure;
use super::textures::Piece;
use crate::{Constant, Extent, Storage};
use assay_texture::{Layout, Sampler};
use std::path::Path;
use std::time::Duration;

/// What the GPU says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GpuFacts {
    pub(crate) name: String,
    pub(crate) max_threadgroup: [u32; 3],
    pub(crate) max_threadgroup_memory: u32,
    pub(crate) max_buffer: u64,
    /// How dispatches are timed one by one, or why they are not.
    pub(crate) dispatch_timing: Result<&'static str, String>,
}

/// How Metal compiles source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceOptions {
    pub(crate) fast_math: bool,
    /// Major and minor version of the language; `None` leaves the choice to Metal, which takes the newest it has.
    pub(crate) version: Option<(u32, u32)>,
    pub(crate) macros: Vec<(String, String)>,
}

/// What a pipeline says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawPipelineFacts {
    pub(crate) max_threads: u32,
    pub(crate) threadgroup_memory: u32,
    pub(crate) execution_width: u32,
    pub(crate) arguments: Vec<RawArgument>,
}

/// An argument as reflection gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawArgument {
    pub(crate) name: String,
    pub(crate) kind: RawKind,
    pub(crate) index: u32,
    pub(crate) used: bool,
    pub(crate) writes: bool,
    /// Size and alignment of what a buffer points at, in bytes.
    pub(crate) size: u32,
    pub(crate) align: u32,
}

/// What an argument is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RawKind {
    Buffer,
    ThreadgroupMemory,
    Texture,
    Sampler,
    Other,
}

/// Something bound to an index.
pub(crate) enum RawBinding<'a, D: Driver + ?Sized> {
    Buffer { buffer: &'a D::Buffer, offset: u64 },
    Bytes(&'a [u8]),
    ThreadgroupMemory(u32),
    Texture(&'a D::Texture),
    Sampler(&'a D::Sampler),
}

/// Something that a kernel reaches through an argument buffer only, so that Metal has to be told.
pub(crate) enum Resident<'a, D: Driver + ?Sized> {
    Buffer(&'a D::Buffer),
    Texture(&'a D::Texture),
}

/// One dispatch, checked and ready to encode.
pub(crate) struct RawDispatch<'a, D: Driver + ?Sized> {
    /// What tools show for it.
    pub(crate) label: &'a str,
    pub(crate) pipeline: &'a D::Pipeline,
    pub(crate) bindings: Vec<(u32, RawBinding<'a, D>)>,
    pub(crate) resident: Vec<Resident<'a, D>>,
    pub(crate) extent: Extent,
    pub(crate) threadgroup: [u32; 3],
}

/// A copy between buffers.
#[derive(Debug)]
pub(crate) struct Copy<'a, Buffer> {
    pub(crate) from: &'a Buffer,
    pub(crate) from_offset: u64,
    pub(crate) to: &'a Buffer,
    pub(crate) to_offset: u64,
    pub(crate) length: u64,
}

/// What became of a command buffer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Completed {
    /// `GPUStartTime` and `GPUEndTime` in seconds; zeros where the GPU gives none.
    pub(crate) times: (f64, f64),
    pub(crate) failure: Option<Failure>,
    /// Each dispatch alone, where that was asked for and all of them were sampled.
    pub(crate) dispatches: Vec<Duration>,
}

/// Called once, from whatever thread Metal likes, when a command buffer is done.
pub(crate) type OnCompletion = Box<dyn FnOnce(Completed) + Send>;

/// The calls into Metal. An `Err(String)` is Metal's own message.
pub(crate) trait Driver {
    type Library;
    type Pipeline;
    type Buffer;
    type Commands;
    type Texture;
    type Sampler;

    fn facts(&self) -> GpuFacts;
    fn compile(&self, text: &str, options: &SourceOptions) -> Result<Self::Library, String>;
    fn load(&self, metallib: &[u8]) -> Result<Self::Library, String>;
    fn functions(&self, library: &Self::Library) -> Vec<String>;
    fn pipeline(
        &self,
        library: &Self::Library,
        function: &str,
        constants: &[Constant],
    ) -> Result<(Self::Pipeline, RawPipelineFacts), String>;
    /// `None` when Metal has no memory for it.
    fn buffer(&self, bytes: u64, storage: Storage) -> Option<Self::Buffer>;
    /// Writes into a shared buffer; the caller has checked the range.
    fn write(&self, buffer: &mut Self::Buffer, offset: u64, bytes: &[u8]);
    /// Reads from a shared buffer; the caller has checked the range.
    fn read(&self, buffer: &Self::Buffer, offset: u64, bytes: &mut [u8]);
    /// Where a buffer lies for the GPU.
    fn address(&self, buffer: &Self::Buffer) -> u64;
    /// A texture whose texels are not written yet.
    fn texture(&self, layout: &Layout) -> Result<Self::Texture, String>;
    /// What stands for a texture in an argument buffer.
    fn texture_id(&self, texture: &Self::Texture) -> u64;
    fn sampler(&self, sampler: &Sampler) -> Result<Self::Sampler, String>;
    /// What stands for a sampler in an argument buffer.
    fn sampler_id(&self, sampler: &Self::Sampler) -> u64;
    /// A command buffer, `None` when the queue is gone.
    fn commands(&self, label: &str) -> Option<Self::Commands>;
    fn encode(
        &self,
        commands: &mut Self::Commands,
        dispatch: &RawDispatch<'_, Self>,
    ) -> Result<(), String>;
    fn encode_copy(
        &self,
        commands: &mut Self::Commands,
        copy: &Copy<'_, Self::Buffer>,
    ) -> Result<(), String>;
    /// Copies texels between a buffer and a texture; the caller has checked the ranges.
    fn encode_texels(
        &self,
        commands: &mut Self::Commands,
        buffer: &Self::Buffer,
        texture: &Self::Texture,
        pieces: &[Piece],
        into_texture: bool,
    ) -> Result<(), String>;
    /// Hands the commands to the GPU and returns at once.
    fn commit(&self, commands: Self::Commands, done: OnCompletion);
    /// Starts writing everything the queue does to a `.gputrace`.
    fn start_capture(&self, path: &Path) -> Result<(), String>;
    fn stop_capture(&self);
    /// Compiles a function to machine code and writes a binary archive.
    fn archive(
        &self,
        library: &Self::Library,
        function: &str,
        constants: &[Constant],
        path: &Path,
    ) -> Result<(), String>;
}
