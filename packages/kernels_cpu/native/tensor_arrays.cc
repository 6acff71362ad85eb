// The ops of TensorArrays.
#include <string>
#include <vector>

#include "packages/kernels_cpu/native/elements.h"
#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/messages.h"
#include "packages/kernels_cpu/native/tensor_array.h"

namespace qanat::kernels_cpu {
namespace {

bool expect_array(KernelInit& init) { return expect_dtype(init, 0, DType::kResource, "a handle"); }

TensorArray* array_of(KernelContext& context) {
  return static_cast<TensorArray*>(context.resource(0, TensorArray::kKind));
}

// The flow goes on as it came.
void pass_flow(KernelContext& context, int output, int input) {
  context.output_alias(output, input, context.input(input).shape);
}

// A shape made of one dimension and those of an element; a failure where it is too large.
bool with_first(KernelContext& context, int64_t first, const Shape& rest, int skip, Shape* shape) {
  bool fits = shape->add(first);
  for (int i = skip; i < rest.rank(); ++i) fits = fits && shape->add(rest[i]);
  if (!fits) context.invalid("expected fewer dimensions and elements, got %s", text(rest).c_str());
  return fits;
}

ElementRule read_rule(KernelInit& init, const char* dtype, const char* shape) {
  ElementRule rule;
  rule.dtype = init.type_attr(dtype);
  const auto dims = init.partial_shape_attr(shape, &rule.known_rank);
  rule.dims.assign(dims.begin(), dims.end());
  return rule;
}

class MakeKernel final : public Kernel {
 public:
  explicit MakeKernel(KernelInit& init) {
    if (!expect_arity(init, 1, 2) || !expect_dtype(init, 0, DType::kInt32, "a size")) return;
    if (output_dtype(init, 1) != DType::kFloat32) init.invalid("expected a flow of float32");
    options_.rule = read_rule(init, "dtype", "element_shape");
    options_.dynamic_size = init.bool_attr("dynamic_size");
    options_.clear_after_read = init.bool_attr("clear_after_read");
    options_.identical_element_shapes = init.bool_attr("identical_element_shapes");
    options_.name = init.string_attr("tensor_array_name");
    if (options_.name.empty()) options_.name = init.node_name();
  }

  void compute(KernelContext& context) override {
    int64_t size = 0;
    if (!read_scalar(context, 0, "a size", &size)) return;
    if (size < 0 || size > TensorArray::kMostElements) {
      return context.invalid("expected a size in [0, %lld], got %lld",
                             static_cast<long long>(TensorArray::kMostElements),
                             static_cast<long long>(size));
    }
    if (!context.output_resource(0, new TensorArray(size, options_))) return;
    if (TensorView* flow = context.output(1, Shape())) *flow->as<float>() = 0;
  }

 private:
  TensorArrayOptions options_;
};

class GradientKernel final : public Kernel {
 public:
  explicit GradientKernel(KernelInit& init) : source_(init.string_attr("source")) {
    if (expect_arity(init, 2, 2) && expect_array(init)) expect_output_dtype(init, 1, 1);
  }

  void compute(KernelContext& context) override {
    TensorArray* array = array_of(context);
    if (array == nullptr) return;
    if (context.output_resource(0, array->gradient(source_))) pass_flow(context, 1, 1);
  }

 private:
  const std::string source_;
};

class WriteKernel final : public Kernel {
 public:
  explicit WriteKernel(KernelInit& init) {
    if (expect_arity(init, 4, 1) && expect_array(init) && expect_indices(init, 1, "an index")) {
      expect_output_dtype(init, 3, 0);
    }
  }

  void compute(KernelContext& context) override {
    TensorArray* array = array_of(context);
    int64_t index = 0;
    if (array == nullptr || !read_scalar(context, 1, "an index", &index)) return;
    Kept value(context.keep(2));
    if (value && array->write(context, index, std::move(value))) pass_flow(context, 0, 3);
  }
};

class ReadKernel final : public Kernel {
 public:
  explicit ReadKernel(KernelInit& init) {
    if (expect_arity(init, 3, 1) && expect_array(init)) expect_indices(init, 1, "an index");
  }

