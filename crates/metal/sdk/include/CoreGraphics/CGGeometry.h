// Types that graphics declarations of Metal name.
#pragma once
typedef double CGFloat;
typedef struct {
  CGFloat width, height;
} CGSize;
