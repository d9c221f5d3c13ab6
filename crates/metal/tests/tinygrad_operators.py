"""Operators of tinygrad on its Metal device, forwards and backwards, compared with NumPy. Prints how many agree; ends with 1 if one does not."""

import sys

import numpy as np
from tinygrad import Device, Tensor, TinyJit, dtypes

assert Device.DEFAULT == "METAL", Device.DEFAULT
random = np.random.default_rng(1)
failed = []
count = 0


def near(name, found, expected, tolerance=1e-4):
    global count
    count += 1
    found, expected = np.asarray(found), np.asarray(expected)
    same = found.shape == expected.shape and np.allclose(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not same:
        failed.append(name)
        print(f"{name}: wrong", file=sys.stderr)


def numbers(*shape, low=-2.0, high=2.0):
    return random.uniform(low, high, shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# Of one argument: tinygrad's, NumPy's, the range of what they are given, the derivative where it is simple.
UNARY = {
    "neg": (lambda x: -x, np.negative, (-2, 2), lambda x: -np.ones_like(x)),
    "abs": (Tensor.abs, np.abs, (-2, 2), np.sign),
    "exp": (Tensor.exp, np.exp, (-3, 3), np.exp),
    "exp2": (Tensor.exp2, np.exp2, (-3, 3), lambda x: np.exp2(x) * np.log(2)),
    "log": (Tensor.log, np.log, (0.1, 5), lambda x: 1 / x),
    "log2": (Tensor.log2, np.log2, (0.1, 5), lambda x: 1 / x / np.log(2)),
    "sqrt": (Tensor.sqrt, np.sqrt, (0.1, 5), lambda x: 0.5 / np.sqrt(x)),
    "rsqrt": (Tensor.rsqrt, lambda x: 1 / np.sqrt(x), (0.1, 5), lambda x: -0.5 * x**-1.5),
    "sin": (Tensor.sin, np.sin, (-6, 6), np.cos),
    "cos": (Tensor.cos, np.cos, (-6, 6), lambda x: -np.sin(x)),
    "tan": (Tensor.tan, np.tan, (-1, 1), lambda x: 1 / np.cos(x) ** 2),
    "tanh": (Tensor.tanh, np.tanh, (-3, 3), lambda x: 1 - np.tanh(x) ** 2),
    "sigmoid": (Tensor.sigmoid, sigmoid, (-5, 5), lambda x: sigmoid(x) * (1 - sigmoid(x))),
    "relu": (Tensor.relu, lambda x: np.maximum(x, 0), (-2, 2), lambda x: (x > 0).astype(np.float32)),
    "silu": (Tensor.silu, lambda x: x * sigmoid(x), (-4, 4), None),
    "square": (Tensor.square, np.square, (-3, 3), lambda x: 2 * x),
    "reciprocal": (Tensor.reciprocal, np.reciprocal, (0.2, 3), lambda x: -1 / x**2),
    "floor": (Tensor.floor, np.floor, (-5, 5), None),
    "ceil": (Tensor.ceil, np.ceil, (-5, 5), None),
    "round": (Tensor.round, np.round, (-5, 5), None),
    "trunc": (Tensor.trunc, np.trunc, (-5, 5), None),
    "sign": (Tensor.sign, np.sign, (-2, 2), None),
    "softplus": (Tensor.softplus, lambda x: np.log1p(np.exp(x)), (-3, 3), sigmoid),
}
BINARY = {
    "add": (lambda a, b: a + b, np.add),
    "sub": (lambda a, b: a - b, np.subtract),
    "mul": (lambda a, b: a * b, np.multiply),
    "div": (lambda a, b: a / (b + 3), lambda a, b: a / (b + 3)),
    "maximum": (Tensor.maximum, np.maximum),
    "minimum": (Tensor.minimum, np.minimum),
    "pow": (lambda a, b: (a.abs() + 0.5).pow(b), lambda a, b: (np.abs(a) + 0.5) ** b),
    "less": (lambda a, b: a < b, np.less),
    "equal": (lambda a, b: a == b, np.equal),
    "where": (lambda a, b: (a > 0).where(a, b), lambda a, b: np.where(a > 0, a, b)),
}
REDUCTIONS = {
    "sum": (Tensor.sum, np.sum),
    "mean": (Tensor.mean, np.mean),
    "max": (Tensor.max, np.max),
    "min": (Tensor.min, np.min),
    "prod": (Tensor.prod, np.prod),
    "argmax": (Tensor.argmax, np.argmax),
    "std": (lambda t, axis: t.std(axis=axis, correction=0), np.std),
}
MOVES = {
    "transpose": (lambda t: t.transpose(0, 2), lambda a: a.swapaxes(0, 2)),
    "permute": (lambda t: t.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "flip": (lambda t: t.flip(1), lambda a: a[:, ::-1]),
    "pad": (lambda t: t.pad((1, 2, 0, 1, 3, 0)), lambda a: np.pad(a, ((3, 0), (0, 1), (1, 2)))),
    "shrink": (lambda t: t[1:, :2, 2:5], lambda a: a[1:, :2, 2:5]),
    "stride": (lambda t: t[::2, :, ::-3], lambda a: a[::2, :, ::-3]),
    "concatenate": (lambda t: t.cat(t * 2, dim=1), lambda a: np.concatenate([a, a * 2], 1)),
    "stack": (lambda t: t.stack(t + 1, dim=0), lambda a: np.stack([a, a + 1])),
    "repeat": (lambda t: t.repeat(2, 1, 3), lambda a: np.tile(a, (2, 1, 3))),
    "gather": (lambda t: t[:, Tensor([2, 0, 1])], lambda a: a[:, [2, 0, 1]]),
    "cumsum": (lambda t: t.cumsum(1), lambda a: a.cumsum(1)),
    "triu": (lambda t: t.triu(), np.triu),
    "sort": (lambda t: t.sort(2)[0], lambda a: np.sort(a, 2)),
    "softmax": (lambda t: t.softmax(2), lambda a: np.exp(a) / np.exp(a).sum(2, keepdims=True)),
    "logsumexp": (lambda t: t.logsumexp(2), lambda a: np.log(np.exp(a).sum(2))),
    "layernorm": (lambda t: t.layernorm(), lambda a: (a - a.mean(2, keepdims=True)) / np.sqrt(a.var(2, keepdims=True) + 1e-5)),
}
TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "bool"]


def unary():
    for name, (own, theirs, (low, high), derivative) in UNARY.items():
        for shape in [(1,), (65,), (7, 33)]:
            x = numbers(*shape, low=low, high=high)
            near(f"{name} {shape}", own(Tensor(x)).numpy(), theirs(x), 1e-3)
        if derivative:
            t = Tensor(x)
            near(f"{name}'s derivative", own(t).sum().gradient(t)[0].numpy(), derivative(x), 1e-3)


def binary():
    for name, (own, theirs) in BINARY.items():
        for left, right in [((5,), (5,)), ((4, 33), (33,)), ((3, 1, 4), (1, 6, 4))]:
            a, b = numbers(*left), numbers(*right)
            near(f"{name} {left} {right}", own(Tensor(a), Tensor(b)).numpy(), theirs(a, b), 1e-3)


def reductions():
    for name, (own, theirs) in REDUCTIONS.items():
        for shape, axis in [((100,), 0), ((17, 33), 0), ((17, 33), 1), ((4, 5, 300), 2)]:
            x = numbers(*shape, low=0.5, high=1.5) if name == "prod" else numbers(*shape)
            near(f"{name} {shape} {axis}", own(Tensor(x), axis=axis).numpy(), theirs(x, axis=axis), 1e-3)


def moves():
    for name, (own, theirs) in MOVES.items():
        x = numbers(4, 3, 6)
        near(name, own(Tensor(x)).numpy(), theirs(x), 1e-3)


def products():
    for m, k, n in [(1, 1, 1), (3, 5, 7), (64, 64, 64), (33, 100, 65), (1, 256, 40)]:
        a, b = numbers(m, k), numbers(k, n)
        near(f"matmul {m} {k} {n}", (Tensor(a) @ Tensor(b)).numpy(), a @ b, 1e-3)
        half = (Tensor(a).half() @ Tensor(b).half()).float().numpy()
        near(f"matmul {m} {k} {n} half", half, a.astype(np.float16).astype(np.float32) @ b.astype(np.float16).astype(np.float32), 5e-2)
    a, b = numbers(4, 9, 16), numbers(4, 16, 5)
    near("matmul batches", (Tensor(a) @ Tensor(b)).numpy(), a @ b, 1e-3)
    x, w = numbers(2, 3, 9, 8), numbers(4, 3, 3, 3)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    near("conv2d", Tensor(x).conv2d(Tensor(w)).numpy(), np.einsum("bchwij,ocij->bohw", windows, w), 1e-3)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(2, 3))[:, :, ::2, ::2]
    near("max_pool2d", Tensor(x).max_pool2d((2, 2)).numpy(), windows.max((4, 5)))
    near("avg_pool2d", Tensor(x).avg_pool2d((2, 2)).numpy(), windows.mean((4, 5)))
    q, k, v = (numbers(2, 8, 16) for _ in range(3))
    scores = q @ k.swapaxes(1, 2) / 4
    weights = np.exp(scores) / np.exp(scores).sum(2, keepdims=True)
    near("attention", Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v)).numpy(), weights @ v, 1e-3)
    near("einsum", Tensor.einsum("bij,bkj->ik", Tensor(q), Tensor(k)).numpy(), np.einsum("bij,bkj->ik", q, k), 1e-3)


