use objc2_foundation::NSString;
use objc2_metal::*;
use std::ptr::NonNull;

fn main() -> Result<(), String> {
    let device = MTLCreateSystemDefaultDevice().ok_or("no device")?;
    let source = std::fs::read_to_string("../scale.metal").map_err(|error| error.to_string())?;
    let library = device.newLibraryWithSource_options_error(&NSString::from_str(&source), None).map_err(|error| error.to_string())?;
    let function = library.newFunctionWithName(&NSString::from_str("scale")).ok_or("no kernel named scale")?;
    let pipeline = device.newComputePipelineStateWithFunction_error(&function).map_err(|error| error.to_string())?;
    let (numbers, by) = ([1.0f32, 2.0, 3.0, 4.0], 10.0f32);
    let size = |width| MTLSize { width, height: 1, depth: 1 };
    let queue = device.newCommandQueue().ok_or("no queue")?;
    let commands = queue.commandBuffer().ok_or("no command buffer")?;
    let encoder = commands.computeCommandEncoder().ok_or("no encoder")?;
    // SAFETY: the addresses have as many bytes as is said, and the buffer outlives the work.
    let result = unsafe {
        let x = device
            .newBufferWithBytes_length_options(NonNull::from(&numbers).cast(), 16, MTLResourceOptions::StorageModeShared)
            .ok_or("no buffer")?;
        encoder.setComputePipelineState(&pipeline);
        encoder.setBuffer_offset_atIndex(Some(&x), 0, 0);
        encoder.setBytes_length_atIndex(NonNull::from(&by).cast(), 4, 1);
        encoder.dispatchThreads_threadsPerThreadgroup(size(4), size(4));
        encoder.endEncoding();
        commands.commit();
        commands.waitUntilCompleted();
        x.contents().cast::<[f32; 4]>().read()
    };
    println!("{result:?}");
    Ok(())
}
