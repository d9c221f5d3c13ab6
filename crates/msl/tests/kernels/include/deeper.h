#pragma once
template <typename T> inline T deeper(T x) { return x / 2; }
