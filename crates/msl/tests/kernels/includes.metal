// Headers of the user, nested, with their macros; the library's own are known by name.
// options: --lines
// in module
// has !DIFile(filename: "*include/deep.h"
// has !DIFile(filename: "*includes.metal"
#include <metal_stdlib>
#include <metal_math>
#include <metal_atomic>
#include <metal_simdgroup_matrix>
#include "deep.h"
#include "deep.h"
using namespace metal;

kernel void twice(device float* a, uint i [[thread_position_in_grid]]) { a[i] = scaled(a[i]); }
