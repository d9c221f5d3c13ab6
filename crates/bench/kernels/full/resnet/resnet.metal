// Small residual network: a convolution, a block of two with a shortcut, the mean over the image, a dense layer. Its passes are in kernel.toml.
#include <metal_stdlib>
using namespace metal;
#include "layers.h"
