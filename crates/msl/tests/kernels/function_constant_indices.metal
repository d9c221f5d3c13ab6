// The index of a function constant is any constant expression: the compiler computes what is more than numbers and names.
// in module
// has @assay.function_constant.3.int.c0 = external
// has @assay.function_constant.11.bool.c3 = external
// has @assay.function_constant.20.int.c4 = external
// has @assay.function_constant.31.int.c7 = external
// has @assay.function_constant.40.int.a_c = external
// has @"assay.function_constant.?*.int.c10" = external
// count 2 @assay.function_constant_index.*constant i32
// has @assay.function_constant_index.*constant i32 26
// has @assay.function_constant_index.*constant i32 80
#include <metal_stdlib>
using namespace metal;
enum { kA = 3, kB };
enum Idx { IdxA = 10, IdxB };
enum class Sc : uint { X = 20, Y };
namespace ns { enum Q { q0 = 30 }; struct Hold { static constexpr constant int id = 31; enum { inner = 32 }; }; static constant constexpr int cc = 33; }
#define LIST(X) X(a, 40) X(b, 41)
constant int c0 [[function_constant(kA)]];
constant int c1 [[function_constant(kB)]];
constant int c2 [[function_constant(IdxA)]];
constant bool c3 [[function_constant(Idx::IdxB)]];
constant int c4 [[function_constant(uint(Sc::X))]];
constant int c5 [[function_constant(static_cast<uint>(Sc::Y))]];
constant int c6 [[function_constant(ns::q0)]];
constant int c7 [[function_constant(ns::Hold::id)]];
constant int c8 [[function_constant(ns::Hold::inner)]];
constant int c9 [[function_constant(ns::cc + 1)]];
constant int c10 [[function_constant((int)Sc::Y + 5)]];
constant int c12 [[function_constant(sizeof(float) * 20)]];
#define DECL(n, i) constant int n##_c [[function_constant(i)]];
LIST(DECL)
kernel void k(device int* o) { o[0] = c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9 + c10 + c12 + a_c + b_c; }
