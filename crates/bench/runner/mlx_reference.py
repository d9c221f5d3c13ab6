"""MLX as a reference of `assay bench`: every operation of the registry with MLX's own functions where it has one.

    python mlx_reference.py [--compiled] [--cpu]

`--compiled` gives every operation to mx.compile; `--cpu` takes the CPU where there is a GPU too.
"""

import sys
import time
from types import SimpleNamespace

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from assay_reference import Unsupported, serve

DTYPES = {"f32": mx.float32, "f16": mx.float16, "bf16": mx.bfloat16, "u32": mx.uint32, "i32": mx.int32}
RAW = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "u32": np.uint32, "i32": np.int32}


def layer_norm(x, eps):
    return mx.fast.layer_norm(x, None, None, eps)


def rms_norm(x, eps):
    return mx.fast.rms_norm(x, None, eps)


def first(x):
    return mx.transpose(x, (0, 3, 1, 2))


def last(x):
    return mx.transpose(x, (0, 2, 3, 1))


def batch_norm(p, x):
    return nn.BatchNorm(x.shape[-1], eps=p.eps, affine=False, track_running_stats=False)(x)


def group_norm(p, x):
    channels = x.shape[1]
    return first(nn.GroupNorm(p.groups, channels, eps=p.eps, affine=False, pytorch_compatible=True)(last(x)))


def top_k(p, x):
    return mx.sort(mx.topk(x, p.k, axis=-1), axis=-1)[:, ::-1]


def kl_div_loss(p, prediction, target):
    # MLX's own takes the logarithm of the target and sums rows; the registry's operation adds 1e-6 to the target.
    target = target + 1e-6
    return target * (mx.log(target) - prediction)


def pool(layer):
    return lambda p, x: layer(p.window, p.stride)(x)


def transposed(p, x, w):
    return mx.conv_transpose2d(x, w, stride=p.stride)


def conv3d_softmax_pool(p, x, w):
    halve = nn.MaxPool3d(2, 2)
    return halve(halve(mx.softmax(mx.conv3d(x, w), axis=-1)))


def conv3d_div_pool_sum(p, x, w):
    largest = mx.max(mx.conv3d(x, w) / p.divisor, axis=-1)
    return mx.sum(mx.mean(largest, axis=(1, 2, 3)) + p.bias)


def conv_transpose3d_norm_pool_gelu(p, x, w, added):
    return nn.gelu(nn.AvgPool3d(2, 2)(layer_norm(mx.conv_transpose3d(x, w) + added, p.eps)))


def clamp_scale_div(p, x, w, bias):
    return mx.clip(mx.clip(transposed(p, x, w) + bias, -1, 1) * p.scale, -1, 1) / p.divisor


def heads(x, count):
    return mx.transpose(x.reshape(x.shape[0], count, -1), (1, 0, 2))[None]


def joined(x):
    return mx.transpose(x[0], (1, 0, 2)).reshape(x.shape[2], -1)


def attend(q, k, v):
    return mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5)


def rope(x, base):
    return mx.fast.rope(x, x.shape[-1], traditional=True, base=base, scale=1.0, offset=0)


def llama_attention(p, x, wqkv, wo):
    width = x.shape[-1]
    shared = width // p.heads * p.kv_heads
    q, k, v = mx.split(x @ wqkv, [width, width + shared], axis=-1)
    q, k, v = heads(q, p.heads), heads(k, p.kv_heads), heads(v, p.kv_heads)
    return joined(attend(rope(q, p.base), rope(k, p.base), v)) @ wo


def mha_attention(p, x, wq, wk, wv, wo):
    layer = nn.MultiHeadAttention(x.shape[-1], p.heads)
    for name, w in (("query", wq), ("key", wk), ("value", wv), ("out", wo)):
        getattr(layer, f"{name}_proj").weight = w.T
    return layer(x[None], x[None], x[None])[0]


