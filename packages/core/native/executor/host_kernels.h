// Kernels that belong to the host, because they need of it what no other kernel may: the step's
// rendezvous, waiting without a thread.
#ifndef PACKAGES_CORE_NATIVE_EXECUTOR_HOST_KERNELS_H_
#define PACKAGES_CORE_NATIVE_EXECUTOR_HOST_KERNELS_H_

#include "packages/core/native/kernel/registry.h"

namespace qanat {

void register_transfer_kernels(KernelRegistry* registry);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_EXECUTOR_HOST_KERNELS_H_
