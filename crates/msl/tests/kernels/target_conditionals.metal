// A source shared with the host asks about its target.
// kernels: k
#include <metal_stdlib>
using namespace metal;
#include <TargetConditionals.h>
#if TARGET_OS_OSX
#define V 1
#else
#define V 2
#endif
#if TARGET_OS_IPHONE || TARGET_OS_SIMULATOR
#error no
#endif
kernel void k(device float* o) { o[0] = V + TARGET_OS_MAC; }
