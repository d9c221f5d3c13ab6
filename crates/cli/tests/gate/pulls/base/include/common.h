#pragma once
inline float activate(float v) { return metal::max(v, 0.0f); }
