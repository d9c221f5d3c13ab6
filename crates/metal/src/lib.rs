//! Metal's compute API on Linux: a shared object with Apple's ABI that runs the Metal back ends of engines, unchanged, on the CPU.
//!
//! ```text
//! program ──objc_msgSend──▶ classes of this crate ──commit──▶ a thread per queue ──▶ assay-device's kernels
//! ```
//!
//! - `device` makes everything; `address` knows where memory is for kernels; `library` has libraries, functions and pipelines, `resource` buffers and heaps,
//!   `texture` and `sampler` what they are called, `sync` events and
//!   fences, `queue` queues and command buffers, `encoder` what encodes a `command`, `indirect` commands that are
//!   executed often, `bind` what it binds, `run` what becomes of it,
//!   `plain` descriptors;
//! - `reflection` says what kernels bind and which function constants they declare, `counters` has timestamps of encoders, `figures`
//!   what tests ask the runtime about itself;
//! - `fork` refuses children of a process that has used Metal;
//! - `clock` has GPU times predicted instead of the host's; `record` writes what is encoded to a file, for `assay trace`;
//! - `order` finds dispatches that nothing orders, `report` tells what was wrong, `suppress` knows what is known;
//! - a class is one table of selector, type encoding and function, so that what is there is data;
//! - [`settings`] has the switches that a program's environment gives.
//!
//! Work runs on a thread of its queue, in the order of commits. What a kernel does wrong is reported on standard error and the program
//! goes on, as on a GPU; with `ASSAY_METAL_CHECK=1` every access is checked. Times are those of this CPU. On macOS the crate is empty.

#![cfg(not(target_os = "macos"))]
#![cfg_attr(
    not(test),
    warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)
)]
// The functions of the C ABI are documented by what they implement; their contract is Apple's.
#![allow(non_snake_case, clippy::missing_safety_doc)]

mod address;
pub mod archive;
pub mod argument_encoder;
mod bind;
pub mod blit;
mod clock;
mod command;
pub mod constants;
pub mod counters;
mod deferred;
pub mod device;
pub mod encoder;
pub mod figures;
mod fork;
pub mod indirect;
pub mod library;
mod limits;
pub mod log;
pub mod metal4;
mod order;
pub mod plain;
pub mod queue;
mod record;
pub mod reflection;
pub mod report;
pub mod resource;
mod run;
pub mod sampler;
pub mod service;
mod session;
pub mod settings;
mod stack;
mod suppress;
pub mod sync;
mod texel_copy;
pub mod texture;

use assay_objc::Declaration;

/// All classes of Metal, those that others inherit from first.
pub fn classes() -> Vec<&'static Declaration> {
    let mut all: Vec<&'static Declaration> = vec![
        &device::DEVICE,
        &device::ARCHITECTURE,
        &device::CAPTURE_MANAGER,
        &device::CAPTURE_SCOPE,
        &resource::BUFFER,
        &resource::HEAP,
        &resource::RESIDENCY_SET,
        &texture::TEXTURE,
        &sampler::SAMPLER,
        &archive::ARCHIVE,
        &argument_encoder::ARGUMENT_ENCODER,
        &log::LOG_STATE,
        &sync::EVENT,
        &sync::FENCE,
        &sync::LISTENER,
        &library::LIBRARY,
        &library::FUNCTION,
        &constants::CONSTANTS,
        &library::PIPELINE,
        &reflection::BINDING,
        &reflection::REFLECTION,
        &reflection::FUNCTION_CONSTANT,
        &counters::COUNTER_SET,
        &counters::COUNTER,
        &counters::SAMPLES,
        &counters::ATTACHMENT_LIST,
        &queue::QUEUE,
        &queue::COMMAND_BUFFER,
        &encoder::COMPUTE,
        &indirect::INDIRECT_COMMANDS,
        &indirect::INDIRECT_COMMAND,
        &blit::BLIT,
    ];
    all.extend(metal4::CLASSES);
    all.extend(plain::CLASSES);
    all
}

/// Makes all classes known to the runtime. Done when the shared object is loaded.
pub fn register() {
    assay_foundation::register();
    for class in classes() {
        class.register();
    }
    plain::register();
    counters::register();
    report::register();
    fork::register();
}

extern "C" fn start() {
    register();
    settings::apply();
}

/// Run by the loader before any constructor of the program.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;
