// Transpose and InvertPermutation.
#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/micro/transpose.h"
#include "packages/kernels_cpu/native/strided_copy.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

class TransposeKernel final : public Kernel {
 public:
  explicit TransposeKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 1, "a permutation");
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    int perm[kMaxRank];
    Shape shape;
    if (!read_permutation(context, in.rank(), perm)) return;
    for (int i = 0; i < in.rank(); ++i) shape.add(in.dim(perm[i]));
    if (shape.rank() !=
        in.rank()) {  // an empty tensor whose other dimensions overflow in this order
      return context.invalid("expected a result of fewer than 2^63 elements");
    }
    if (keeps_order(in.shape, perm)) {
      context.output_alias(0, 0, shape);
      return;
    }
    TensorView* out = context.output(0, shape);
    if (out == nullptr || shape.num_elements() == 0) return;
    if (is_plain(in.dtype)) {
      micro::transpose(in.rank(), in.shape.dims(), perm, static_cast<int>(dtype_size(in.dtype)),
                       in.data, out->data, context.parallel());
    } else {
      transpose_strings(context, in, perm, *out);
    }
  }

 private:
  static bool read_permutation(KernelContext& context, int rank, int* perm) {
    if (!expect_vector(context, 1, "a permutation", rank)) return false;
    const Indices axes(context.input(1));
    uint32_t seen = 0;
    for (int i = 0; i < rank; ++i) {
      if (!resolve_axis(context, axes[i], rank, &perm[i])) return false;
      if ((seen >> perm[i] & 1) != 0) {
        context.invalid("expected a permutation of %d axes, got axis %d twice", rank, perm[i]);
        return false;
      }
      seen |= uint32_t{1} << perm[i];
    }
    return true;
  }

  // Whether the dimensions other than 1 stay in their order, so that no element moves.
  static bool keeps_order(const Shape& shape, const int* perm) {
    int last = -1;
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[perm[i]] == 1) continue;
      if (perm[i] < last) return false;
      last = perm[i];
    }
    return true;
  }

  static void transpose_strings(KernelContext& context, const TensorView& in, const int* perm,
                                const TensorView& out) {
    StridedPart part;
    part.count = in.num_elements();
    for (int i = 0; i < in.rank(); ++i) {
      part.walk.append(in.dim(perm[i]), {product(in.shape, perm[i] + 1, in.rank())});
    }
    copy_from_part(context, in, part, out);
  }
};

class InvertPermutationKernel final : public Kernel {
 public:
  explicit InvertPermutationKernel(KernelInit& init) {
    if (!expect_arity(init, 1, 1)) return;
    expect_output_dtype(init, 0, 0);
    expect_indices(init, 0, "a permutation");
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    if (!expect_rank(context, 0, 1, "a permutation")) return;
    const Indices places(in);
    if (!check_indices(context, "places", places, places.size())) return;
    TensorView* out = context.output(0, in.shape);
    if (out == nullptr) return;
    for (int64_t i = 0; i < places.size(); ++i) set_index(*out, i, -1);
    const Indices inverse(*out);
    for (int64_t i = 0; i < places.size(); ++i) {
      if (inverse[places[i]] != -1) {
        return context.invalid("expected a permutation, got %lld twice",
                               static_cast<long long>(places[i]));
      }
      set_index(*out, places[i], i);
    }
  }
};

}  // namespace

void register_permute(KernelRegistry& registry) {
  add_each<TransposeKernel>(registry, "Transpose", "T", kArrays);
  add_each<InvertPermutationKernel>(registry, "InvertPermutation", "T", kIndices);
}

}  // namespace qanat::kernels_cpu
