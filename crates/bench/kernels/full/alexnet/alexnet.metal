// Small image classifier: three times convolution, largest of 2 x 2 and relu, then two dense layers. Its passes are in kernel.toml.
#include <metal_stdlib>
using namespace metal;
#include "layers.h"
