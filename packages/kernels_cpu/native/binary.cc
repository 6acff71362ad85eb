// Elementwise ops of two operands, most of them with broadcasting, and AddN.
#include "packages/kernels_cpu/native/binary_spans.h"
#include "packages/kernels_cpu/native/broadcast.h"
#include "packages/kernels_cpu/native/broadcast_spans.h"
#include "packages/kernels_cpu/native/elementwise_loops.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

// What integer ops refuse in their second operand.
enum class Refusal { kNothing, kZero, kNegative };

Refusal refusal_of(BinaryOp op, DType dtype) {
  if (!kIntegers.contains(dtype)) return Refusal::kNothing;
  switch (op) {
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
    case BinaryOp::kTruncateMod:
      return Refusal::kZero;
    case BinaryOp::kPow:
      return Refusal::kNegative;
    default:
      return Refusal::kNothing;
  }
}

template <typename T>
bool is_refused(Refusal refusal, T value) {
  if (refusal == Refusal::kZero) return value == 0;
  if constexpr (std::is_signed_v<T>) return value < 0;
  return false;
}

// Whether no element of b is one that the op refuses.
bool accepts(KernelContext& context, Refusal refusal, const TensorView& b) {
  bool accepted = true;
  visit_integers(b.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* begin = b.as<T>();
    const T* end = begin + b.num_elements();
    const T* refused =
        std::find_if(begin, end, [&](T value) { return is_refused(refusal, value); });
    if (refused == end) return;
    context.invalid("expected integer %s, got %lld at position %lld",
                    refusal == Refusal::kZero ? "divisors other than 0" : "exponents >= 0",
                    static_cast<long long>(*refused), static_cast<long long>(refused - begin));
    accepted = false;
  });
  return accepted;
}

constexpr int kBoth[] = {0, 1};

class BinaryKernelBase : public Kernel {
 public:
  BinaryKernelBase(KernelInit& init, BinaryOp op, bool broadcasts)
      : broadcasts_(broadcasts),
        refusal_(refusal_of(op, input_dtype(init, 0))),
        spans_(op, input_dtype(init, 0), output_dtype(init, 0),
               op == BinaryOp::kLeakyReluGrad ? init.float_attr("alpha") : 0) {
    if (!expect_arity(init, 2, 1) || !expect_same_dtype(init, 0, 1)) return;
    const bool is_predicate = op >= BinaryOp::kLess;
    const DType result = is_predicate ? DType::kBool : input_dtype(init, 0);
    if (!spans_.exist() || output_dtype(init, 0) != result) {
      init.invalid("expected other dtypes than %s -> %s", dtype_name(input_dtype(init, 0)),
                   dtype_name(output_dtype(init, 0)));
    }
  }

  void compute(KernelContext& context) final {
    const TensorView& a = context.input(0);
    const TensorView& b = context.input(1);
    if (!(a.shape == b.shape)) return compute_broadcast(context, a, b);
    if (refusal_ != Refusal::kNothing && !accepts(context, refusal_, b)) return;
    TensorView* out = context.output_reusing(0, a.shape, kBoth, 2);
    if (out == nullptr) return;
    const int64_t n = a.num_elements();
    if (n <= kGrain) {
      spans_.run(kSame, a.data, b.data, out->data, n);
      return;
    }
    const int64_t in_size = static_cast<int64_t>(dtype_size(a.dtype));
    const int64_t out_size = static_cast<int64_t>(dtype_size(out->dtype));
    for_ranges(context, n, kGrain, [&](int64_t begin, int64_t end) {
      spans_.run(kSame, a.as<char>() + begin * in_size, b.as<char>() + begin * in_size,
                 out->as<char>() + begin * out_size, end - begin);
    });
  }

 private:
  void compute_broadcast(KernelContext& context, const TensorView& a, const TensorView& b) {
    if (!broadcasts_) {
      expect_same_shape(context, 0, 1);
      return;
    }
    Shape shape;
    if (!broadcast_shape(context, a.shape, b.shape, &shape)) return;
    const bool any = shape.num_elements() != 0;
    if (any && refusal_ != Refusal::kNothing && !accepts(context, refusal_, b)) return;
    TensorView* out = context.output_reusing(0, shape, kBoth, 2);
    if (out == nullptr || !any) return;
    run_broadcast(context, spans_, a, b, *out);
  }

  bool broadcasts_;
  Refusal refusal_;
  BinarySpans spans_;
};

template <BinaryOp kOp, bool kBroadcasts>
class BinaryKernel final : public BinaryKernelBase {
 public:
  explicit BinaryKernel(KernelInit& init) : BinaryKernelBase(init, kOp, kBroadcasts) {}
};

// out = (in0 + in1) + in2 + ..., in this order.
class AddNKernel final : public Kernel {
 public:
  explicit AddNKernel(KernelInit& init)
      : spans_(BinaryOp::kAdd, input_dtype(init, 0), output_dtype(init, 0), 0) {
    if (init.num_inputs() < 1) init.invalid("expected at least 1 input, got none");
    for (int i = 1; i < init.num_inputs(); ++i) expect_same_dtype(init, 0, i);
    expect_output_dtype(init, 0, 0);
    spans_.expect_exist(init);
  }

