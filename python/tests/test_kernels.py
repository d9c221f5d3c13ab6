"""Kernels on arrays: borrowed memory, types, geometry, faults, checks, counts."""

import numpy
import pytest
from conftest import KERNELS, SCALE

import assay


def test_arrays_are_written_in_place(scale):
    x = numpy.arange(100, dtype=numpy.float32)
    expected = x * 3
    address = x.__array_interface__["data"][0]
    run = scale(x, 3.0, grid=100, threadgroup=32)
    assert run["x"] is x and x.__array_interface__["data"][0] == address
    assert numpy.array_equal(x, expected)


def test_views_are_borrowed_where_they_lie(scale):
    whole = numpy.ones(64, numpy.float32)
    scale(whole[7:20], 5.0, grid=13)
    assert (whole[7:20] == 5).all() and (whole[:7] == 1).all() and (whole[20:] == 1).all()
    columns = numpy.ones((4, 8), numpy.float32, order="F")
    scale(columns, 2.0, grid=32)
    assert (columns == 2).all()


def test_new_arrays_have_the_type_of_the_argument():
    iota = assay.compile("kernel void iota(device ushort* o, uint i [[thread_position_in_grid]]) { o[i] = i; }").iota
    out = iota(assay.out((2, 3)), grid=6)["o"]
    assert out.dtype == numpy.uint16 and out.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert iota(assay.out(2, numpy.int16), grid=2)["o"].dtype == numpy.int16


def test_numbers_become_the_type_of_the_argument():
    source = """
    struct P { float a; int b; };
    kernel void k(device float* o, constant float& f, constant int& i, constant ushort& s, constant half& h, constant bool& t,
                  constant uint3& v, constant long& l, constant P& p, constant bfloat& bf, constant packed_float3& q) {
        o[0] = f; o[1] = i; o[2] = s; o[3] = h; o[4] = t; o[5] = v.z; o[6] = l; o[7] = p.a + p.b; o[8] = bf; o[9] = q.y;
    }"""
    kernel = assay.compile(source).k
    struct = numpy.array([(1.5, 2)], numpy.dtype([("a", "f4"), ("b", "i4")]))
    run = kernel(assay.out(10), 0.5, -3, 65535, 1.5, True, (1, 2, 3), -(2**40), struct, 3.0, (7, 8, 9), grid=1)
    assert run["o"].tolist() == [0.5, -3, 65535, 1.5, 1, 3, -(2.0**40), 3.5, 3, 8]


@pytest.mark.parametrize("value", [1.5, 2**32, -1, "3", None, (1, 2), numpy.float32(2)])
def test_numbers_that_do_not_fit_are_refused(value):
    kernel = assay.compile("kernel void k(device uint* o, constant uint& n) { o[0] = n; }").k
    with pytest.raises(assay.UsageError, match="'n'"):
        kernel(assay.out(1), value, grid=1)


def test_arguments_are_named_or_in_order(scale):
    x = numpy.ones(4, numpy.float32)
    scale(by=2.0, x=x, grid=4)
    scale(x, by=2.0, grid=4)
    assert x[0] == 4
    for arguments, named, message in [
        ((x,), {}, "missing 'by'"),
        ((x, 1.0, 2.0), {}, "takes 2 arguments, 3 are given"),
        ((x,), {"bye": 1.0}, "no argument 'bye'"),
        ((x, 1.0), {"by": 1.0}, "given twice"),
    ]:
        with pytest.raises(assay.UsageError, match=message):
            scale(*arguments, grid=4, **named)


def test_arrays_that_do_not_suit_are_refused_with_advice(scale):
    x = numpy.ones(8, numpy.float32)
    frozen = x.copy()
    frozen.flags.writeable = False
    for array, message in [
        (x.astype(numpy.float64), r"is float in the kernel and float64 here\npass x.astype\('float32'\)"),
        (x.astype(numpy.int32), "int32 here"),
        (x.astype(">f4"), "other order"),
        (x[::2], "side by side\npass numpy.ascontiguousarray"),
        (frozen, "read-only.*\npass x.copy"),
        (object(), "object is no array"),
        ({}, "dict is no array"),
    ]:
        with pytest.raises(assay.UsageError, match=message):
            scale(array, 1.0, grid=4)


