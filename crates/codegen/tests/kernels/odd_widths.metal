// Intrinsics on integers of widths that no type of Metal has: clang makes them of shifts and masks.
#include <metal_stdlib>
using namespace metal;

#define WIDTH(N) \
    unsigned _BitInt(N) reversed(unsigned _BitInt(N)) __asm("llvm.bitreverse.i" #N); \
    unsigned _BitInt(N) rotated(unsigned _BitInt(N), unsigned _BitInt(N), unsigned _BitInt(N)) __asm("llvm.fshl.i" #N); \
    unsigned _BitInt(N) leading(unsigned _BitInt(N), bool) __asm("llvm.ctlz.i" #N); \
    unsigned _BitInt(N) trailing(unsigned _BitInt(N), bool) __asm("llvm.cttz.i" #N); \
    _BitInt(N) magnitude(_BitInt(N), bool) __asm("llvm.abs.i" #N); \
    _BitInt(N) lesser(_BitInt(N), _BitInt(N)) __asm("llvm.smin.i" #N); \
    _BitInt(N) sum(_BitInt(N), _BitInt(N)) __asm("llvm.sadd.sat.i" #N); \
    unsigned _BitInt(N) sum(unsigned _BitInt(N), unsigned _BitInt(N)) __asm("llvm.uadd.sat.i" #N); \
    kernel void bits_of_##N(device ulong* o [[buffer(0)]], device const ulong* a [[buffer(1)]], \
                            uint i [[thread_position_in_grid]]) { \
        using U = unsigned _BitInt(N); \
        using S = _BitInt(N); \
        U x = U(a[2 * i] >> 3), y = U(a[2 * i + 1] >> 5); \
        o[8 * i] = ulong(reversed(x)); \
        o[8 * i + 1] = ulong(rotated(x, y, U(i))); \
        o[8 * i + 2] = ulong(leading(x, false)); \
        o[8 * i + 3] = ulong(trailing(x, false)); \
        o[8 * i + 4] = ulong(U(magnitude(S(x), false))); \
        o[8 * i + 5] = ulong(U(lesser(S(x), S(y)))); \
        o[8 * i + 6] = ulong(U(sum(S(x), S(y)))); \
        o[8 * i + 7] = ulong(sum(x, y)); \
    }
WIDTH(2)
WIDTH(4)
WIDTH(5)
WIDTH(12)
WIDTH(24)
WIDTH(33)
WIDTH(48)
