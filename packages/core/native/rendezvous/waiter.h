// Waiting without a thread: who waits, and where.
#ifndef PACKAGES_CORE_NATIVE_RENDEZVOUS_WAITER_H_
#define PACKAGES_CORE_NATIVE_RENDEZVOUS_WAITER_H_

#include <span>

#include "packages/core/native/base/status.h"
#include "packages/core/native/kernel/resource.h"
#include "packages/core/native/memory/tensor.h"

namespace qanat {

// A value on its way between nodes: what a dead branch of a conditional sends has none.
struct Token {
  Tensor value;
  bool is_dead = false;
};

// Somebody who waits for values, or for leave to go on. wake() is called once, from any thread and
// perhaps before the call that began the wait has returned; nothing touches the waiter afterwards.
class Waiter {
 public:
  // The tokens may be moved out of.
  virtual void wake(const Status& status, std::span<Token> tokens) = 0;

 protected:
  ~Waiter() = default;
};

// Where waiters wait: a rendezvous, a queue.
class WaitingPlace : public Resource {
 public:
  // Ends a wait: a waiter that is still here is woken with the status. One that is not has been
  // woken, or is being woken.
  virtual void cancel(Waiter* waiter, const Status& status) = 0;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_RENDEZVOUS_WAITER_H_