def test_read_only_arrays_may_be_read():
    kernel = assay.compile("kernel void k(device float* o, device const float* x, uint i [[thread_position_in_grid]]) { o[i] = x[i]; }").k
    x = numpy.arange(4, dtype=numpy.float32)
    x.flags.writeable = False
    assert kernel(assay.out(4), x, grid=4)["o"].tolist() == [0, 1, 2, 3]


def test_other_arrays_come_by_buffer_protocol_and_dlpack(scale):
    import array

    own = array.array("f", [1.0, 2.0])
    scale(own, 2.0, grid=2)
    assert list(own) == [2.0, 4.0]
    raw = bytearray(numpy.ones(2, numpy.float32).tobytes())
    scale(raw, 3.0, grid=2)
    assert numpy.frombuffer(raw, numpy.float32).tolist() == [3, 3]
    torch = pytest.importorskip("torch")
    tensor = torch.ones(4)
    scale(tensor, 2.0, grid=4)
    assert tensor.tolist() == [2, 2, 2, 2]


def test_mlx_arrays_are_read():
    mx = pytest.importorskip("mlx.core")
    kernel = assay.compile("kernel void k(device float* o, device const bfloat* x, uint i [[thread_position_in_grid]]) { o[i] = x[i]; }").k
    assert kernel(assay.out(3), mx.array([1.0, 2.5, -3.0], dtype=mx.bfloat16), grid=3)["o"].tolist() == [1, 2.5, -3]


def test_brain_floats_are_those_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kernel = assay.compile("kernel void k(device bfloat* x, uint i [[thread_position_in_grid]]) { x[i] *= bfloat(2); }").k
    x = numpy.array([1, 2.5], ml_dtypes.bfloat16)
    assert kernel(x, grid=2)["x"].astype(numpy.float32).tolist() == [2, 5]


def test_geometry_is_checked(scale):
    x = numpy.ones(4, numpy.float32)
    for geometry, message in [
        ({}, "say how many threads"),
        ({"grid": 4, "groups": 1}, "say how many threads"),
        ({"grid": 0}, "not between 1"),
        ({"grid": (1, 2, 3, 4)}, "one to three"),
        ({"grid": 4, "threadgroup": 2048}, "too large"),
        ({"grid": 2**32}, "not between 1"),
        ({"groups": 2**31, "threadgroup": 512}, "more threads than 2"),
    ]:
        with pytest.raises(assay.UsageError, match=message):
            scale(x, 1.0, **geometry)
    scale(x, 2.0, groups=(1, 1, 1), threadgroup=4)
    assert x[3] == 2


def test_a_fault_has_line_and_thread(scale):
    with pytest.raises(assay.KernelFault) as caught:
        scale(numpy.ones(4, numpy.float32), 1.0, grid=6)
    fault = caught.value
    assert (fault.line, fault.thread, fault.kernel, fault.code) == (2, (4, 0, 0), "scale", 1)
    assert 'offset 16 of buffer 0 ("x"), which has 16' in str(fault)


def test_checking_finds_what_a_run_gets_away_with():
    source = """kernel void k(device uint* o, threadgroup uint* t, uint i [[thread_index_in_threadgroup]]) {
        t[i] = i;
        o[i] = t[63 - i];
    }"""
    kernel = assay.compile(source).k
    sizes = {"t": 256}
    kernel(assay.out(64), grid=64, threadgroup=64, threadgroup_memory=sizes)
    with pytest.raises(assay.CheckFailed) as caught:
        kernel(assay.out(64), grid=64, threadgroup=64, threadgroup_memory=sizes, check=True)
    assert "race" in caught.value.kinds and caught.value.code == 1
    assert caught.value.findings[0]["thread"]
    run = kernel(assay.out(64), grid=64, threadgroup=64, threadgroup_memory=sizes, check="report")
    assert any(finding.kind == "race" for finding in run.findings)
    with pytest.raises(assay.UsageError, match="size of threadgroup memory 't'"):
        kernel(assay.out(64), grid=64, threadgroup=64)
    with pytest.raises(assay.UsageError, match="no threadgroup memory 'u'"):
        kernel(assay.out(64), grid=64, threadgroup=64, threadgroup_memory={"u": 4})
    with pytest.raises(assay.UsageError, match="bytes of threadgroup memory"):
        kernel(assay.out(64), grid=64, threadgroup=64, threadgroup_memory={"t": 1 << 20})


