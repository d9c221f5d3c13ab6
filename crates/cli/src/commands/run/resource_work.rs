//! Textures, samplers and argument buffers of a run: bound before it, written to files after it.

use super::work::{Work, failure};
use crate::failure::Failure;
use assay_device::{Binding, BufferId, Dispatch, Storage};
use assay_launch::npy::Array;
use assay_launch::resources::{self, BoundTexture, MemberContents};
use assay_launch::texture::Contents;
use std::path::Path;

impl Work<'_> {
    /// Adds textures, samplers and argument buffers to a dispatch.
    pub(super) fn bind_resources(&mut self, mut dispatch: Dispatch) -> Result<Dispatch, Failure> {
        for (index, sampler) in &self.resources.samplers {
            dispatch = dispatch.bind(*index, Binding::Sampler(*sampler));
        }
        for (index, texture) in &self.resources.textures {
            let BoundTexture::Contents(contents) = texture else {
                continue;
            };
            let size = contents.data.len() as u64;
            let device = self.engine.device();
            let buffer = device.buffer(size, Storage::Shared).map_err(failure)?;
            self.textures.push((*index, buffer));
        }
        for (index, _) in &self.resources.textures {
            let (buffer, contents) = self.texture(*index)?;
            let binding = Binding::Texture {
                buffer,
                layout: contents.layout,
                undefined: contents.undefined,
            };
            dispatch = dispatch.bind(*index, binding);
        }
        self.bind_members(dispatch)
    }

    /// Adds argument buffers and what their members are.
    fn bind_members(&mut self, mut dispatch: Dispatch) -> Result<Dispatch, Failure> {
        let device = self.engine.device();
        for (index, bytes) in &self.resources.argument_buffers {
            let bound = |place: &u32| place == index;
            let mut given = self.inputs.buffers.iter().map(|buffer| &buffer.index);
            if given.any(bound) || self.inputs.bytes.iter().any(|(given, _)| bound(given)) {
                continue;
            }
            let size = bytes.len() as u64;
            let buffer = device.buffer(size, Storage::Shared).map_err(failure)?;
            self.argument_buffers.push((*index, buffer));
            dispatch = dispatch.bind(*index, Binding::Buffer { buffer, offset: 0 });
        }
        for (place, member) in (0..).zip(&self.resources.members) {
            let buffer = match member.contents.data() {
                Some(data) => {
                    let size = data.len() as u64;
                    let buffer = device.buffer(size, Storage::Shared).map_err(failure)?;
                    self.members.push((place, buffer));
                    Some(buffer)
                }
                None => None,
            };
            let binding = match (&member.contents, buffer) {
                (MemberContents::Sampler(sampler), _) => Binding::Sampler(*sampler),
                (MemberContents::Texture(contents), Some(buffer)) => Binding::Texture {
                    buffer,
                    layout: contents.layout,
                    undefined: contents.undefined,
                },
                (_, Some(buffer)) => Binding::Buffer { buffer, offset: 0 },
                (_, None) => continue,
            };
            dispatch.members.push(assay_device::Member {
                index: member.index,
                offset: member.offset,
                name: member.name.clone(),
                binding,
            });
        }
        Ok(dispatch)
    }

    /// Gives textures and argument buffers the contents they start with.
    pub(super) fn fill_resources(&mut self) -> Result<(), Failure> {
        for (place, buffer) in &self.members {
            let member = self.resources.members.get(*place as usize);
            let data = member.and_then(|member| member.contents.data());
            let written = self
                .engine
                .device()
                .write(*buffer, 0, data.unwrap_or_default());
            written.map_err(failure)?;
        }
        for (index, buffer) in &self.argument_buffers {
            let mut all = self.resources.argument_buffers.iter();
            let bytes = all
                .find(|(known, _)| known == index)
                .map(|(_, bytes)| bytes.as_slice());
            let written = self
                .engine
                .device()
                .write(*buffer, 0, bytes.unwrap_or_default());
            written.map_err(failure)?;
        }
        for (index, buffer) in &self.textures {
            let (_, contents) = self.texture(*index)?;
            let data = contents.data.clone();
            let written = self.engine.device().write(*buffer, 0, &data);
            written.map_err(failure)?;
        }
        Ok(())
    }

    /// The texels bound at an index, and what they were before the run.
    pub(super) fn texture(&self, index: u32) -> Result<(BufferId, &Contents), Failure> {
        let none = |index: u32| Failure::usage(format!("no --texture has index {index}"));
        let find = |index: u32| {
            let mut all = self.resources.textures.iter();
            let found = all.find(|(known, _)| *known == index);
            found.map(|(_, texture)| texture).ok_or_else(|| none(index))
        };
        let owner = match find(index)? {
            BoundTexture::Same(of) => *of,
            BoundTexture::Contents(_) => index,
        };
        let buffer = self.textures.iter().find(|(known, _)| *known == owner);
        match (find(owner)?, buffer) {
            (BoundTexture::Contents(contents), Some((_, buffer))) => Ok((*buffer, contents)),
            _ => Err(none(owner)),
        }
    }

    /// What a member of an argument buffer holds, as the bytes of a file.
    pub(super) fn member_file(&mut self, name: &str, path: &Path) -> Result<Vec<u8>, Failure> {
        let none = || {
            Failure::usage(format!(
                "--out {name}: no --argument or --tensor has this name"
            ))
        };
        let mut members = self.resources.members.iter();
        let place = members
            .position(|member| member.name == name)
            .ok_or_else(none)?;
        let known = self
            .members
            .iter()
            .find(|(known, _)| *known as usize == place);
        let buffer = known.map(|(_, buffer)| *buffer).ok_or_else(none)?;
        let data = self.engine.device().contents(buffer).map_err(failure)?;
        let member = self.resources.members.get(place);
        match member.map(|member| &member.contents) {
            Some(MemberContents::Buffer(element, _)) => {
                let flat = || vec![(data.len() / element.size) as u64];
                let shape = member.and_then(|member| member.shape.clone());
                let array = Array {
                    descr: element.descr.to_owned(),
                    shape: shape.unwrap_or_else(flat),
                    data,
                };
                Ok(array.to_bytes())
            }
            Some(MemberContents::Texture(contents)) => {
                Ok(resources::texture_file(path, &contents.layout, &data, 0)?)
            }
            _ => Err(none()),
        }
    }
}
