#include "packages/kernels_cpu/native/window.h"

#include <algorithm>

namespace qanat::kernels_cpu {
namespace {

// Sizes, strides and paddings below this keep all arithmetic here within int64.
constexpr int64_t kLimit = int64_t{1} << 31;

}  // namespace

bool read_spatial(KernelInit& init, const char* name, int64_t* height, int64_t* width) {
  const auto values = init.int_list_attr(name);
  const bool valid = values.size == 4 && values[0] == 1 && values[3] == 1 && values[1] >= 1 &&
                     values[1] < kLimit && values[2] >= 1 && values[2] < kLimit;
  if (!valid) {
    init.invalid("expected %s as [1, height, width, 1], each from 1 to 2^31 - 1", name);
    return false;
  }
  *height = values[1];
  *width = values[2];
  return true;
}

Window::Window(KernelInit& init) {
  read_spatial(init, "strides", &axes_[0].stride, &axes_[1].stride);
  if (init.has_attr("dilations")) {
    read_spatial(init, "dilations", &axes_[0].dilation, &axes_[1].dilation);
  }
  if (init.has_attr("data_format") && init.string_attr("data_format") != "NHWC") {
    init.invalid("expected data_format NHWC");
  }
  const std::string_view padding = init.string_attr("padding");
  if (padding == "SAME") {
    padding_ = Padding::kSame;
  } else if (padding == "EXPLICIT") {
    padding_ = Padding::kExplicit;
    read_explicit_paddings(init);
  } else if (padding != "VALID") {
    init.invalid("expected padding SAME, VALID or EXPLICIT");
  }
}

void Window::read_explicit_paddings(KernelInit& init) {
  const auto values = init.int_list_attr("explicit_paddings");
  bool valid =
      values.size == 8 && values[0] == 0 && values[1] == 0 && values[6] == 0 && values[7] == 0;
  for (int i = 2; valid && i < 6; ++i) valid = values[i] >= 0 && values[i] < kLimit;
  if (!valid) {
    init.invalid("expected explicit_paddings as [0, 0, top, bottom, left, right, 0, 0]");
    return;
  }
  for (int i = 0; i < 2; ++i) {
    axes_[i].explicit_before = values[2 + 2 * i];
    axes_[i].explicit_after = values[3 + 2 * i];
  }
}

bool Window::place(FailureSink& sink, int axis, int64_t size, int64_t extent,
                   Placement* placement) const {
  const WindowAxis& along = axes_[axis];
  if (size >= kLimit || extent < 1 || extent >= kLimit) {
    sink.invalid(
        "expected maps and windows of 1 to 2^31 - 1 elements along an axis, got %lld and %lld",
        static_cast<long long>(size), static_cast<long long>(extent));
    return false;
  }
  const int64_t span = (extent - 1) * along.dilation + 1;
  if (padding_ == Padding::kSame) {
    placement->positions = (size + along.stride - 1) / along.stride;
    const int64_t needed = (placement->positions - 1) * along.stride + span - size;
    placement->pad_before = placement->positions == 0 ? 0 : std::max<int64_t>(needed, 0) / 2;
    return true;
  }
  const int64_t padded = size + along.explicit_before + along.explicit_after;
  if (padded < span) {
    sink.invalid("expected a window of at most %lld elements along axis %d, got %lld",
                 static_cast<long long>(padded), axis + 1, static_cast<long long>(span));
    return false;
  }
  placement->positions = (padded - span) / along.stride + 1;
  placement->pad_before = along.explicit_before;
  return true;
}

}  // namespace qanat::kernels_cpu
