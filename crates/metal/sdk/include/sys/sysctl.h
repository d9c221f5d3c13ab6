// Facts of the machine by name.
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
int sysctlbyname(const char *name, void *to, size_t *length, void *new_value, size_t new_length);
#ifdef __cplusplus
}
#endif