  void compute(KernelContext& context) override {
    TensorArray* array = array_of(context);
    int64_t index = 0;
    if (array == nullptr || !read_scalar(context, 1, "an index", &index)) return;
    Kept value;
    if (array->read(context, index, &value)) context.output_kept(0, value.get());
  }
};

// Reads elements for Gather and Concat; they have to agree in all but `skip` first dimensions.
bool read_all(KernelContext& context, TensorArray* array, const std::vector<int64_t>& indices,
              int skip, std::vector<Kept>* values) {
  for (int64_t index : indices) {
    Kept& value = values->emplace_back();
    if (!array->read(context, index, &value)) return false;
    const Shape& shape = value.view().shape;
    const Shape& first = values->front().view().shape;
    bool same = shape.rank() == first.rank() && shape.rank() >= skip;
    for (int i = skip; same && i < shape.rank(); ++i) same = shape[i] == first[i];
    if (!same) {
      context.invalid("expected elements of one shape, got %s and, at %lld, %s",
                      text(first).c_str(), static_cast<long long>(index), text(shape).c_str());
      return false;
    }
  }
  return true;
}

// Copies the values one after the other into an output of that shape.
void join(KernelContext& context, const std::vector<Kept>& values, const Shape& shape) {
  TensorView* out = context.output(0, shape);
  if (out == nullptr) return;
  int64_t at = 0;
  for (const Kept& value : values) {
    copy_elements(value.view(), 0, *out, at, value.view().num_elements());
    at += value.view().num_elements();
  }
}

// An array whose elements have the dtype of output 0.
bool expect_output_of(KernelContext& context, const TensorArray& array, DType dtype) {
  if (array.dtype() == dtype) return true;
  context.invalid("expected a TensorArray of %s, got one of %s", dtype_name(dtype),
                  dtype_name(array.dtype()));
  return false;
}

class GatherKernel final : public Kernel {
 public:
  explicit GatherKernel(KernelInit& init) : rule_(read_rule(init, "dtype", "element_shape")) {
    if (expect_arity(init, 3, 1) && expect_array(init)) expect_indices(init, 1, "indices");
    if (output_dtype(init, 0) != rule_.dtype) init.invalid("expected an output of attr dtype");
  }

  void compute(KernelContext& context) override {
    TensorArray* array = array_of(context);
    if (array == nullptr || !expect_rank(context, 1, 1, "indices")) return;
    if (!expect_output_of(context, *array, rule_.dtype)) return;
    const Indices indices(context.input(1));
    std::vector<int64_t> wanted;
    for (int64_t i = 0; i < indices.size(); ++i) wanted.push_back(indices[i]);
    std::vector<Kept> values;
    if (!read_all(context, array, wanted, 0, &values)) return;
    Shape element;
    if (!values.empty()) {
      element = values.front().view().shape;
    } else if (!rule_.only(&element) && !array->element_shape(&element)) {
      return context.invalid(
          "expected elements, or an element_shape that is fully known, got none");
    }
    Shape shape;
    if (with_first(context, indices.size(), element, 0, &shape)) join(context, values, shape);
  }

 private:
  const ElementRule rule_;
};

class ConcatKernel final : public Kernel {
 public:
  explicit ConcatKernel(KernelInit& init)
      : rule_(read_rule(init, "dtype", "element_shape_except0")) {
    if (expect_arity(init, 2, 2)) expect_array(init);
    if (output_dtype(init, 0) != rule_.dtype || output_dtype(init, 1) != DType::kInt64) {
      init.invalid("expected outputs of attr dtype and of int64");
    }
  }

  void compute(KernelContext& context) override {
    TensorArray* array = array_of(context);
    if (array == nullptr || !expect_output_of(context, *array, rule_.dtype)) return;
    std::vector<int64_t> all;
    for (int64_t i = 0; i < array->size(); ++i) all.push_back(i);
    std::vector<Kept> values;
    if (!read_all(context, array, all, 1, &values)) return;
    TensorView* lengths = context.output(1, Shape({static_cast<int64_t>(values.size())}));
    if (lengths == nullptr) return;
    int64_t total = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      lengths->as<int64_t>()[i] = values[i].view().dim(0);
      total += values[i].view().dim(0);
    }
    Shape rest, shape;
    const int skip = values.empty() ? 0 : 1;
    if (!values.empty()) {
      rest = values.front().view().shape;
    } else if (!rule_.only(&rest)) {
      return context.invalid(
          "expected elements, or an element_shape_except0 that is fully known, "
          "got none");
    }
    if (with_first(context, total, rest, skip, &shape)) join(context, values, shape);
  }

