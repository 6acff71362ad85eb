// How a window moves over NHWC maps: strides, dilations and padding of convolutions and pools.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_WINDOW_H_
#define PACKAGES_KERNELS_CPU_NATIVE_WINDOW_H_

#include "packages/kernels_cpu/native/messages.h"

namespace qanat::kernels_cpu {

// One of the two spatial dimensions: what is given, then what follows from it.
struct WindowAxis {
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t explicit_before = 0, explicit_after = 0;
};

// Where a window of `extent` elements stands on `size` elements.
struct Placement {
  int64_t positions = 0;
  int64_t pad_before = 0;
};

class Window {
 public:
  // Reads strides, padding and, where the node has them, dilations, explicit_paddings and
  // data_format; fails the init where they are not those of NHWC maps.
  explicit Window(KernelInit& init);

  // Along axis 0 (height) or 1 (width). False, and a failure, where no window fits.
  bool place(FailureSink& sink, int axis, int64_t size, int64_t extent, Placement* placement) const;

  const WindowAxis& axis(int i) const { return axes_[i]; }

 private:
  void read_explicit_paddings(KernelInit& init);

  enum class Padding { kSame, kValid, kExplicit };

  Padding padding_ = Padding::kValid;
  WindowAxis axes_[2];
};

// The entries for height and width of a list attr [1, height, width, 1], each in [1, 2^31).
bool read_spatial(KernelInit& init, const char* name, int64_t* height, int64_t* width);

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_WINDOW_H_
