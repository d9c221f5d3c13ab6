#include "missing.h"
kernel void k(device float *x) {}
