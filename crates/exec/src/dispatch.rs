//! Runs a program over a grid: threadgroups in parallel, simdgroups in turns.

use crate::buffer::Buffer;
use crate::code::{Cell, Objects, Pointer, Program};
use crate::error::{Fault, FaultKind, RunError};
use crate::geometry::Grid;
use crate::group_batching::GroupBatches;
use crate::interpret::observer::{NoObserver, Observer};
use crate::interpret::{Batch, ExecutionContext, Stop, Trap};
use crate::memory::{Action, OFFSET_BITS, Region, THREADGROUP, View};
use crate::position::GridPosition;
use crate::texture::{BoundTexture, Resource};
use assay_ssa::Binding;
use assay_texture::Sampler;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// The buffers and threadgroup memory that a dispatch binds.
#[derive(Debug, Default)]
pub struct Bindings {
    buffers: Vec<(u32, Buffer)>,
    /// Indices that point into the buffer of another index (or their own), and where.
    windows: Vec<Window>,
    threadgroup: Vec<(u32, u32)>,
    textures: Vec<(u32, BoundTexture)>,
    /// Texture indices that name the texture of another index.
    same_textures: Vec<(u32, u32)>,
    samplers: Vec<(u32, Sampler)>,
    members: Vec<Member>,
}

/// A handle that stands in a buffer.
#[derive(Clone, Debug)]
struct Member {
    /// The buffer, and where in it.
    index: u32,
    offset: u64,
    /// What the handle is of.
    target: Target,
    /// Its name, for messages.
    name: String,
}

/// What a pointer or handle in an argument buffer is of: something that is bound at an index. Indices from 65,536 on are no
/// argument's, and free for what only argument buffers name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A buffer.
    Buffer(u32),
    /// A texture.
    Texture(u32),
    /// A sampler.
    Sampler(u32),
}

/// An index that is bound to a place in a buffer.
#[derive(Clone, Copy, Debug)]
struct Window {
    index: u32,
    of: u32,
    offset: u64,
}

impl Bindings {
    /// Nothing bound.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds a buffer; one bound there before is replaced.
    pub fn set(&mut self, index: u32, buffer: Buffer) {
        self.buffers.retain(|(known, _)| *known != index);
        self.windows.retain(|window| window.index != index);
        self.buffers.push((index, buffer));
    }

    /// Binds an index to a place in the buffer that is bound at `of`, as when a program binds one
    /// buffer twice or with an offset. `of` may be the index itself.
    ///
    /// ```
    /// use assay_exec::{Bindings, Buffer};
    /// let mut bindings = Bindings::new();
    /// bindings.set(0, Buffer::from_slice(&[1.0f32, 2.0, 3.0]));
    /// bindings.share(1, 0, 4); // starts at the 2.0
    /// assert_eq!(bindings.take(0).map(|buffer| buffer.len()), Some(12));
    /// ```
    pub fn share(&mut self, index: u32, of: u32, offset: u64) {
        self.windows.retain(|window| window.index != index);
        self.windows.push(Window { index, of, offset });
    }

    /// Takes a buffer back.
    pub fn take(&mut self, index: u32) -> Option<Buffer> {
        let place = self.buffers.iter().position(|(known, _)| *known == index)?;
        Some(self.buffers.swap_remove(place).1)
    }

    /// The buffer of an index.
    pub fn get(&self, index: u32) -> Option<&Buffer> {
        let found = self.buffers.iter().find(|(known, _)| *known == index);
        found.map(|(_, buffer)| buffer)
    }

    /// Gives `[[threadgroup(index)]]` a size in bytes.
    pub fn set_threadgroup_memory(&mut self, index: u32, bytes: u32) {
        self.threadgroup.retain(|(known, _)| *known != index);
        self.threadgroup.push((index, bytes));
    }

    /// Binds a texture; one bound there before is replaced.
    pub fn set_texture(&mut self, index: u32, texture: BoundTexture) {
        self.textures.retain(|(known, _)| *known != index);
        self.textures.push((index, texture));
    }

    /// Binds an index to the texture that is bound at `of`, as when a program binds one texture twice.
    pub fn share_texture(&mut self, index: u32, of: u32) {
        self.same_textures.push((index, of));
    }

    /// Takes a texture back.
    pub fn take_texture(&mut self, index: u32) -> Option<BoundTexture> {
        let place = self
            .textures
            .iter()
            .position(|(known, _)| *known == index)?;
        Some(self.textures.swap_remove(place).1)
    }

