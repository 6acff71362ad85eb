#include "packages/kernels_cpu/native/testing/fake_host.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/simd/cpu_features.h"

extern "C" void qanat_register_kernels(qanat::KernelRegistry* registry);

namespace qanat::testing {
namespace {

class VariableResource final : public Resource, public Variable {
 public:
  const char* kind() const override { return "variable"; }
};

class KeptTensor final : public KeptValue {
 public:
  const TensorView& view() const override { return value.view(); }
  Tensor value;
};

// Between tensors of the same dtype and size.
void copy_elements(const Tensor& from, Tensor* to) {
  for (int64_t i = 0; i < from.size(); ++i) {
    if (from.dtype() == DType::kString) {
      to->data<Bytes>()[i] = from.data<Bytes>()[i];
    } else if (from.dtype() == DType::kResource) {
      Resource* held = from.data<Resource*>()[i];
      if (held != nullptr) held->ref();
      to->data<Resource*>()[i] = held;
    }
  }
  if (is_plain(from.dtype()) && from.size() > 0) {
    std::memcpy(to->view().data, from.view().data, from.view().num_bytes());
  }
}

// Beyond this a host has no memory: a failure, as in the real one.
constexpr size_t kMemoryLimit = size_t{1} << 25;

class ReversedParallel final : public Parallel {
 public:
  int threads() const override { return 3; }
  void run(int64_t chunks, Body body, void* arg) override {
    for (int64_t chunk = chunks - 1; chunk >= 0; --chunk) body(arg, chunk);
  }
};

bool fits(DType dtype, const Shape& shape) {
  return shape.num_elements() <= static_cast<int64_t>(kMemoryLimit / dtype_size(dtype));
}

struct Failure {
  StatusCode code = StatusCode::kOk;
  std::string message;
  void set(StatusCode new_code, const char* text) {
    if (code != StatusCode::kOk) return;
    code = new_code;
    message = text;
  }
};

}  // namespace

Parallel& reversed_parallel() {
  static ReversedParallel parallel;
  return parallel;
}

Tensor::Tensor(DType dtype, const Shape& shape) {
  view_.dtype = dtype;
  view_.shape = shape;
  const size_t bytes = view_.num_bytes();
  if (bytes == 0) return;
  const int64_t strings = dtype == DType::kString ? shape.num_elements() : 0;
  const int64_t handles = dtype == DType::kResource ? shape.num_elements() : 0;
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, bytes) != 0) std::abort();
  std::memset(memory, 0, bytes);
  memory_ = std::shared_ptr<void>(memory, [strings, handles](void* at) {
    for (int64_t i = 0; i < strings; ++i) static_cast<Bytes*>(at)[i].~Bytes();
    for (int64_t i = 0; i < handles; ++i) {
      Resource* held = static_cast<Resource**>(at)[i];
      if (held != nullptr) held->unref();
    }
    std::free(at);
  });
  view_.data = memory;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  Tensor other = *this;
  other.view_.shape = shape;
  return other;
}

Registry::Registry() {
  std::printf("level %s\n", simd::level_name(simd::level()));
  qanat_register_kernels(this);
}

const Registry& registry() {
  static const Registry registry;
  return registry;
}

const KernelDef* Registry::find(const std::string& op, const std::vector<DType>& dtypes,
                                const Attrs& attrs) const {
  const auto agrees = [&](const TypeConstraint& type) {
    const auto attr = attrs.find(type.attr);
    if (attr != attrs.end()) return std::get<DType>(attr->second) == type.dtype;
    return std::find(dtypes.begin(), dtypes.end(), type.dtype) != dtypes.end();
  };
  for (const KernelDef& def : defs_) {
    if (op == def.op && std::all_of(def.types, def.types + def.num_types, agrees)) return &def;
  }
  return nullptr;
}

class Node::Init final : public KernelInit {
 public:
  Init(std::vector<DType> inputs, std::vector<DType> outputs, Attrs attrs)
      : inputs_(std::move(inputs)), outputs_(std::move(outputs)), attrs_(std::move(attrs)) {}

  Failure failure;

  void fail(StatusCode code, const char* message) override { failure.set(code, message); }
  bool failed() const override { return failure.code != StatusCode::kOk; }
  Text node_name() const override { return "node"; }
  int num_inputs() const override { return static_cast<int>(inputs_.size()); }
  int num_outputs() const override { return static_cast<int>(outputs_.size()); }
  DType input_dtype(int i) const override { return at(inputs_, i); }
  DType output_dtype(int i) const override { return at(outputs_, i); }
  bool has_attr(const char* name) const override { return attrs_.count(name) != 0; }
  int64_t int_attr(const char* name) override { return get<int64_t>(name); }
  double float_attr(const char* name) override { return get<double>(name); }
  bool bool_attr(const char* name) override { return get<bool>(name); }
  Text string_attr(const char* name) override { return get<std::string>(name); }
  DType type_attr(const char* name) override { return get<DType>(name); }
  Shape shape_attr(const char* name) override { return get<Shape>(name); }
  List<int64_t> partial_shape_attr(const char* name, bool* known_rank) override {
    const Shape& shape = get<Shape>(name);
    *known_rank = !failed();
    return {shape.dims(), *known_rank ? shape.rank() : 0};
  }
  TensorView tensor_attr(const char* name) override { return get<Tensor>(name).view(); }
  List<int64_t> int_list_attr(const char* name) override { return list<int64_t>(name); }
  List<double> float_list_attr(const char* name) override { return list<double>(name); }

