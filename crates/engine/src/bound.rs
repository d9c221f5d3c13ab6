//! What a launch binds, on a device.

use assay_device::{Binding, BufferId, Device, Dispatch, Error, PipelineId, Storage};
use assay_launch::{Extent, Inputs};

/// A dispatch with buffers of its own.
#[derive(Debug)]
pub struct Bound {
    /// The dispatch.
    pub dispatch: Dispatch,
    /// Its buffers, by index.
    pub buffers: Vec<(u32, BufferId)>,
}

impl Bound {
    /// A dispatch of a pipeline with these inputs. Buffers are made and not filled.
    pub fn new(
        device: &mut dyn Device,
        pipeline: PipelineId,
        (extent, threadgroup): (Extent, [u32; 3]),
        inputs: &Inputs,
    ) -> Result<Bound, Error> {
        let mut dispatch = Dispatch::new(pipeline, extent, threadgroup);
        let mut buffers = Vec::with_capacity(inputs.buffers.len());
        for input in &inputs.buffers {
            let made = device.buffer(input.size(), Storage::Shared);
            let buffer = match made {
                Ok(buffer) => buffer,
                Err(error) => {
                    release(device, &buffers)?;
                    return Err(error);
                }
            };
            buffers.push((input.index, buffer));
            dispatch = dispatch.bind(input.index, Binding::Buffer { buffer, offset: 0 });
            if input.is_unwritten {
                dispatch.unwritten.push(input.index);
            }
        }
        for &(index, of) in &inputs.aliases {
            if let Some(&(_, buffer)) = buffers.iter().find(|(known, _)| *known == of) {
                dispatch = dispatch.bind(index, Binding::Buffer { buffer, offset: 0 });
            }
        }
        for (index, bytes) in &inputs.bytes {
            dispatch = dispatch.bind(*index, Binding::Bytes(bytes.clone()));
        }
        for (index, bytes) in &inputs.memory {
            dispatch = dispatch.bind(*index, Binding::ThreadgroupMemory(*bytes));
        }
        Ok(Bound { dispatch, buffers })
    }

    /// Gives the buffers the contents they start with.
    pub fn fill(&self, device: &mut dyn Device, inputs: &Inputs) -> Result<(), Error> {
        fill(device, &self.buffers, inputs)
    }

    /// What the buffers hold, by index.
    pub fn contents(&self, device: &mut dyn Device) -> Result<Vec<(u32, Vec<u8>)>, Error> {
        let buffers = self.buffers.iter();
        buffers
            .map(|(index, buffer)| Ok((*index, device.contents(*buffer)?)))
            .collect()
    }

    /// Gives the buffers back.
    pub fn release(self, device: &mut dyn Device) -> Result<(), Error> {
        release(device, &self.buffers)
    }
}

/// Gives the buffers of inputs, in their order, the contents they start with.
pub fn fill(
    device: &mut dyn Device,
    buffers: &[(u32, BufferId)],
    inputs: &Inputs,
) -> Result<(), Error> {
    for (input, (_, buffer)) in inputs.buffers.iter().zip(buffers) {
        device.write(*buffer, 0, &input.data())?;
    }
    Ok(())
}

fn release(device: &mut dyn Device, buffers: &[(u32, BufferId)]) -> Result<(), Error> {
    buffers
        .iter()
        .try_for_each(|(_, buffer)| device.release(*buffer))
}
