// Cast between all numbers and bool.
#include <limits>

#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

template <typename T>
inline constexpr bool is_complex = false;
template <typename T>
inline constexpr bool is_complex<std::complex<T>> = true;

// To the nearest integer towards 0 that To can hold; 0 for NaN.
template <typename To, typename From>
To saturate(From x) {
  constexpr From kLow = static_cast<From>(std::numeric_limits<To>::min());
  constexpr From kPastHigh = static_cast<From>(std::numeric_limits<To>::max() / 2 + 1) * 2;
  if (!(x > kLow)) return x == x ? std::numeric_limits<To>::min() : To{0};
  if (x >= kPastHigh) return std::numeric_limits<To>::max();
  return static_cast<To>(x);
}

// A complex number becomes its real part; any number but 0 becomes true; integers wrap.
template <typename To, typename From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_half<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (is_complex<From>) {
    if constexpr (is_complex<To>) {
      return To(static_cast<typename To::value_type>(x.real()),
                static_cast<typename To::value_type>(x.imag()));
    } else if constexpr (std::is_same_v<To, bool>) {
      return x != From{};
    } else {
      return convert<To>(x.real());
    }
  } else if constexpr (is_half<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (is_complex<To>) {
    return To(static_cast<typename To::value_type>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From{0};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    return saturate<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

using Loop = void (*)(const void* from, void* to, int64_t n);

template <typename From, typename To>
void convert_all(const void* from, void* to, int64_t n) {
  const From* x = static_cast<const From*>(from);
  To* y = static_cast<To*>(to);
  for (int64_t i = 0; i < n; ++i) y[i] = convert<To>(x[i]);
}

Loop find_loop(DType from, DType to) {
  Loop loop = nullptr;
  visit_number(from, [&](auto from_tag) {
    visit_number(to, [&](auto to_tag) {
      loop = convert_all<typename decltype(from_tag)::type, typename decltype(to_tag)::type>;
    });
  });
  return loop;
}

class CastKernel final : public Kernel {
 public:
  explicit CastKernel(KernelInit& init)
      : loop_(find_loop(input_dtype(init, 0), output_dtype(init, 0))),
        same_(input_dtype(init, 0) == output_dtype(init, 0)) {
    if (!expect_arity(init, 1, 1)) return;
    if (loop_ == nullptr) {
      init.invalid("expected numbers or bools, got %s -> %s", dtype_name(input_dtype(init, 0)),
                   dtype_name(output_dtype(init, 0)));
    }
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    if (same_) {
      context.output_alias(0, 0, in.shape);
      return;
    }
    TensorView* out = context.output(0, in.shape);
    if (out == nullptr) return;
    const int64_t in_size = static_cast<int64_t>(dtype_size(in.dtype));
    const int64_t out_size = static_cast<int64_t>(dtype_size(out->dtype));
    for_ranges(context, in.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      loop_(in.as<char>() + begin * in_size, out->as<char>() + begin * out_size, end - begin);
    });
  }

 private:
  Loop loop_;
  bool same_;
};

}  // namespace

void register_cast(KernelRegistry& registry) {
  constexpr DTypes kCastable = kNumbers | kBools;
  const auto add_from = [&](DType from) {
    if (!kCastable.contains(from)) return;
#define QANAT_ADD(e, type, name)    \
  if (kCastable.contains(DType::e)) \
    registry.add<CastKernel>("Cast", {{"SrcT", from}, {"DstT", DType::e}});
    QANAT_DTYPES(QANAT_ADD)
#undef QANAT_ADD
  };
#define QANAT_FROM(e, type, name) add_from(DType::e);
  QANAT_DTYPES(QANAT_FROM)
#undef QANAT_FROM
}

}  // namespace qanat::kernels_cpu
