// Decoder layer: norm, grouped-query attention with rotary positions, norm, gated dense layer, each added to its input. Its passes are in kernel.toml.
#include <metal_stdlib>
using namespace metal;
#include "layers.h"
