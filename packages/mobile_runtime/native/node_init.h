// What a kernel's constructor sees of its node.
#ifndef PACKAGES_MOBILE_RUNTIME_NATIVE_NODE_INIT_H_
#define PACKAGES_MOBILE_RUNTIME_NATIVE_NODE_INIT_H_

#include "packages/core/native/kernel/registry.h"
#include "packages/mobile_runtime/native/memory.h"
#include "packages/mobile_runtime/native/model_file.h"

namespace qanat::mobile {

// The attribute of that name; null where there is none.
const AttrRecord* find_attr(const ModelFile& file, const NodeRecord& node, const char* name);

// Whether a kernel is for the node: op and types agree. A list of types agrees with a type if each
// of its types does.
bool serves(const KernelDef& def, const ModelFile& file, const NodeRecord& node);

class NodeInit final : public KernelInit {
 public:
  // What the kernel may keep of its attributes lies in the file or comes out of `memory`.
  NodeInit(const ModelFile& file, const NodeRecord& node, Memory& memory, Failure& failure)
      : file_(file), node_(node), memory_(memory), failure_(failure) {}

  void fail(StatusCode code, const char* message) override;
  bool failed() const override { return !failure_.ok(); }

  Text node_name() const override { return file_.text(node_.name); }
  int num_inputs() const override { return static_cast<int>(node_.inputs); }
  int num_outputs() const override { return static_cast<int>(node_.outputs); }
  DType input_dtype(int i) const override { return dtype(node_.first_input, node_.inputs, i); }
  DType output_dtype(int i) const override { return dtype(node_.first_output, node_.outputs, i); }

  bool has_attr(const char* name) const override {
    return find_attr(file_, node_, name) != nullptr;
  }
  int64_t int_attr(const char* name) override;
  double float_attr(const char* name) override;
  bool bool_attr(const char* name) override;
  Text string_attr(const char* name) override;
  DType type_attr(const char* name) override;
  Shape shape_attr(const char* name) override;
  TensorView tensor_attr(const char* name) override;
  List<int64_t> int_list_attr(const char* name) override;
  List<double> float_list_attr(const char* name) override;
  List<int64_t> partial_shape_attr(const char* name, bool* known_rank) override;

 private:
  DType dtype(uint32_t first, uint32_t count, int i) const;
  // The attribute if it is of that kind, or the other; else null and a failure.
  const AttrRecord* expect(const char* name, Kind kind, Kind other);
  const AttrRecord* expect(const char* name, Kind kind) { return expect(name, kind, kind); }
  List<double> as_floats(const AttrRecord& integers);

  const ModelFile& file_;
  const NodeRecord& node_;
  Memory& memory_;
  Failure& failure_;
};

}  // namespace qanat::mobile

#endif  // PACKAGES_MOBILE_RUNTIME_NATIVE_NODE_INIT_H_
