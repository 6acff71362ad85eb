// MatMul, with and without an epilogue, and BatchMatMul.
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/micro/gemm.h"
#include "packages/kernels_cpu/native/ranges.h"
#include "packages/kernels_cpu/native/widened.h"

namespace qanat::kernels_cpu {
namespace {

// The sizes of C[m, n] = A[m, k] · B[k, n].
struct Sizes {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
};

// A and B are the last two dimensions of their shapes.
bool read_sizes(FailureSink& sink, const Shape& a, const Shape& b, bool transpose_a,
                bool transpose_b, Sizes* sizes) {
  const int64_t *dims_a = a.dims() + a.rank() - 2, *dims_b = b.dims() + b.rank() - 2;
  const int64_t inner_b = dims_b[transpose_b ? 1 : 0];
  *sizes = {dims_a[transpose_a ? 1 : 0], dims_b[transpose_b ? 0 : 1], dims_a[transpose_a ? 0 : 1],
            transpose_a, transpose_b};
  if (sizes->k == inner_b) return true;
  sink.invalid("expected inner dimensions to agree, got %s%s and %s%s", text(a).c_str(),
               transpose_a ? " transposed" : "", text(b).c_str(), transpose_b ? " transposed" : "");
  return false;
}

// Appends the dimensions of C.
bool add_product(FailureSink& sink, const Sizes& sizes, Shape* shape) {
  if (shape->add(sizes.m) && shape->add(sizes.n)) return true;
  sink.invalid("expected a product of fewer than 2^63 elements");
  return false;
}

template <typename T>
micro::MatrixView<T> matrix(const T* data, int64_t rows, int64_t cols, bool transposed) {
  if (transposed) return {data, 1, rows};
  return {data, cols, 1};
}

template <typename T>
micro::Gemm<T> gemm_of(const Sizes& sizes, const T* a, const T* b, T* c) {
  return {.m = sizes.m,
          .n = sizes.n,
          .k = sizes.k,
          .a = matrix(a, sizes.m, sizes.k, sizes.transpose_a),
          .b = matrix(b, sizes.k, sizes.n, sizes.transpose_b),
          .c = c,
          .c_row_stride = sizes.n};
}

// What a fused product does before it stores: add a bias, then clamp at 0.
template <typename T>
struct Epilogue {
  const T* bias = nullptr;
  bool relu = false;
};

// `count` products, one behind the other in memory. Many small ones are shared out among threads
// whole; the number of groups is fixed, as each has scratch of its own.
template <typename T>
void multiply(KernelContext& context, const Sizes& sizes, int64_t count, const T* a, const T* b,
              T* c, const Epilogue<T>& epilogue = {}) {
  constexpr int64_t kGroups = 16;
  constexpr double kSmall = 1 << 22;
  const auto product = [&](int64_t i) {
    micro::Gemm<T> gemm = gemm_of(sizes, a + i * sizes.m * sizes.k, b + i * sizes.k * sizes.n,
                                  c + i * sizes.m * sizes.n);
    gemm.bias = epilogue.bias;
    gemm.relu = epilogue.relu;
    return gemm;
  };
  const double work =
      static_cast<double>(sizes.m) * static_cast<double>(sizes.n) * static_cast<double>(sizes.k);
  const bool shared_out = count > 1 && work < kSmall;
  const int64_t groups = shared_out ? std::min(count, kGroups) : 1;
  const size_t bytes =
      micro::gemm_scratch_bytes(product(0), shared_out ? 1 : context.parallel().threads());
  const size_t stride = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  char* scratch = scratch_of<char>(context, static_cast<int64_t>(stride) * groups);
  if (scratch == nullptr) return;
  if (!shared_out) {
    for (int64_t i = 0; i < count; ++i) micro::gemm(product(i), scratch, context.parallel());
    return;
  }
  context.parallel().for_each(groups, [&](int64_t group) {
    SerialParallel serial;
    for (int64_t i = group * count / groups; i < (group + 1) * count / groups; ++i) {
      micro::gemm(product(i), scratch + stride * static_cast<size_t>(group), serial);
    }
  });
}

// Integers, whose sums wrap.
template <typename T>
void multiply_integers(KernelContext& context, const Sizes& sizes, int64_t count, const T* a,
                       const T* b, T* c) {
  const auto [m, n, k, transpose_a, transpose_b] = sizes;
  const int64_t a_row = transpose_a ? 1 : k, a_col = transpose_a ? m : 1;
  const int64_t b_row = transpose_b ? 1 : n, b_col = transpose_b ? k : 1;
  for_ranges(context, count * m, row_grain(n * k),
             [&, n = n, k = k, m = m](int64_t begin, int64_t end) {
               for (int64_t r = begin; r < end; ++r) {
                 const T* row = a + r / m * m * k + r % m * a_row;
                 const T* right = b + r / m * k * n;
                 for (int64_t j = 0; j < n; ++j) {
                   uint64_t sum = 0;
                   for (int64_t i = 0; i < k; ++i) {
                     sum += static_cast<uint64_t>(row[i * a_col]) *
                            static_cast<uint64_t>(right[i * b_row + j * b_col]);
                   }
                   c[r * n + j] = static_cast<T>(sum);
                 }
               }
             });
}

// Integers have no epilogue.
void multiply_tensors(KernelContext& context, const Sizes& sizes, int64_t count,
                      const TensorView& a, const TensorView& b, const TensorView& c,
                      const TensorView* bias = nullptr, bool relu = false) {
  if (c.num_elements() == 0) return;
  if (is_selected(DType::kInt32) && c.dtype == DType::kInt32) {
    return multiply_integers(context, sizes, count, a.as<int32_t>(), b.as<int32_t>(),
                             c.as<int32_t>());
  }
  if (is_selected(DType::kInt64) && c.dtype == DType::kInt64) {
    return multiply_integers(context, sizes, count, a.as<int64_t>(), b.as<int64_t>(),
                             c.as<int64_t>());
  }
  visit_computed(c.dtype, [&](auto tag) {
    using C = typename decltype(tag)::type;
    const C* left = widened<C>(context, a);
    const C* right = widened<C>(context, b);
    const C* added = bias == nullptr ? nullptr : widened<C>(context, *bias);
    const WidenedOutput<C> out(context, c);
    if (context.failed()) return;
    multiply<C>(context, sizes, count, left, right, out.data(), {added, relu});
    out.commit();
  });
}

// a · b, and activation(a · b + bias) where fused.
template <bool kFused>
class MatMulKernel final : public Kernel {
 public:
  explicit MatMulKernel(KernelInit& init)
      : transpose_a_(init.bool_attr("transpose_a")),
        transpose_b_(init.bool_attr("transpose_b")),
        relu_(kFused && init.string_attr("activation") == "Relu") {
    if (!expect_arity(init, kFused ? 3 : 2, 1)) return;
    expect_same_dtype(init, 0, kFused ? 2 : 1);
    expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView &a = context.input(0), &b = context.input(1);
    Sizes sizes;
    if (!expect_rank(context, 0, 2, "a") || !expect_rank(context, 1, 2, "b")) return;
    if (!read_sizes(context, a.shape, b.shape, transpose_a_, transpose_b_, &sizes)) return;
    if (kFused && !expect_vector(context, 2, "a bias", sizes.n)) return;
    Shape shape;
    if (!add_product(context, sizes, &shape)) return;
    TensorView* out = context.output(0, shape);
    if (out == nullptr) return;
    multiply_tensors(context, sizes, 1, a, b, *out, kFused ? &context.input(2) : nullptr, relu_);
  }

