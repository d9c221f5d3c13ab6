/* Calls every function of the header; says what went wrong and exits 1 if anything did. */

#include "assay_timing.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(AssayTimingCommandBuffer) == 64, "layout of a command buffer");
_Static_assert(sizeof(AssayTimingDispatch) == 40, "layout of a dispatch");
_Static_assert(sizeof(AssayTimingStats) == 56, "layout of statistics");

static int failures = 0;

static void expect(bool condition, const char *what) {
  if (!condition) {
    fprintf(stderr, "failed: %s\n", what);
    failures++;
  }
}

static void bad_input(void) {
  char long_label[4096];
  memset(long_label, 'x', sizeof long_label - 1);
  long_label[sizeof long_label - 1] = 0;
  assay_timing_record(NULL, 10);
  assay_timing_record("", 10);
  assay_timing_record("\xff\xfe\x80", 10);
  assay_timing_record(long_label, 10);
  assay_timing_record("huge", UINT64_MAX - 1);
  assay_timing_record("huge", UINT64_MAX - 1);
  assay_timing_record("invalid", UINT64_MAX);
  assay_timing_record("invalid", 0);
  assay_timing_record_id(4000000000u, 10);
  assay_timing_label_n("a\0b", 3);
  assay_timing_record_command_buffer(NULL);
  assay_timing_record_dispatch(NULL);
  AssayTimingDispatch backwards = {.start_ns = 20, .end_ns = 10};
  assay_timing_record_dispatch(&backwards);
  assay_timing_free(NULL);
  expect(!assay_timing_stats(4000000000u, NULL), "no statistics into nothing");
  expect(assay_timing_report(99) == NULL, "no report in an unknown format");

  AssayTimingStats stats;
  expect(assay_timing_stats(assay_timing_label(""), &stats) && stats.count == 2,
         "NULL and the empty label are one");
  expect(assay_timing_stats(assay_timing_label("huge"), &stats) &&
             stats.total_ns == UINT64_MAX && stats.count == 2,
         "huge durations are counted and their sum saturates");
  expect(assay_timing_stats(assay_timing_label("invalid"), &stats) && stats.invalid == 2 &&
             stats.count == 0,
         "invalid durations are counted apart");
}

int main(void) {
  assay_timing_set_enabled(true, true);
  expect(assay_timing_is_enabled() && assay_timing_is_dispatch_enabled(), "switches on");

  uint32_t attention = assay_timing_label("attention");
  for (uint64_t n = 1; n <= 100; n++) assay_timing_record_id(attention, n * 1000);
  assay_timing_record("attention", 1000);
  AssayTimingStats stats;
  expect(assay_timing_stats(attention, &stats), "statistics of a label");
  expect(stats.count == 101 && stats.total_ns == 5051000, "exact count and total");
  expect(stats.min_ns == 1000 && stats.max_ns == 100000, "exact extremes");
  expect(stats.p50_ns > 49000 && stats.p50_ns < 51000, "median within a percent");

  AssayTimingCommandBuffer buffer = {.id = assay_timing_begin_command_buffer(),
                                     .label = attention,
                                     .committed_ns = 900,
                                     .start_ns = 1000,
                                     .end_ns = 5000};
  AssayTimingDispatch dispatch = {.command_buffer = buffer.id,
                                  .label = attention,
                                  .kernel = assay_timing_label("softmax"),
                                  .start_ns = 1000,
                                  .end_ns = 5000};
  assay_timing_record_dispatch(&dispatch);
  assay_timing_record_command_buffer(&buffer);
  assay_timing_record_clock_pair(1000000000, 24000000);
  assay_timing_record_clock_pair(2000000000, 48000000);
  expect(assay_timing_convert_gpu_ticks_to_ns(36000000) == 1500000000, "clock conversion");

  char *text = assay_timing_report(ASSAY_TIMING_TEXT);
  expect(text && strstr(text, "[CB_PROFILE] total="), "a table");
  expect(text && strstr(text, "softmax"), "a kernel in the table");
  fputs(text ? text : "", stdout);
  assay_timing_free(text);
  for (uint32_t format = ASSAY_TIMING_JSON; format <= ASSAY_TIMING_RECORDING; format++) {
    char *report = assay_timing_report(format);
    expect(report && strstr(report, "attention"), "a report in every format");
    assay_timing_free(report);
  }

  assay_timing_reset();
  expect(!assay_timing_stats(attention, &stats) && stats.count == 0, "nothing after a reset");
  bad_input();
  return failures > 0;
}
