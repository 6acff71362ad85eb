// A library that was built for kernel headers of another ABI.
#include <cstdint>

extern "C" {

__attribute__((visibility("default"))) int32_t qanat_kernel_abi() { return -1; }

// Not called.
__attribute__((visibility("default"))) void qanat_register_kernels(void*) { __builtin_trap(); }

}  // extern "C"
