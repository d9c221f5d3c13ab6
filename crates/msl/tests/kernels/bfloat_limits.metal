// The limits and constants of bfloat.
// kernels: k
#include <metal_stdlib>
using namespace metal;
kernel void k(device float* o) { o[0] = HUGE_VALF + float(HUGE_VALH) + float(HUGE_VALBF); o[1] = FLT_MAX + float(HALF_MAX) + float(BFLT_MAX) + float(BFLT_EPSILON) + float(BFLT_MIN) + float(HALF_EPSILON) + float(M_PI_BF) + M_E_F + float(M_LN2_H) + float(M_SQRT2_BF); o[2] = INFINITY + NAN; o[3] = float(numeric_limits<bfloat>::max()) + float(numeric_limits<bfloat>::infinity()); o[4]= BFLT_DIG + BFLT_MANT_DIG + BFLT_MAX_EXP + HALF_DIG; }
