// Stacks that take turns on one thread of the machine.
#ifndef PACKAGES_KERNELS_CUDA_EMULATOR_FIBRE_H_
#define PACKAGES_KERNELS_CUDA_EMULATOR_FIBRE_H_

#include <setjmp.h>

#include <memory>

namespace qanat::emulator {

// Runs one function after the other on a stack of its own. The jumps save no signal mask: a turn
// costs a few nanoseconds.
class Fibre {
 public:
  using Function = void (*)(void* argument);

  Fibre();
  Fibre(const Fibre&) = delete;

  // Gives the fibre a turn: it starts `function`, or where one is suspended, goes on with it. True
  // where the function has ended.
  bool resume(Function function, void* argument);

  // In a fibre's function: ends the turn.
  void suspend();

 private:
  static void enter();
  void begin();

  std::unique_ptr<char[]> stack_;
  jmp_buf caller_, self_;
  Function function_ = nullptr;  // null where none is suspended
  void* argument_ = nullptr;
  bool has_begun_ = false;
};

}  // namespace qanat::emulator

#endif  // PACKAGES_KERNELS_CUDA_EMULATOR_FIBRE_H_
