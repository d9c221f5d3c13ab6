#include <metal_stdlib>
using namespace metal;

// More values are the same for all threads than uniforms hold, and some of them are made
// from others for which there is no room.
struct Many {
    uint of[256];
};

#define ONE(n) sum = (sum ^ many.of[n]) * (many.of[n] + n);
#define FOUR(n) ONE(n) ONE(n + 1) ONE(n + 2) ONE(n + 3)
#define SIXTEEN(n) FOUR(n) FOUR(n + 4) FOUR(n + 8) FOUR(n + 12)
#define SIXTY_FOUR(n) SIXTEEN(n) SIXTEEN(n + 16) SIXTEEN(n + 32) SIXTEEN(n + 48)

kernel void more_than_uniforms_hold(constant Many& many [[buffer(0)]],
                                    device uint* out [[buffer(1)]],
                                    uint i [[thread_position_in_grid]],
                                    uint threads [[threads_per_grid]],
                                    uint groups [[threadgroups_per_grid]]) {
    uint sum = i * threads + groups;
    SIXTY_FOUR(0)
    SIXTY_FOUR(64)
    SIXTY_FOUR(128)
    SIXTY_FOUR(192)
    out[i] = sum;
}
