"""PyTorch as a reference of `assay bench`: every operation of the registry with PyTorch's own functions.

    python torch_reference.py [--compiled] [--cpu]

`--compiled` gives every operation to torch.compile; `--cpu` takes the CPU where there is a GPU too.
"""

import sys
import time
from types import SimpleNamespace

import torch
import torch.nn.functional as F

from assay_reference import Unsupported, serve

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "u32": torch.int32, "i32": torch.int32}


def first(x):
    """Channels last to channels first: a view."""
    return x.movedim(-1, 1)


def last(x):
    return x.movedim(1, -1)


def conv(function, **options):
    return lambda p, x, w: last(function(first(x), first(w), **options))


conv1d, conv2d, conv3d = conv(F.conv1d), conv(F.conv2d), conv(F.conv3d)


def transposed(p, x, w):
    return last(F.conv_transpose2d(first(x), w.movedim(-1, 0), stride=p.stride))


def padded(x, w):
    return last(F.conv2d(first(x), first(w), padding=w.shape[1] // 2))


def pool(function):
    return lambda p, x: last(function(first(x), p.window, p.stride))


def layer_norm(x, eps):
    return F.layer_norm(x, x.shape[-1:], eps=eps)


def rms_norm(x, eps):
    return F.rms_norm(x, x.shape[-1:], eps=eps)


def conv3d_softmax_pool(p, x, w):
    y = first(torch.softmax(conv3d(p, x, w), -1))
    return last(F.max_pool3d(F.max_pool3d(y, 2), 2))


def conv3d_div_pool_sum(p, x, w):
    return ((conv3d(p, x, w) / p.divisor).amax(-1).mean((1, 2, 3)) + p.bias).sum()


def conv_transpose3d_norm_pool_gelu(p, x, w, added):
    y = last(F.conv_transpose3d(first(x), w.movedim(-1, 0))) + added
    return F.gelu(last(F.avg_pool3d(first(layer_norm(y, p.eps)), 2)))


def clamp_scale_div(p, x, w, bias):
    return ((transposed(p, x, w) + bias).clamp(-1, 1) * p.scale).clamp(-1, 1) / p.divisor


def heads(x, count):
    return x.reshape(x.shape[0], count, -1).transpose(0, 1)[None]


def joined(x):
    return x[0].transpose(0, 1).reshape(x.shape[2], -1)


def attend(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=q.shape[1] != k.shape[1])


def rope(x, base):
    """Pairs of neighbours turned by an angle that grows with the place; PyTorch has no function for it."""
    rows, size = x.shape[-2:]
    turns = base ** (-torch.arange(0, size, 2, device=x.device, dtype=torch.float32) / size)
    angles = torch.arange(rows, device=x.device, dtype=torch.float32)[:, None] * turns
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2).contiguous())
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).reshape(x.shape).to(x.dtype)


def llama_attention(p, x, wqkv, wo):
    width = x.shape[-1]
    shared = width // p.heads * p.kv_heads
    q, k, v = (x @ wqkv).split([width, shared, shared], -1)
    q, k, v = heads(q, p.heads), heads(k, p.kv_heads), heads(v, p.kv_heads)
    return joined(attend(rope(q, p.base), rope(k, p.base), v)) @ wo


def mha_attention(p, x, wq, wk, wv, wo):
    q, k, v = (heads(x @ w, p.heads) for w in (wq, wk, wv))
    return joined(attend(q, k, v)) @ wo


def transformer_block(p, x, wqkv, wo, up, down):
    q, k, v = (heads(part, p.heads) for part in (layer_norm(x, p.eps) @ wqkv).chunk(3, -1))
    x = x + joined(attend(q, k, v)) @ wo
    return x + F.gelu(layer_norm(x, p.eps) @ up) @ down


def llama_decoder_layer(p, x, wqkv, wo, gate_up, down):
    x = x + llama_attention(p, rms_norm(x, p.eps), wqkv, wo)
    gate, up = (rms_norm(x, p.eps) @ gate_up).chunk(2, -1)
    return x + (F.silu(gate) * up) @ down


def alexnet(p, x, a, b, c, d, e):
    for w in (a, b, c):
        x = F.relu(last(F.max_pool2d(first(conv2d(p, x, w)), 2)))
    return F.relu(x.reshape(x.shape[0], -1) @ d) @ e


def resnet(p, x, stem, a, b, fc):
    h = F.relu(padded(x, stem))
    h = F.relu(padded(F.relu(padded(h, a)), b) + h)
    return h.mean((1, 2)) @ fc


def densenet(p, x, stem, one, two, fc):
    h = F.relu(padded(x, stem))
    for w in (one, two):
        h = torch.cat([h, F.relu(padded(h, w))], -1)
    return h.mean((1, 2)) @ fc


def cross_entropy(p, x, y):
    return F.cross_entropy(x, y, reduction="none")


def tanh_gelu(x):
    return F.gelu(x, approximate="tanh")


