// How often each brightness occurs: counted in threadgroup memory, then added up in a texture of one row.
// assay: launch histogram --size W=64 --size H=48 --grid W,H --threadgroup 16,16 --texture 0=random:rgba8Unorm:WxH --texture 1=zeros:r32Uint:256
#include <metal_stdlib>
using namespace metal;

kernel void histogram(texture2d<float, access::read> source [[texture(0)]],
                      texture1d<uint, access::read_write> counts [[texture(1)]],
                      uint2 at [[thread_position_in_grid]],
                      uint index [[thread_index_in_threadgroup]],
                      uint2 threads [[threads_per_threadgroup]]) {
    threadgroup atomic_uint bins[256];
    uint all = threads.x * threads.y;
    for (uint bin = index; bin < 256; bin += all)
        atomic_store_explicit(&bins[bin], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (at.x < source.get_width() && at.y < source.get_height()) {
        float grey = dot(source.read(at).rgb, float3(0.2126, 0.7152, 0.0722));
        atomic_fetch_add_explicit(&bins[uint(grey * 255.0 + 0.5)], 1, memory_order_relaxed);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint bin = index; bin < 256; bin += all) {
        uint count = atomic_load_explicit(&bins[bin], memory_order_relaxed);
        if (count != 0) counts.atomic_fetch_add(bin, uint4(count));
    }
}
