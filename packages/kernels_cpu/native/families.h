// One registration a family, called by name: an exporter can name exactly the kernels a model
// needs.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_FAMILIES_H_
#define PACKAGES_KERNELS_CPU_NATIVE_FAMILIES_H_

#include "packages/core/native/kernel/registry.h"

namespace qanat::kernels_cpu {

void register_binary(KernelRegistry& registry);
void register_unary(KernelRegistry& registry);
void register_fused_elementwise(KernelRegistry& registry);
void register_cast(KernelRegistry& registry);
void register_select(KernelRegistry& registry);
void register_shapes(KernelRegistry& registry);
void register_fill(KernelRegistry& registry);
void register_join(KernelRegistry& registry);
void register_slice(KernelRegistry& registry);
void register_pad(KernelRegistry& registry);
void register_permute(KernelRegistry& registry);
void register_gather(KernelRegistry& registry);
void register_scatter(KernelRegistry& registry);
void register_search(KernelRegistry& registry);
void register_reductions(KernelRegistry& registry);
void register_arg_reductions(KernelRegistry& registry);
void register_variables(KernelRegistry& registry);
void register_matmul(KernelRegistry& registry);
void register_cross(KernelRegistry& registry);
void register_conv2d(KernelRegistry& registry);
void register_pool(KernelRegistry& registry);
void register_quantized(KernelRegistry& registry);
void register_bias(KernelRegistry& registry);
void register_softmax(KernelRegistry& registry);
void register_random(KernelRegistry& registry);
void register_assert(KernelRegistry& registry);
void register_stacks(KernelRegistry& registry);
void register_tensor_arrays(KernelRegistry& registry);

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_FAMILIES_H_
