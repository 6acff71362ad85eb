#include "packages/kernels_cpu/native/conv2d_sizes.h"

namespace qanat::kernels_cpu {

bool conv2d_sizes(FailureSink& sink, const Window& window, const Shape& input, const Shape& filter,
                  micro::Conv2dShape* conv, Shape* output) {
  if (input.rank() != 4 || filter.rank() != 4 || input[3] != filter[2]) {
    sink.invalid("expected an input [N,H,W,C] and a filter [h,w,C,O], got %s and %s",
                 text(input).c_str(), text(filter).c_str());
    return false;
  }
  Placement rows, columns;
  if (!window.place(sink, 0, input[1], filter[0], &rows)) return false;
  if (!window.place(sink, 1, input[2], filter[1], &columns)) return false;
  *conv = {.batch = input[0],
           .in_height = input[1],
           .in_width = input[2],
           .in_channels = input[3],
           .filter_height = filter[0],
           .filter_width = filter[1],
           .out_height = rows.positions,
           .out_width = columns.positions,
           .out_channels = filter[3],
           .stride_h = window.axis(0).stride,
           .stride_w = window.axis(1).stride,
           .dilation_h = window.axis(0).dilation,
           .dilation_w = window.axis(1).dilation,
           .pad_top = rows.pad_before,
           .pad_left = columns.pad_before};
  *output = Shape();
  for (int64_t dim : {input[0], rows.positions, columns.positions, filter[3]}) {
    if (output->add(dim)) continue;
    sink.invalid("expected a result of fewer than 2^63 elements");
    return false;
  }
  return true;
}

}  // namespace qanat::kernels_cpu
