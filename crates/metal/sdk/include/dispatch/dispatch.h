// Queues, groups, semaphores, data.
#pragma once
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct dispatch_queue_s *dispatch_queue_t;
typedef struct dispatch_group_s *dispatch_group_t;
typedef struct dispatch_semaphore_s *dispatch_semaphore_t;
typedef struct dispatch_data_s *dispatch_data_t;
typedef const void *dispatch_queue_attr_t;
typedef uint64_t dispatch_time_t;
typedef intptr_t dispatch_once_t;
typedef void (*dispatch_function_t)(void *);
#define DISPATCH_TIME_NOW (0ull)
#define DISPATCH_TIME_FOREVER (~0ull)
#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define DISPATCH_QUEUE_SERIAL ((dispatch_queue_attr_t)0)
extern uintptr_t _dispatch_queue_attr_concurrent;
#define DISPATCH_QUEUE_CONCURRENT ((dispatch_queue_attr_t) & _dispatch_queue_attr_concurrent)
#define DISPATCH_QUEUE_PRIORITY_HIGH 2
#define DISPATCH_QUEUE_PRIORITY_DEFAULT 0
#define DISPATCH_QUEUE_PRIORITY_LOW (-2)
#define QOS_CLASS_USER_INTERACTIVE 0x21
#define QOS_CLASS_USER_INITIATED 0x19
#define QOS_CLASS_DEFAULT 0x15
#define QOS_CLASS_UTILITY 0x11
#define QOS_CLASS_BACKGROUND 0x09
dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attribute);
dispatch_queue_t dispatch_get_global_queue(intptr_t priority, uintptr_t flags);
dispatch_queue_t dispatch_get_main_queue(void);
dispatch_group_t dispatch_group_create(void);
intptr_t dispatch_group_wait(dispatch_group_t group, dispatch_time_t until);
void dispatch_group_enter(dispatch_group_t group);
void dispatch_group_leave(dispatch_group_t group);
dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t until);
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
dispatch_time_t dispatch_time(dispatch_time_t from, int64_t nanoseconds);
void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t function);
void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t function);
void dispatch_apply_f(size_t count, dispatch_queue_t queue, void *context, void (*function)(void *, size_t));
void dispatch_once_f(dispatch_once_t *once, void *context, dispatch_function_t function);
void dispatch_retain(void *object);
void dispatch_release(void *object);
size_t dispatch_data_get_size(dispatch_data_t data);
#ifdef __BLOCKS__
typedef void (^dispatch_block_t)(void);
#define DISPATCH_DATA_DESTRUCTOR_DEFAULT ((dispatch_block_t)0)
void dispatch_async(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_barrier_async(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_barrier_sync(dispatch_queue_t queue, dispatch_block_t block);
void dispatch_apply(size_t count, dispatch_queue_t queue, void (^block)(size_t));
void dispatch_once(dispatch_once_t *once, dispatch_block_t block);
void dispatch_after(dispatch_time_t at, dispatch_queue_t queue, dispatch_block_t block);
void dispatch_group_async(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block);
void dispatch_group_notify(dispatch_group_t group, dispatch_queue_t queue, dispatch_block_t block);
dispatch_data_t dispatch_data_create(const void *bytes, size_t length, dispatch_queue_t queue, dispatch_block_t destructor);
#endif
#ifdef __cplusplus
}
#endif
