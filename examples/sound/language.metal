// What one thread may do with its own values and with buffers: packed types, unions, pointers, recursion, conversions, wrapping.
// assay: launch --grid 64 --threadgroup 32 --buffer 0=zeros:f32:256 --buffer 1=random:f32:256 --buffer 2=index:u32:256:256 --buffer 3=random:f16:256 --buffer 4=index:u8:1024:251
#include <metal_stdlib>
using namespace metal;
#define ARGS device float *x [[buffer(0)]], device const float *y [[buffer(1)]], device uint *z [[buffer(2)]], device const half *h [[buffer(3)]], device const uchar *b [[buffer(4)]], uint i [[thread_position_in_grid]]

constant int turns_given [[function_constant(0)]];
constant int turns = is_function_constant_defined(turns_given) ? turns_given : 3;
constant float taps[5] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};

struct Pair { float value; uint at; };
struct Padded { uchar kind; float value; };
struct Packed { packed_float3 place; float mass; };
struct Fields { uint low : 4, middle : 12, high : 16; };
union Bits { float number; uint word; ushort halves[2]; };
enum class Kind : uchar { sum, product, largest };

// Packed types and other views of memory.
kernel void three_packed_floats(ARGS) {
    device const packed_float3 *p = (device const packed_float3 *)(y + 1);
    x[i] = length(float3(p[i]));
}
kernel void packed_beside_a_float(ARGS) {
    device const Packed *p = (device const Packed *)y;
    x[i] = dot(float3(p[i].place), float3(1)) * p[i].mass;
}
kernel void packed_written_by_parts(ARGS) {
    device packed_float3 *p = (device packed_float3 *)(x + 3 * i);
    (*p)[0] = y[i];
    (*p)[2] = y[i + 1];
}
kernel void four_halves_at_once(ARGS) {
    half4 v = ((device const half4 *)h)[i];
    x[i] = v.x + v.y + v.z + v.w;
}
kernel void sixteen_bytes_at_once(ARGS) {
    uint4 v = ((device const uint4 *)b)[i];
    uchar4 c = as_type<uchar4>(v.z);
    x[i] = c.x + c.w;
}
kernel void nibbles(ARGS) {
    uchar v = b[i / 2];
    x[i] = int(i % 2 == 0 ? v & 15 : v >> 4) - 8;
}
kernel void bits_of_a_float(ARGS) {
    uint word = as_type<uint>(y[i]);
    x[i] = as_type<float>((word & 0x807fffff) | 0x3f800000);
}
kernel void union_of_float_and_word(ARGS) {
    Bits bits;
    bits.number = y[i];
    z[i] = bits.word >> 23;
}
kernel void half_of_a_union(ARGS) {
    Bits bits;
    bits.word = z[i];
    x[i] = bits.halves[1];
}
kernel void fields_of_a_word(ARGS) {
    Fields f = {};
    f.low = i;
    f.middle = i * 3;
    f.high = 7;
    z[i] = f.low + f.middle + f.high;
}
kernel void bytes_of_a_struct(ARGS) {
    Pair p = {y[i], i};
    thread const uchar *bytes = (thread const uchar *)&p;
    uint sum = 0;
    for (uint k = 0; k < sizeof(Pair); k++) sum += bytes[k];
    z[i] = sum;
}
kernel void struct_with_a_gap(ARGS) {
    // Copied whole, with the bytes between its members that nobody gives.
    Padded p;
    p.kind = 3;
    p.value = y[i];
    Padded q = p;
    x[i] = q.value + q.kind;
}
kernel void struct_with_a_gap_in_memory(ARGS) {
    device Padded *all = (device Padded *)x;
    Padded p;
    p.kind = uchar(i);
    p.value = y[i];
    all[i] = p;
    Padded q = all[i];
    z[i] = q.kind;
}

