// Prints the tokens that a model generates after a few others, the likeliest each time.
//
//   llama_tokens MODEL LAYERS_ON_METAL TOKENS
#include "llama.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int count, char **arguments) {
  if (count != 4) return 2;
  llama_model_params of_model = llama_model_default_params();
  of_model.n_gpu_layers = atoi(arguments[2]);
  llama_model *model = llama_model_load_from_file(arguments[1], of_model);
  if (!model) return 1;
  llama_context_params of_context = llama_context_default_params();
  of_context.n_ctx = 256;
  of_context.n_threads = of_context.n_threads_batch = 1;
  llama_context *context = llama_init_from_model(model, of_context);
  if (!context) return 1;
  const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
  std::vector<llama_token> next;
  for (int at = 0; at < 40; at++) next.push_back((at * 37 + 11) % vocabulary);
  for (int left = atoi(arguments[3]); left > 0; left--) {
    if (llama_decode(context, llama_batch_get_one(next.data(), (int32_t)next.size()))) return 1;
    const float *logits = llama_get_logits_ith(context, -1);
    next.assign(1, (llama_token)(std::max_element(logits, logits + vocabulary) - logits));
    printf("%d ", next[0]);
  }
  puts("");
  llama_free(context);
  llama_model_free(model);
}
