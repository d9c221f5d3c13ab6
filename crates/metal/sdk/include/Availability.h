// Versions.
#pragma once
#define __MAC_14_0 140000
#define __MAC_15_0 150000
#define __MAC_26_0 260000
#define __MAC_OS_X_VERSION_MAX_ALLOWED 150000
#define __MAC_OS_X_VERSION_MIN_REQUIRED 150000
#define API_AVAILABLE(...)
#define API_UNAVAILABLE(...)
#define API_DEPRECATED(...)
