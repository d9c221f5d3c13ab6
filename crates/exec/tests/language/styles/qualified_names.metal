#include <metal_stdlib>
enum class Mode : metal::uint8_t { Add = 1, Mul = 2 };
struct Params {
  uint32_t n;
  float scale;
  Mode mode;
  metal::packed_float3 shift;
};
static_assert(sizeof(Params) == 24, "layout");
template <Mode M> inline float apply(float a, float b);
template <> inline float apply<Mode::Add>(float a, float b) { return a + b; }
template <> inline float apply<Mode::Mul>(float a, float b) { return a * b; }
kernel void k(device metal::float4 *o [[buffer(0)]], constant Params &p [[buffer(1)]],
              metal::uint3 tid [[thread_position_in_grid]]) {
  metal::float4 v = o[tid.x];
  metal::float3 s = metal::float3(p.shift);
  switch (p.mode) {
  case Mode::Add:
    v.x = apply<Mode::Add>(v.x, p.scale);
    break;
  case Mode::Mul:
    v.x = apply<Mode::Mul>(v.x, p.scale);
    break;
  }
  v.yzw += s;
  o[tid.x] = metal::select(v, metal::float4(-1.0f), metal::isnan(v));
}
