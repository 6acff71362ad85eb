// How a kernel spreads one loop over threads.
#ifndef PACKAGES_CORE_NATIVE_KERNEL_PARALLEL_H_
#define PACKAGES_CORE_NATIVE_KERNEL_PARALLEL_H_

#include <cstdint>
#include <type_traits>

namespace qanat {

// Runs the chunks of a loop, in any order and on any thread, and returns when all are done.
//
// The caller fixes the number of chunks from the size of its data and never from the number of
// threads, so that a result is the same bit for bit however many threads there are. The calling
// thread takes part; it never waits for a worker that has not started. A body may call run() again.
class Parallel {
 public:
  using Body = void (*)(void* arg, int64_t chunk);

  // Threads that may work at once, the caller included: at least 1.
  virtual int threads() const = 0;

  virtual void run(int64_t chunks, Body body, void* arg) = 0;

  // run() for a lambda: for_each(n, [&](int64_t chunk) { ... }).
  template <typename F>
  void for_each(int64_t chunks, F&& body) {
    if (chunks == 1) {
      body(int64_t{0});
      return;
    }
    run(
        chunks,
        [](void* arg, int64_t chunk) { (*static_cast<std::remove_reference_t<F>*>(arg))(chunk); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 protected:
  ~Parallel() = default;
};

// The chunks run one after the other on the calling thread: for tests and one-core devices.
class SerialParallel final : public Parallel {
 public:
  int threads() const override { return 1; }
  void run(int64_t chunks, Body body, void* arg) override {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) body(arg, chunk);
  }
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_KERNEL_PARALLEL_H_