// Arrays and pointers.
kernel void as_many_as_were_put(ARGS) {
    float kept[8];
    uint n = 0;
    for (uint k = 0; k < 8; k++)
        if (y[i + k] > 0.5f) kept[n++] = y[i + k];
    float sum = 0;
    for (uint k = 0; k < n; k++) sum += kept[k];
    x[i] = sum;
}
kernel void stack_of_its_own(ARGS) {
    ushort stack[16];
    uint top = 0, sum = 0;
    stack[top++] = ushort(i);
    while (top > 0) {
        ushort node = stack[--top];
        sum += node;
        if (node > 1 && top + 2 <= 16) stack[top++] = node / 2, stack[top++] = node / 4;
    }
    z[i] = sum;
}
kernel void sorted_by_insertion(ARGS) {
    float v[6];
    for (uint k = 0; k < 6; k++) {
        uint at = k;
        float value = y[i + k];
        while (at > 0 && v[at - 1] > value) v[at] = v[at - 1], at--;
        v[at] = value;
    }
    x[i] = v[2];
}
kernel void best_three(ARGS) {
    Pair best[3] = {{-INFINITY, 0}, {-INFINITY, 0}, {-INFINITY, 0}};
    for (uint k = 0; k < 16; k++) {
        Pair p = {y[i + k], k};
        for (uint j = 0; j < 3; j++)
            if (p.value > best[j].value) {
                Pair lower = best[j];
                best[j] = p;
                p = lower;
            }
    }
    x[i] = best[2].at;
}
kernel void from_end_to_start(ARGS) {
    device const float *p = y + 64 + i;
    float sum = 0;
    while (p != y + i) sum += *--p;
    x[i] = sum;
}
kernel void around_the_middle(ARGS) {
    device const float *middle = y + i + 2;
    float sum = 0;
    for (int k = -2; k <= 2; k++) sum += middle[k] * taps[k + 2];
    x[i] = sum;
}
kernel void by_a_table_of_indices(ARGS) {
    uint at = z[i];
    x[i] = at < 256 ? y[at] : 0.0f;
}
kernel void by_two_tables(ARGS) {
    x[i] = y[b[z[i] * 4]];
}
kernel void chosen_pointer(ARGS) {
    float a[2] = {y[i], 0}, c[2] = {1, 2};
    thread float *p = y[i] > 0.5f ? a : c;
    p[1] += p[0];
    x[i] = a[1] + c[1];
}
kernel void pointer_to_a_pointer(ARGS) {
    float v = y[i];
    thread float *p = &v;
    thread float **q = &p;
    **q *= 2;
    x[i] = v;
}
kernel void row_of_a_matrix(ARGS) {
    float3x3 m(y[i]);
    m[1][2] = 4;
    m[2] = float3(1, 2, 3);
    x[i] = (m * float3(1))[1] + determinant(m);
}
kernel void parts_of_a_vector(ARGS) {
    float4 v;
    v.xz = float2(y[i], 1);
    v.yw = v.zx;
    x[i] = v.x + v.y + v.z + v.w;
}
kernel void component_by_number(ARGS) {
    float4 v(0);
    v[i & 3] = y[i];
    x[i] = dot(v, float4(1, 2, 3, 4));
}
kernel void tail_of_a_block(ARGS) {
    // Whole vectors while they fit, then one by one.
    uint n = 61, k = i * 4, end = min(k + 4, n);
    if (k + 4 <= n)
        ((device float4 *)x)[i] = ((device const float4 *)y)[i];
    else
        for (; k < end; k++) x[k] = y[k];
}

