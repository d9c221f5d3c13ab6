// Grouped-query attention with rotary positions and both projections. Its passes are in kernel.toml.
#include <metal_stdlib>
using namespace metal;
#include "layers.h"