 private:
  static DType at(const std::vector<DType>& dtypes, int i) {
    return i >= 0 && i < static_cast<int>(dtypes.size()) ? dtypes[i] : DType::kInvalid;
  }

  template <typename T>
  const T& get(const char* name) {
    static const T none{};
    const auto found = attrs_.find(name);
    if (found != attrs_.end() && std::holds_alternative<T>(found->second)) {
      return std::get<T>(found->second);
    }
    invalid("expected an attr %s", name);
    return none;
  }

  template <typename T>
  List<T> list(const char* name) {
    const std::vector<T>& values = get<std::vector<T>>(name);
    return {values.data(), static_cast<int>(values.size())};
  }

  std::vector<DType> inputs_, outputs_;
  Attrs attrs_;
};

class Node::Context final : public KernelContext {
 public:
  Context(std::vector<Tensor> inputs, const std::vector<DType>& outputs)
      : tensors_(std::move(inputs)), dtypes_(outputs), results_(outputs.size()) {
    for (const Tensor& tensor : tensors_) views_.push_back(&tensor.view());
    inputs_ = views_.data();
    num_inputs_ = static_cast<int>(views_.size());
  }
  ~Context() {
    for (void* memory : scratch_) std::free(memory);
  }

  Failure failure;
  std::vector<Tensor> take_results() { return std::move(results_); }
  bool locked() const { return locks_ != 0; }

  void fail(StatusCode code, const char* message) override { failure.set(code, message); }
  bool failed() const override { return failure.code != StatusCode::kOk; }

  TensorView* output(int i, const Shape& shape) override {
    if (!has_plain_output(i)) return nullptr;
    if (!fits(dtypes_[i], shape)) {
      fail(StatusCode::kResourceExhausted, "out of memory");
      return nullptr;
    }
    results_[i] = Tensor(dtypes_[i], shape);
    if (is_plain(dtypes_[i]) && shape.num_elements() > 0)
      std::memset(results_[i].view().data, 0xa5, results_[i].view().num_bytes());
    return results_[i].mutable_view();
  }

  TensorView* output_reusing(int i, const Shape& shape, const int* candidates, int count) override {
    if (!has_plain_output(i)) return nullptr;
    for (int c = 0; c < count; ++c) {
      const Tensor& candidate = tensors_[candidates[c]];
      if (candidate.dtype() != dtypes_[i] || candidate.size() != shape.num_elements() ||
          candidate.shared()) {
        continue;
      }
      results_[i] = candidate.reshaped(shape);
      return results_[i].mutable_view();
    }
    return output(i, shape);
  }

  bool output_alias(int i, int from, const Shape& shape) override {
    if (!has_output(i)) return false;
    if (tensors_[from].size() != shape.num_elements() || tensors_[from].dtype() != dtypes_[i]) {
      fail(StatusCode::kInternal, "an alias of another size or dtype");
      return false;
    }
    results_[i] = tensors_[from].reshaped(shape);
    return true;
  }

  void* scratch(size_t bytes) override {
    void* memory = nullptr;
    if (bytes > kMemoryLimit || posix_memalign(&memory, kAlignment, bytes + (bytes == 0)) != 0) {
      fail(StatusCode::kResourceExhausted, "out of memory");
      return nullptr;
    }
    if (bytes > 0) std::memset(memory, 0x5a, bytes);
    scratch_.push_back(memory);
    return memory;
  }

  Parallel& parallel() override { return reversed_parallel(); }

  bool output_variable(int i, Text container, Text name, DType dtype) override {
    static std::map<std::string, VariableResource> variables;
    if (!has_output(i)) return false;
    VariableResource& variable = variables[std::string(container) + "/" + std::string(name)];
    variable.dtype = dtype;
    variable.ref();
    return output_resource(i, &variable);
  }

  bool variable_initialized(int handle) override {
    return variable(handle) != nullptr && variable(handle)->initialized;
  }

  bool read_variable(int handle, int output) override {
    if (!has_value(handle)) return false;
    results_[output] = variable(handle)->value;
    return true;
  }

