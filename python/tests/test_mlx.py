"""Ten custom kernels in MLX's form, against NumPy and, where it is installed, MLX on the CPU."""

import numpy
import pytest

import assay
from assay.mlx import metal_kernel


def normal(*shape, dtype=numpy.float32, seed=1):
    return numpy.random.default_rng(seed).standard_normal(shape).astype(dtype)


def elementwise(kernel, inputs, **more):
    like = numpy.asarray(inputs[0])
    call = {"grid": (like.size, 1, 1), "threadgroup": (256, 1, 1), "output_shapes": [like.shape], "output_dtypes": [like.dtype]}
    return kernel(inputs=inputs, check=True, **{**call, **more})[0]


@pytest.mark.parametrize("dtype", [numpy.float32, numpy.float16])
def test_gelu_of_a_template_type(dtype):
    source = """
        uint i = thread_position_in_grid.x;
        float v = float(x[i]);
        y[i] = T(0.5f * v * (1.0f + metal::precise::tanh(0.7978845608f * (v + 0.044715f * v * v * v))));
    """
    kernel = metal_kernel("gelu", ["x"], ["y"], source)
    x = normal(5, 77, dtype=dtype)
    v = x.astype(numpy.float64)
    expected = 0.5 * v * (1 + numpy.tanh(0.7978845608 * (v + 0.044715 * v**3)))
    assert numpy.allclose(elementwise(kernel, [x], template=[("T", dtype)]), expected, atol=2e-3 if dtype == numpy.float16 else 1e-6)


def test_strided_inputs_keep_their_strides():
    source = """
        uint i = thread_position_in_grid.x;
        auto at = elem_to_loc(i, x_shape, x_strides, x_ndim);
        y[i] = metal::exp(x[at]);
    """
    kernel = metal_kernel("exp_strided", ["x"], ["y"], source, ensure_row_contiguous=False)
    whole = normal(6, 10, 4)
    for view in (whole[::2], whole.transpose(2, 0, 1), whole[:, 3:7, 1], whole[..., ::3], whole):
        assert numpy.allclose(elementwise(kernel, [view]), numpy.exp(view), rtol=1e-6)


def test_copies_are_made_where_rows_must_be_contiguous():
    kernel = metal_kernel("negate", ["x"], ["y"], "uint i = thread_position_in_grid.x; y[i] = -x[i];")
    view = normal(8, 6).T
    assert numpy.array_equal(elementwise(kernel, [view]), -view)
    assert numpy.array_equal(elementwise(kernel, [view[::-1]]), -view[::-1])


def test_scalars_and_small_arrays_are_constants():
    source = "uint i = thread_position_in_grid.x; y[i] = a * x[i] + b[i % 3] + (flag ? 1 : 0);"
    kernel = metal_kernel("axpb", ["a", "x", "b", "flag"], ["y"], source)
    x, b = normal(50), numpy.array([1, 2, 3], numpy.float32)
    call = {"inputs": [2.5, x, b, True], "output_dtypes": [numpy.float32]}
    text = kernel.metal(**call)
    assert "const constant float& a" in text and "const constant float* b" in text and "const device float* x" in text
    assert "const constant bool& flag" in text
    found = kernel(grid=(50, 1, 1), threadgroup=(32, 1, 1), output_shapes=[(50,)], **call)[0]
    assert numpy.allclose(found, 2.5 * x + b[numpy.arange(50) % 3] + 1, atol=1e-6)


def test_softmax_by_simdgroups_safe_with_infinities():
    source = """
        uint row = threadgroup_position_in_grid.x, lane = thread_index_in_simdgroup;
        uint width = x_shape[1];
        float most = Limits<float>::min;
        for (uint i = lane; i < width; i += 32) most = metal::max(most, float(x[row * width + i]));
        most = simd_max(most);
        float sum = 0;
        for (uint i = lane; i < width; i += 32) sum += metal::exp(float(x[row * width + i]) - most);
        sum = simd_sum(sum);
        for (uint i = lane; i < width; i += 32) y[row * width + i] = metal::exp(float(x[row * width + i]) - most) / sum;
    """
    x = normal(7, 100)
    x[:, 40:] = -numpy.inf
    kernel = metal_kernel("softmax", ["x"], ["y"], source)
    found = elementwise(kernel, [x], grid=(7 * 32, 1, 1), threadgroup=(32, 1, 1))
    e = numpy.exp(x - x.max(1, keepdims=True))
    assert numpy.allclose(found, e / e.sum(1, keepdims=True), atol=1e-6)


