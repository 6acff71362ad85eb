// CUDA C as C++: what the sources in ../cu use of the language, for a thread of this machine.
//
// A kernel NAME becomes the C function `launch_NAME`, which runs all blocks of a grid one after the
// other. The threads of a block take turns: each runs until it reaches __syncthreads or its end.
#ifndef PACKAGES_KERNELS_CUDA_EMULATOR_SHIM_H_
#define PACKAGES_KERNELS_CUDA_EMULATOR_SHIM_H_

#include <math.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#define QANAT_EMULATED
#define __device__
// A block runs on one thread of the machine, its threads in turns: they share what is static.
#define __shared__ static thread_local

namespace qanat::emulator {

struct Dim3 {
  unsigned x, y, z;
};

// What a launch is told: of the driver's launch function.
struct Launch {
  Dim3 grid, block;
  bool backwards;  // the last thread takes the first turn
};

// Why a launch could not be finished; null if it was.
using Failure = const char*;

using Thread = void (*)(void* arguments);

// Runs `thread` for each thread of each block.
Failure run_grid(const Launch& launch, Thread thread, void* arguments);

// The turn of the calling thread ends until all others of its block have come as far.
void wait_for_block();

template <typename... P, size_t... I>
std::tuple<P...> unpack(const unsigned char* packed, std::index_sequence<I...>) {
  static_assert(((sizeof(P) % 8 == 0) && ...), "a parameter takes a multiple of 8 bytes");
  size_t offset = 0;
  std::tuple<P...> values;
  ((std::memcpy(&std::get<I>(values), packed + offset, sizeof(P)), offset += sizeof(P)), ...);
  return values;
}

template <typename... P>
Failure emulate(void (*kernel)(P...), const Launch& launch, const void* packed, size_t size) {
  if (size != (sizeof(P) + ... + 0)) return "parameters of another size than the kernel's";
  struct Call {
    void (*kernel)(P...);
    std::tuple<P...> values;
  } call{kernel,
         unpack<P...>(static_cast<const unsigned char*>(packed), std::index_sequence_for<P...>{})};
  return run_grid(
      launch,
      [](void* arguments) {
        const auto& [kernel, values] = *static_cast<Call*>(arguments);
        std::apply(kernel, values);
      },
      &call);
}

}  // namespace qanat::emulator

extern constinit thread_local qanat::emulator::Dim3 threadIdx, blockIdx, blockDim, gridDim;

inline void __syncthreads() { qanat::emulator::wait_for_block(); }

#define KERNEL(name, ...)                                                       \
  static void name(__VA_ARGS__);                                                \
  extern "C" __attribute__((visibility("default"))) const char* launch_##name(  \
      const qanat::emulator::Launch* launch, const void* packed, size_t size) { \
    return qanat::emulator::emulate(&name, *launch, packed, size);              \
  }                                                                             \
  static void name(__VA_ARGS__)

#endif  // PACKAGES_KERNELS_CUDA_EMULATOR_SHIM_H_
