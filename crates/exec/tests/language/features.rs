//! One feature, one kernel.

use crate::{LANES, floats, run};
use assay_exec::{Bindings, Buffer, Grid, Limits};

struct Feature {
    name: &'static str,
    /// What stands before the kernel.
    before: &'static str,
    /// What the kernel does with `i`, the thread, and `o`, 32 floats.
    body: &'static str,
    expected: fn(f32) -> f32,
}

const FEATURES: &[Feature] = &[
    Feature {
        name: "function templates",
        before: "template <typename To, typename From> To to(From x) { return To(x); }\n\
                 template <int N> float times(float x) { return x * N; }",
        body: "o[i] = times<3>(to<float>(to<short>(i + 0.75f)));",
        expected: |i| i * 3.0,
    },
    Feature {
        name: "class templates",
        before: "template <typename T, int N> struct Stack { T items[N]; int used = 0; \
                 void push(T x) thread { items[used++] = x; } T pop() thread { return items[--used]; } };",
        body: "Stack<float, 3> s; s.push(i); s.push(2); float a = s.pop(); o[i] = a * 10 + s.pop();",
        expected: |i| 20.0 + i,
    },
    Feature {
        name: "specialisation",
        before: "template <typename T> struct Size { static constant constexpr int value = 4; };\n\
                 template <> struct Size<half> { static constant constexpr int value = 2; };\n\
                 template <typename T> struct Size<thread T *> { static constant constexpr int value = 8; };\n\
                 template <typename T> int kind(T) { return 1; }\n\
                 template <> int kind<float>(float) { return 2; }",
        body: "o[i] = Size<half>::value * 100 + Size<thread int *>::value * 10 + Size<int>::value + kind(1) + kind(1.0f);",
        expected: |_| 287.0,
    },
    Feature {
        name: "substitution failure",
        before: "template <typename T, typename = enable_if_t<is_integral<T>::value>> int kind(T) { return 1; }\n\
                 template <typename T, typename = void, typename = enable_if_t<is_floating_point<T>::value>> int kind(T) { return 2; }\n\
                 template <typename T> auto first(T v) -> decltype(v.x) { return v.x; }",
        body: "o[i] = kind(3) * 10 + kind(3.0f) + first(float2(i, 9));",
        expected: |i| 12.0 + i,
    },
    Feature {
        name: "lambdas",
        before: "template <typename F> float twice(F f, float x) { return f(f(x)); }",
        body: "float by = i; auto add = [&](float y) { return y + by; }; int n = 0; \
               auto count = [&n]() { ++n; return n; }; count(); \
               o[i] = twice(add, 1) + count() + [](auto a, auto b) { return a - b; }(7, 3.0f);",
        expected: |i| 1.0 + 2.0 * i + 2.0 + 4.0,
    },
    Feature {
        name: "operators",
        before: "struct Pair { float a, b; Pair operator+(Pair o) const { return Pair{a + o.a, b + o.b}; } \
                 thread Pair &operator*=(float s) thread { a *= s; b *= s; return *this; } \
                 float operator[](int k) const { return k ? b : a; } float operator()(float x) const { return a * x + b; } \
                 explicit operator bool() const { return a > 2; } };\n\
                 bool operator==(Pair x, Pair y) { return x.a == y.a && x.b == y.b; }",
        body: "Pair p = Pair{float(i), 1} + Pair{1, 2}; p *= 2; \
               o[i] = p[0] + p[1] * 100 + p(1) + (p == p ? 1000 : 0) + (p ? 10000 : 0);",
        expected: |i| {
            let a = (i + 1.0) * 2.0;
            a + 600.0 + a + 6.0 + 1000.0 + if a > 2.0 { 10000.0 } else { 0.0 }
        },
    },
    Feature {
        name: "if constexpr and folds",
        before: "template <int N> float times(float x) { if constexpr (N > 2) return x * N; else return x; }\n\
                 template <typename... Ts> float sum(Ts... xs) { return (xs + ...); }\n\
                 template <typename... Ts> constexpr int count() { return sizeof...(Ts); }",
        body: "o[i] = times<1>(i) + times<3>(i) + sum(1.0f, 2, half(3)) + count<int, float>();",
        expected: |i| 4.0 * i + 8.0,
    },
    Feature {
        name: "references",
        before: "void bump(thread float &x) { x += 1; }\n\
                 void put(device float &to, float x) { to = x; }\n\
                 float at(const thread float (&a)[3], int k) { return a[k]; }\n\
                 thread float &pick(thread float &a, thread float &b, bool first) { return first ? a : b; }",
        body: "float x = i, y = 5; bump(x); pick(x, y, i & 1) *= 10; const float a[3] = {x, y, 7}; \
               put(o[i], at(a, 0) + at(a, 1) * 100 + at(a, i % 3));",
        expected: |i| {
            let odd = i as u32 % 2 == 1;
            let x = (i + 1.0) * if odd { 10.0 } else { 1.0 };
            let y = 5.0 * if odd { 1.0 } else { 10.0 };
            x + y * 100.0 + [x, y, 7.0][i as usize % 3]
        },
    },
    Feature {
        name: "static threadgroup memory",
        before: "struct Cell { float value; int n; };",
        body: "threadgroup float row[32]; threadgroup Cell cells[4][8]; threadgroup float total; \
               row[i] = i; cells[i / 8][i % 8] = Cell{i * 2.0f, int(i)}; if (i == 0) total = 100; \
               threadgroup_barrier(mem_flags::mem_threadgroup); \
               threadgroup Cell &c = cells[3 - i / 8][7 - i % 8]; \
               o[i] = row[31 - i] + c.value + c.n * 1000 + total;",
        expected: |i| (31.0 - i) * 1003.0 + 100.0,
    },
    Feature {
        name: "packed types",
        before: "struct Mixed { packed_float3 p; float w; packed_half2 h; packed_uchar4 c; };\n\
                 static_assert(sizeof(Mixed) == 24 && sizeof(packed_float3) == 12 && alignof(packed_half4) == 2, \"packed\");",
        body: "Mixed m; m.p = packed_float3(float3(i, 1, 2).zyx); m.p.y += 4; m.w = m.p[2]; \
               m.h = packed_half2(half2(1, 2)); m.c = packed_uchar4(uchar4(1, 2, 3, 255)); \
               packed_float3 q[2]; q[1] = m.p; float3 v = q[1] * 2; \
               o[i] = v.x + v.y + v.z + m.w + float(m.h.y) + m.c[3] + float3(m.p).z;",
        expected: |i| 4.0 + 10.0 + 2.0 * i + i + 2.0 + 255.0 + i,
    },
    Feature {
        name: "swizzles",
        before: "",
        body: "float4 v = float4(1, 2, 3, 4); float2 p = v.wz; v.xy = v.wz; v.zw += p.yx; v.b *= 2; \
               float3 t = v.rrg; t.zx = t.xz; int4 n = int4(1, 2, 3, 4).wxyz; n.yx = n.xy; half3 h = half4(1, 2, 3, 4).xyw; \
               float4 s = float4(p, t.xy).wzyx; uint2 u = uint3(i, 7, 9).xz; \
               o[i] = v.x + v.y * 10 + v.z * 100 + v.w * 1000 + t.x + t.z * 7 + n.x + n.y * 3 + float(h.z) + s.x + u.x + u.y;",
        // v = (4, 3, 3 + 3, 4 + 4), z doubled; t = (4, 4, 3) turned about; n = (4, 1, 2, 3) turned about.
        expected: |i| {
            let v = [4.0, 3.0, 12.0, 8.0];
            v[0] + v[1] * 10.0
                + v[2] * 100.0
                + v[3] * 1000.0
                + 3.0
                + 4.0 * 7.0
                + 1.0
                + 4.0 * 3.0
                + 4.0
                + 4.0
                + i
                + 9.0
        },
    },
    Feature {
        name: "enums, unions, aliases and statics",
        before: "enum Plain { A = 3, B }; enum class Scoped : uchar { X = 200, Y };\n\
                 union Bits { float f; uint u; uchar b[4]; };\n\
                 using Number = float; typedef Number Row[4]; namespace deep { namespace er { constant float table[2][2] = {{1, 2}, {3, 4}}; } }\n\
                 constant constexpr int LIMIT = 5; static constexpr constant half scale = 0.5h;",
        body: "Bits b; b.f = 1; Row r = {1, 2, 3, 4}; Number n = deep::er::table[i & 1][1]; \
               o[i] = B + int(Scoped::Y) + b.b[3] + r[i % 4] + n + LIMIT + float(scale);",
        expected: |i| {
            let lane = i as usize;
            4.0 + 201.0 + 63.0 + [1.0, 2.0, 3.0, 4.0][lane % 4] + [2.0, 4.0][lane % 2] + 5.5
        },
    },
    Feature {
        name: "inheritance and defaults",
        before: "struct Base { float a = 1; float get(float k = 2) const { return a * k; } };\n\
                 template <typename T> struct Derived : Base { T b = T(3); Derived(T x) : b(x) {} float all() const { return get() + b; } };\n\
                 template <template <typename> class C> float make(float x) { return C<float>(x).all(); }",
        body: "Derived<float> d(i); o[i] = d.all() + d.get(10) + make<Derived>(5);",
        expected: |i| 2.0 + i + 10.0 + 7.0,
    },
    Feature {
        name: "recursion that ends soon",
        before: "float other(float x);\n\
                 float mirror(float x) { if (x < 0) return 1 - mirror(-x); return x < 10 ? other(x) : x * 2; }\n\
                 float other(float x) { if (x > 9.5f) return mirror(x); return x * 2; }",
        body: "o[i] = mirror(float(i) - 16);",
        expected: |i| {
            if i < 16.0 {
                1.0 - (16.0 - i) * 2.0
            } else {
                (i - 16.0) * 2.0
            }
        },
    },
    Feature {
        name: "loops and jumps",
        before: "",
        body: "float s = 0; int n = int(i); \
               for (int a = 0; a < 4; ++a) { if (a == 2) continue; for (int b = 0;; ++b) { if (b > n % 3) break; s += a * 10 + b; } } \
               do { s += 100; } while (--n > 28); while (n-- > 26) s += 1000; \
               switch (i % 4) { case 0: s += 1; case 1: s += 2; break; case 2: s += 3; break; default: s += 4; } \
               \n#pragma unroll\nfor (int a = 0; a < 3; ++a) s += a; \
               o[i] = s;",
        expected: jumps,
    },
];

