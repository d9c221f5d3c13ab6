// As much of Foundation as Metal programs use. The classes are those of the shared object's tables.
#pragma once
#include <Availability.h>
#include <Block.h>
#include <TargetConditionals.h>
#include <assert.h>
#include <dispatch/dispatch.h>
#include <inttypes.h>
#include <mach/mach.h>
#include <math.h>
#include <objc/objc.h>
#include <objc/runtime.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef long NSInteger;
typedef unsigned long NSUInteger;
typedef double NSTimeInterval;
typedef double CFTimeInterval;
typedef struct _NSRange {
  NSUInteger location, length;
} NSRange;
static inline NSRange NSMakeRange(NSUInteger location, NSUInteger length) {
  NSRange range = {location, length};
  return range;
}
#define NSNotFound ((NSUInteger)INTPTR_MAX)
#define NS_ENUM(type, name) enum name : type name; enum name : type
#define NS_OPTIONS(type, name) enum name : type name; enum name : type
#define NS_ASSUME_NONNULL_BEGIN
#define NS_ASSUME_NONNULL_END
#define NS_RETURNS_RETAINED __attribute__((ns_returns_retained))

#ifdef __OBJC__
@class NSString, NSArray, NSDictionary, NSError, NSURL, NSData, NSNumber, NSSet, NSCharacterSet;
typedef unsigned short unichar;
typedef struct _NSZone NSZone;

@protocol NSObject
- (BOOL)isEqual:(id)object;
- (NSUInteger)hash;
- (Class)class;
- (Class)superclass;
- (instancetype)self;
- (instancetype)retain;
- (oneway void)release;
- (instancetype)autorelease;
- (NSUInteger)retainCount;
- (BOOL)respondsToSelector:(SEL)selector;
- (BOOL)isKindOfClass:(Class)cls;
- (BOOL)isMemberOfClass:(Class)cls;
- (BOOL)conformsToProtocol:(Protocol *)protocol;
- (id)performSelector:(SEL)selector;
@property(readonly, copy) NSString *description;
@property(readonly, copy) NSString *debugDescription;
@end
@protocol NSCopying
- (id)copyWithZone:(NSZone *)zone;
@end
@protocol NSMutableCopying
- (id)mutableCopyWithZone:(NSZone *)zone;
@end

__attribute__((objc_root_class)) @interface NSObject <NSObject> {
  Class isa;
}
+ (instancetype)alloc;
+ (instancetype)new;
- (instancetype)init;
+ (Class)class;
+ (Class)superclass;
- (void)dealloc;
- (id)copy;
- (id)mutableCopy;
+ (void)load;
+ (void)initialize;
+ (BOOL)isSubclassOfClass:(Class)cls;
+ (BOOL)instancesRespondToSelector:(SEL)selector;
- (void)doesNotRecognizeSelector:(SEL)selector;
@end

typedef NSUInteger NSStringEncoding;
enum { NSASCIIStringEncoding = 1, NSUTF8StringEncoding = 4, NSUTF16StringEncoding = 10, NSUTF16LittleEndianStringEncoding = 0x94000100 };
typedef NSInteger NSComparisonResult;
enum { NSOrderedAscending = -1, NSOrderedSame = 0, NSOrderedDescending = 1 };
typedef struct {
  unsigned long state;
  id __unsafe_unretained *itemsPtr;
  unsigned long *mutationsPtr;
  unsigned long extra[5];
} NSFastEnumerationState;

