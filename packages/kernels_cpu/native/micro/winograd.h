// Convolution of stride 1 with fewer multiplications, for float, by Winograd's minimal filtering.
//
// A tile of 6 x 6 source pixels gives m x m results of a filter of r x r taps, m + r - 1 = 6, by 36
// products a pair of channels where the plain sum has m^2 r^2: 100 for 5 x 5 taps, 144 for 3 x 3.
// Source and weights are transformed so that each of the 36 points is a matrix product of its own,
// over tiles x channels, and its result is transformed back (Winograd, "Arithmetic Complexity of
// Computations", 1980; for convolutions Lavin and Gray, "Fast Algorithms for Convolutional Neural
// Networks", 2016, equation 8). The transforms stand in winograd_axes.h.
//
// Results differ from those of the plain sum by rounding: for values uniform in [-1, 1] the largest
// error is 1e-6 to 2e-6 of the largest result, where that of the plain sum is 2e-7 to 2e-6. A tile
// is computed as a whole: a source value that is not finite, or so large that a weighted sum of six
// by six overflows, makes NaN of all m x m results of the tiles that read it, where the plain sum
// would spoil those only whose taps meet it. It never reaches another image.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_MICRO_WINOGRAD_H_
#define PACKAGES_KERNELS_CPU_NATIVE_MICRO_WINOGRAD_H_

#include <cstddef>
#include <cstdint>

#include "packages/core/native/kernel/parallel.h"
#include "packages/kernels_cpu/native/micro/conv2d.h"
#include "packages/kernels_cpu/native/micro/correlation.h"

namespace qanat::micro {

// Whether a correlation, or a filter gradient, is of the kind that this is for, and large enough
// for it to be faster. So scratch is asked for and the work is done by these functions, or by
// others.
bool winograd_pays(const Correlation<float>& correlation);
bool winograd_pays(const Conv2dShape& shape);

// What correlation.h says; c.weights are packed as that says, outside the scratch.
size_t winograd_scratch_bytes(const Correlation<float>& c, int threads);
void winograd_correlate(const Correlation<float>& c, void* scratch, Parallel& parallel);

// What conv2d_backward_filter() of conv2d.h says.
size_t winograd_filter_gradient_scratch_bytes(const Conv2dShape& shape, int threads);
void winograd_filter_gradient(const Conv2dShape& shape, const float* input, const float* d_output,
                              float* d_filter, void* scratch, Parallel& parallel);

}  // namespace qanat::micro

#endif  // PACKAGES_KERNELS_CPU_NATIVE_MICRO_WINOGRAD_H_
