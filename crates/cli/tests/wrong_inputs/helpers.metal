#include <metal_stdlib>
inline float helper(float x) { return x * 2; }
