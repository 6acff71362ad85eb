#include "packages/kernels_cuda/emulator/fibre.h"

#include <ucontext.h>

namespace qanat::emulator {
namespace {

constexpr size_t kStack = 64 * 1024;

thread_local Fibre* beginning;

}  // namespace

Fibre::Fibre() : stack_(new char[kStack]) {}

bool Fibre::resume(Function function, void* argument) {
  if (function_ == nullptr) {
    function_ = function;
    argument_ = argument;
  }
  if (_setjmp(caller_) == 0) {
    if (has_begun_) _longjmp(self_, 1);
    begin();
  }
  return function_ == nullptr;
}

void Fibre::suspend() {
  if (_setjmp(self_) == 0) _longjmp(caller_, 1);
}

void Fibre::begin() {
  has_begun_ = true;
  beginning = this;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = stack_.get();
  context.uc_stack.ss_size = kStack;
  context.uc_link = nullptr;
  makecontext(&context, &Fibre::enter, 0);
  setcontext(&context);
}

void Fibre::enter() {
  Fibre* self = beginning;
  for (;;) {
    self->function_(self->argument_);
    self->function_ = nullptr;
    self->suspend();
  }
}

}  // namespace qanat::emulator
