// Small dense network: convolutions that each see all channels before them, the mean over the image, a dense layer. Its passes are in kernel.toml.
#include <metal_stdlib>
using namespace metal;
#include "layers.h"
