// A little CoreFoundation.
#pragma once
#include <math.h>
#include <stdint.h>
typedef const void *CFTypeRef;
typedef const struct __CFString *CFStringRef;
typedef double CFTimeInterval;
typedef long CFIndex;
#ifdef __cplusplus
extern "C" {
#endif
CFTypeRef CFRetain(CFTypeRef object);
void CFRelease(CFTypeRef object);
#ifdef __cplusplus
}
#endif
