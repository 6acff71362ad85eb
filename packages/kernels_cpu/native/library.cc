// The two entry points of a kernel library (core/native/kernel/registry.h).
#include "packages/kernels_cpu/native/families.h"

#define QANAT_EXPORT extern "C" __attribute__((visibility("default")))

QANAT_EXPORT int32_t qanat_kernel_abi(void) { return qanat::kKernelAbi; }

QANAT_EXPORT void qanat_register_kernels(qanat::KernelRegistry* registry) {
  using namespace qanat::kernels_cpu;  // NOLINT: the families, and nothing else, are named below
  register_binary(*registry);
  register_unary(*registry);
  register_fused_elementwise(*registry);
  register_cast(*registry);
  register_select(*registry);
  register_shapes(*registry);
  register_fill(*registry);
  register_join(*registry);
  register_slice(*registry);
  register_pad(*registry);
  register_permute(*registry);
  register_gather(*registry);
  register_scatter(*registry);
  register_search(*registry);
  register_reductions(*registry);
  register_arg_reductions(*registry);
  register_variables(*registry);
  register_assert(*registry);
  register_stacks(*registry);
  register_tensor_arrays(*registry);
  register_random(*registry);
  register_matmul(*registry);
  register_cross(*registry);
  register_conv2d(*registry);
  register_pool(*registry);
  register_quantized(*registry);
  register_bias(*registry);
  register_softmax(*registry);
}
