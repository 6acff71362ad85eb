// A window that moves over images [batch, height, width, channels]: convolutions and pools.
#pragma once

struct Window {
  Index batch, height, width, channels;     // of the images
  Index out_height, out_width, out_channels;
  Index rows, columns;                      // of the window
  Index row_stride, column_stride;
  Index row_dilation, column_dilation;
  Index top, left;                          // padding before the first row and column
};