@interface NSString : NSObject <NSCopying, NSMutableCopying>
+ (instancetype)string;
+ (instancetype)stringWithUTF8String:(const char *)text;
+ (instancetype)stringWithCString:(const char *)text encoding:(NSStringEncoding)encoding;
+ (instancetype)stringWithString:(NSString *)other;
+ (instancetype)stringWithFormat:(NSString *)format, ...;
+ (instancetype)stringWithContentsOfFile:(NSString *)path encoding:(NSStringEncoding)encoding error:(NSError **)error;
+ (NSString *)pathWithComponents:(NSArray *)parts;
- (instancetype)initWithUTF8String:(const char *)text;
- (instancetype)initWithCString:(const char *)text encoding:(NSStringEncoding)encoding;
- (instancetype)initWithFormat:(NSString *)format, ...;
- (instancetype)initWithBytes:(const void *)bytes length:(NSUInteger)length encoding:(NSStringEncoding)encoding;
- (instancetype)initWithBytesNoCopy:(void *)bytes length:(NSUInteger)length encoding:(NSStringEncoding)encoding freeWhenDone:(BOOL)free;
@property(readonly) NSUInteger length;
@property(readonly) const char *UTF8String;
@property(readonly) const char *fileSystemRepresentation;
@property(readonly) int intValue;
@property(readonly) NSInteger integerValue;
@property(readonly) double doubleValue;
@property(readonly) BOOL boolValue;
@property(readonly, copy) NSString *lowercaseString, *uppercaseString, *lastPathComponent, *pathExtension;
@property(readonly, copy) NSString *stringByDeletingLastPathComponent, *stringByDeletingPathExtension;
- (unsigned short)characterAtIndex:(NSUInteger)index;
- (const char *)cStringUsingEncoding:(NSStringEncoding)encoding;
- (BOOL)getCString:(char *)to maxLength:(NSUInteger)room encoding:(NSStringEncoding)encoding;
- (NSUInteger)lengthOfBytesUsingEncoding:(NSStringEncoding)encoding;
- (NSUInteger)maximumLengthOfBytesUsingEncoding:(NSStringEncoding)encoding;
- (BOOL)isEqualToString:(NSString *)other;
- (NSComparisonResult)compare:(NSString *)other;
- (BOOL)containsString:(NSString *)other;
- (BOOL)hasPrefix:(NSString *)other;
- (BOOL)hasSuffix:(NSString *)other;
- (NSRange)rangeOfString:(NSString *)other;
- (NSString *)substringToIndex:(NSUInteger)end;
- (NSString *)substringFromIndex:(NSUInteger)start;
- (NSString *)stringByAppendingString:(NSString *)other;
- (NSString *)stringByAppendingFormat:(NSString *)format, ...;
- (NSString *)stringByAppendingPathComponent:(NSString *)part;
- (NSString *)stringByReplacingOccurrencesOfString:(NSString *)old withString:(NSString *)replacement;
- (NSArray *)componentsSeparatedByString:(NSString *)separator;
- (NSArray *)componentsSeparatedByCharactersInSet:(NSCharacterSet *)set;
- (NSString *)stringByTrimmingCharactersInSet:(NSCharacterSet *)set;
@property(readonly, copy) NSString *stringByStandardizingPath;
- (NSData *)dataUsingEncoding:(NSStringEncoding)encoding;
@end
@interface NSMutableString : NSString
- (void)appendString:(NSString *)other;
- (void)appendFormat:(NSString *)format, ...;
- (void)setString:(NSString *)other;
@end
@interface NSData : NSObject <NSCopying>
+ (instancetype)data;
+ (instancetype)dataWithBytes:(const void *)bytes length:(NSUInteger)length;
+ (instancetype)dataWithBytesNoCopy:(void *)bytes length:(NSUInteger)length freeWhenDone:(BOOL)free;
+ (instancetype)dataWithContentsOfFile:(NSString *)path;
- (instancetype)initWithBytes:(const void *)bytes length:(NSUInteger)length;
@property(readonly) const void *bytes;
@property(readonly) NSUInteger length;
- (BOOL)isEqualToData:(NSData *)other;
@end
@interface NSMutableData : NSData
+ (instancetype)dataWithLength:(NSUInteger)length;
@property(readonly) void *mutableBytes;
- (void)appendBytes:(const void *)bytes length:(NSUInteger)length;
@end
@interface NSValue : NSObject <NSCopying>
@end
@interface NSNumber : NSValue
+ (NSNumber *)numberWithBool:(BOOL)value;
+ (NSNumber *)numberWithChar:(char)value;
+ (NSNumber *)numberWithInt:(int)value;
+ (NSNumber *)numberWithUnsignedInt:(unsigned)value;
+ (NSNumber *)numberWithLong:(long)value;
+ (NSNumber *)numberWithUnsignedLong:(unsigned long)value;
+ (NSNumber *)numberWithLongLong:(long long)value;
+ (NSNumber *)numberWithUnsignedLongLong:(unsigned long long)value;
+ (NSNumber *)numberWithInteger:(NSInteger)value;
+ (NSNumber *)numberWithUnsignedInteger:(NSUInteger)value;
+ (NSNumber *)numberWithFloat:(float)value;
+ (NSNumber *)numberWithDouble:(double)value;
@property(readonly) BOOL boolValue;
@property(readonly) int intValue;
@property(readonly) unsigned unsignedIntValue;
@property(readonly) long longValue;
@property(readonly) unsigned long unsignedLongValue;
@property(readonly) long long longLongValue;
@property(readonly) unsigned long long unsignedLongLongValue;
@property(readonly) NSInteger integerValue;
@property(readonly) NSUInteger unsignedIntegerValue;
@property(readonly) float floatValue;
@property(readonly) double doubleValue;
@property(readonly, copy) NSString *stringValue;
@end
@interface NSArray<__covariant ObjectType> : NSObject <NSCopying>
+ (instancetype)array;
+ (instancetype)arrayWithObject:(ObjectType)object;
+ (instancetype)arrayWithObjects:(const ObjectType __unsafe_unretained *)objects count:(NSUInteger)count;
+ (instancetype)arrayWithObjects:(ObjectType)first, ...;
+ (instancetype)arrayWithArray:(NSArray *)other;
- (instancetype)initWithObjects:(const ObjectType __unsafe_unretained *)objects count:(NSUInteger)count;
@property(readonly) NSUInteger count;
@property(readonly) ObjectType firstObject, lastObject;
- (ObjectType)objectAtIndex:(NSUInteger)index;
- (ObjectType)objectAtIndexedSubscript:(NSUInteger)index;
- (BOOL)containsObject:(ObjectType)object;
- (NSUInteger)indexOfObject:(ObjectType)object;
- (NSArray *)arrayByAddingObject:(ObjectType)object;
- (NSString *)componentsJoinedByString:(NSString *)separator;
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state objects:(id __unsafe_unretained *)room count:(NSUInteger)count;
@end
@interface NSMutableArray<ObjectType> : NSArray<ObjectType>
+ (instancetype)arrayWithCapacity:(NSUInteger)room;
- (instancetype)initWithCapacity:(NSUInteger)room;
- (void)addObject:(ObjectType)object;
- (void)addObjectsFromArray:(NSArray *)other;
- (void)insertObject:(ObjectType)object atIndex:(NSUInteger)index;
- (void)replaceObjectAtIndex:(NSUInteger)index withObject:(ObjectType)object;
- (void)setObject:(ObjectType)object atIndexedSubscript:(NSUInteger)index;
- (void)removeObject:(ObjectType)object;
- (void)removeObjectAtIndex:(NSUInteger)index;
- (void)removeLastObject;
- (void)removeAllObjects;
@end
@interface NSSet<__covariant ObjectType> : NSObject
+ (instancetype)set;
+ (instancetype)setWithArray:(NSArray *)other;
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state objects:(id __unsafe_unretained *)room count:(NSUInteger)count;
@property(readonly) NSUInteger count;
- (BOOL)containsObject:(ObjectType)object;
- (NSArray *)allObjects;
@end
@interface NSMutableSet<ObjectType> : NSSet<ObjectType>
- (void)addObject:(ObjectType)object;
- (void)removeObject:(ObjectType)object;
- (void)removeAllObjects;
@end
@interface NSCharacterSet : NSObject
@property(class, readonly) NSCharacterSet *whitespaceCharacterSet, *newlineCharacterSet, *whitespaceAndNewlineCharacterSet,
    *decimalDigitCharacterSet, *alphanumericCharacterSet, *letterCharacterSet;
