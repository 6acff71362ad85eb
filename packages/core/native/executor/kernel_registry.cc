#include "packages/core/native/executor/kernel_registry.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "packages/core/native/executor/host_kernels.h"

namespace qanat {
namespace {

class Collector final : public KernelRegistry {
 public:
  void add(const KernelDef& def) override { defs.push_back(def); }
  std::vector<KernelDef> defs;
};

std::string describe(const KernelDef& def) {
  std::string text = "{";
  for (int i = 0; i < def.num_types; ++i) {
    text +=
        std::string(i == 0 ? "" : ", ") + def.types[i].attr + ": " + dtype_name(def.types[i].dtype);
  }
  return text + "}";
}

// What of the node's attrs these kernels distinguish.
std::string describe(const NodeDef& node) {
  std::string text = "{";
  for (const auto& [name, value] : node.attrs) {
    const DType* dtype = std::get_if<DType>(&value);
    if (dtype == nullptr) continue;
    text += std::string(text.size() == 1 ? "" : ", ") + name + ": " + dtype_name(*dtype);
  }
  return text + "}";
}

// A list of types, which is a list of their numbers, meets a constraint if each of its types does.
bool meets(const NodeDef& node, const TypeConstraint& constraint) {
  if (const DType* dtype = node.attr<DType>(constraint.attr)) return *dtype == constraint.dtype;
  const IntList* types = node.attr<IntList>(constraint.attr);
  return types != nullptr && std::all_of(types->begin(), types->end(), [&](int64_t number) {
           return number == static_cast<int64_t>(constraint.dtype);
         });
}

bool serves(const KernelDef& def, const NodeDef& node) {
  return std::all_of(def.types, def.types + def.num_types,
                     [&](const TypeConstraint& constraint) { return meets(node, constraint); });
}

// Whether some node is served by both: no attr tells them apart.
bool ambiguous(const KernelDef& a, const KernelDef& b) {
  if (std::string_view(a.op) != b.op) return false;
  for (int i = 0; i < a.num_types; ++i) {
    for (int j = 0; j < b.num_types; ++j) {
      if (std::string_view(a.types[i].attr) == b.types[j].attr &&
          a.types[i].dtype != b.types[j].dtype) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

LoadedKernels& LoadedKernels::process() {
  static LoadedKernels* const kernels = [] {
    auto* made = new LoadedKernels;
    if (!made->add_all(register_transfer_kernels).ok()) std::abort();
    return made;
  }();
  return *kernels;
}

Status LoadedKernels::add_all(void (*register_kernels)(KernelRegistry*)) {
  Collector collector;
  register_kernels(&collector);
  std::lock_guard<std::mutex> lock(mutex_);
  return add_locked(collector.defs);
}

Status LoadedKernels::add(const KernelDef& def) {
  std::lock_guard<std::mutex> lock(mutex_);
  return add_locked({def});
}

Status LoadedKernels::add_locked(const std::vector<KernelDef>& defs) {
  ByOp merged = by_op_;
  for (const KernelDef& def : defs) {
    auto& of_op = merged[def.op];
    for (const KernelDef* other : of_op) {
      if (!ambiguous(def, *other)) continue;
      return error(StatusCode::kAlreadyExists, std::string("expected one kernel of ") + def.op +
                                                   " for a node, got two: " + describe(*other) +
                                                   " and " + describe(def));
    }
    of_op.push_back(&def);
  }
  for (const KernelDef& def : defs) by_op_[def.op].push_back(&defs_.emplace_back(def));
  return {};
}

Status LoadedKernels::load_library(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) {
    return error(StatusCode::kNotFound, "expected a kernel library, got no file: " + path);
  }
  const std::string real = resolved;
  std::free(resolved);
  std::lock_guard<std::mutex> lock(mutex_);
  if (libraries_.contains(real)) return {};
  void* library = dlopen(real.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return error(StatusCode::kInvalidArgument, "expected a kernel library, got " + path + ": " +
                                                   (reason == nullptr ? "not one" : reason));
  }
  auto abi = reinterpret_cast<int32_t (*)()>(dlsym(library, "qanat_kernel_abi"));
  auto add = reinterpret_cast<void (*)(KernelRegistry*)>(dlsym(library, "qanat_register_kernels"));
  if (abi == nullptr || add == nullptr) {
    dlclose(library);
    return error(StatusCode::kInvalidArgument,
                 "expected qanat_kernel_abi and qanat_register_kernels, got neither in " + path);
  }
  if (abi() != kKernelAbi) {
    const int32_t got = abi();
    dlclose(library);
    return error(StatusCode::kFailedPrecondition,
                 format("expected a kernel library of ABI %d, got %d in %s: compile it again",
                        kKernelAbi, got, path.c_str()));
  }
  Collector collector;
  add(&collector);
  Status status = add_locked(collector.defs);
  if (status.ok()) libraries_.insert(real);
  return status;
}

Status LoadedKernels::find(const NodeDef& node, const KernelDef** def) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto of_op = by_op_.find(node.op);
  if (of_op == by_op_.end()) {
    return error(StatusCode::kUnimplemented,
                 "expected a kernel, got none: no loaded library has kernels of " + node.op);
  }
  std::string known;
  for (const KernelDef* candidate : of_op->second) {
    if (serves(*candidate, node)) {
      *def = candidate;
      return {};
    }
    known += (known.empty() ? "" : ", ") + describe(*candidate);
  }
  return error(StatusCode::kUnimplemented,
               "expected a kernel for " + describe(node) + ", got only those for " + known);
}

std::vector<KernelDef> LoadedKernels::all() {
  std::lock_guard<std::mutex> lock(mutex_);
  return {defs_.begin(), defs_.end()};
}

}  // namespace qanat
