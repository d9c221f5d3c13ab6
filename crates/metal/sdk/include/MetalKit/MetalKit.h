#pragma once
#include <Metal/Metal.h>
