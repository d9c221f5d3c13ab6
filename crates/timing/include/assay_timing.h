/* GPU time per command buffer and per dispatch, from C, C++ and anything that calls C.
 *
 * Build the library:
 *   cargo rustc -p assay-timing --release --features capi --crate-type staticlib
 *   cc program.c -I crates/timing/include target/release/libassay_timing.a -lpthread -ldl -lm
 *
 * Every function may be called from any thread. Recording is unconditional; ask
 * assay_timing_is_enabled() first where the environment variables (ASSAY_PROFILE_CB,
 * MLX_PROFILE_CB, ASSAY_PROFILE_DISPATCH, MLX_PROFILE_DISPATCH) should decide.
 * Labels are UTF-8; other bytes are shown as U+FFFD and counted. NULL is the empty label.
 * Times are nanoseconds; durations of 0 and 2^64 - 1 are counted as invalid. */

#ifndef ASSAY_TIMING_H
#define ASSAY_TIMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A finished command buffer; times that are not known are 0. */
typedef struct AssayTimingCommandBuffer {
  uint64_t id; /* from assay_timing_begin_command_buffer(), or 0 */
  uint32_t label;
  uint32_t queue;
  uint64_t created_ns;
  uint64_t committed_ns;
  uint64_t scheduled_ns;
  uint64_t start_ns;
  uint64_t end_ns;
  uint64_t completed_ns;
} AssayTimingCommandBuffer;

/* One dispatch. */
typedef struct AssayTimingDispatch {
  uint64_t command_buffer; /* its id, or 0 */
  uint32_t label;          /* of the command buffer */
  uint32_t kernel;         /* the kernel's name, a label too */
  uint32_t index;
  uint64_t start_ns;
  uint64_t end_ns;
} AssayTimingDispatch;

/* A label's figures. Percentiles are within 1 %. */
typedef struct AssayTimingStats {
  uint64_t count;
  uint64_t total_ns;
  uint64_t min_ns;
  uint64_t max_ns;
  uint64_t p50_ns;
  uint64_t p99_ns;
  uint64_t invalid;
} AssayTimingStats;

/* Formats of assay_timing_report(). */
typedef enum AssayTimingFormat {
  ASSAY_TIMING_TEXT = 0,
  ASSAY_TIMING_JSON = 1,
  ASSAY_TIMING_CSV = 2,
  ASSAY_TIMING_DISPATCH_CSV = 3,
  ASSAY_TIMING_CHROME_TRACE = 4,
  ASSAY_TIMING_RECORDING = 5,
} AssayTimingFormat;

#ifdef __cplusplus
extern "C" {
#endif

bool assay_timing_is_enabled(void);
bool assay_timing_is_dispatch_enabled(void);

/* Overrides the environment variables. */
void assay_timing_set_enabled(bool command_buffers, bool dispatches);

/* A label's number; stays valid for the life of the program. */
uint32_t assay_timing_label(const char *label);
uint32_t assay_timing_label_n(const char *label, size_t length);

/* Adds a GPU duration to a label. */
void assay_timing_record(const char *label, uint64_t gpu_ns);
void assay_timing_record_id(uint32_t label, uint64_t gpu_ns);

/* A command buffer with all its times. */
uint64_t assay_timing_begin_command_buffer(void);
void assay_timing_record_command_buffer(const AssayTimingCommandBuffer *buffer);

void assay_timing_record_dispatch(const AssayTimingDispatch *dispatch);

void assay_timing_record_clock_pair(uint64_t cpu_ns, uint64_t gpu_ticks);
uint64_t assay_timing_convert_gpu_ticks_to_ns(uint64_t gpu_ticks);

/* Forgets everything recorded; label numbers stay valid. */
void assay_timing_reset(void);

/* Fills in a label's figures; false if nothing was recorded under it. */
bool assay_timing_stats(uint32_t label, AssayTimingStats *stats);

/* Everything recorded, in an AssayTimingFormat; NULL for an unknown one. To be freed with
 * assay_timing_free(). */
char *assay_timing_report(uint32_t format);
void assay_timing_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