fn jumps(i: f32) -> f32 {
    let lane = i as i32;
    let mut s = 0.0;
    for a in [0, 1, 3] {
        for b in 0..=lane % 3 {
            s += (a * 10 + b) as f32;
        }
    }
    let mut n = lane;
    loop {
        s += 100.0;
        n -= 1;
        if n <= 28 {
            break;
        }
    }
    while n > 26 {
        n -= 1;
        s += 1000.0;
    }
    s + [3.0, 2.0, 3.0, 4.0][lane as usize % 4] + 3.0
}

#[test]
fn every_feature_computes_what_it_says() {
    for feature in FEATURES {
        let source = format!(
            "#include <metal_stdlib>\nusing namespace metal;\n{}\n\
             kernel void k(device float *o, uint i [[thread_position_in_grid]]) {{ {} }}",
            feature.before, feature.body
        );
        let Some(buffers) = run(&source, "k", vec![floats(|_| 0.0)]) else {
            return;
        };
        let expected: Vec<f32> = (0..LANES).map(|i| (feature.expected)(i as f32)).collect();
        assert_eq!(buffers[0].to_vec::<f32>(), expected, "{}", feature.name);
    }
}

#[test]
fn buffers_are_references_and_pointers_to_arrays() {
    let source = "kernel void k(device float (*o)[4], constant uint (&table)[4] [[buffer(1)]], \
                  uint i [[thread_position_in_grid]]) { o[i / 4][i % 4] = table[3 - i % 4] + i; }";
    let table = Buffer::from_slice(&[10u32, 20, 30, 40]);
    let Some(buffers) = run(source, "k", vec![floats(|_| 0.0), table]) else {
        return;
    };
    let expected = floats(|i| (40 - i % 4 * 10 + i) as f32);
    assert_eq!(buffers[0].bytes(), expected.bytes());
}

