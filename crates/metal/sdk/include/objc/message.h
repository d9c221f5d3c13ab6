// Messages, to be called through a pointer of the method's type.
#pragma once
#include <objc/objc.h>

OBJC_EXTERN void objc_msgSend(void);
#if defined(__x86_64__)
OBJC_EXTERN void objc_msgSend_stret(void);
OBJC_EXTERN void objc_msgSend_fpret(void);
#endif
