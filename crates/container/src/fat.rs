//! Fat archives, magic `0xCBFEBABE`: the same functions for several targets.
//!
//! `MTLBinaryArchive` and `metal-tt` write them. The header is big-endian: magic,
//! number of slices, and per slice CPU type, subtype, offset, size and alignment.
//! A slice is a metallib (AIR) or a Mach-O (machine code).

use crate::error::{Error, Problem};
use crate::gpu::Target;
use crate::image::Image;
use crate::macho;
use crate::mtlb::{self, Metallib};
use crate::view::View;

/// The first four bytes of a fat GPU archive.
pub const MAGIC: &[u8; 4] = &[0xCB, 0xFE, 0xBA, 0xBE];

const HEADER_SIZE: u64 = 8;
const RECORD_SIZE: u64 = 20;

/// No real archive comes near; the limit bounds the work on hostile ones.
const MOST_SLICES: u32 = 1024;

/// A fat archive.
#[derive(Clone, Debug)]
pub struct Archive<'a> {
    /// Its slices, in the file's order.
    pub slices: Vec<Slice<'a>>,
}

/// The code of an archive for one target.
#[derive(Clone, Debug)]
pub struct Slice<'a> {
    /// What it is for.
    pub target: Target,
    /// Where its record stands in the header.
    pub record_offset: u64,
    /// Its bytes.
    pub view: View<'a>,
    /// What it holds.
    pub content: SliceContent<'a>,
}

/// What a slice holds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SliceContent<'a> {
    /// Machine code.
    Image(Image<'a>),
    /// AIR.
    Metallib(Metallib<'a>),
    /// Something this crate does not read, such as code for an AMD GPU.
    Opaque,
}

impl<'a> Archive<'a> {
    /// Reads a fat archive.
    pub fn read(view: View<'a>) -> Result<Self, Error> {
        const WHAT: &str = "the archive header";
        if !view.bytes().starts_with(MAGIC) {
            return Err(Error::malformed(view.offset(0), "not a fat GPU archive"));
        }
        let count = view.u32_be(4, WHAT)?;
        if count > MOST_SLICES {
            let problem = Problem::TooMany {
                what: "slices",
                count: count.into(),
                limit: MOST_SLICES.into(),
            };
            return Err(Error::new(view.offset(4), problem));
        }
        let records = view.slice(HEADER_SIZE, u64::from(count) * RECORD_SIZE, WHAT)?;
        let mut places = Vec::with_capacity(count as usize);
        for index in 0..u64::from(count) {
            let record = records.slice(index * RECORD_SIZE, RECORD_SIZE, WHAT)?;
            places.push(place(view, record)?);
        }
        check_overlap(&places)?;
        let slices = places
            .into_iter()
            .map(|(target, record_offset, view)| {
                Ok(Slice {
                    target,
                    record_offset,
                    view,
                    content: content(target, view)?,
                })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let mut archive = Archive { slices };
        archive.name_functions();
        Ok(archive)
    }

    /// The machine code, one image per GPU.
    pub fn images(&self) -> impl Iterator<Item = &Image<'a>> {
        self.slices.iter().filter_map(|slice| match &slice.content {
            SliceContent::Image(image) => Some(image),
            _ => None,
        })
    }

    /// Metallibs: AIR slices, and those stored beside machine code.
    pub fn metallibs(&self) -> impl Iterator<Item = &Metallib<'a>> {
        self.slices.iter().flat_map(|slice| match &slice.content {
            SliceContent::Metallib(library) => std::slice::from_ref(library),
            SliceContent::Image(image) => &image.metallibs,
            SliceContent::Opaque => &[],
        })
    }

    /// Machine code is anonymous; the AIR slice of the same archive knows the names.
    fn name_functions(&mut self) {
        let libraries: Vec<Metallib<'a>> = self.metallibs().cloned().collect();
        let libraries: Vec<&Metallib<'a>> = libraries.iter().collect();
        for slice in &mut self.slices {
            if let SliceContent::Image(image) = &mut slice.content {
                image.name_functions(&libraries);
            }
        }
    }
}

type Place<'a> = (Target, u64, View<'a>);

fn place<'a>(archive: View<'a>, record: View<'a>) -> Result<Place<'a>, Error> {
    const WHAT: &str = "a slice record";
    let target = Target::new(record.u32_be(0, WHAT)?, record.u32_be(4, WHAT)?);
    let start = record.u32_be(8, WHAT)?;
    let size = record.u32_be(12, WHAT)?;
    let stated_at = record.offset(8);
    let bytes = archive.part(start.into(), size.into(), stated_at, || {
        format!("the slice for {target}")
    })?;
    Ok((target, record.offset(0), bytes))
}

fn check_overlap(places: &[Place<'_>]) -> Result<(), Error> {
    let mut sorted: Vec<_> = places.iter().filter(|place| !place.2.is_empty()).collect();
    sorted.sort_by_key(|place| place.2.offset(0));
    let header = HEADER_SIZE + RECORD_SIZE * places.len() as u64;
    let mut before = ("the archive header".to_owned(), header);
    for (target, record_offset, view) in sorted {
        let name = format!("the slice for {target}");
        if view.offset(0) < before.1 {
            let problem = Problem::Overlap {
                first: before.0,
                second: name,
            };
            return Err(Error::new(record_offset + 8, problem));
        }
        before = (name, view.range().end);
    }
    Ok(())
}

fn content<'a>(target: Target, view: View<'a>) -> Result<SliceContent<'a>, Error> {
    if view.bytes().starts_with(mtlb::MAGIC) {
        return Ok(SliceContent::Metallib(Metallib::read(view)?));
    }
    let apple = matches!(target, Target::AppleGpu(_));
    if apple {
        return Ok(SliceContent::Image(Image::read(view)?));
    }
    if matches!(target, Target::Air(_)) && macho::is_macho(view.bytes()) {
        let macho = macho::MachO::read(view)?;
        let library = macho
            .sections
            .iter()
            .find(|section| section.data.bytes().starts_with(mtlb::MAGIC));
        if let Some(section) = library {
            return Ok(SliceContent::Metallib(Metallib::read(section.data)?));
        }
    }
    Ok(SliceContent::Opaque)
}