/// Arithmetic, comparison, conversion, indexing and packing in every type and width.
#[test]
fn all_widths_of_all_types() {
    let types = [
        "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "bfloat",
        "float",
    ];
    for ty in types {
        let source = format!(
            "#include <metal_stdlib>\nusing namespace metal;\n\
             template <typename T, int N> float use(uint i) {{ vec<T, N> a = vec<T, N>(T(i % 5)); a[N - 1] = T(7); \
             vec<T, N> b = (a + T(1)) * vec<T, N>(T(2)) - a; vec<float, N> f = vec<float, N>(b); \
             vec<bool, N> big = b > vec<T, N>(T(8)); b = select(b, vec<T, N>(T(1)), big); \
             float s = 0; for (int c = 0; c < N; ++c) s += f[c] + float(b[c]) * 100; return s + any(big) * 10000; }}\n\
             kernel void k(device float *o, uint i [[thread_position_in_grid]]) {{ \
             {ty}2 two = {ty}2(1, 2); {ty}3 three = {ty}3(two, 3); {ty}4 four = {ty}4(three.zyx, 4); packed_{ty}3 p = four.wxy; \
             o[i] = use<{ty}, 2>(i) + use<{ty}, 3>(i) + use<{ty}, 4>(i) + float(p.x) + float(p[1]) * 3 + sizeof({ty}3) / sizeof({ty}); }}"
        );
        let Some(buffers) = run(&source, "k", vec![floats(|_| 0.0)]) else {
            return;
        };
        let of_width = |lane: u32, width: u32| {
            let small = (lane % 5 + 2) as f32;
            (width - 1) as f32 * (small + small * 100.0) + 9.0 + 100.0 + 10000.0
        };
        let expected = (0..LANES).map(|lane| {
            let widths = (2..=4).map(|width| of_width(lane, width)).sum::<f32>();
            widths + 4.0 + 3.0 * 3.0 + 4.0
        });
        let expected: Vec<f32> = expected.collect();
        assert_eq!(buffers[0].to_vec::<f32>(), expected, "{ty}");
    }
}

/// Four levels are written out; a thread that goes deeper ends the run.
#[test]
fn recursion_that_does_not_end_soon_is_found_out() {
    let source = "kernel void k(device float *o, uint i [[thread_position_in_grid]]);\n\
                  float down(float x) { if (x < 1) return x; return metal::sin(down(x - 1)) + x; }\n\
                  kernel void k(device float *o, uint i [[thread_position_in_grid]]) { o[i] = down(o[i]); }";
    let Some(program) = crate::common::program_of(source, "k.metal", "k") else {
        return;
    };
    let run = |from: f32| {
        let mut bindings = Bindings::new();
        bindings.set(0, floats(|_| from));
        program.run(&Grid::line(LANES, LANES), &mut bindings, &Limits::default())
    };
    assert!(run(3.5).is_ok());
    let error = run(9.5).expect_err("too deep").to_string();
    assert!(
        error.contains("a recursion too deep to be written out"),
        "{error}"
    );
}
