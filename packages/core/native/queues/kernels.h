// The kernels of queues and accumulators: the host's own, since they wait without a thread.
#ifndef PACKAGES_CORE_NATIVE_QUEUES_KERNELS_H_
#define PACKAGES_CORE_NATIVE_QUEUES_KERNELS_H_

#include "packages/core/native/kernel/registry.h"

namespace qanat {

void register_queue_kernels(KernelRegistry* registry);
void register_accumulator_kernels(KernelRegistry* registry);

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_QUEUES_KERNELS_H_
