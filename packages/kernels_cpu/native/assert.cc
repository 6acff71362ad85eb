// Assert: a failure of the step that shows what its inputs are.
#include <algorithm>
#include <cstdio>

#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

// A message of bounded length; what does not fit is left out.
class Text {
 public:
  const char* c_str() const { return text_; }

  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
    va_list args;
    va_start(args, format);
    const size_t room = sizeof(text_) - size_;
    const int written = std::vsnprintf(text_ + size_, room, format, args);
    va_end(args);
    if (written > 0) size_ += std::min(static_cast<size_t>(written), room - 1);
  }

 private:
  char text_[480] = "";
  size_t size_ = 0;
};

template <typename T>
void add_value(Text& text, const T& value) {
  if constexpr (std::is_same_v<T, Bytes>) {
    text.add("%.*s", static_cast<int>(std::min<size_t>(value.size(), 200)), value.view().data());
  } else if constexpr (std::is_same_v<T, bool>) {
    text.add("%s", value ? "true" : "false");
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    text.add("%llu", static_cast<unsigned long long>(value));
  } else if constexpr (std::is_integral_v<T>) {
    text.add("%lld", static_cast<long long>(value));
  } else if constexpr (std::is_floating_point_v<T> || is_half<T>) {
    text.add("%g", static_cast<double>(static_cast<Computed<T>>(value)));
  } else {
    text.add("%g%+gj", static_cast<double>(value.real()), static_cast<double>(value.imag()));
  }
}

// "[1 2 3...]": the first `count` elements.
void add_tensor(Text& text, const TensorView& view, int64_t count) {
  const auto add_values = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const int64_t shown = std::min(count, view.num_elements());
    text.add("[");
    for (int64_t i = 0; i < shown; ++i) {
      if (i > 0) text.add(" ");
      add_value(text, view.as<T>()[i]);
    }
    text.add(shown < view.num_elements() ? "...]" : "]");
  };
  if (!visit_number(view.dtype, add_values)) visit_type<Bytes>(view.dtype, add_values);
}

class AssertKernel final : public Kernel {
 public:
  explicit AssertKernel(KernelInit& init) : summarize_(init.int_attr("summarize")) {
    expect_dtype(init, 0, DType::kBool, "a condition");
  }

  void compute(KernelContext& context) override {
    if (!expect_rank(context, 0, 0, "a condition")) return;
    if (*context.input(0).as<bool>()) return;
    // A negative number, as in TensorFlow, shows all elements: more than fit into the message.
    const int64_t count = summarize_ < 0 ? INT64_MAX : summarize_;
    Text text;
    text.add("assertion failed:");
    for (int i = 1; i < context.num_inputs(); ++i) {
      text.add(" ");
      add_tensor(text, context.input(i), std::min<int64_t>(count, 500));
    }
    context.invalid("%s", text.c_str());
  }

 private:
  int64_t summarize_;
};

}  // namespace

void register_assert(KernelRegistry& registry) { registry.add<AssertKernel>("Assert", {}); }

}  // namespace qanat::kernels_cpu