    /// Puts the address of a buffer, or the handle of a texture or sampler, at an offset of the buffer that is bound at `index`: a
    /// member of an argument buffer.
    pub fn set_member(&mut self, index: u32, offset: u64, target: Target, name: &str) {
        self.members.push(Member {
            index,
            offset,
            target,
            name: name.to_owned(),
        });
    }

    /// The name of something that only argument buffers name.
    fn member_name(&self, wanted: Target) -> Option<&str> {
        let mut members = self.members.iter();
        let found = members.find(|member| member.target == wanted)?;
        Some(&found.name)
    }

    /// Binds a sampler.
    pub fn set_sampler(&mut self, index: u32, sampler: Sampler) {
        self.samplers.retain(|(known, _)| *known != index);
        self.samplers.push((index, sampler));
    }
}

/// When a dispatch is stopped or refused.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Operations a simdgroup may run, counted when a loop starts over. Simdgroups that run in step are counted together: an
    /// operation counts once for all of them, also for those that have left the loop. A program without
    /// loops is never stopped.
    pub max_steps: u64,
    /// Bytes of working memory (registers, thread and threadgroup memory of all workers).
    pub max_memory: u64,
    /// Looked at when a threadgroup starts and when a loop starts over; set it to stop the dispatch.
    pub cancel: Option<&'a AtomicBool>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self {
            max_steps: u64::MAX,
            max_memory: 8 << 30,
            cancel: None,
        }
    }
}

/// Statistics of a finished dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Threadgroups run.
    pub threadgroups: u64,
    /// Threads run.
    pub threads: u64,
}

/// A dispatch: what its workers share.
pub(crate) struct Job<'a> {
    pub(crate) program: &'a Program,
    pub(crate) grid: &'a Grid,
    limits: &'a Limits<'a>,
    pub(crate) regions: Vec<Region>,
    pub(crate) pointers: Vec<(u32, u64)>,
    /// Addresses of buffers that have a region already, by index.
    placed: Vec<(u32, u64)>,
    /// Handles of textures that have a region already, by index.
    placed_textures: Vec<(u32, u64)>,
    pub(crate) threadgroup_bytes: u32,
    /// The objects of threadgroup memory, if guard zones lie between them.
    pub(crate) threadgroup_objects: Option<Objects>,
}

/// One worker's memory, kept from threadgroup to threadgroup.
pub(crate) struct Worker {
    batches: Vec<Batch>,
    frames: Vec<Buffer>,
    threadgroup: Buffer,
}

impl Program {
    /// Runs the kernel over a grid. What it writes is in the bindings afterwards, also after a fault.
    pub fn run(
        &self,
        grid: &Grid,
        bindings: &mut Bindings,
        limits: &Limits<'_>,
    ) -> Result<Statistics, RunError> {
        grid.check(self.max_threads)?;
        let job = self.job(grid, bindings, limits)?;
        let workers = rayon::current_num_threads() as u64;
        let batches = GroupBatches::of(self, grid, job.threadgroup_bytes, workers);
        job.check_memory(workers, batches.size, 0)?;
        let groups = job.groups();
        let run = |worker: &mut Worker, batch: u64| {
            let (first, count) = batches.get(batch);
            job.run_groups(worker, first, count, &mut NoObserver)
        };
        let fault = if self.in_order || batches.count() == 1 {
            let mut worker = job.batching_worker(&batches);
            (0..batches.count()).find_map(|at| run(&mut worker, at).err())
        } else {
            (0..batches.count())
                .into_par_iter()
                .map_init(|| job.batching_worker(&batches), run)
                .find_map_first(Result::err)
        };
        match fault {
            Some(fault) => Err(fault.into()),
            None => Ok(Statistics {
                threadgroups: groups,
                threads: grid.threads.iter().map(|&n| u64::from(n)).product(),
            }),
        }
    }

    pub(crate) fn job<'a>(
        &'a self,
        grid: &'a Grid,
        bindings: &mut Bindings,
        limits: &'a Limits<'a>,
    ) -> Result<Job<'a>, RunError> {
        let mut job = Job {
            program: self,
            grid,
            limits,
            regions: vec![Region::nothing()],
            pointers: Vec::new(),
            placed: Vec::new(),
            placed_textures: Vec::new(),
            threadgroup_bytes: self.threadgroup_end,
            threadgroup_objects: self.guarded.as_ref().map(|all| all.threadgroup.clone()),
        };
        for &(reg, pointer) in &self.pointers {
            let address = match pointer {
                Pointer::Static(offset) => THREADGROUP << OFFSET_BITS | u64::from(offset),
                Pointer::Threadgroup(index) => job.threadgroup(bindings, index)?,
                Pointer::Buffer(index) => job.buffer(bindings, index)?,
                Pointer::Constant(index) => job.constant(index),
                Pointer::Texture(index) => job.texture(bindings, index)?,
                Pointer::Sampler(index) => job.sampler(bindings, index)?,
            };
            job.pointers.push((reg, address));
        }
        job.place_members(bindings)?;
        Ok(job)
    }

    fn argument_name(&self, binding: Binding) -> String {
        let found = self
            .arguments
            .iter()
            .find(|argument| argument.binding == binding);
        found.map_or(String::new(), |argument| argument.name.clone())
    }
}