# Every operation takes sizes and scalars by name (p) and its inputs.
OPERATIONS = {
    "relu": lambda p, x: F.relu(x),
    "sigmoid": lambda p, x: torch.sigmoid(x),
    "swish": lambda p, x: F.silu(x),
    "gelu": lambda p, x: F.gelu(x),
    "selu": lambda p, x: F.selu(x),
    "logsigmoid": lambda p, x: F.logsigmoid(x),
    "tanh": lambda p, x: torch.tanh(x),
    "hardswish": lambda p, x: F.hardswish(x),
    "exp": lambda p, x: torch.exp(x),
    "abs": lambda p, x: torch.abs(x),
    "mish": lambda p, x: F.mish(x),
    "softplus": lambda p, x: F.softplus(x),
    "softsign": lambda p, x: F.softsign(x),
    "hardtanh": lambda p, x: F.hardtanh(x),
    "hardsigmoid": lambda p, x: F.hardsigmoid(x),
    "log": lambda p, x: torch.log(torch.abs(x) + 1e-30),
    "rsqrt": lambda p, x: torch.rsqrt(torch.abs(x)),
    "leaky_relu": lambda p, x: F.leaky_relu(x, p.alpha),
    "elu": lambda p, x: F.elu(x, p.alpha),
    "clip": lambda p, x: x.clamp(p.low, p.high),
    "matrix_scale": lambda p, x: x * p.scale,
    "matrix_add": lambda p, a, b: a + b,
    "residual_add": lambda p, x, r: torch.add(x, r, alpha=p.alpha),
    "hinge_loss": lambda p, x, t: (1 - x * t).clamp(min=0),
    "huber_loss": lambda p, x, t: F.huber_loss(x, t, delta=p.delta, reduction="none"),
    "kl_div_loss": lambda p, x, t: F.kl_div(x, t + 1e-6, reduction="none"),
    "dropout": lambda p, x, m: x * m / (1 - p.p),
    "where": lambda p, c, a, b: torch.where(c > 0.5, a, b),
    "silu_residual": lambda p, x, a: x + F.silu(a),
    "gelu_residual": lambda p, x, a: x + tanh_gelu(a),
    "add_silu": lambda p, x, a: F.silu(x + a),
    "mul_silu": lambda p, x, a: F.silu(x * a),
    "add_gelu": lambda p, x, a: tanh_gelu(x + a),
    "mul_gelu": lambda p, x, a: tanh_gelu(x * a),
    "add_relu": lambda p, x, a: F.relu(x + a),
    "mul_relu": lambda p, x, a: F.relu(x * a),
    "add_swish": lambda p, x, a: F.silu(x + a),
    "residual_tanh": lambda p, x, a: x + torch.tanh(a),
    "prelu": lambda p, x, a: F.prelu(x, a),
    "bias_add": lambda p, x, b: x + b,
    "bias_gelu": lambda p, x, b: F.gelu(x + b),
    "outer_product": lambda p, x, y: torch.outer(x, y),
    # A transposed tensor is a view; the registry's operation moves the numbers.
    "transpose_2d": lambda p, x: x.T.contiguous(),
    "embedding": lambda p, i, t: F.embedding(i.int(), t),
    "l1_norm": lambda p, x: torch.linalg.vector_norm(x, 1, -1),
    "l2_norm": lambda p, x: torch.linalg.vector_norm(x, 2, -1),
    "frobenius_norm": lambda p, x: torch.linalg.matrix_norm(x),
    "variance": lambda p, x: torch.var(x, -1, correction=0),
    "logsumexp": lambda p, x: torch.logsumexp(x, -1),
    "argmax": lambda p, x: torch.argmax(x, -1),
    "softmax": lambda p, x: torch.softmax(x, -1),
    "log_softmax": lambda p, x: torch.log_softmax(x, -1),
    "masked_softmax": lambda p, x, m: torch.softmax(x + m, -1),
    "layer_norm": lambda p, x: layer_norm(x, p.eps),
    "rms_norm": lambda p, x: rms_norm(x, p.eps),
    "add_norm": lambda p, x, r: layer_norm(x + r, p.eps),
    "fused_add_rms_norm": lambda p, x, r: rms_norm(x + r, p.eps),
    "dot_product": lambda p, x, y: torch.dot(x, y),
    "mse_loss": lambda p, x, t: F.mse_loss(x, t),
    "cosine_similarity": lambda p, x, y: F.cosine_similarity(x, y, -1),
    "manhattan_similarity": lambda p, x, y: (x - y).abs().sum(-1),
    "triplet_margin_loss": lambda p, a, b, c: F.triplet_margin_loss(a, b, c, margin=p.margin, eps=0.0, reduction="none"),
    "cross_entropy_loss": cross_entropy,
    "log_softmax_cross_entropy": cross_entropy,
    "nll_loss": lambda p, x, y: F.nll_loss(x, y.argmax(-1), reduction="none"),
    "top_k": lambda p, x: torch.topk(x, p.k, -1).values,
    "cumsum": lambda p, x: x.cumsum(-1),
    "cumsum_reverse": lambda p, x: x.flip(-1).cumsum(-1).flip(-1),
    "cumsum_exclusive": lambda p, x: F.pad(x, (1, 0))[:, :-1].cumsum(-1),
    "masked_cumsum": lambda p, x, m: (x * m).cumsum(-1),
    "cumprod": lambda p, x: x.cumprod(-1),
    "batch_norm": lambda p, x: F.batch_norm(x, None, None, training=True, eps=p.eps),
    "instance_norm": lambda p, x: F.instance_norm(x, eps=p.eps),
    "group_norm": lambda p, x: F.group_norm(x, p.groups, eps=p.eps),
    "matmul": lambda p, a, b: a @ b,
    "batch_mm": lambda p, a, b: torch.bmm(a, b),
    "matvec": lambda p, a, x: torch.mv(a, x),
    "matmul_sub_mul_relu": lambda p, x, w: F.relu((x @ w - p.subtracted) * p.factor),
    "silu_linear": lambda p, x, w: F.silu(x @ w),
    "gelu_linear": lambda p, x, w: F.gelu(x @ w),
    "linear_bias": lambda p, x, w, b: torch.addmm(b, x, w),
    "swiglu": lambda p, x, g, u: F.silu(x @ g) * (x @ u),
    "rms_norm_linear": lambda p, x, w: F.linear(rms_norm(x, p.eps), w),
    "matmul_gelu_softmax": lambda p, x, w: torch.softmax(F.gelu(x @ w), -1),
    "conv1d": conv1d,
    "conv2d": conv2d,
    "conv3d": conv3d,
    "depthwise_conv2d": lambda p, x, w: conv(F.conv2d, groups=x.shape[-1])(p, x, w),
    "conv2d_relu_bias": lambda p, x, w, b: F.relu(conv2d(p, x, w) + b),
    "conv2d_mish_mish": lambda p, x, w: F.mish(F.mish(conv2d(p, x, w))),
    "conv3d_multi_act_bias": lambda p, x, w, b: torch.sigmoid(F.gelu(F.leaky_relu(F.relu(conv3d(p, x, w))))) + b,
    "conv3d_softmax_pool": conv3d_softmax_pool,
    "conv3d_div_pool_sum": conv3d_div_pool_sum,
    "conv_transpose2d": transposed,
    "conv_transpose2d_sub_tanh": lambda p, x, w: torch.tanh(transposed(p, x, w) - p.subtracted),
    "conv_transpose2d_clamp_scale_div": clamp_scale_div,
    "conv_transpose3d_norm_pool_gelu": conv_transpose3d_norm_pool_gelu,
    "max_pool1d": pool(F.max_pool1d),
    "max_pool2d": pool(F.max_pool2d),
    "max_pool3d": pool(F.max_pool3d),
    "avg_pool1d": pool(F.avg_pool1d),
    "avg_pool2d": pool(F.avg_pool2d),
    "avg_pool3d": pool(F.avg_pool3d),
    "rope_embedding": lambda p, x: rope(x, p.base),
    "attention_scores": lambda p, q, k: torch.softmax(q @ k.T * q.shape[-1] ** -0.5, -1),
    "attention": lambda p, q, k, v: joined(attend(heads(q, 1), heads(k, 1), heads(v, 1))),
    "llama_attention": llama_attention,
    "mha_attention": mha_attention,
    "transformer_block": transformer_block,
    "llama_decoder_layer": llama_decoder_layer,
    "alexnet": alexnet,
    "resnet": resnet,
    "densenet": densenet,
}


