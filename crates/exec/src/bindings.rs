//! What a dispatch binds, and the regions of memory it becomes.

use crate::buffer::Buffer;
use crate::code::Cell;
use crate::dispatch::Job;
use crate::error::RunError;
use crate::memory::{Action, OFFSET_BITS, Region, THREADGROUP, View};
use crate::texture::{BoundTexture, Resource};
use assay_ssa::Binding;
use assay_texture::Sampler;

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
    residents: Vec<Resident>,
    /// Indices of buffers that nothing has written.
    unwritten: Vec<u32>,
}

/// Memory that is reached by addresses that stand in other memory, whether or not an index names it too.
#[derive(Debug)]
struct Resident {
    number: u32,
    name: String,
    memory: ResidentMemory,
}

#[derive(Debug)]
enum ResidentMemory {
    Buffer(Buffer),
    Texture(BoundTexture),
    Sampler(Sampler),
}

/// Where the memory of an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// Bound at this index.
    Index(u32),
    /// Resident, with this number.
    Resident(u32),
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
    of: Owner,
    offset: u64,
}

/// Numbers of residents are below this one.
pub const MOST_RESIDENTS: u32 = 0xe_0000;

/// The address of a resident with this number, as it stands in memory. Bytes further on are added to it.
pub const fn resident_address(number: u32) -> u64 {
    (number as u64) << OFFSET_BITS
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
        self.bind(index, Owner::Index(of), offset);
    }

    /// Binds an index to a place in a resident.
    pub fn share_resident(&mut self, index: u32, number: u32, offset: u64) {
        self.bind(index, Owner::Resident(number), offset);
    }

    fn bind(&mut self, index: u32, of: Owner, offset: u64) {
        self.windows.retain(|window| window.index != index);
        self.windows.push(Window { index, of, offset });
    }

    /// Makes memory reachable by [`resident_address`] of a number from 1 to [`MOST_RESIDENTS`], for a program that
    /// [follows pointers](crate::Program::follows_pointers). Numbers must differ.
    ///
    /// ```
    /// use assay_exec::{Bindings, Buffer, resident_address};
    /// let mut bindings = Bindings::new();
    /// bindings.set_resident(7, Buffer::from_slice(&[1.0f32, 2.0]), "weights");
    /// // What a kernel finds in a buffer of pointers: the address of the 2.0.
    /// bindings.set(0, Buffer::from_slice(&[resident_address(7) + 4]));
    /// ```
    pub fn set_resident(&mut self, number: u32, buffer: Buffer, name: &str) {
        self.add_resident(number, name, ResidentMemory::Buffer(buffer));
    }

    /// The same for a texture, whose handle is that address.
    pub fn set_resident_texture(&mut self, number: u32, texture: BoundTexture, name: &str) {
        self.add_resident(number, name, ResidentMemory::Texture(texture));
    }

    /// The same for a sampler.
    pub fn set_resident_sampler(&mut self, number: u32, sampler: Sampler) {
        self.add_resident(number, "sampler", ResidentMemory::Sampler(sampler));
    }

    fn add_resident(&mut self, number: u32, name: &str, memory: ResidentMemory) {
        if number == 0 || number >= MOST_RESIDENTS {
            return;
        }
        let name = name.to_owned();
        self.residents.push(Resident {
            number,
            name,
            memory,
        });
    }

    /// Says that nothing has written the buffer of an index: a check reports reads of what the kernel has not written itself.
    pub fn set_unwritten(&mut self, index: u32) {
        self.unwritten.push(index);
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

/// The region of a texture's texels, if there are as many as its layout says.
fn texture_region(texture: &mut BoundTexture, name: String) -> Result<Region, String> {
    let layout = texture.layout;
    layout.shape.check()?;
    let (len, needed) = (texture.texels.len(), layout.bytes());
    if (len as u64) < needed {
        return Err(format!(
            "is {layout}, which is {needed} bytes, and has {len}"
        ));
    }
    let undefined = texture.undefined;
    // SAFETY: as for buffers.
    let mut region = unsafe { Region::of_buffer(&mut texture.texels, name) };
    region.resource = Some(Resource::Texture { layout, undefined });
    Ok(region)
}

fn sampler_region(sampler: Sampler) -> Region {
    let mut region = Region::nothing();
    region.resource = Some(Resource::Sampler(sampler));
    region
}

impl Job<'_> {
    /// Gives each resident the region of its number. Done before any other region is made.
    pub(crate) fn place_residents(&mut self, bindings: &mut Bindings) -> Result<(), RunError> {
        let numbers = bindings.residents.iter().map(|resident| resident.number);
        let last = numbers.max().unwrap_or(0) as usize;
        self.regions.resize_with(last + 1, Region::nothing);
        for resident in &mut bindings.residents {
            let name = resident.name.clone();
            let region = match &mut resident.memory {
                ResidentMemory::Buffer(buffer) => {
                    // SAFETY: as for the buffers of indices.
                    let mut region = unsafe { Region::of_buffer(buffer, name) };
                    region.is_buffer = true;
                    region
                }
                ResidentMemory::Texture(texture) => {
                    let bad = |why: String| RunError::BadMember {
                        name: name.clone(),
                        why,
                    };
                    texture_region(texture, name.clone()).map_err(bad)?
                }
                ResidentMemory::Sampler(sampler) => sampler_region(*sampler),
            };
            self.regions[resident.number as usize] = region;
        }
        Ok(())
    }

    /// Writes the members of argument buffers that the kernel can reach.
    pub(crate) fn place_members(&mut self, bindings: &mut Bindings) -> Result<(), RunError> {
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
    pub(crate) fn buffer(&mut self, bindings: &mut Bindings, index: u32) -> Result<u64, RunError> {
        let member = bindings
            .member_name(Target::Buffer(index))
            .map(str::to_owned);
        let name = self.program.argument_name(Binding::Buffer(index));
        let window = bindings
            .windows
            .iter()
            .find(|window| window.index == index)
            .copied();
        let (of, offset) = match window.map(|window| (window.of, window.offset)) {
            Some((Owner::Resident(number), offset)) => {
                if let Some(region) = self.regions.get_mut(number as usize)
                    && region.buffer.is_none()
                {
                    region.buffer = Some(index);
                    region.name = format!("buffer {index} (\"{name}\")").into();
                }
                return Ok(resident_address(number).wrapping_add(offset));
            }
            Some((Owner::Index(of), offset)) => (of, offset),
            None => (index, 0),
        };
        let placed = self.placed.iter().find(|(known, _)| *known == of);
        if let Some(&(_, address)) = placed {
            return Ok(address.wrapping_add(offset));
        }
        let found = bindings.buffers.iter_mut().find(|(known, _)| *known == of);
        let Some((_, buffer)) = found else {
            return Err(RunError::MissingBuffer { index, name });
        };
        let name = match member {
            Some(member) => format!("argument \"{member}\""),
            None => format!("buffer {index} (\"{name}\")"),
        };
        // SAFETY: the job borrows the bindings, so the buffer stays where it is and nothing else accesses it; lent memory
        // by the promise of `Buffer::lent`.
        let mut region = unsafe { Region::of_buffer(buffer, name) };
        region.buffer = Some(of);
        region.is_buffer = true;
        region.unwritten = bindings.unwritten.contains(&of);
        let address = self.region(region);
        self.placed.push((of, address));
        Ok(address.wrapping_add(offset))
    }

    /// The handle of a texture: the address of its texels.
    pub(crate) fn texture(&mut self, bindings: &mut Bindings, index: u32) -> Result<u64, RunError> {
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
        let shown = match member {
            Some(member) => format!("texture \"{member}\""),
            None => format!("texture {index} (\"{name}\")"),
        };
        let region = texture_region(texture, shown).map_err(&bad)?;
        let address = self.region(region);
        self.placed_textures.push((of, address));
        Ok(address)
    }

    /// The handle of a sampler.
    pub(crate) fn sampler(&mut self, bindings: &Bindings, index: u32) -> Result<u64, RunError> {
        let found = bindings.samplers.iter().find(|(known, _)| *known == index);
        let Some(&(_, sampler)) = found else {
            let name = self.program.argument_name(Binding::Sampler(index));
            return Err(RunError::MissingSampler { index, name });
        };
        Ok(self.region(sampler_region(sampler)))
    }

    pub(crate) fn constant(&mut self, index: u32) -> u64 {
        let Some(data) = self.program.data.get(index as usize) else {
            return 0;
        };
        let (base, len) = (data.bytes.as_ptr().cast_mut(), data.bytes.len());
        let name = format!("constant data \"{}\"", data.name);
        // SAFETY: the job borrows the program, which does not change; the region is not writable.
        self.region(unsafe { Region::shared(base, len, false, name) })
    }

    pub(crate) fn threadgroup(&mut self, bindings: &Bindings, index: u32) -> Result<u64, RunError> {
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
}
