// Small kernels for the tests of the executor and its bindings.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_TEST_KERNELS_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_TEST_KERNELS_H_

#include "packages/core/native/kernel/registry.h"

namespace qanat {

void register_test_kernels(KernelRegistry* registry);

// How many TestSleep kernels ran at the same time at most since the last call.
int most_asleep_at_once();

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_TEST_KERNELS_H_