+ (NSCharacterSet *)characterSetWithCharactersInString:(NSString *)characters;
@property(readonly) NSCharacterSet *invertedSet;
- (BOOL)characterIsMember:(unichar)character;
@end
@interface NSScanner : NSObject
+ (instancetype)scannerWithString:(NSString *)string;
- (instancetype)initWithString:(NSString *)string;
@property(readonly, copy) NSString *string;
@property(copy) NSCharacterSet *charactersToBeSkipped;
@property(readonly, getter=isAtEnd) BOOL atEnd;
- (BOOL)scanString:(NSString *)string intoString:(NSString **)result;
- (BOOL)scanUpToString:(NSString *)string intoString:(NSString **)result;
- (BOOL)scanCharactersFromSet:(NSCharacterSet *)set intoString:(NSString **)result;
@end
@interface NSDictionary<__covariant KeyType, __covariant ObjectType> : NSObject <NSCopying>
+ (instancetype)dictionary;
+ (instancetype)dictionaryWithObject:(ObjectType)object forKey:(KeyType)key;
+ (instancetype)dictionaryWithObjects:(const ObjectType __unsafe_unretained *)objects forKeys:(const KeyType __unsafe_unretained *)keys count:(NSUInteger)count;
+ (instancetype)dictionaryWithObjects:(NSArray *)objects forKeys:(NSArray *)keys;
+ (instancetype)dictionaryWithObjectsAndKeys:(id)first, ...;
@property(readonly) NSUInteger count;
@property(readonly, copy) NSArray *allKeys, *allValues;
- (ObjectType)objectForKey:(KeyType)key;
- (ObjectType)objectForKeyedSubscript:(KeyType)key;
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state objects:(id __unsafe_unretained *)room count:(NSUInteger)count;
@end
@interface NSMutableDictionary<KeyType, ObjectType> : NSDictionary<KeyType, ObjectType>
+ (instancetype)dictionaryWithCapacity:(NSUInteger)room;
- (void)setObject:(ObjectType)object forKey:(KeyType)key;
- (void)setObject:(ObjectType)object forKeyedSubscript:(KeyType)key;
- (void)removeObjectForKey:(KeyType)key;
- (void)removeAllObjects;
@end
@interface NSError : NSObject <NSCopying>
+ (instancetype)errorWithDomain:(NSString *)domain code:(NSInteger)code userInfo:(NSDictionary *)details;
@property(readonly) NSInteger code;
@property(readonly, copy) NSString *domain, *localizedDescription, *localizedFailureReason;
@property(readonly, copy) NSDictionary *userInfo;
@end
@interface NSException : NSObject <NSCopying>
+ (instancetype)exceptionWithName:(NSString *)name reason:(NSString *)reason userInfo:(NSDictionary *)details;
+ (void)raise:(NSString *)name format:(NSString *)format, ...;
- (instancetype)initWithName:(NSString *)name reason:(NSString *)reason userInfo:(NSDictionary *)details;
- (void)raise;
@property(readonly, copy) NSString *name, *reason;
@property(readonly, copy) NSDictionary *userInfo;
@property(readonly, copy) NSArray *callStackSymbols, *callStackReturnAddresses;
@end
typedef void NSUncaughtExceptionHandler(NSException *exception);
OBJC_EXTERN void NSSetUncaughtExceptionHandler(NSUncaughtExceptionHandler *handler);
OBJC_EXTERN NSUncaughtExceptionHandler *NSGetUncaughtExceptionHandler(void);
@interface NSURL : NSObject <NSCopying>
+ (instancetype)fileURLWithPath:(NSString *)path;
+ (instancetype)URLWithString:(NSString *)address;
- (instancetype)initFileURLWithPath:(NSString *)path;
@property(readonly, copy) NSString *path, *absoluteString, *lastPathComponent;
@property(readonly) const char *fileSystemRepresentation;
- (NSURL *)URLByAppendingPathComponent:(NSString *)part;
@end
@interface NSBundle : NSObject
+ (NSBundle *)mainBundle;
+ (NSBundle *)bundleForClass:(Class)cls;
+ (NSBundle *)bundleWithPath:(NSString *)path;
@property(readonly, copy) NSString *bundlePath, *resourcePath, *executablePath, *bundleIdentifier;
@property(readonly, copy) NSURL *bundleURL, *resourceURL;
- (NSString *)pathForResource:(NSString *)name ofType:(NSString *)type;
- (NSURL *)URLForResource:(NSString *)name withExtension:(NSString *)type;
@end
typedef struct {
  NSInteger majorVersion, minorVersion, patchVersion;
} NSOperatingSystemVersion;
@interface NSProcessInfo : NSObject
+ (NSProcessInfo *)processInfo;
@property(readonly, copy) NSArray *arguments;
@property(readonly, copy) NSDictionary *environment;
@property(readonly, copy) NSString *processName, *operatingSystemVersionString;
@property(readonly) int processIdentifier;
@property(readonly) NSUInteger processorCount, activeProcessorCount;
@property(readonly) unsigned long long physicalMemory;
@property(readonly) NSTimeInterval systemUptime;
@property(readonly) NSOperatingSystemVersion operatingSystemVersion;
- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)version;
@end
@interface NSFileManager : NSObject
+ (NSFileManager *)defaultManager;
- (BOOL)fileExistsAtPath:(NSString *)path;
- (BOOL)isReadableFileAtPath:(NSString *)path;
- (BOOL)removeItemAtPath:(NSString *)path error:(NSError **)error;
- (BOOL)createDirectoryAtPath:(NSString *)path withIntermediateDirectories:(BOOL)above attributes:(NSDictionary *)attributes error:(NSError **)error;
- (NSDictionary *)attributesOfItemAtPath:(NSString *)path error:(NSError **)error;
- (NSString *)destinationOfSymbolicLinkAtPath:(NSString *)path error:(NSError **)error;
@end
__attribute__((objc_arc_weak_reference_unavailable)) @interface NSAutoreleasePool : NSObject
- (void)drain;
- (void)addObject:(id)object;
@end
@protocol NSLocking
- (void)lock;
- (void)unlock;
@end
@interface NSLock : NSObject <NSLocking>
- (BOOL)tryLock;
@end
@interface NSDate : NSObject
+ (instancetype)date;
@property(readonly) NSTimeInterval timeIntervalSince1970, timeIntervalSinceNow;
@end
@interface NSThread : NSObject
+ (BOOL)isMainThread;
+ (void)sleepForTimeInterval:(NSTimeInterval)seconds;
@end

OBJC_EXTERN NSString *const NSLocalizedDescriptionKey;
OBJC_EXTERN NSString *const NSCocoaErrorDomain;
OBJC_EXTERN NSString *const NSFileType;
OBJC_EXTERN NSString *const NSFileTypeSymbolicLink;
OBJC_EXTERN NSString *const NSFileTypeDirectory;
OBJC_EXTERN NSString *const NSFileTypeRegular;
OBJC_EXTERN NSString *const NSFileSize;
OBJC_EXTERN NSString *const NSInvalidArgumentException;
OBJC_EXTERN void NSLog(NSString *format, ...);
OBJC_EXTERN NSString *NSTemporaryDirectory(void);
OBJC_EXTERN NSString *NSStringFromClass(Class cls);
OBJC_EXTERN NSString *NSStringFromSelector(SEL selector);
#endif
