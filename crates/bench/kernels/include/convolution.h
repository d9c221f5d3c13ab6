#pragma once
// Convolutions with channels last, as matrix products: rows are places of the output, columns are filters, and the
// depth runs over the window and its channels.

// Extents of a convolution. Fewer dimensions are three with extents of 1.
struct Convolution {
    uint depth, height, width, channels;     // of the input
    uint out_depth, out_height, out_width;   // of the output
    uint window_depth, window_height, window_width;
    uint stride;
};

// An element of the product's depth: a place in the window, and a channel.
struct Tap {
    uint z, y, x, channel;
};

inline Tap tap_of(Convolution c, uint k) {
    Tap tap;
    tap.channel = k % c.channels;
    k /= c.channels;
    tap.x = k % c.window_width;
    k /= c.window_width;
    tap.y = k % c.window_height;
    tap.z = k / c.window_height;
    return tap;
}

// A place of the output.
struct Place {
    uint image, z, y, x;
};

inline Place place_of(Convolution c, uint row) {
    Place place;
    place.x = row % c.out_width;
    row /= c.out_width;
    place.y = row % c.out_height;
    row /= c.out_height;
    place.z = row % c.out_depth;
    place.image = row / c.out_depth;
    return place;
}

// What each place of the output meets in the input.
struct Patches {
    static constant constexpr bool along_depth = true;
    device const float *x;
    Convolution c;
    float operator()(uint row, uint k) const {
        Place p = place_of(c, row);
        Tap t = tap_of(c, k);
        uint z = p.z * c.stride + t.z, y = p.y * c.stride + t.y, column = p.x * c.stride + t.x;
        return x[(((p.image * c.depth + z) * c.height + y) * c.width + column) * c.channels + t.channel];
    }
};

// The same for a transposed convolution: place p of the output meets place (p - tap) / stride of the input, if there is
// one.
struct SpreadPatches {
    static constant constexpr bool along_depth = true;
    device const float *x;
    Convolution c;
    float operator()(uint row, uint k) const {
        Place p = place_of(c, row);
        Tap t = tap_of(c, k);
        // Below zero these wrap around, and are then too large.
        uint z = p.z - t.z, y = p.y - t.y, column = p.x - t.x;
        bool there = z % c.stride == 0 && y % c.stride == 0 && column % c.stride == 0;
        z /= c.stride;
        y /= c.stride;
        column /= c.stride;
        there = there && p.z >= t.z && p.y >= t.y && p.x >= t.x;
        there = there && z < c.depth && y < c.height && column < c.width;
        uint place = (((p.image * c.depth + z) * c.height + y) * c.width + column) * c.channels + t.channel;
        return there ? x[place] : 0.0f;
    }
};

inline Convolution convolution_2d(uint height, uint width, uint channels, uint window_height, uint window_width,
                                  uint stride) {
    return Convolution{1, height, width, channels,
                       1, (height - window_height) / stride + 1, (width - window_width) / stride + 1,
                       1, window_height, window_width, stride};
}

inline Convolution convolution_3d(uint depth, uint height, uint width, uint channels, uint window, uint stride) {
    return Convolution{depth, height, width, channels,
                       (depth - window) / stride + 1, (height - window) / stride + 1, (width - window) / stride + 1,
                       window, window, window, stride};
}

inline Convolution transposed_2d(uint height, uint width, uint channels, uint window, uint stride) {
    return Convolution{1, height, width, channels,
                       1, (height - 1) * stride + window, (width - 1) * stride + window,
                       1, window, window, stride};
}

inline Convolution transposed_3d(uint depth, uint height, uint width, uint channels, uint window, uint stride) {
    return Convolution{depth, height, width, channels,
                       (depth - 1) * stride + window, (height - 1) * stride + window, (width - 1) * stride + window,
                       window, window, window, stride};
}

inline uint places(Convolution c) { return c.out_depth * c.out_height * c.out_width; }

inline uint taps(Convolution c) { return c.window_depth * c.window_height * c.window_width * c.channels; }