  bool assign_variable(int handle, int value) override {
    if (variable(handle) == nullptr) return false;
    variable(handle)->value = tensors_[value];
    variable(handle)->initialized = true;
    return true;
  }

  bool lock_variables(const int* handles, int count, TensorView** values) override {
    for (int i = 0; i < count; ++i) {
      if (!has_value(handles[i])) return false;
      Tensor& value = variable(handles[i])->value;
      Tensor copy(value.dtype(), value.shape());
      copy_elements(value, &copy);
      value = copy;
      values[i] = value.mutable_view();
    }
    locks_ += count;
    return true;
  }

  void unlock_variables(const int*, int count) override { locks_ -= count; }

  bool output_resource(int i, Resource* made) override {
    if (!has_output(i) || dtypes_[i] != DType::kResource) {
      made->unref();
      fail(StatusCode::kInvalidArgument, "expected a resource output");
      return false;
    }
    results_[i] = Tensor(DType::kResource, Shape());
    *results_[i].data<Resource*>() = made;
    return true;
  }

  KeptValue* keep(int input) override {
    auto* kept = new KeptTensor;
    kept->value = tensors_[input];
    return kept;
  }

  KeptValue* keep_new(DType dtype, const Shape& shape) override {
    if (!fits(dtype, shape)) {
      fail(StatusCode::kResourceExhausted, "out of memory");
      return nullptr;
    }
    auto* kept = new KeptTensor;
    kept->value = Tensor(dtype, shape);
    return kept;
  }

  bool output_kept(int i, KeptValue* value) override {
    if (!has_output(i)) return false;
    const Tensor& kept = static_cast<KeptTensor*>(value)->value;
    if (kept.dtype() != dtypes_[i]) {
      fail(StatusCode::kInvalidArgument, "expected values of another type");
      return false;
    }
    results_[i] = kept;
    return true;
  }

 private:
  bool has_output(int i) {
    if (i >= 0 && i < static_cast<int>(results_.size())) return true;
    fail(StatusCode::kInternal, "an output that the node does not have");
    return false;
  }
  // As the real host: handles come from output_resource() alone.
  bool has_plain_output(int i) {
    if (!has_output(i)) return false;
    if (dtypes_[i] != DType::kResource) return true;
    fail(StatusCode::kInvalidArgument, "expected a value, got a handle's type");
    return false;
  }
  Variable* variable(int handle) {
    return static_cast<VariableResource*>(resource(handle, "variable"));
  }
  bool has_value(int handle) {
    if (variable(handle) == nullptr) return false;
    if (variable(handle)->initialized) return true;
    fail(StatusCode::kFailedPrecondition, "the variable has no value");
    return false;
  }

  std::vector<Tensor> tensors_;
  const std::vector<DType>& dtypes_;
  std::vector<const TensorView*> views_;
  std::vector<Tensor> results_;
  std::vector<void*> scratch_;
  int locks_ = 0;
};

Node::Node(const KernelDef& def, std::vector<DType> inputs, std::vector<DType> outputs, Attrs attrs)
    : init_(new Init(std::move(inputs), outputs, std::move(attrs))), outputs_(std::move(outputs)) {
  if (posix_memalign(&memory_, std::max(def.align, sizeof(void*)), def.size) != 0) std::abort();
  kernel_ = def.construct(memory_, *init_);
}

Node::~Node() {
  kernel_->~Kernel();
  std::free(memory_);
}

bool Node::built() const { return !init_->failed(); }

Result Node::run(std::vector<Tensor> inputs) {
  Result result;
  if (init_->failed()) {
    result.code = init_->failure.code;
    result.message = init_->failure.message;
    return result;
  }
  Context context(std::move(inputs), outputs_);
  kernel_->compute(context);
  result.code = context.failure.code;
  result.message = context.failure.message;
  if (context.locked()) {
    result.code = StatusCode::kInternal;
    result.message = "a variable is still locked";
  }
  if (result.ok()) result.outputs = context.take_results();
  return result;
}

Result run(const std::string& op, std::vector<Tensor> inputs, Attrs attrs,
           std::vector<DType> outputs) {
  std::vector<DType> dtypes;
  for (const Tensor& input : inputs) dtypes.push_back(input.dtype());
  std::vector<DType> known = dtypes;
  known.insert(known.end(), outputs.begin(), outputs.end());
  const KernelDef* def = registry().find(op, known, attrs);
  if (def == nullptr) return {StatusCode::kNotFound, "no kernel of " + op, {}};
  Node node(*def, dtypes, outputs, std::move(attrs));
  return node.run(std::move(inputs));
}

Result run(const std::string& op, std::vector<Tensor> inputs, Attrs attrs) {
  std::vector<DType> outputs = {inputs[0].dtype()};
  return run(op, std::move(inputs), std::move(attrs), std::move(outputs));
}

}  // namespace qanat::testing
