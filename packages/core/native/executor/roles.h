// The ops that the executor runs itself. All else is a kernel.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_ROLES_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_ROLES_H_

#include <cstdint>
#include <string_view>

namespace qanat {

// How the executor treats a node. Constants and fed values are no nodes of a plan but filled slots.
enum class Role : uint8_t {
  kKernel,
  kValue,
  kIdentity,
  kNoOp,
  kSwitch,
  kMerge,
  kEnter,
  kExit,
  kNextIteration,
  kControlTrigger,
  kAsync,  // a kernel that waits without a thread
};

struct BuiltIn {
  const char* op;
  Role role;
  bool controls_flow;
};

inline constexpr BuiltIn kBuiltIns[] = {
    {"Const", Role::kValue, false},
    {"Identity", Role::kIdentity, false},
    {"NoOp", Role::kNoOp, false},
    {"LoopCond", Role::kIdentity, true},
    {"Switch", Role::kSwitch, true},
    {"Merge", Role::kMerge, true},
    {"Enter", Role::kEnter, true},
    {"Exit", Role::kExit, true},
    {"NextIteration", Role::kNextIteration, true},
    {"ControlTrigger", Role::kControlTrigger, true},
};
// Stands for a fed value. No device has to be able to run it.
inline constexpr const char* kArgOp = "_Arg";

constexpr BuiltIn built_in(std::string_view op) {
  if (op == kArgOp) return {kArgOp, Role::kValue, false};
  for (const BuiltIn& entry : kBuiltIns) {
    if (op == entry.op) return entry;
  }
  return {nullptr, Role::kKernel, false};
}

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_ROLES_H_