impl Job<'_> {
    fn region(&mut self, region: Region) -> u64 {
        self.regions.push(region);
        (self.regions.len() as u64 - 1) << OFFSET_BITS
    }

    /// Writes the members of argument buffers that the kernel can reach.
    fn place_members(&mut self, bindings: &mut Bindings) -> Result<(), RunError> {
        for member in bindings.members.clone() {
            let known = self.placed.iter().any(|(index, _)| *index == member.index);
            if !known {
                continue;
            }
            let at = self
                .buffer(bindings, member.index)?
                .wrapping_add(member.offset);
            let handle = match member.target {
                Target::Buffer(index) => self.buffer(bindings, index)?,
                Target::Texture(index) => self.texture(bindings, index)?,
                Target::Sampler(index) => self.sampler(bindings, index)?,
            };
            let nothing = Region::nothing();
            let memory = View {
                shared: &self.regions,
                threadgroup: &nothing,
                thread: &nothing,
            };
            let place = memory.place(at, 8, 0, Action::Write);
            let place = place.map_err(|kind| RunError::BadMember {
                name: member.name.clone(),
                why: kind.to_string(),
            })?;
            place.write(Cell::Long, handle);
        }
        Ok(())
    }

    /// The address an index is bound to: all indices that share a buffer point into one region.
    fn buffer(&mut self, bindings: &mut Bindings, index: u32) -> Result<u64, RunError> {
        let member = bindings
            .member_name(Target::Buffer(index))
            .map(str::to_owned);
        let name = self.program.argument_name(Binding::Buffer(index));
        let window = bindings
            .windows
            .iter()
            .find(|window| window.index == index)
            .copied();
        let (of, offset) = window.map_or((index, 0), |window| (window.of, window.offset));
        let placed = self.placed.iter().find(|(known, _)| *known == of);
        if let Some(&(_, address)) = placed {
            return Ok(address.wrapping_add(offset));
        }
        let found = bindings.buffers.iter_mut().find(|(known, _)| *known == of);
        let Some((_, buffer)) = found else {
            return Err(RunError::MissingBuffer { index, name });
        };
        let (base, len, writable) = (buffer.as_mut_ptr(), buffer.len(), buffer.is_writable());
        let name = match member {
            Some(member) => format!("argument \"{member}\""),
            None => format!("buffer {index} (\"{name}\")"),
        };
        // SAFETY: the job borrows the bindings, so the buffer stays where it is and nothing else accesses it; lent memory
        // by the promise of `Buffer::lent`.
        let mut region = unsafe { Region::shared(base, len, writable, name) };
        region.buffer = Some(of);
        let address = self.region(region);
        self.placed.push((of, address));
        Ok(address.wrapping_add(offset))
    }

    /// The handle of a texture: the address of its texels.
    fn texture(&mut self, bindings: &mut Bindings, index: u32) -> Result<u64, RunError> {
        let member = bindings
            .member_name(Target::Texture(index))
            .map(str::to_owned);
        let name = member
            .clone()
            .unwrap_or_else(|| self.program.argument_name(Binding::Texture(index)));
        let same = bindings
            .same_textures
            .iter()
            .find(|(known, _)| *known == index);
        let of = same.map_or(index, |(_, of)| *of);
        let placed = self.placed_textures.iter().find(|(known, _)| *known == of);
        if let Some(&(_, address)) = placed {
            return Ok(address);
        }
        let bad = |why: String| RunError::BadTexture {
            index,
            name: name.clone(),
            why,
        };
        let found = bindings.textures.iter_mut().find(|(known, _)| *known == of);
        let Some((_, texture)) = found else {
            return Err(bad("is not bound".to_owned()));
        };
        let layout = texture.layout;
        layout.shape.check().map_err(&bad)?;
        let (base, len) = (texture.texels.as_mut_ptr(), texture.texels.len());
        if (len as u64) < layout.bytes() {
            let needed = layout.bytes();
            return Err(bad(format!(
                "is {layout}, which is {needed} bytes, and has {len}"
            )));
        }
        let shown = match member {
            Some(member) => format!("texture \"{member}\""),
            None => format!("texture {index} (\"{name}\")"),
        };
        let writable = texture.texels.is_writable();
        // SAFETY: as for buffers.
        let mut region = unsafe { Region::shared(base, len, writable, shown) };
        region.resource = Some(Resource::Texture {
            layout,
            undefined: texture.undefined,
        });
        let address = self.region(region);
        self.placed_textures.push((of, address));
        Ok(address)
    }

    /// The handle of a sampler.
    fn sampler(&mut self, bindings: &Bindings, index: u32) -> Result<u64, RunError> {
        let found = bindings.samplers.iter().find(|(known, _)| *known == index);
        let Some(&(_, sampler)) = found else {
            let name = self.program.argument_name(Binding::Sampler(index));
            return Err(RunError::MissingSampler { index, name });
        };
        let mut region = Region::nothing();
        region.resource = Some(Resource::Sampler(sampler));
        Ok(self.region(region))
    }

    fn constant(&mut self, index: u32) -> u64 {
        let Some(data) = self.program.data.get(index as usize) else {
            return 0;
        };
        let (base, len) = (data.bytes.as_ptr().cast_mut(), data.bytes.len());
        let name = format!("constant data \"{}\"", data.name);
        // SAFETY: the job borrows the program, which does not change; the region is not writable.
        self.region(unsafe { Region::shared(base, len, false, name) })
    }

    fn threadgroup(&mut self, bindings: &Bindings, index: u32) -> Result<u64, RunError> {
        let name = self.program.argument_name(Binding::Threadgroup(index));
        let found = bindings
            .threadgroup
            .iter()
            .find(|(known, _)| *known == index);
        let Some(&(_, bytes)) = found else {
            return Err(RunError::MissingThreadgroupMemory { index, name });
        };
        let start = self.threadgroup_bytes.next_multiple_of(16);
        self.threadgroup_bytes = match &mut self.threadgroup_objects {
            Some(objects) => objects.add(start, bytes, name),
            None => start.saturating_add(bytes),
        };
        Ok(THREADGROUP << OFFSET_BITS | u64::from(start))
    }

    /// Bytes of the smallest texel of a texture, or four.
    pub(crate) fn smallest_texel(&self) -> u32 {
        let texels = self.regions.iter().map(|region| match region.resource {
            Some(Resource::Texture { layout, .. }) => layout.format.bytes,
            _ => 4,
        });
        texels.min().unwrap_or(4).min(4)
    }

    /// Threadgroups of the grid.
    pub(crate) fn groups(&self) -> u64 {
        let counts = self.grid.group_counts();
        counts.iter().map(|&n| u64::from(n)).product()
    }

    /// Simdgroups of a whole threadgroup.
    pub(crate) fn simdgroups(&self) -> u64 {
        let threads: u64 = self
            .grid
            .threadgroup
            .iter()
            .map(|&n| u64::from(n))
            .product();
        threads.div_ceil(32)
    }

    /// Refuses a job that needs too much memory for so many workers, each with so many threadgroups, and `more` bytes
    /// besides.
    pub(crate) fn check_memory(
        &self,
        workers: u64,
        groups: u64,
        more: u64,
    ) -> Result<(), RunError> {
        let p = self.program;
        let registers = u64::from(p.narrow) * 128 + u64::from(p.wide) * 256;
        let simdgroup = registers + u64::from(p.frame) * 32;
        let worker = simdgroup * self.simdgroups() * groups + u64::from(self.threadgroup_bytes);
        let needed = worker.saturating_mul(workers).saturating_add(more);
        if needed > self.limits.max_memory {
            return Err(RunError::TooLarge {
                needed,
                limit: self.limits.max_memory,
            });
        }
        Ok(())
    }

    /// Memory for a worker whose simdgroups run in step as far as that goes.
    pub(crate) fn worker(&self) -> Worker {
        let simdgroups = self.simdgroups() as usize;
        self.worker_of(simdgroups, Batch::size(self.program, simdgroups))
    }

    /// Memory for a worker that runs several threadgroups in one batch.
    fn batching_worker(&self, batches: &GroupBatches) -> Worker {
        let simdgroups = self.simdgroups() as usize * batches.size as usize;
        self.worker_of(simdgroups, Batch::size(self.program, simdgroups))
    }

    /// Memory for a worker whose simdgroups run by themselves, one after the other.
    pub(crate) fn worker_in_turn(&self) -> Worker {
        self.worker_of(self.simdgroups() as usize, 1)
    }

    /// Memory for so many simdgroups in batches.
    fn worker_of(&self, count: usize, batch: usize) -> Worker {
        let frame = self.program.frame as usize * 32;
        let new = |number: usize| {
            Batch::new(
                self.program,
                &self.pointers,
                number,
                batch.min(count - number),
            )
        };
        Worker {
            batches: (0..count).step_by(batch).map(new).collect(),
            frames: match frame {
                0 => Vec::new(),
                _ => (0..count).map(|_| Buffer::zeroed(frame)).collect(),
            },
            threadgroup: Buffer::zeroed(self.threadgroup_bytes as usize),
        }
    }

    /// Runs one threadgroup.
    pub(crate) fn run_group<O: Observer>(
        &self,
        worker: &mut Worker,
        number: u64,
        observer: &mut O,
    ) -> Result<(), Box<Fault>> {
        self.run_groups(worker, number, 1, observer)
    }

    /// Runs threadgroups that follow each other, those after the first whole like it: each batch of simdgroups until a
    /// barrier or its end, in turns, until all have ended.
    fn run_groups<O: Observer>(
        &self,
        worker: &mut Worker,
        number: u64,
        count: u64,
        observer: &mut O,
    ) -> Result<(), Box<Fault>> {
        let group = self.grid.group(number);
        let cancelled = |cancel: &AtomicBool| cancel.load(Ordering::Relaxed);
        if self.limits.cancel.is_some_and(cancelled) {
            return Err(Box::new(Fault {
                kernel: self.program.name.clone(),
                kind: FaultKind::Cancelled,
                place: None,
                thread: group.origin,
            }));
        }
        let threads = group.threads() * count as u32;
        worker.threadgroup.bytes_mut().fill(0);
        let (base, len) = (worker.threadgroup.as_mut_ptr(), worker.threadgroup.len());
        // SAFETY: the worker's memory is only accessed through the region until the threadgroup has ended.
        let threadgroup = unsafe { Region::shared(base, len, true, "threadgroup memory") };
        let frame_bytes = self.program.frame;
        let frames = worker.frames.iter_mut().map(|frame| {
            frame.bytes_mut().fill(0);
            // SAFETY: as above; a frame has 32 times as many bytes (`worker_of`).
            unsafe { Region::per_lane(frame.as_mut_ptr(), frame_bytes, "thread memory") }
        });
        let frames: Vec<Region> = frames.collect();
        for batch in &mut worker.batches {
            batch.start(self.program, &self.pointers, threads);
        }
        observer.on_threadgroup_start(number);
        let context = ExecutionContext {
            program: self.program,
            memory: View {
                shared: &self.regions,
                threadgroup: &threadgroup,
                thread: &Region::nothing(),
            },
            frames: &frames,
            grid_position: GridPosition {
                grid: self.grid,
                group,
                number,
                simdgroups: self.simdgroups() as u32,
                simdgroup: 0,
            },
            alone: false,
            max_steps: self.limits.max_steps,
            cancel: self.limits.cancel,
        };
        while self.run_round(&mut worker.batches, &context, observer)? {
            observer.on_threadgroup_barrier(&worker.batches, &context.grid_position);
        }
        Ok(())
    }

    /// Runs every batch to its next barrier or its end. Returns true if one has not ended.
    fn run_round<O: Observer>(
        &self,
        batches: &mut Vec<Batch>,
        context: &ExecutionContext<'_>,
        observer: &mut O,
    ) -> Result<bool, Box<Fault>> {
        let mut next = 0;
        while next < batches.len() {
            let alone = batches.len() == 1;
            let batch = &mut batches[next];
            if batch.progress.finished || batch.progress.at_barrier {
                next += 1;
                continue;
            }
            let context = ExecutionContext {
                alone,
                ..context.of(batch)
            };
            let stop = batch.run(&context, observer);
            match stop.map_err(|trap| self.fault(trap, &context.of(batch)))? {
                Stop::Barrier => batch.progress.at_barrier = true,
                Stop::Finished => {}
                Stop::Parted => {
                    let parts = batch.split();
                    batches.splice(next..=next, parts);
                }
            }
        }
        let mut left = false;
        for batch in batches {
            batch.progress.at_barrier = false;
            left |= !batch.progress.finished;
        }
        Ok(left)
    }

    fn fault(&self, trap: Trap, context: &ExecutionContext<'_>) -> Box<Fault> {
        Box::new(Fault {
            kernel: self.program.name.clone(),
            kind: trap.kind,
            place: self.program.place(trap.position),
            thread: context.grid_position.thread(trap.lane as u32),
        })
    }
}
