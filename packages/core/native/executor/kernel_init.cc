#include "packages/core/native/executor/kernel_init.h"

#include <new>

namespace qanat {

// The view of its node that a kernel's constructor gets.
class NodeInit final : public KernelInit {
 public:
  explicit NodeInit(BuiltKernel* built) : built_(built), node_(built->node_) {}

  const Status& status() const { return status_; }

  void fail(StatusCode code, const char* message) override {
    if (status_.ok()) status_ = error(code, message);
  }
  bool failed() const override { return !status_.ok(); }

  Text node_name() const override { return node_.name; }
  int num_inputs() const override { return static_cast<int>(node_.inputs.size()); }
  int num_outputs() const override { return static_cast<int>(node_.outputs.size()); }
  DType input_dtype(int i) const override { return node_.input_dtypes[i]; }
  DType output_dtype(int i) const override { return node_.outputs[i]; }

  bool has_attr(const char* name) const override { return node_.attrs.contains(name); }
  int64_t int_attr(const char* name) override { return get<int64_t>(name, "an integer"); }
  bool bool_attr(const char* name) override { return get<bool>(name, "a bool"); }
  DType type_attr(const char* name) override { return get<DType>(name, "a type"); }
  Text string_attr(const char* name) override {
    const std::string* text = find<std::string>(name, "a string");
    return text == nullptr ? Text() : Text(*text);
  }
  double float_attr(const char* name) override {
    const int64_t* integer = node_.attr<int64_t>(name);
    return integer != nullptr ? static_cast<double>(*integer) : get<double>(name, "a number");
  }

  Shape shape_attr(const char* name) override {
    const PartialShape* partial = find<PartialShape>(name, "a shape");
    Shape shape;
    if (partial == nullptr) return shape;
    bool known = partial->known_rank;
    for (int64_t dim : partial->dims) known = known && shape.add(dim);
    if (!known) invalid("expected attr \"%s\" to be a fully known shape", name);
    return shape;
  }

  List<int64_t> partial_shape_attr(const char* name, bool* known_rank) override {
    const PartialShape* partial = find<PartialShape>(name, "a shape");
    *known_rank = partial != nullptr && partial->known_rank;
    if (!*known_rank) return {nullptr, 0};
    return {partial->dims.data(), static_cast<int>(partial->dims.size())};
  }

  TensorView tensor_attr(const char* name) override {
    const Tensor* tensor = find<Tensor>(name, "a tensor");
    return tensor == nullptr ? TensorView{} : tensor->view;
  }

  List<int64_t> int_list_attr(const char* name) override {
    const IntList* list = find<IntList>(name, "a list of integers");
    if (list == nullptr) return {nullptr, 0};
    return {list->data(), static_cast<int>(list->size())};
  }

  List<double> float_list_attr(const char* name) override {
    const FloatList* list = nullptr;
    if (const IntList* integers = node_.attr<IntList>(name)) {
      list = &built_->floats_.emplace_back(integers->begin(), integers->end());
    } else {
      list = find<FloatList>(name, "a list of numbers");
    }
    if (list == nullptr) return {nullptr, 0};
    return {list->data(), static_cast<int>(list->size())};
  }

 private:
  template <typename T>
  const T* find(const char* name, const char* kind) {
    const T* value = node_.attr<T>(name);
    if (value == nullptr) {
      invalid("expected attr \"%s\" to be %s, got %s", name, kind,
              has_attr(name) ? "another kind of value" : "none");
    }
    return value;
  }
  template <typename T>
  T get(const char* name, const char* kind) {
    const T* value = find<T>(name, kind);
    return value == nullptr ? T{} : *value;
  }

  BuiltKernel* const built_;
  const NodeDef& node_;
  Status status_;
};

Status BuiltKernel::build(const KernelDef& def, NodeDef node, std::shared_ptr<BuiltKernel>* built) {
  built->reset(new BuiltKernel(std::move(node)));
  BuiltKernel& made = **built;
  made.align_ = def.align;
  made.memory_ = ::operator new(def.size, std::align_val_t{def.align});
  NodeInit init(&made);
  made.kernel_ = def.construct(made.memory_, init);
  return init.status();
}

BuiltKernel::~BuiltKernel() {
  if (kernel_ != nullptr) kernel_->~Kernel();
  ::operator delete(memory_, std::align_val_t{align_});
}

}  // namespace qanat