def test_checked_and_counted_runs_leave_results_once(scale):
    x = numpy.ones(40, numpy.float32)
    run = scale(x, 2.0, grid=40, check=True, counts=True)
    assert (x == 2).all() and run.findings == ()
    assert run.counts.threads == 40 and run.counts.device.stores == 2
    assert run.counts.device.bytes_stored == 160


def test_one_array_bound_twice_is_one_memory():
    source = """kernel void k(device uint* a, device uint* b, uint i [[thread_position_in_grid]]) { a[i] = i; b[63 - i] = i; }"""
    x = numpy.zeros(64, numpy.uint32)
    with pytest.raises(assay.CheckFailed) as caught:
        assay.compile(source).k(x, x, grid=64, threadgroup=64, check=True)
    assert "race" in caught.value.kinds


def test_function_constants_have_the_declared_type():
    source = """constant uint N [[function_constant(0)]]; constant bool UP [[function_constant(1)]]; constant float F [[function_constant(2)]];
    kernel void k(device float* o) { o[0] = (UP ? 1 : -1) * float(N) + F; }"""
    library = assay.compile(source)
    for constants in ({"N": 3, "UP": True, "F": 0.5}, {0: "uint:3", 1: 1, 2: "float:0.5"}):
        kernel = library.kernel("k", constants)
        assert kernel(assay.out(1), grid=1)["o"][0] == 3.5
        assert "assumed_constants" not in kernel.profile()
    with pytest.raises(assay.UsageError, match="no function constant M"):
        library.kernel("k", {"M": 3})
    with pytest.raises(assay.UsageError, match="has no value"):
        library.k


def test_compiler_options_are_passed_on(tmp_path):
    (tmp_path / "value.h").write_text("#define VALUE 42\n")
    source = '#include "value.h"\nkernel void k(device T* o) { o[0] = VALUE + MORE; }'
    kernel = assay.compile(source, defines={"T": "int", "MORE": 1}, include=[tmp_path]).k
    assert kernel(assay.out(1), grid=1)["o"][0] == 43
    assert kernel.profile().name == "k"
    with pytest.raises(assay.UsageError, match="metal9.9"):
        assay.compile(SCALE, std="metal9.9")


def test_source_can_ask_for_the_arithmetic_it_is_compiled_with():
    source = """kernel void k(device int* o) {
    #if defined(__FAST_MATH__) && __FAST_MATH__
        o[0] = 1;
    #endif
    }"""
    for fast in (True, False):
        assert assay.compile(source, fast_math=fast).k(assay.out(1), grid=1)["o"][0] == fast


def test_examples_compute_what_numpy_does(random):
    a, b = random.standard_normal((32, 64), numpy.float32), random.standard_normal((64, 48), numpy.float32)
    kernel = assay.compile(KERNELS / "matmul_tiled.metal").kernel()
    run = kernel(assay.out((32, 48)), a, b, 32, 48, 64, grid=(48, 32), threadgroup=(16, 16), check=True)
    assert numpy.allclose(run.outputs["C" if "C" in run.outputs else next(iter(run.outputs))], a @ b, atol=1e-4)
    rows = random.standard_normal((6, 700), numpy.float32)
    softmax = assay.compile(KERNELS / "softmax.metal").kernel()
    found = softmax(assay.out(rows.shape), rows, 700, groups=6, threadgroup=256)["o"]
    exponentials = numpy.exp(rows - rows.max(axis=1, keepdims=True))
    assert numpy.allclose(found, exponentials / exponentials.sum(axis=1, keepdims=True), atol=1e-6)


def test_a_call_is_a_launch_to_predict(scale):
    x = numpy.zeros(1 << 20, numpy.float32)
    described = {"grid": x.size, "threadgroup": 256, "buffers": {0: "random:f32:1048576"}, "bytes": {1: "f32:2"}}
    assert scale.predict(x, 2.0, grid=x.size).time_us == assay.predict(SCALE, launch=described).time_us