  void compute(KernelContext& context) override {
    const TensorView& first = context.input(0);
    for (int i = 1; i < context.num_inputs(); ++i) {
      if (!expect_same_shape(context, 0, i)) return;
    }
    if (context.num_inputs() == 1) {
      context.output_alias(0, 0, first.shape);
      return;
    }
    // Only the first two may lend their buffer: the others are read after it is written.
    TensorView* out = context.output_reusing(0, first.shape, kBoth, 2);
    if (out == nullptr) return;
    const int64_t size = static_cast<int64_t>(dtype_size(first.dtype));
    for_ranges(context, first.num_elements(), kGrain, [&](int64_t begin, int64_t end) {
      const auto at = [&](int i) { return context.input(i).as<char>() + begin * size; };
      char* sum = out->as<char>() + begin * size;
      spans_.run(kSame, at(0), at(1), sum, end - begin);
      for (int i = 2; i < context.num_inputs(); ++i) {
        spans_.run(kSame, sum, at(i), sum, end - begin);
      }
    });
  }

 private:
  BinarySpans spans_;
};

// Registers the op for every dtype of `among` that has loops.
template <BinaryOp kOp, bool kBroadcasts = true>
QANAT_SELECTING void add(KernelRegistry& registry, const char* op, DTypes among = kArrays) {
  if (!is_selected(op)) return;
#define QANAT_ADD(e, type, name)                                                               \
  if (among.contains(DType::e) && binary_loops(kOp, computed_dtype(DType::e)).same != nullptr) \
    registry.add<BinaryKernel<kOp, kBroadcasts>>(op, {{"T", DType::e}});
  QANAT_DTYPES(QANAT_ADD)
#undef QANAT_ADD
}

}  // namespace

void register_binary(KernelRegistry& registry) {
  add<BinaryOp::kAdd>(registry, "Add");
  add<BinaryOp::kAdd>(registry, "AddV2");
  add<BinaryOp::kSub>(registry, "Sub");
  add<BinaryOp::kMul>(registry, "Mul");
  add<BinaryOp::kDiv>(registry, "Div");
  add<BinaryOp::kDiv>(registry, "RealDiv", kFloats | kHalves);
  add<BinaryOp::kDiv>(registry, "TruncateDiv", kIntegers);
  add<BinaryOp::kFloorDiv>(registry, "FloorDiv");
  add<BinaryOp::kFloorMod>(registry, "FloorMod");
  add<BinaryOp::kTruncateMod>(registry, "TruncateMod");
  add<BinaryOp::kTruncateMod>(registry, "Mod");
  add<BinaryOp::kPow>(registry, "Pow", kFloats | kHalves | kIndices);
  add<BinaryOp::kMaximum>(registry, "Maximum");
  add<BinaryOp::kMinimum>(registry, "Minimum");
  add<BinaryOp::kSquaredDifference>(registry, "SquaredDifference");
  add<BinaryOp::kDivNoNan>(registry, "DivNoNan");
  add<BinaryOp::kMulNoNan>(registry, "MulNoNan");
  add<BinaryOp::kXdivy>(registry, "Xdivy");
  add<BinaryOp::kAtan2>(registry, "Atan2");

  add<BinaryOp::kTanhGrad, false>(registry, "TanhGrad");
  add<BinaryOp::kSigmoidGrad, false>(registry, "SigmoidGrad");
  add<BinaryOp::kSqrtGrad, false>(registry, "SqrtGrad");
  add<BinaryOp::kRsqrtGrad, false>(registry, "RsqrtGrad");
  add<BinaryOp::kReciprocalGrad, false>(registry, "ReciprocalGrad");
  add<BinaryOp::kReciprocalGrad, false>(registry, "InvGrad");
  add<BinaryOp::kReluGrad, false>(registry, "ReluGrad");
  add<BinaryOp::kRelu6Grad, false>(registry, "Relu6Grad");
  add<BinaryOp::kLeakyReluGrad, false>(registry, "LeakyReluGrad");
  add<BinaryOp::kEluGrad, false>(registry, "EluGrad");
  add<BinaryOp::kSeluGrad, false>(registry, "SeluGrad");
  add<BinaryOp::kSoftplusGrad, false>(registry, "SoftplusGrad");
  add<BinaryOp::kSoftsignGrad, false>(registry, "SoftsignGrad");

  add<BinaryOp::kLess>(registry, "Less");
  add<BinaryOp::kLessEqual>(registry, "LessEqual");
  add<BinaryOp::kGreater>(registry, "Greater");
  add<BinaryOp::kGreaterEqual>(registry, "GreaterEqual");
  add<BinaryOp::kEqual>(registry, "Equal");
  add<BinaryOp::kNotEqual>(registry, "NotEqual");
  registry.add<BinaryKernel<BinaryOp::kLogicalAnd, true>>("LogicalAnd", {});
  registry.add<BinaryKernel<BinaryOp::kLogicalOr, true>>("LogicalOr", {});
  add_each<AddNKernel>(registry, "AddN", "T", kReals);
}

}  // namespace qanat::kernels_cpu
