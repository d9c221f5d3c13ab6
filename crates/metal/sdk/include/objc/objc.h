// Types of Objective-C, and the registration of what clang emits with -fobjc-runtime=macosx-15 on ELF.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef __OBJC__
typedef struct objc_class *Class;
typedef struct objc_object {
  Class isa;
} *id;
#endif
typedef struct objc_selector *SEL;
typedef void (*IMP)(void);

#if defined(__aarch64__)
typedef bool BOOL;
#else
typedef signed char BOOL;
#endif

#ifdef __OBJC__
#define YES __objc_yes
#define NO __objc_no
#else
#define YES ((BOOL)1)
#define NO ((BOOL)0)
#endif
#ifdef __cplusplus
#define nil nullptr
#define Nil nullptr
#define OBJC_EXTERN extern "C"
#else
#define nil ((void *)0)
#define Nil ((void *)0)
#define OBJC_EXTERN extern
#endif
#define OBJC_EXPORT OBJC_EXTERN

OBJC_EXTERN SEL sel_registerName(const char *name);
OBJC_EXTERN const char *sel_getName(SEL selector);

#ifdef __OBJC__
// The linker bounds a section with a C name by two symbols; one that an image does not have leaves them zero.
#define ASSAY_SECTION(name)                                                         \
  extern char __start_##name[] __attribute__((weak, visibility("hidden")));         \
  extern char __stop_##name[] __attribute__((weak, visibility("hidden")));
#ifdef __cplusplus
extern "C" {
#endif
ASSAY_SECTION(objc_selrefs)
ASSAY_SECTION(objc_classlist)
ASSAY_SECTION(objc_catlist)
ASSAY_SECTION(objc_protolist)
struct assay_image {
  const void *bounds[8];
};
void assay_objc_register_image(const struct assay_image *image);
__attribute__((constructor(101))) static void assay_register_this_image(void) {
  struct assay_image image = {{__start_objc_selrefs, __stop_objc_selrefs, __start_objc_classlist, __stop_objc_classlist,
                               __start_objc_catlist, __stop_objc_catlist, __start_objc_protolist, __stop_objc_protolist}};
  assay_objc_register_image(&image);
}
#ifdef __cplusplus
}
#endif
#endif
