// A grid: its blocks one after the other, the threads of a block in turns.
#include <memory>
#include <vector>

#include "packages/kernels_cuda/emulator/fibre.h"
#include "packages/kernels_cuda/emulator/shim.h"

constinit thread_local qanat::emulator::Dim3 threadIdx{}, blockIdx{}, blockDim{}, gridDim{};

namespace qanat::emulator {
namespace {

// The fibre whose turn it is.
thread_local Fibre* running = nullptr;

class Block {
 public:
  Block(const Launch& launch, Thread thread, void* arguments)
      : launch_(launch), thread_(thread), arguments_(arguments), threads_(size()) {}

  // Each thread up to a barrier, then each up to the next.
  Failure run() {
    unsigned waiting = 0;
    do {
      const unsigned before = waiting;
      waiting = 0;
      for (unsigned i = 0; i < size(); ++i) waiting += take_turn(i);
      const bool was_split = before != 0 && before != size();
      if (was_split || (waiting != 0 && waiting != size())) {
        return "expected __syncthreads to be reached by all threads of a block or by none";
      }
    } while (waiting != 0);
    return nullptr;
  }

 private:
  // Whether the thread then waits.
  bool take_turn(unsigned i) {
    std::unique_ptr<Fibre>& fibre = threads_[i];
    if (fibre == nullptr) fibre = idle();
    threadIdx = index_of(i);
    running = fibre.get();
    if (!fibre->resume(thread_, arguments_)) return true;
    idle_.push_back(std::move(fibre));
    return false;
  }

  std::unique_ptr<Fibre> idle() {
    if (idle_.empty()) return std::make_unique<Fibre>();
    std::unique_ptr<Fibre> fibre = std::move(idle_.back());
    idle_.pop_back();
    return fibre;
  }

  unsigned size() const { return launch_.block.x * launch_.block.y * launch_.block.z; }

  Dim3 index_of(unsigned i) const {
    if (launch_.backwards) i = size() - 1 - i;
    const Dim3& dims = launch_.block;
    return {i % dims.x, i / dims.x % dims.y, i / dims.x / dims.y};
  }

  const Launch& launch_;
  const Thread thread_;
  void* const arguments_;
  std::vector<std::unique_ptr<Fibre>> threads_;  // those that wait
  std::vector<std::unique_ptr<Fibre>> idle_;
};

}  // namespace

void wait_for_block() { running->suspend(); }

Failure run_grid(const Launch& launch, Thread thread, void* arguments) {
  gridDim = launch.grid;
  blockDim = launch.block;
  Block block(launch, thread, arguments);
  for (unsigned z = 0; z < launch.grid.z; ++z) {
    for (unsigned y = 0; y < launch.grid.y; ++y) {
      for (unsigned x = 0; x < launch.grid.x; ++x) {
        blockIdx = {x, y, z};
        const Failure failure = block.run();
        if (failure != nullptr) return failure;
      }
    }
  }
  return nullptr;
}

}  // namespace qanat::emulator
