// A model of LLaMA 7B's shape on ggml's Metal back end, as llama.cpp builds it without flash attention: made-up (zero) weights.
// Usage: seven TYPE TOKENS TIMES   (TYPE q4_0, q8_0 or f16; TOKENS 512 for a prompt, 1 for generation)
#include "ggml-alloc.h"
#include "ggml-backend.h"
#include "ggml-metal.h"
#include "ggml.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static const int n_embd = 4096, n_head = 32, n_rot = 128, n_ff = 11008, n_layer = 32, n_vocab = 32000;

struct Layer { ggml_tensor *wq, *wk, *wv, *wo, *w1, *w2, *w3, *norm1, *norm2, *k, *v; };

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "q4_0";
  const int n = argc > 2 ? atoi(argv[2]) : 1, times = argc > 3 ? atoi(argv[3]) : 1;
  ggml_type type = !strcmp(name, "f16") ? GGML_TYPE_F16 : !strcmp(name, "q8_0") ? GGML_TYPE_Q8_0 : GGML_TYPE_Q4_0;
  // The output matrix of Q4_0 files is Q6_K.
  ggml_type last = type == GGML_TYPE_Q4_0 ? GGML_TYPE_Q6_K : type;
  const int n_kv = n > 256 ? n : 256;
  ggml_backend_t backend = ggml_backend_metal_init();
  if (!backend) return fprintf(stderr, "no backend\n"), 1;
  ggml_init_params of_weights = { ggml_tensor_overhead() * 512, nullptr, true };
  ggml_context *w = ggml_init(of_weights);
  ggml_tensor *embd = ggml_new_tensor_2d(w, type, n_embd, n_vocab), *out = ggml_new_tensor_2d(w, last, n_embd, n_vocab);
  ggml_tensor *norm = ggml_new_tensor_1d(w, GGML_TYPE_F32, n_embd);
  ggml_tensor *tokens = ggml_new_tensor_1d(w, GGML_TYPE_I32, n), *pos = ggml_new_tensor_1d(w, GGML_TYPE_I32, n);
  ggml_tensor *mask = ggml_new_tensor_2d(w, GGML_TYPE_F32, n_kv, n), *last_row = ggml_new_tensor_1d(w, GGML_TYPE_I32, 1);
  std::vector<Layer> layers(n_layer);
  for (Layer &l : layers) {
    auto square = [&] { return ggml_new_tensor_2d(w, type, n_embd, n_embd); };
    l.wq = square(), l.wk = square(), l.wv = square(), l.wo = square();
    l.w1 = ggml_new_tensor_2d(w, type, n_embd, n_ff), l.w3 = ggml_new_tensor_2d(w, type, n_embd, n_ff);
    l.w2 = ggml_new_tensor_2d(w, type, n_ff, n_embd);
    l.norm1 = ggml_new_tensor_1d(w, GGML_TYPE_F32, n_embd), l.norm2 = ggml_new_tensor_1d(w, GGML_TYPE_F32, n_embd);
    l.k = ggml_new_tensor_1d(w, GGML_TYPE_F16, n_embd * n_kv), l.v = ggml_new_tensor_1d(w, GGML_TYPE_F16, n_embd * n_kv);
  }
  ggml_backend_buffer_t held = ggml_backend_alloc_ctx_tensors(w, backend);
  if (!held) return fprintf(stderr, "no memory\n"), 1;
  for (int step = 0; step < times; step++) {
    const int past = n > 1 ? 0 : 64 + step;
    ggml_init_params of_graph = { ggml_tensor_overhead() * 4096 + ggml_graph_overhead_custom(4096, false), nullptr, true };
    ggml_context *c = ggml_init(of_graph);
    ggml_cgraph *graph = ggml_new_graph_custom(c, 4096, false);
    auto normed = [&](ggml_tensor *x, ggml_tensor *by) { return ggml_mul(c, ggml_rms_norm(c, x, 1e-5f), by); };
    auto rope = [&](ggml_tensor *x) {
      x = ggml_reshape_3d(c, x, n_rot, n_head, n);
      return ggml_rope_ext(c, x, pos, nullptr, n_rot, 0, 4096, 10000, 1, 0, 1, 32, 1);
    };
    ggml_tensor *x = ggml_get_rows(c, embd, tokens);
    for (Layer &l : layers) {
      ggml_tensor *in = x, *y = normed(x, l.norm1);
      ggml_tensor *q = rope(ggml_mul_mat(c, l.wq, y)), *k = rope(ggml_mul_mat(c, l.wk, y)), *v = ggml_mul_mat(c, l.wv, y);
      ggml_tensor *k_place = ggml_view_1d(c, l.k, n_embd * n, 2 * (size_t)n_embd * past);
      ggml_build_forward_expand(graph, ggml_cpy(c, k, k_place));
      ggml_tensor *v_place = ggml_view_2d(c, l.v, n, n_embd, 2 * (size_t)n_kv, 2 * (size_t)past);
      ggml_build_forward_expand(graph, ggml_cpy(c, ggml_transpose(c, v), v_place));
      ggml_tensor *keys = ggml_view_3d(c, l.k, n_rot, n_kv, n_head, 2 * (size_t)n_embd, 2 * (size_t)n_rot, 0);
      ggml_tensor *kq = ggml_mul_mat(c, keys, ggml_permute(c, q, 0, 2, 1, 3));
      kq = ggml_soft_max_ext(c, kq, mask, 0.0883883f, 0);
      ggml_tensor *values = ggml_view_3d(c, l.v, n_kv, n_rot, n_head, 2 * (size_t)n_kv, 2 * (size_t)n_kv * n_rot, 0);
      ggml_tensor *kqv = ggml_permute(c, ggml_mul_mat(c, values, kq), 0, 2, 1, 3);
      y = ggml_mul_mat(c, l.wo, ggml_cont_2d(c, kqv, n_embd, n));
      if (&l == &layers.back() && n > 1) {
        y = ggml_get_rows(c, y, last_row);
        in = ggml_get_rows(c, in, last_row);
      }
      x = ggml_add(c, y, in);
      y = normed(x, l.norm2);
      ggml_tensor *gate = ggml_mul_mat(c, l.w1, y), *up = ggml_mul_mat(c, l.w3, y);
      x = ggml_add(c, ggml_mul_mat(c, l.w2, ggml_swiglu_split(c, gate, up)), x);
    }
    ggml_build_forward_expand(graph, ggml_mul_mat(c, out, normed(x, norm)));
    ggml_gallocr_t memory = ggml_gallocr_new(ggml_backend_get_default_buffer_type(backend));
    if (!ggml_gallocr_alloc_graph(memory, graph)) return fprintf(stderr, "no memory for the graph\n"), 1;
    if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) return fprintf(stderr, "failed\n"), 1;
    ggml_gallocr_free(memory);
    ggml_free(c);
  }
  ggml_backend_buffer_free(held);
  ggml_backend_free(backend);
  return 0;
}