 private:
  const ElementRule rule_;
};

// Writes consecutive pieces of `value`'s rows: piece i has lengths[i] of them, or, where `rows` is
// false, one that is no dimension of it.
bool write_pieces(KernelContext& context, TensorArray* array, const TensorView& value,
                  const std::vector<int64_t>& indices, const std::vector<int64_t>& lengths,
                  bool rows) {
  Shape rest;
  for (int i = 1; i < value.rank(); ++i) rest.add(value.dim(i));
  int64_t row = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    Shape shape = rest;
    if (rows) {
      shape = Shape();
      if (!with_first(context, lengths[i], rest, 0, &shape)) return false;
    }
    Kept piece(context.keep_new(value.dtype, shape));
    if (!piece) return false;
    copy_elements(value, row * rest.num_elements(), piece.view(), 0, shape.num_elements());
    row += rows ? lengths[i] : 1;
    if (!array->write(context, indices[i], std::move(piece))) return false;
  }
  return true;
}

class ScatterKernel final : public Kernel {
 public:
  explicit ScatterKernel(KernelInit& init) {
    if (expect_arity(init, 4, 1) && expect_array(init) && expect_indices(init, 1, "indices")) {
      expect_output_dtype(init, 3, 0);
    }
  }

  void compute(KernelContext& context) override {
    TensorArray* array = array_of(context);
    if (array == nullptr || !expect_rank(context, 1, 1, "indices")) return;
    const TensorView& value = context.input(2);
    const Indices indices(context.input(1));
    if (value.rank() == 0 || value.dim(0) != indices.size()) {
      return context.invalid("expected a row of value for each of %lld indices, got shape %s",
                             static_cast<long long>(indices.size()), text(value.shape).c_str());
    }
    std::vector<int64_t> to;
    for (int64_t i = 0; i < indices.size(); ++i) to.push_back(indices[i]);
    if (write_pieces(context, array, value, to, {}, false)) pass_flow(context, 0, 3);
  }
};

class SplitKernel final : public Kernel {
 public:
  explicit SplitKernel(KernelInit& init) {
    if (expect_arity(init, 4, 1) && expect_array(init) && expect_indices(init, 2, "lengths")) {
      expect_output_dtype(init, 3, 0);
    }
  }

  void compute(KernelContext& context) override {
    TensorArray* array = array_of(context);
    if (array == nullptr || !expect_rank(context, 2, 1, "lengths")) return;
    const TensorView& value = context.input(1);
    const Indices given(context.input(2));
    std::vector<int64_t> to, lengths;
    int64_t total = 0;
    for (int64_t i = 0; i < given.size(); ++i) {
      if (given[i] < 0 || __builtin_add_overflow(total, given[i], &total)) {
        return context.invalid("expected lengths of 0 or more, got %lld at %lld",
                               static_cast<long long>(given[i]), static_cast<long long>(i));
      }
      to.push_back(i);
      lengths.push_back(given[i]);
    }
    if (value.rank() == 0 || value.dim(0) != total) {
      return context.invalid("expected a value of %lld rows, as many as lengths say, got shape %s",
                             static_cast<long long>(total), text(value.shape).c_str());
    }
    if (write_pieces(context, array, value, to, lengths, true)) pass_flow(context, 0, 3);
  }
};

class SizeKernel final : public Kernel {
 public:
  explicit SizeKernel(KernelInit& init) {
    if (expect_arity(init, 2, 1)) expect_array(init);
    if (output_dtype(init, 0) != DType::kInt32) init.invalid("expected an output of int32");
  }

  void compute(KernelContext& context) override {
    TensorArray* array = array_of(context);
    if (array == nullptr) return;
    if (TensorView* size = context.output(0, Shape())) {
      *size->as<int32_t>() = static_cast<int32_t>(array->size());
    }
  }
};

class CloseKernel final : public Kernel {
 public:
  explicit CloseKernel(KernelInit& init) {
    if (expect_arity(init, 1, 0)) expect_array(init);
  }

  void compute(KernelContext& context) override {
    if (TensorArray* array = array_of(context)) array->clear();
  }
};

}  // namespace

void register_tensor_arrays(KernelRegistry& registry) {
  registry.add<MakeKernel>("TensorArrayV3", {});
  registry.add<GradientKernel>("TensorArrayGradV3", {});
  registry.add<WriteKernel>("TensorArrayWriteV3", {});
  registry.add<ReadKernel>("TensorArrayReadV3", {});
  registry.add<GatherKernel>("TensorArrayGatherV3", {});
  registry.add<ScatterKernel>("TensorArrayScatterV3", {});
  registry.add<ConcatKernel>("TensorArrayConcatV3", {});
  registry.add<SplitKernel>("TensorArraySplitV3", {});
  registry.add<SizeKernel>("TensorArraySizeV3", {});
  registry.add<CloseKernel>("TensorArrayCloseV3", {});
}

}  // namespace qanat::kernels_cpu