class Torch:
    clock = "host"

    def __init__(self, compiled, cpu):
        self.gpu = not cpu and torch.backends.mps.is_available()
        self.device = "mps" if self.gpu else "cpu"
        self.compiled = compiled
        self.name = f"PyTorch {torch.__version__}{' compiled' if compiled else ''} ({'gpu' if self.gpu else 'cpu'})"

    def prepare(self, call):
        operation = OPERATIONS.get(call.operation)
        if operation is None:
            raise Unsupported(f"there is no {call.operation!r} here")
        inputs = [
            torch.frombuffer(bytearray(one.bytes()), dtype=DTYPES[one.dtype]).reshape(one.shape).to(self.device)
            for one in call.inputs()
        ]
        function = lambda *inputs: operation(call.values, *inputs)
        if self.compiled:
            function = torch.compile(function, dynamic=False)
        return SimpleNamespace(function=function, inputs=inputs, wanted=call.outputs())

    def wait(self):
        if self.gpu:
            torch.mps.synchronize()

    @torch.no_grad()
    def run(self, prepared, times):
        self.wait()
        start = time.perf_counter()
        for _ in range(times):
            prepared.function(*prepared.inputs)
        self.wait()
        return time.perf_counter() - start

    @torch.no_grad()
    def outputs(self, prepared):
        results = (prepared.function(*prepared.inputs).to(DTYPES[one.dtype]) for one in prepared.wanted)
        return [one.contiguous().cpu().flatten().view(torch.uint8).numpy().tobytes() for one in results]


if __name__ == "__main__":
    serve(Torch("--compiled" in sys.argv, "--cpu" in sys.argv))
