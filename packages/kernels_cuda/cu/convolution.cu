// Convolutions and their gradients as products of matrices whose elements are looked up in the
// images, which saves the memory that writing those matrices down would take.
#include "product.cuh"
#include "window.cuh"

// Row: an output's place (image, row, column). Column: an element of the filter (row, column,
// channel). Element: the pixel under it. All counts are below 2^31, which the host checks.
template <typename T>
struct Patches {
  const T* images;
  Window w;

  __device__ T at(Index place, Index element) const {
    const unsigned channels = unsigned(w.channels), columns = unsigned(w.columns);
    const unsigned width = unsigned(w.out_width), height = unsigned(w.out_height);
    const unsigned p = unsigned(place), e = unsigned(element);
    const Index row = Index(p / width % height) * w.row_stride - w.top +
                      Index(e / channels / columns) * w.row_dilation;
    const Index column = Index(p % width) * w.column_stride - w.left +
                         Index(e / channels % columns) * w.column_dilation;
    if (row < 0 || row >= w.height || column < 0 || column >= w.width) return T(0);
    const Index image = p / width / height;
    return images[((image * w.height + row) * w.width + column) * channels + e % channels];
  }
  __device__ bool rows_are_contiguous() const { return true; }
};

// The same with rows and columns exchanged.
template <typename T>
struct TransposedPatches {
  Patches<T> patches;

  __device__ T at(Index element, Index place) const { return patches.at(place, element); }
  __device__ bool rows_are_contiguous() const { return false; }
};

// Row: a pixel (image, row, column). Column: (row, column of the filter, output channel). Element:
// the gradient of the output that this element of the filter connects with the pixel, or 0.
template <typename T>
struct Connected {
  const T* grads;
  Window w;

  __device__ T at(Index place, Index element) const {
    const unsigned channels = unsigned(w.out_channels), columns = unsigned(w.columns);
    const unsigned width = unsigned(w.width), height = unsigned(w.height);
    const unsigned p = unsigned(place), e = unsigned(element);
    const int down =
        int(p / width % height) + int(w.top) - int(e / channels / columns) * int(w.row_dilation);
    const int across =
        int(p % width) + int(w.left) - int(e / channels % columns) * int(w.column_dilation);
    const int row_stride = int(w.row_stride), column_stride = int(w.column_stride);
    if (down < 0 || across < 0 || down % row_stride != 0 || across % column_stride != 0)
      return T(0);
    const Index row = down / row_stride, column = across / column_stride;
    if (row >= w.out_height || column >= w.out_width) return T(0);
    const Index image = p / width / height;
    return grads[((image * w.out_height + row) * w.out_width + column) * channels + e % channels];
  }
  __device__ bool rows_are_contiguous() const { return true; }
};

// The filter [rows, columns, channels, out channels] as the matrix that Connected is multiplied by.
template <typename T>
struct Flipped {
  const T* filter;
  Window w;

  __device__ T at(Index element, Index channel) const {
    const unsigned out_channels = unsigned(w.out_channels), e = unsigned(element);
    return filter[(e / out_channels * w.channels + channel) * w.out_channels + e % out_channels];
  }
  __device__ bool columns_are_contiguous() const { return true; }
};

#define QANAT_KERNELS(T, suffix)                                                                   \
  KERNEL(conv2d_##suffix, T* out, const T* images, const T* filter, Window w, Extent extent,       \
         Epilogue<T> end) {                                                                        \
    multiply(out, Patches<T>{images, w}, Matrix<T>{filter, w.out_channels, 1}, extent, end);       \
  }                                                                                                \
  KERNEL(conv2d_filter_##suffix, T* out, const T* images, const T* grads, Window w,                \
         Extent extent) {                                                                          \
    multiply(out, TransposedPatches<T>{{images, w}}, Matrix<T>{grads, w.out_channels, 1}, extent,  \
             Epilogue<T>{nullptr, 0});                                                             \
  }                                                                                                \
  KERNEL(conv2d_input_##suffix, T* out, const T* grads, const T* filter, Window w,                 \
         Extent extent) {                                                                          \
    multiply(out, Connected<T>{grads, w}, Flipped<T>{filter, w}, extent, Epilogue<T>{nullptr, 0}); \
  }
QANAT_FLOATS(QANAT_KERNELS)
#undef QANAT_KERNELS
