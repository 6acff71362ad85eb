#include "packages/mobile_runtime/native/interpreter.h"

#include "packages/mobile_runtime/native/node_init.h"

namespace qanat::mobile {
namespace {

bool exhausted(Failure& failure) {
  return failure.set(StatusCode::kResourceExhausted,
                     "[Model] expected memory for the model, got none or too little");
}

// Gives each node the first kernel that serves it.
class KernelFinder final : public KernelRegistry {
 public:
  explicit KernelFinder(Program& program) : program_(program) {}

  void add(const KernelDef& def) override {
    for (uint32_t i = 0; i < program_.file.num_nodes(); ++i) {
      LoadedNode& node = program_.nodes[i];
      if (node.construct != nullptr || !serves(def, program_.file, program_.file.node(i))) continue;
      node = {def.construct, def.size, def.align, nullptr};
    }
  }

 private:
  Program& program_;
};

}  // namespace

Interpreter::~Interpreter() {
  if (program_.nodes == nullptr) return;
  for (uint32_t i = 0; i < program_.file.num_nodes(); ++i) {
    if (program_.nodes[i].kernel != nullptr) program_.nodes[i].kernel->~Kernel();
  }
}

bool Interpreter::load(const void* memory, size_t bytes, const LoadOptions& options,
                       Failure& failure) {
  return program_.file.open(memory, bytes, failure) && make_tables(failure) &&
         check_order(failure) && find_kernels(options, failure) && build_kernels(failure) &&
         rehearse(options, failure);
}

bool Interpreter::make_tables(Failure& failure) {
  const ModelFile& file = program_.file;
  program_.arena = memory_.array<char>(file.arena_bytes());
  program_.views = memory_.array<TensorView>(file.num_values());
  program_.edges = memory_.array<const TensorView*>(file.num_edges());
  program_.made = memory_.array<bool>(file.num_edges());
  program_.nodes = memory_.array<LoadedNode>(file.num_nodes());
  if (program_.arena == nullptr || program_.views == nullptr || program_.edges == nullptr ||
      program_.made == nullptr || program_.nodes == nullptr) {
    return exhausted(failure);
  }
  for (uint32_t i = 0; i < file.num_values(); ++i) {
    program_.views[i] = file.view(file.value(i), program_.arena);
  }
  for (uint32_t i = 0; i < file.num_edges(); ++i) {
    if (file.edges()[i] < file.num_values()) program_.edges[i] = &program_.views[file.edges()[i]];
  }
  return true;
}

// A value is a constant, an input, or made by exactly one node before any that uses it.
bool Interpreter::check_order(Failure& failure) {
  const ModelFile& file = program_.file;
  Memory memory(memory_.left());
  bool* const known = memory.array<bool>(file.num_values());
  if (known == nullptr) return exhausted(failure);
  for (uint32_t i = 0; i < file.num_values(); ++i) known[i] = file.value(i).place == Place::kFile;
  for (uint32_t i = 0; i < file.header().inputs; ++i) known[file.input(i).value] = true;
  for (uint32_t n = 0; n < file.num_nodes(); ++n) {
    const NodeRecord& node = file.node(n);
    bool right = true;
    for (uint32_t i = 0; i < node.inputs; ++i) {
      right = right && known[file.edges()[node.first_input + i]];
    }
    for (uint32_t i = 0; i < node.outputs; ++i) {
      bool& output = known[file.edges()[node.first_output + i]];
      right = right && !output;
      output = true;
    }
    if (!right) {
      return failure.set(StatusCode::kDataLoss,
                         "[%s] expected values made once and before they are used (node '%s')",
                         file.c_str(node.op), file.c_str(node.name));
    }
  }
  for (uint32_t i = 0; i < file.header().outputs; ++i) {
    if (known[file.output(i).value]) continue;
    return failure.set(StatusCode::kDataLoss, "[Model] expected output '%s' to be made, got none",
                       file.c_str(file.output(i).name));
  }
  return true;
}

bool Interpreter::find_kernels(const LoadOptions& options, Failure& failure) {
  KernelFinder finder(program_);
  for (int i = 0; i < options.num_kernel_libraries; ++i) options.kernel_libraries[i](&finder);
  const ModelFile& file = program_.file;
  for (uint32_t i = 0; i < file.num_nodes(); ++i) {
    if (program_.nodes[i].construct != nullptr) continue;
    return failure.set(StatusCode::kUnimplemented,
                       "[%s] expected a kernel for these types, got none (node '%s')",
                       file.c_str(file.node(i).op), file.c_str(file.node(i).name));
  }
  return true;
}

bool Interpreter::build_kernels(Failure& failure) {
  size_t bytes = 0;
  for (uint32_t i = 0; i < program_.file.num_nodes(); ++i) {
    const size_t node = program_.nodes[i].size + program_.nodes[i].align;
    if (__builtin_add_overflow(bytes, node, &bytes)) return exhausted(failure);
  }
  char* place = memory_.array<char>(bytes);
  if (place == nullptr) return exhausted(failure);
  for (uint32_t i = 0; i < program_.file.num_nodes(); ++i) {
    LoadedNode& node = program_.nodes[i];
    NodeInit init(program_.file, program_.file.node(i), memory_, failure);
    place += -reinterpret_cast<uintptr_t>(place) % node.align;
    node.kernel = node.construct(place, init);
    place += node.size;
    if (!failure.ok()) return false;
  }
  return true;
}

bool Interpreter::rehearse(const LoadOptions& options, Failure& failure) {
  Memory memory(memory_.left());
  NodeContext context(program_, failure);
  context.rehearse(memory, options.sharing, options.sharing_arg);
  if (!run_nodes(context)) return false;
  scratch_bytes_ = context.peak_scratch();
  scratch_ = memory_.array<char>(scratch_bytes_);
  return scratch_ != nullptr || exhausted(failure);
}

bool Interpreter::run(Failure& failure) {
  NodeContext context(program_, failure);
  context.perform(scratch_, scratch_bytes_);
  return run_nodes(context);
}

bool Interpreter::run_nodes(NodeContext& context) const {
  for (uint32_t i = 0; i < program_.file.num_nodes(); ++i) {
    if (!context.run(i)) return false;
  }
  return true;
}

}  // namespace qanat::mobile