def test_histogram_with_atomic_outputs():
    kernel = metal_kernel(
        "histogram", ["x"], ["counts"],
        "atomic_fetch_add_explicit(&counts[x[thread_position_in_grid.x]], 1, memory_order_relaxed);",
        atomic_outputs=True,
    )
    x = numpy.random.default_rng(3).integers(0, 16, 1000).astype(numpy.uint8)
    found = kernel(inputs=[x], grid=(1000, 1, 1), threadgroup=(128, 1, 1), output_shapes=[(16,)], output_dtypes=[numpy.uint32],
                   init_value=0)[0]
    assert numpy.array_equal(found, numpy.bincount(x, minlength=16))


def test_tiled_transpose_with_threadgroup_memory_and_a_number_in_the_template():
    source = """
        threadgroup float tile[N][N + 1];
        uint2 t = thread_position_in_threadgroup.xy, g = threadgroup_position_in_grid.xy * N;
        uint rows = x_shape[0], columns = x_shape[1];
        if (g.y + t.y < rows && g.x + t.x < columns) tile[t.y][t.x] = x[(g.y + t.y) * columns + g.x + t.x];
        threadgroup_barrier(metal::mem_flags::mem_threadgroup);
        if (g.x + t.y < columns && g.y + t.x < rows) y[(g.x + t.y) * rows + g.y + t.x] = tile[t.x][t.y];
    """
    kernel = metal_kernel("transpose", ["x"], ["y"], source)
    x = normal(32, 48)
    found = elementwise(kernel, [x], template=[("N", 16)], grid=(48, 32, 1), threadgroup=(16, 16, 1), output_shapes=[(48, 32)])
    assert numpy.array_equal(found, x.T)


def test_row_sums_and_maxima_are_two_outputs_from_a_helper_in_the_header():
    header = "inline float square(float v) { return v * v; }\n"
    source = """
        uint row = thread_position_in_grid.x;
        float total = 0, most = Limits<float>::min;
        for (int i = 0; i < x_shape[1]; i++) {
            float v = square(x[row * x_shape[1] + i]);
            total += v;
            most = metal::max(most, v);
        }
        sums[row] = total;
        maxima[row] = most;
    """
    kernel = metal_kernel("rows", ["x"], ["sums", "maxima"], source, header)
    x = normal(20, 33)
    sums, maxima = kernel(inputs=[x], grid=(20, 1, 1), threadgroup=(8, 1, 1), output_shapes=[(20,), (20,)],
                          output_dtypes=[numpy.float32, numpy.float32], check=True)
    assert numpy.allclose(sums, (x**2).sum(1), rtol=1e-5) and numpy.allclose(maxima, (x**2).max(1), rtol=1e-6)


@pytest.mark.parametrize("causal", [True, False])
def test_masked_row_products_with_a_truth_value_in_the_template(causal):
    source = """
        uint i = thread_position_in_grid.x, j = thread_position_in_grid.y;
        uint n = q_shape[0], d = q_shape[1];
        float sum = 0;
        for (uint k = 0; k < d; k++) sum += float(q[i * d + k]) * float(q[j * d + k]);
        s[i * n + j] = CAUSAL && j > i ? -INFINITY : sum;
    """
    kernel = metal_kernel("scores", ["q"], ["s"], source)
    q = normal(12, 8, dtype=numpy.float16)
    found = kernel(inputs=[q], template=[("CAUSAL", causal)], grid=(12, 12, 1), threadgroup=(4, 4, 1), output_shapes=[(12, 12)],
                   output_dtypes=[numpy.float32], check=True)[0]
    expected = q.astype(numpy.float32) @ q.astype(numpy.float32).T
    if causal:
        expected[numpy.triu_indices(12, 1)] = -numpy.inf
    assert numpy.allclose(found, expected, atol=1e-4)