def types():
    for start in TYPES:
        x = np.array([0, 1, 2, 3, 100, 7], dtype=start)
        near(f"{start} twice", (Tensor(x) + Tensor(x)).numpy(), x + x)
        for end in TYPES:
            near(f"{start} as {end}", Tensor(x).cast(getattr(dtypes, end)).numpy(), x.astype(end))


def graphs():
    """What is captured runs as an indirect command buffer from the third call on."""

    @TinyJit
    def step(a, b):
        return ((a @ b).relu() + a.sum(1, keepdim=True)).realize(), (a * 2).realize()

    for n in range(5):
        a, b = numbers(32, 32), numbers(32, 32)
        product, twice = step(Tensor(a).realize(), Tensor(b).realize())
        near(f"captured {n}", product.numpy(), np.maximum(a @ b, 0) + a.sum(1, keepdims=True), 1e-3)
        near(f"captured {n}, twice", twice.numpy(), a * 2)


def training():
    """A small net's losses by gradient descent, as NumPy computes them."""
    x, y, w, v = numbers(16, 8), numbers(16, 4), numbers(8, 12) * 0.3, numbers(12, 4) * 0.3
    for n in range(10):
        a, b = Tensor(w), Tensor(v)
        loss = ((Tensor(x) @ a).tanh() @ b - Tensor(y)).square().mean()
        slopes = [slope.numpy() for slope in loss.gradient(a, b)]
        hidden = np.tanh(x @ w)
        error = hidden @ v - y
        near(f"loss {n}", loss.numpy(), np.square(error).mean(), 1e-4)
        slope = 2 * error / error.size
        near(f"slopes {n}, first", slopes[0], x.T @ (slope @ v.T * (1 - hidden**2)))
        near(f"slopes {n}, second", slopes[1], hidden.T @ slope)
        w, v = w - 0.5 * slopes[0], v - 0.5 * slopes[1]


for part in (unary, binary, reductions, moves, products, types, graphs, training):
    part()
print(f"tinygrad: {count - len(failed)} of {count} as NumPy has them")
sys.exit(1 if failed else 0)
