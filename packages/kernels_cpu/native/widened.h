// Inputs and outputs of kernels that compute in float or double only: other types pass through a
// copy.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_WIDENED_H_
#define PACKAGES_KERNELS_CPU_NATIVE_WIDENED_H_

#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/micro/computed.h"
#include "packages/kernels_cpu/native/scratch.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {

// Calls compute(TypeTag<C>) for the C, float or double, that elements of dtype are computed in.
// float holds the halves and integers of up to 16 bits exactly, double those of 32.
template <typename F>
void visit_computed(DType dtype, F&& compute) {
  switch (dtype) {
    case DType::kFloat64:
    case DType::kInt32:
    case DType::kUInt32:
      if constexpr (micro::kComputes<double>) compute(TypeTag<double>{});
      return;
    default:
      return compute(TypeTag<float>{});
  }
}

// The elements of a view as C; null, and a failure, where there is no memory for them.
template <typename C>
const C* widened(KernelContext& context, const TensorView& view) {
  if (view.dtype == dtype_of<C>) return view.as<C>();
  C* wide = scratch_of<C>(context, view.num_elements());
  if (wide == nullptr) return nullptr;
  visit_reals(view.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = 0; i < view.num_elements(); ++i) {
      wide[i] = static_cast<C>(static_cast<Computed<T>>(view.as<T>()[i]));
    }
  });
  return wide;
}

// An output computed as C. Use data(), if it is not null, then commit().
template <typename C>
class WidenedOutput {
 public:
  WidenedOutput(KernelContext& context, const TensorView& view) : view_(view) {
    data_ = view.dtype == dtype_of<C> ? view.as<C>() : scratch_of<C>(context, view.num_elements());
  }

  C* data() const { return data_; }

  // The values, which the view's type can hold, move to the view.
  void commit() const {
    if (view_.dtype == dtype_of<C>) return;
    visit_reals(view_.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i < view_.num_elements(); ++i) {
        view_.as<T>()[i] = T(static_cast<Computed<T>>(data_[i]));
      }
    });
  }

 private:
  TensorView view_;
  C* data_;
};

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_WIDENED_H_