def transformer_block(p, x, wqkv, wo, up, down):
    q, k, v = (heads(part, p.heads) for part in mx.split(layer_norm(x, p.eps) @ wqkv, 3, axis=-1))
    x = x + joined(attend(q, k, v)) @ wo
    return x + nn.gelu(layer_norm(x, p.eps) @ up) @ down


def llama_decoder_layer(p, x, wqkv, wo, gate_up, down):
    x = x + llama_attention(p, rms_norm(x, p.eps), wqkv, wo)
    gate, up = mx.split(rms_norm(x, p.eps) @ gate_up, 2, axis=-1)
    return x + (nn.silu(gate) * up) @ down


def alexnet(p, x, a, b, c, d, e):
    for w in (a, b, c):
        x = nn.relu(nn.MaxPool2d(2, 2)(mx.conv2d(x, w)))
    return nn.relu(x.reshape(x.shape[0], -1) @ d) @ e


def padded(x, w):
    return mx.conv2d(x, w, padding=w.shape[1] // 2)


def resnet(p, x, stem, a, b, fc):
    h = nn.relu(padded(x, stem))
    h = nn.relu(padded(nn.relu(padded(h, a)), b) + h)
    return mx.mean(h, axis=(1, 2)) @ fc


def densenet(p, x, stem, one, two, fc):
    h = nn.relu(padded(x, stem))
    for w in (one, two):
        h = mx.concatenate([h, nn.relu(padded(h, w))], axis=-1)
    return mx.mean(h, axis=(1, 2)) @ fc


def cross_entropy(p, x, y):
    return nn.losses.cross_entropy(x, y)


# Every operation takes sizes and scalars by name (p) and its inputs.
OPERATIONS = {
    "relu": lambda p, x: nn.relu(x),
    "sigmoid": lambda p, x: mx.sigmoid(x),
    "swish": lambda p, x: nn.silu(x),
    "gelu": lambda p, x: nn.gelu(x),
    "selu": lambda p, x: nn.selu(x),
    "logsigmoid": lambda p, x: nn.log_sigmoid(x),
    "tanh": lambda p, x: mx.tanh(x),
    "hardswish": lambda p, x: nn.hardswish(x),
    "exp": lambda p, x: mx.exp(x),
    "abs": lambda p, x: mx.abs(x),
    "mish": lambda p, x: nn.mish(x),
    "softplus": lambda p, x: nn.softplus(x),
    "softsign": lambda p, x: nn.softsign(x),
    "hardtanh": lambda p, x: nn.hard_tanh(x),
    "hardsigmoid": lambda p, x: mx.clip(x / 6 + 0.5, 0, 1),
    "log": lambda p, x: mx.log(mx.abs(x) + 1e-30),
    "rsqrt": lambda p, x: mx.rsqrt(mx.abs(x)),
    "leaky_relu": lambda p, x: nn.leaky_relu(x, p.alpha),
    "elu": lambda p, x: nn.elu(x, p.alpha),
    "clip": lambda p, x: mx.clip(x, p.low, p.high),
    "matrix_scale": lambda p, x: x * p.scale,
    "matrix_add": lambda p, a, b: a + b,
    "residual_add": lambda p, x, r: x + p.alpha * r,
    "hinge_loss": lambda p, x, t: nn.losses.hinge_loss(x, t, reduction="none"),
    "huber_loss": lambda p, x, t: nn.losses.huber_loss(x, t, delta=p.delta, reduction="none"),
    "kl_div_loss": kl_div_loss,
    "dropout": lambda p, x, m: x * m / (1 - p.p),
    "where": lambda p, c, a, b: mx.where(c > 0.5, a, b),
    "silu_residual": lambda p, x, a: x + nn.silu(a),
    "gelu_residual": lambda p, x, a: x + nn.gelu_approx(a),
    "add_silu": lambda p, x, a: nn.silu(x + a),
    "mul_silu": lambda p, x, a: nn.silu(x * a),
    "add_gelu": lambda p, x, a: nn.gelu_approx(x + a),
    "mul_gelu": lambda p, x, a: nn.gelu_approx(x * a),
    "add_relu": lambda p, x, a: nn.relu(x + a),
    "mul_relu": lambda p, x, a: nn.relu(x * a),
    "add_swish": lambda p, x, a: nn.silu(x + a),
    "residual_tanh": lambda p, x, a: x + mx.tanh(a),
    "prelu": lambda p, x, a: nn.prelu(x, a),
    "bias_add": lambda p, x, b: x + b,
    "bias_gelu": lambda p, x, b: nn.gelu(x + b),
    "outer_product": lambda p, x, y: mx.outer(x, y),
    # A transposed array is a view; the registry's operation moves the numbers.
    "transpose_2d": lambda p, x: mx.contiguous(mx.transpose(x)),
    "embedding": lambda p, i, t: t[i.astype(mx.int32)],
    "l1_norm": lambda p, x: mx.linalg.norm(x, 1, axis=-1),
    "l2_norm": lambda p, x: mx.linalg.norm(x, axis=-1),
    "frobenius_norm": lambda p, x: mx.linalg.norm(x, "fro"),
    "variance": lambda p, x: mx.var(x, axis=-1),
    "logsumexp": lambda p, x: mx.logsumexp(x, axis=-1),
    "argmax": lambda p, x: mx.argmax(x, axis=-1),
    "softmax": lambda p, x: mx.softmax(x, axis=-1, precise=True),
    "log_softmax": lambda p, x: nn.log_softmax(x, axis=-1),
    "masked_softmax": lambda p, x, m: mx.softmax(x + m, axis=-1, precise=True),
    "layer_norm": lambda p, x: layer_norm(x, p.eps),
    "rms_norm": lambda p, x: rms_norm(x, p.eps),
    "add_norm": lambda p, x, r: layer_norm(x + r, p.eps),
    "fused_add_rms_norm": lambda p, x, r: rms_norm(x + r, p.eps),
    "dot_product": lambda p, x, y: mx.inner(x, y),
    "mse_loss": lambda p, x, t: nn.losses.mse_loss(x, t),
    "cosine_similarity": lambda p, x, y: nn.losses.cosine_similarity_loss(x, y),
    "manhattan_similarity": lambda p, x, y: mx.sum(mx.abs(x - y), axis=-1),
    "triplet_margin_loss": lambda p, a, b, c: nn.losses.triplet_loss(a, b, c, margin=p.margin, eps=0.0),
    "cross_entropy_loss": cross_entropy,
    "log_softmax_cross_entropy": cross_entropy,
    "nll_loss": lambda p, x, y: nn.losses.nll_loss(x, mx.argmax(y, axis=-1)),
    "top_k": top_k,
    "cumsum": lambda p, x: mx.cumsum(x, axis=-1),
    "cumsum_reverse": lambda p, x: mx.cumsum(x, axis=-1, reverse=True),
    "cumsum_exclusive": lambda p, x: mx.cumsum(x, axis=-1, inclusive=False),
    "masked_cumsum": lambda p, x, m: mx.cumsum(x * m, axis=-1),
    "cumprod": lambda p, x: mx.cumprod(x, axis=-1),
    "batch_norm": batch_norm,
    "instance_norm": lambda p, x: first(nn.InstanceNorm(x.shape[1], eps=p.eps)(last(x))),
    "group_norm": group_norm,
    "matmul": lambda p, a, b: a @ b,
    "batch_mm": lambda p, a, b: a @ b,
    "matvec": lambda p, a, x: a @ x,
    "matmul_sub_mul_relu": lambda p, x, w: nn.relu((x @ w - p.subtracted) * p.factor),
    "silu_linear": lambda p, x, w: nn.silu(x @ w),
    "gelu_linear": lambda p, x, w: nn.gelu(x @ w),
    "linear_bias": lambda p, x, w, b: mx.addmm(b, x, w),
    "swiglu": lambda p, x, g, u: nn.silu(x @ g) * (x @ u),
    "rms_norm_linear": lambda p, x, w: rms_norm(x, p.eps) @ w.T,
    "matmul_gelu_softmax": lambda p, x, w: mx.softmax(nn.gelu(x @ w), axis=-1),
    "conv1d": lambda p, x, w: mx.conv1d(x, w),
    "conv2d": lambda p, x, w: mx.conv2d(x, w),
    "conv3d": lambda p, x, w: mx.conv3d(x, w),
    "depthwise_conv2d": lambda p, x, w: mx.conv2d(x, w, groups=x.shape[-1]),
    "conv2d_relu_bias": lambda p, x, w, b: nn.relu(mx.conv2d(x, w) + b),
    "conv2d_mish_mish": lambda p, x, w: nn.mish(nn.mish(mx.conv2d(x, w))),
    "conv3d_multi_act_bias": lambda p, x, w, b: mx.sigmoid(nn.gelu(nn.leaky_relu(nn.relu(mx.conv3d(x, w))))) + b,
    "conv3d_softmax_pool": conv3d_softmax_pool,
    "conv3d_div_pool_sum": conv3d_div_pool_sum,
    "conv_transpose2d": transposed,
    "conv_transpose2d_sub_tanh": lambda p, x, w: mx.tanh(transposed(p, x, w) - p.subtracted),
    "conv_transpose2d_clamp_scale_div": clamp_scale_div,
    "conv_transpose3d_norm_pool_gelu": conv_transpose3d_norm_pool_gelu,
    "max_pool1d": pool(nn.MaxPool1d),
    "max_pool2d": pool(nn.MaxPool2d),
    "max_pool3d": pool(nn.MaxPool3d),
    "avg_pool1d": pool(nn.AvgPool1d),
    "avg_pool2d": pool(nn.AvgPool2d),
    "avg_pool3d": pool(nn.AvgPool3d),
    "rope_embedding": lambda p, x: rope(x[None], p.base)[0],
    "attention_scores": lambda p, q, k: mx.softmax(q @ k.T * q.shape[-1] ** -0.5, axis=-1),
    "attention": lambda p, q, k, v: joined(attend(heads(q, 1), heads(k, 1), heads(v, 1))),
    "llama_attention": llama_attention,
    "mha_attention": mha_attention,
    "transformer_block": transformer_block,
    "llama_decoder_layer": llama_decoder_layer,
    "alexnet": alexnet,
    "resnet": resnet,
    "densenet": densenet,
}


def array(data, dtype, shape):
    numbers = mx.array(np.frombuffer(data, RAW[dtype]).reshape(shape))
    return numbers.view(mx.bfloat16) if dtype == "bf16" else numbers


def raw(numbers, dtype):
    numbers = mx.contiguous(numbers.astype(DTYPES[dtype]))
    return np.array(numbers.view(mx.uint16) if dtype == "bf16" else numbers).tobytes()


class Mlx:
    clock = "host"

    def __init__(self, compiled, cpu):
        if cpu:
            mx.set_default_device(mx.cpu)
        device = str(mx.default_device()).lower()
        self.compiled = compiled
        self.name = f"MLX {mx.__version__}{' compiled' if compiled else ''} ({'gpu' if 'gpu' in device else 'cpu'})"

    def prepare(self, call):
        operation = OPERATIONS.get(call.operation)
        if operation is None:
            raise Unsupported(f"there is no {call.operation!r} here")
        inputs = [array(one.bytes(), one.dtype, one.shape) for one in call.inputs()]
        function = lambda *inputs: operation(call.values, *inputs)
        if self.compiled:
            function = mx.compile(function)
        mx.eval(inputs)
        return SimpleNamespace(function=function, inputs=inputs, wanted=call.outputs())

    def run(self, prepared, times):
        start = time.perf_counter()
        mx.eval([prepared.function(*prepared.inputs) for _ in range(times)])
        mx.synchronize()
        return time.perf_counter() - start

    def outputs(self, prepared):
        return [raw(prepared.function(*prepared.inputs), one.dtype) for one in prepared.wanted]


if __name__ == "__main__":
    serve(Mlx("--compiled" in sys.argv, "--cpu" in sys.argv))
