#pragma once
#include "deeper.h"
#define FACTOR 3
template <typename T> inline T scaled(T x) { return x * FACTOR + deeper(x); }