def test_integers_of_every_width_are_counted():
    source = "uint i = thread_position_in_grid.x; y[i] = metal::popcount(T(x[i]));"
    kernel = metal_kernel("bits", ["x"], ["y"], source)
    for dtype in (numpy.uint8, numpy.uint16, numpy.uint32, numpy.int32):
        x = numpy.random.default_rng(5).integers(0, 120, 300).astype(dtype)
        expected = numpy.array([int(v).bit_count() for v in x])
        assert numpy.array_equal(elementwise(kernel, [x], template=[("T", dtype)]), expected)


def test_unwritten_outputs_hold_the_initial_value():
    kernel = metal_kernel("some", ["x"], ["y"], "uint i = thread_position_in_grid.x; if (x[i] > 0) y[i] = x[i];")
    x = normal(64)
    assert numpy.array_equal(elementwise(kernel, [x], init_value=-1), numpy.where(x > 0, x, -1))


def test_faults_name_lines_of_the_body():
    kernel = metal_kernel("far", ["x"], ["y"], "\nuint i = thread_position_in_grid.x;\ny[i + 1] = x[i];")
    with pytest.raises(assay.KernelFault) as caught:
        kernel(inputs=[normal(16)], grid=(16, 1, 1), threadgroup=(16, 1, 1), output_shapes=[(16,)], output_dtypes=[numpy.float32])
    assert caught.value.place.startswith("far.metal:3") and caught.value.thread == (15, 0, 0)
    with pytest.raises(assay.SourceError) as caught:
        metal_kernel("bad", ["x"], ["y"], "\n\ny[0] = z;")(
            inputs=[normal(16)], grid=(1, 1, 1), threadgroup=(1, 1, 1), output_shapes=[(16,)], output_dtypes=[numpy.float32]
        )
    assert caught.value.errors[0]["line"] == 3


def test_wrong_calls_say_what_mlx_says():
    kernel = metal_kernel("copy", ["x"], ["y"], "y[0] = x[0];")
    call = {"grid": (1, 1, 1), "threadgroup": (1, 1, 1), "output_shapes": [(1,)], "output_dtypes": [numpy.float32]}
    with pytest.raises(assay.UsageError, match="`inputs` to have size 1 but got size 0"):
        kernel(inputs=[], **call)
    with pytest.raises(assay.UsageError, match="`output_shapes` to have size 1 but got size 2"):
        kernel(inputs=[normal(1)], **{**call, "output_shapes": [(1,), (1,)]})
    with pytest.raises(assay.UsageError, match="no arrays of float64"):
        kernel(inputs=[normal(1, dtype=numpy.float64)], **call)
    with pytest.raises(assay.UsageError, match="at least one output"):
        metal_kernel("none", ["x"], [], "")
    with pytest.raises(assay.UsageError, match="math_mode"):
        metal_kernel("none", ["x"], ["y"], "", compile_options={"math_mode": "quick"})


def test_a_custom_kernel_is_profiled_and_predicted():
    kernel = metal_kernel("double", ["x"], ["y"], "uint i = thread_position_in_grid.x; y[i] = 2 * x[i];")
    call = {"inputs": [normal(4096)], "grid": (4096, 1, 1), "threadgroup": (256, 1, 1), "output_shapes": [(4096,)],
            "output_dtypes": [numpy.float32]}
    profile = kernel.profile(**call)
    assert profile.predicted.time_us > 0 and profile.occupancy.threads == 1024
    assert kernel.predict(chip="m1", **call).chip == "m1"


def test_mlx_arrays_come_back_as_mlx_arrays():
    mx = pytest.importorskip("mlx.core")
    source = "uint i = thread_position_in_grid.x; T v = x[i]; y[i] = metal::exp(v);"
    kernel = metal_kernel("exp", ["x"], ["y"], source)
    for dtype in (mx.float32, mx.float16, mx.bfloat16):
        x = mx.random.normal((4, 30)).astype(dtype)
        y = kernel(inputs=[x], template=[("T", mx.float32)], grid=(x.size, 1, 1), threadgroup=(64, 1, 1), output_shapes=[x.shape],
                   output_dtypes=[x.dtype])[0]
        assert isinstance(y, mx.array) and y.dtype == dtype
        assert mx.allclose(y, mx.exp(x), rtol=2e-2 if dtype == mx.bfloat16 else 2e-3)
