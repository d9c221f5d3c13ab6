// Encoder block: layer norm, attention, layer norm, dense layer with gelu, each added to its input. Its passes are in kernel.toml.
#include <metal_stdlib>
using namespace metal;
#include "layers.h"
