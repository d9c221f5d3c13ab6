// The clock and memory.
#pragma once
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct mach_timebase_info {
  uint32_t numer, denom;
} mach_timebase_info_data_t;
uint64_t mach_absolute_time(void);
int mach_timebase_info(struct mach_timebase_info *info);
extern uintptr_t vm_page_size;
typedef int kern_return_t;
typedef unsigned mach_port_t, vm_map_t, task_id_token_t;
typedef uintptr_t vm_address_t, vm_size_t;
#define KERN_SUCCESS 0
#define VM_FLAGS_ANYWHERE 1
mach_port_t mach_task_self(void);
kern_return_t vm_allocate(vm_map_t task, vm_address_t *address, vm_size_t bytes, int flags);
kern_return_t vm_deallocate(vm_map_t task, vm_address_t address, vm_size_t bytes);
#ifdef __cplusplus
}
#endif