 private:
  bool transpose_a_, transpose_b_, relu_;
};

class BatchMatMulKernel final : public Kernel {
 public:
  explicit BatchMatMulKernel(KernelInit& init)
      : adj_x_(init.bool_attr("adj_x")), adj_y_(init.bool_attr("adj_y")) {
    if (!expect_arity(init, 2, 1)) return;
    expect_same_dtype(init, 0, 1);
    expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView &x = context.input(0), &y = context.input(1);
    Shape shape;
    Sizes sizes;
    if (!batch_shape(context, x.shape, y.shape, &shape)) return;
    if (!read_sizes(context, x.shape, y.shape, adj_x_, adj_y_, &sizes)) return;
    const int64_t count = shape.num_elements();
    if (!add_product(context, sizes, &shape)) return;
    TensorView* out = context.output(0, shape);
    if (out != nullptr) multiply_tensors(context, sizes, count, x, y, *out);
  }

 private:
  // All dimensions but the last two, which must agree.
  static bool batch_shape(KernelContext& context, const Shape& x, const Shape& y, Shape* shape) {
    bool agrees = x.rank() >= 2 && x.rank() == y.rank();
    for (int i = 0; agrees && i < x.rank() - 2; ++i) agrees = x[i] == y[i] && shape->add(x[i]);
    if (!agrees) {
      context.invalid("expected shapes that agree but for two dimensions, got %s and %s",
                      text(x).c_str(), text(y).c_str());
    }
    return agrees;
  }

  bool adj_x_, adj_y_;
};

}  // namespace

void register_matmul(KernelRegistry& registry) {
  constexpr DTypes kMultiplied = kFloats | kHalves | kIndices;
  add_each<MatMulKernel<false>>(registry, "MatMul", "T", kMultiplied, kExpensive);
  add_each<BatchMatMulKernel>(registry, "BatchMatMul", "T", kMultiplied, kExpensive);
  add_each<MatMulKernel<true>>(registry, "_FusedMatMul", "T", kFloats, kExpensive);
}

}  // namespace qanat::kernels_cpu
