// The test kernels as a library to be loaded.
#include "packages/core/native/executor/test_kernels.h"

extern "C" {

__attribute__((visibility("default"))) int32_t qanat_kernel_abi() { return qanat::kKernelAbi; }

__attribute__((visibility("default"))) void qanat_register_kernels(
    qanat::KernelRegistry* registry) {
  qanat::register_test_kernels(registry);
}

}  // extern "C"
