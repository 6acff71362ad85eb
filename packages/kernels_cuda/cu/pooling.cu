// Maximum and average over windows, and their gradients. A thread computes one element of its
// output and gathers what it needs, so that sums have one order.
#include "common.cuh"
#include "window.cuh"

struct Place {
  Index image, row, column, channel;
};

__device__ inline Place place_of(Index i, Index height, Index width, Index channels) {
  Place place;
  place.channel = i % channels;
  i /= channels;
  place.column = i % width;
  i /= width;
  place.row = i % height;
  place.image = i / height;
  return place;
}

struct Area {
  Index top, bottom, left, right;  // half open

  __device__ Index size() const { return (bottom - top) * (right - left); }
};

__device__ inline Index clamp(Index i, Index low, Index high) {
  return i < low ? low : i > high ? high : i;
}

// The part of the image under the window at an output's place.
__device__ inline Area area_under(const Window& w, Index row, Index column) {
  const Index top = row * w.row_stride - w.top, left = column * w.column_stride - w.left;
  return {clamp(top, 0, w.height), clamp(top + w.rows, 0, w.height), clamp(left, 0, w.width),
          clamp(left + w.columns, 0, w.width)};
}

// The outputs whose windows hold a place of the image.
__device__ inline Area outputs_over(const Window& w, Index row, Index column) {
  const Index down = row + w.top, across = column + w.left;
  const Index top = down - w.rows, left = across - w.columns;
  return {top < 0 ? 0 : top / w.row_stride + 1, clamp(down / w.row_stride + 1, 0, w.out_height),
          left < 0 ? 0 : left / w.column_stride + 1,
          clamp(across / w.column_stride + 1, 0, w.out_width)};
}

__device__ inline Index image_at(const Window& w, const Place& p, Index row, Index column) {
  return ((p.image * w.height + row) * w.width + column) * w.channels + p.channel;
}

__device__ inline Index output_at(const Window& w, const Place& p, Index row, Index column) {
  return ((p.image * w.out_height + row) * w.out_width + column) * w.channels + p.channel;
}

// Where the first maximum under a window is; NaN counts as the largest.
template <typename T>
__device__ Index first_maximum(const T* x, const Window& w, const Place& p, const Area& area) {
  Index best = image_at(w, p, area.top, area.left);
  for (Index row = area.top; row < area.bottom; ++row) {
    for (Index column = area.left; column < area.right; ++column) {
      const Index at = image_at(w, p, row, column);
      if (x[at] > x[best] || (x[at] != x[at] && x[best] == x[best])) best = at;
    }
  }
  return best;
}

template <typename T>
__device__ void max_pool(T* out, const T* x, const Window& w) {
  const Index count = w.batch * w.out_height * w.out_width * w.channels;
  for (Index i = first_index(); i < count; i += index_stride()) {
    const Place p = place_of(i, w.out_height, w.out_width, w.channels);
    out[i] = x[first_maximum(x, w, p, area_under(w, p.row, p.column))];
  }
}

template <typename T>
__device__ void max_pool_grad(T* out, const T* x, const T* grad, const Window& w) {
  const Index count = w.batch * w.height * w.width * w.channels;
  for (Index i = first_index(); i < count; i += index_stride()) {
    const Place p = place_of(i, w.height, w.width, w.channels);
    const Area over = outputs_over(w, p.row, p.column);
    T total = 0;
    for (Index row = over.top; row < over.bottom; ++row) {
      for (Index column = over.left; column < over.right; ++column) {
        if (first_maximum(x, w, p, area_under(w, row, column)) == i) {
          total += grad[output_at(w, p, row, column)];
        }
      }
    }
    out[i] = total;
  }
}

template <typename T>
__device__ void avg_pool(T* out, const T* x, const Window& w) {
  const Index count = w.batch * w.out_height * w.out_width * w.channels;
  for (Index i = first_index(); i < count; i += index_stride()) {
    const Place p = place_of(i, w.out_height, w.out_width, w.channels);
    const Area under = area_under(w, p.row, p.column);
    T total = 0;
    for (Index row = under.top; row < under.bottom; ++row) {
      for (Index column = under.left; column < under.right; ++column) {
        total += x[image_at(w, p, row, column)];
      }
    }
    out[i] = total / T(under.size());
  }
}

template <typename T>
__device__ void avg_pool_grad(T* out, const T* grad, const Window& w) {
  const Index count = w.batch * w.height * w.width * w.channels;
  for (Index i = first_index(); i < count; i += index_stride()) {
    const Place p = place_of(i, w.height, w.width, w.channels);
    const Area over = outputs_over(w, p.row, p.column);
    T total = 0;
    for (Index row = over.top; row < over.bottom; ++row) {
      for (Index column = over.left; column < over.right; ++column) {
        total += grad[output_at(w, p, row, column)] / T(area_under(w, row, column).size());
      }
    }
    out[i] = total;
  }
}

#define QANAT_KERNELS(T, suffix)                                                             \
  KERNEL(max_pool_##suffix, T* out, const T* x, Window window) { max_pool(out, x, window); } \
  KERNEL(max_pool_grad_##suffix, T* out, const T* x, const T* grad, Window window) {         \
    max_pool_grad(out, x, grad, window);                                                     \
  }                                                                                          \
  KERNEL(avg_pool_##suffix, T* out, const T* x, Window window) { avg_pool(out, x, window); } \
  KERNEL(avg_pool_grad_##suffix, T* out, const T* grad, Window window) {                     \
    avg_pool_grad(out, grad, window);                                                        \
  }
QANAT_FLOATS(QANAT_KERNELS)
#undef QANAT_KERNELS
