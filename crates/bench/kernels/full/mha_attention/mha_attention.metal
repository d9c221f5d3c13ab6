// Attention of several heads with all four projections. Its passes are in kernel.toml.
#include <metal_stdlib>
using namespace metal;
#include "layers.h"
