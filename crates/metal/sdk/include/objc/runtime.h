// The runtime's functions.
#pragma once
#include <objc/objc.h>

typedef struct objc_method *Method;
typedef struct objc_ivar *Ivar;
#ifdef __OBJC__
@class Protocol;
#else
typedef struct objc_object Protocol;
#endif

OBJC_EXTERN Class objc_getClass(const char *name);
OBJC_EXTERN Class objc_lookUpClass(const char *name);
OBJC_EXTERN Class objc_getMetaClass(const char *name);
OBJC_EXTERN Protocol *objc_getProtocol(const char *name);
OBJC_EXTERN Class objc_allocateClassPair(Class superclass, const char *name, size_t extra);
OBJC_EXTERN void objc_registerClassPair(Class cls);
OBJC_EXTERN const char *class_getName(Class cls);
OBJC_EXTERN Class class_getSuperclass(Class cls);
OBJC_EXTERN BOOL class_isMetaClass(Class cls);
OBJC_EXTERN size_t class_getInstanceSize(Class cls);
OBJC_EXTERN BOOL class_addMethod(Class cls, SEL selector, IMP imp, const char *types);
OBJC_EXTERN BOOL class_respondsToSelector(Class cls, SEL selector);
OBJC_EXTERN BOOL class_conformsToProtocol(Class cls, Protocol *protocol);
OBJC_EXTERN Method class_getInstanceMethod(Class cls, SEL selector);
OBJC_EXTERN Method class_getClassMethod(Class cls, SEL selector);
OBJC_EXTERN id class_createInstance(Class cls, size_t extra);
OBJC_EXTERN Class object_getClass(id object);
OBJC_EXTERN const char *object_getClassName(id object);
OBJC_EXTERN IMP method_getImplementation(Method method);
OBJC_EXTERN const char *method_getTypeEncoding(Method method);
OBJC_EXTERN void method_exchangeImplementations(Method one, Method other);
OBJC_EXTERN void objc_setAssociatedObject(id object, const void *key, id value, uintptr_t policy);
OBJC_EXTERN id objc_getAssociatedObject(id object, const void *key);
OBJC_EXTERN void *objc_autoreleasePoolPush(void);
OBJC_EXTERN void objc_autoreleasePoolPop(void *pool);
OBJC_EXTERN id objc_retain(id object);
OBJC_EXTERN void objc_release(id object);
OBJC_EXTERN id objc_autorelease(id object);
#define OBJC_ASSOCIATION_ASSIGN 0
#define OBJC_ASSOCIATION_RETAIN_NONATOMIC 1
#define OBJC_ASSOCIATION_COPY_NONATOMIC 3
#define OBJC_ASSOCIATION_RETAIN 01401
#define OBJC_ASSOCIATION_COPY 01403
