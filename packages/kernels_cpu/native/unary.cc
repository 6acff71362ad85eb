// Elementwise ops of one operand.
#include "packages/kernels_cpu/native/elementwise_loops.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/half_tiles.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

constexpr bool is_predicate(UnaryOp op) { return op >= UnaryOp::kIsNan; }

class UnaryKernelBase : public Kernel {
 public:
  UnaryKernelBase(KernelInit& init, UnaryOp op)
      : loop_(unary_loop(op, computed_dtype(input_dtype(init, 0)))),
        parameter_(op == UnaryOp::kLeakyRelu ? init.float_attr("alpha") : 0) {
    if (!expect_arity(init, 1, 1)) return;
    const DType result = is_predicate(op) ? DType::kBool : input_dtype(init, 0);
    if (loop_ == nullptr || output_dtype(init, 0) != result) {
      init.invalid("expected other dtypes than %s -> %s", dtype_name(input_dtype(init, 0)),
                   dtype_name(output_dtype(init, 0)));
    }
  }

  void compute(KernelContext& context) final {
    const TensorView& in = context.input(0);
    constexpr int kInput = 0;
    TensorView* out = context.output_reusing(0, in.shape, &kInput, 1);
    if (out == nullptr) return;
    const int64_t in_size = static_cast<int64_t>(dtype_size(in.dtype));
    const int64_t out_size = static_cast<int64_t>(dtype_size(out->dtype));
    for_ranges(context, in.num_elements(), kUnaryGrain, [&](int64_t begin, int64_t end) {
      run(in.dtype, in.as<char>() + begin * in_size, out->dtype, out->as<char>() + begin * out_size,
          end - begin);
    });
  }

 private:
  // Smaller than kGrain: most of these functions take nanoseconds an element.
  static constexpr int64_t kUnaryGrain = kGrain / 4;

  void run(DType dtype, const void* in, DType result, void* out, int64_t n) const {
    if (!is_half_dtype(dtype)) {
      loop_(in, out, n, parameter_);
      return;
    }
    float wide[kHalfTile];
    for (int64_t i = 0; i < n; i += kHalfTile) {
      const int64_t count = std::min(kHalfTile, n - i);
      widen(dtype, static_cast<const uint16_t*>(in) + i, wide, count);
      if (result == DType::kBool) {
        loop_(wide, static_cast<bool*>(out) + i, count, parameter_);
      } else {
        loop_(wide, wide, count, parameter_);
        narrow(dtype, wide, static_cast<uint16_t*>(out) + i, count);
      }
    }
  }

  UnaryLoop loop_;
  double parameter_;
};

template <UnaryOp kOp>
class UnaryKernel final : public UnaryKernelBase {
 public:
  explicit UnaryKernel(KernelInit& init) : UnaryKernelBase(init, kOp) {}
};

// Registers the op for every dtype of `among` that has a loop.
template <UnaryOp kOp>
QANAT_SELECTING void add(KernelRegistry& registry, const char* op, DTypes among = kArrays) {
  if (!is_selected(op)) return;
#define QANAT_ADD(e, type, name)                                                        \
  if (among.contains(DType::e) && unary_loop(kOp, computed_dtype(DType::e)) != nullptr) \
    registry.add<UnaryKernel<kOp>>(op, {{"T", DType::e}});
  QANAT_DTYPES(QANAT_ADD)
#undef QANAT_ADD
}

}  // namespace

void register_unary(KernelRegistry& registry) {
  // LogicalNot has no type attr.
#define QANAT_ADD(name) \
  if constexpr (UnaryOp::k##name != UnaryOp::kLogicalNot) add<UnaryOp::k##name>(registry, #name);
  QANAT_UNARY_OPS(QANAT_ADD)
#undef QANAT_ADD
  registry.add<UnaryKernel<UnaryOp::kLogicalNot>>("LogicalNot", {});
  // Other graph ops with the same loops.
  add<UnaryOp::kReciprocal>(registry, "Inv");
  add<UnaryOp::kRound>(registry, "Rint", kFloats | kHalves);
}

}  // namespace qanat::kernels_cpu
