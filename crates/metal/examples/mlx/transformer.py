"""A small transformer in MLX: `transformer.py train|generate eager|compiled [STEPS]`. A step is one of training (forward, backward, Adam)
or one token. The loss, or the tokens, are printed: they are those of MLX's CPU back end (`DEVICE=cpu`)."""

import os
import sys

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

WORDS, WIDTH, HEADS, LAYERS, LENGTH = 512, 256, 4, 4, 64


class Norm(nn.Module):
    """RMS norm as one writes it first; `mx.fast.rms_norm` is one kernel."""

    def __init__(self):
        super().__init__()
        self.weight = mx.ones((WIDTH,))

    def __call__(self, x):
        return x * mx.rsqrt(mx.mean(x * x, axis=-1, keepdims=True) + 1e-5) * self.weight


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = [Norm(), Norm()]
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(WIDTH, 4 * WIDTH, bias=False) for _ in range(2))
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def attention(self, x, cache):
        batch, length, _ = x.shape
        heads = lambda part: part(x).reshape(batch, length, HEADS, -1).transpose(0, 2, 1, 3)
        queries, keys, values = heads(self.query), heads(self.key), heads(self.value)
        if cache is not None:
            keys, values = mx.concatenate([cache[0], keys], axis=2), mx.concatenate([cache[1], values], axis=2)
        scores = (queries * (WIDTH // HEADS) ** -0.5) @ keys.transpose(0, 1, 3, 2)
        if length > 1:
            scores = scores + nn.MultiHeadAttention.create_additive_causal_mask(length)
        mixed = mx.softmax(scores, axis=-1) @ values
        return self.out(mixed.transpose(0, 2, 1, 3).reshape(batch, length, WIDTH)), (keys, values)

    def __call__(self, x, cache=None):
        mixed, cache = self.attention(self.norms[0](x), cache)
        x = x + mixed
        hidden = self.norms[1](x)
        gate = self.gate(hidden)
        return x + self.down(gate * mx.sigmoid(gate) * self.up(hidden)), cache


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.blocks = [Block() for _ in range(LAYERS)]
        self.norm = Norm()
        self.logits = nn.Linear(WIDTH, WORDS, bias=False)

    def __call__(self, tokens, caches=None):
        x, new = self.words(tokens), []
        for block, cache in zip(self.blocks, caches or [None] * LAYERS):
            x, cache = block(x, cache)
            new.append(cache)
        return self.logits(self.norm(x)), new


def train(model, is_compiled, steps):
    optimizer = optim.Adam(learning_rate=1e-3)
    loss = nn.value_and_grad(model, lambda x, y: nn.losses.cross_entropy(model(x)[0], y, reduction="mean"))
    state = [model.state, optimizer.state]

    def step(x, y):
        value, gradients = loss(x, y)
        optimizer.update(model, gradients)
        return value

    step = mx.compile(step, inputs=state, outputs=state) if is_compiled else step
    tokens = mx.arange(4 * (LENGTH + 1)).reshape(4, -1) * 7 % WORDS
    optimizer.init(model.trainable_parameters())
    mx.eval(state)
    for _ in range(steps):
        value = step(tokens[:, :-1], tokens[:, 1:])
        mx.eval(value, state)
        print(f"loss {value.item():.4f}")


def generate(model, is_compiled, steps):
    tokens = mx.arange(LENGTH)[None] * 7 % WORDS
    logits, caches = model(tokens)
    step = lambda token, caches: model(token, caches)
    # A cache grows with every token: shapeless, so that it is compiled once.
    step = mx.compile(step, inputs=model.state, shapeless=True) if is_compiled else step
    token = mx.argmax(logits[:, -1:], axis=-1)
    said = [token.item()]
    for _ in range(steps - 1):
        logits, caches = step(token, caches)
        token = mx.argmax(logits[:, -1:], axis=-1)
        said.append(token.item())
    print(*said)


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("train", "generate") or sys.argv[2] not in ("eager", "compiled"):
        sys.exit(__doc__)
    mx.set_default_device(mx.cpu if os.environ.get("DEVICE") == "cpu" else mx.gpu)
    mx.random.seed(7)
    model = Model()
    mx.eval(model.parameters())
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 4
    {"train": train, "generate": generate}[sys.argv[1]](model, sys.argv[2] == "compiled", steps)


if __name__ == "__main__":
    main()
