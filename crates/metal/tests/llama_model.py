"""Writes a small llama of random weights for llama_tokens.cpp: llama_model.py FILE.

Weights are halves. With quantised ones the CPU back end rounds activations to eight bits and Metal's does not, so that in a model of random
weights, where the two likeliest tokens are often close, they choose differently after some tokens.
"""

import sys

import gguf
import numpy as np

WIDTH, HEADS, KEY_HEADS, LAYERS, INNER = 256, 8, 4, 2, 512
KEYS = WIDTH // HEADS * KEY_HEADS
TOKENS = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]

random = np.random.default_rng(7)
model = gguf.GGUFWriter(sys.argv[1], "llama")
model.add_context_length(256)
model.add_embedding_length(WIDTH)
model.add_block_count(LAYERS)
model.add_feed_forward_length(INNER)
model.add_head_count(HEADS)
model.add_head_count_kv(KEY_HEADS)
model.add_layer_norm_rms_eps(1e-5)
model.add_rope_dimension_count(WIDTH // HEADS)
model.add_vocab_size(len(TOKENS))
model.add_tokenizer_model("llama")
model.add_token_list(TOKENS)
model.add_token_scores([0.0] * len(TOKENS))
model.add_token_types([2, 3, 3] + [6] * 256)


def matrix(name, rows, columns, scale):
    model.add_tensor(name, (random.standard_normal((rows, columns)) * scale).astype(np.float16))


def norm(name):
    model.add_tensor(name, (1 + 0.1 * random.standard_normal(WIDTH)).astype(np.float32))


matrix("token_embd.weight", len(TOKENS), WIDTH, 1)
for layer in range(LAYERS):
    block = f"blk.{layer}."
    norm(block + "attn_norm.weight")
    matrix(block + "attn_q.weight", WIDTH, WIDTH, 0.2)
    matrix(block + "attn_k.weight", KEYS, WIDTH, 0.2)
    matrix(block + "attn_v.weight", KEYS, WIDTH, 0.2)
    matrix(block + "attn_output.weight", WIDTH, WIDTH, 0.2)
    norm(block + "ffn_norm.weight")
    matrix(block + "ffn_gate.weight", INNER, WIDTH, 0.1)
    matrix(block + "ffn_up.weight", INNER, WIDTH, 0.1)
    matrix(block + "ffn_down.weight", WIDTH, INNER, 0.1)
norm("output_norm.weight")
matrix("output.weight", len(TOKENS), WIDTH, 1)
model.write_header_to_file()
model.write_kv_data_to_file()
model.write_tensors_to_file()
model.close()