// Control.
kernel void every_case_gives_it(ARGS) {
    float v;
    switch (Kind(i % 3)) {
    case Kind::sum: v = y[i] + 1; break;
    case Kind::product: v = y[i] * 2; break;
    case Kind::largest: v = max(y[i], 0.5f); break;
    }
    x[i] = v;
}
kernel void falls_through(ARGS) {
    uint n = 0;
    switch (i & 3) {
    case 3: n += 4; [[fallthrough]];
    case 2: n += 2; [[fallthrough]];
    case 1: n += 1; break;
    default: n = 9;
    }
    z[i] = n;
}
kernel void found_or_not(ARGS) {
    uint at;
    bool found = false;
    for (uint k = 0; k < 32 && !found; k++)
        if (y[i + k] > 0.9f) at = k, found = true;
    z[i] = found ? at : 99;
}
kernel void given_before_it_is_asked(ARGS) {
    float v;
    bool is = y[i] > 0.5f;
    if (is) v = sqrt(y[i]);
    x[i] = is && v > 0.8f ? v : 0.0f;
}
kernel void no_turn_at_all(ARGS) {
    float sum = 0;
    for (uint k = i; k < i; k++) sum += y[k * 1000];
    x[i] = sum;
}
kernel void as_often_as_the_constant_says(ARGS) {
    float v = y[i];
    for (int k = 0; k < turns; k++) v = v * v;
    x[i] = v;
}
static uint fibonacci(uint n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
kernel void recursion(ARGS) {
    z[i] = fibonacci(i % 7);
}
static void halves(thread float *v, uint n) {
    if (n == 1) return;
    for (uint k = 0; k < n / 2; k++) v[k] += v[k + n / 2];
    halves(v, n / 2);
}
kernel void recursion_over_an_array(ARGS) {
    float v[8];
    for (uint k = 0; k < 8; k++) v[k] = y[i + k];
    halves(v, 8);
    x[i] = v[0];
}
template <typename T, uint N> static T folded(device const T *p) {
    T sum = 0;
    for (uint k = 0; k < N; k++) sum += p[k];
    return sum;
}
kernel void templates(ARGS) {
    x[i] = folded<float, 3>(y + i) + float(folded<half, 2>(h + i));
}
static void both(float v, thread float &low, thread float &high) {
    low = floor(v);
    high = ceil(v);
}
kernel void two_results(ARGS) {
    float low, high;
    both(y[i] * 4, low, high);
    x[i] = high - low;
}
kernel void parts_of_a_number(ARGS) {
    float whole, part = modf(y[i] * 8, whole), c;
    float s = sincos(part, c);
    int e;
    float m = frexp(y[i] + 1, e);
    x[i] = whole + s * c + ldexp(m, e);
}

// Numbers.
kernel void wraps_around(ARGS) {
    uint state = i * 747796405u + 2891336453u;
    state = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    z[i] = (state >> 22) ^ state;
}
kernel void difference_of_unsigned(ARGS) {
    // Less than nothing, and back.
    uint k = i - 5;
    z[i] = k + 5;
}
kernel void shift_by_what_is_left(ARGS) {
    uint n = i & 31;
    z[i] = n == 0 ? i : (i << n) | (i >> (32 - n));
}
kernel void rotated(ARGS) {
    z[i] = rotate(0x80000001u, i) + popcount(i) + clz(i) + ctz(i) + reverse_bits(i);
}
kernel void saturated(ARGS) {
    uchar v = uchar(clamp(y[i] * 400 - 50, 0.0f, 255.0f));
    z[i] = addsat(v, uchar(200)) + subsat(v, uchar(9));
}
kernel void high_half_of_a_product(ARGS) {
    ulong wide = ulong(i) * 0xdeadbeeful;
    z[i] = mulhi(i, 0xdeadbeefu) - uint(wide >> 32) + mad24(i, 3u, 4u);
}
kernel void divided_where_it_can_be(ARGS) {
    uint n = z[i] & 3;
    z[i] = n != 0 ? i / n + i % n : 0;
}
kernel void infinity_as_a_start(ARGS) {
    float least = INFINITY;
    for (uint k = 0; k < 4; k++) least = min(least, y[i + k]);
    x[i] = isinf(least) ? 0.0f : least;
}
kernel void masked_with_infinity(ARGS) {
    float v = i % 3 == 0 ? -INFINITY : y[i];
    x[i] = exp(v);
}
kernel void sixty_four_bits(ARGS) {
    long v = long(i) - 40;
    v = (v << 33) / 3 + (v >> 2);
    z[i] = uint(v ^ (v >> 32));
}
