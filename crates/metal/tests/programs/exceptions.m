// Exceptions: thrown, caught by class, rethrown, passed through frames of the library, with @finally and @synchronized.
#import <Foundation/Foundation.h>

@interface Special : NSException
@end
@implementation Special
@end

@interface Thrower : NSObject
- (void)fail;
@end

static int finals;

__attribute__((noinline)) static void throw(NSString *name, Class class) {
  @throw [class exceptionWithName:name reason:@"on purpose" userInfo:@{@"key" : @7}];
}

@implementation Thrower
- (void)fail {
  throw(@"within", NSException.class);
}
@end

__attribute__((noinline)) static const char *caught(void (^what)(void)) {
  @try {
    @try {
      what();
      return "nothing";
    } @catch (Special *e) {
      return "special";
    } @finally {
      finals++;
    }
  } @catch (NSException *e) {
    return e.name.UTF8String;
  } @catch (id other) {
    return "an object";
  }
}

int main(void) {
  @autoreleasepool {
    printf("%s\n", caught(^{}));
    printf("%s\n", caught(^{ throw(@"plain", NSException.class); }));
    printf("%s\n", caught(^{ throw(@"derived", Special.class); }));
    printf("%s\n", caught(^{ @throw @"a string"; }));
    printf("%s\n", caught(^{ [NSException raise:@"raised" format:@"with %d", 7]; }));
    printf("%s\n", caught(^{
      @try { throw(@"again", NSException.class); } @catch (NSException *e) { @throw; }
    }));
    printf("%s\n", caught(^{
      @try { throw(@"first", NSException.class); }
      @catch (id e) { throw(@"second", NSException.class); }
    }));
    printf("finally ran %d times\n", finals);

    @try { throw(@"with details", NSException.class); }
    @catch (NSException *e) {
      printf("%s: %s, %d\n", e.name.UTF8String, e.reason.UTF8String, [e.userInfo[@"key"] intValue]);
    }

    // A lock is given back on the way.
    NSObject *lock = [NSObject new];
    for (int i = 0; i < 2; i++)
      @try { @synchronized(lock) { throw(@"locked", NSException.class); } } @catch (...) { puts("anything"); }

    // Through frames of the library, which has called back.
    @try { [[Thrower new] performSelector:@selector(fail)]; }
    @catch (NSException *e) { printf("%s\n", e.name.UTF8String); }
    @try { dispatch_sync(dispatch_get_global_queue(0, 0), ^{ throw(@"in a queue", NSException.class); }); }
    @catch (NSException *e) { printf("%s\n", e.name.UTF8String); }

    // A selector that nothing answers.
    @try { [lock performSelector:@selector(doesNotExist)]; }
    @catch (NSException *e) { printf("%s\n", e.name.UTF8String); }
  }
  return 0;
}
