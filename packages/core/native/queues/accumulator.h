// A sum of gradients that steps add to, until there are enough for somebody who waits.
#ifndef PACKAGES_CORE_NATIVE_QUEUES_ACCUMULATOR_H_
#define PACKAGES_CORE_NATIVE_QUEUES_ACCUMULATOR_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "packages/core/native/rendezvous/waiter.h"

namespace qanat {

// A gradient is counted if it is of the accumulator's own step or a later one, and dropped if it is
// older: with backup workers the first so many of a step make it, and the rest come too late.
class Accumulator final : public WaitingPlace {
 public:
  static constexpr const char* kKind = "accumulator";

  // `mean`: what is taken is the sum divided by the count.
  Accumulator(std::string name, DType dtype, bool mean)
      : name_(std::move(name)), dtype_(dtype), mean_(mean) {}

  const char* kind() const override { return kKind; }
  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }

  Status apply(int64_t step, const TensorView& gradient);
  // Wakes the waiter with one token once `required` gradients were counted; the next sum begins at
  // nothing, for the next step.
  void take(int64_t required, Waiter* waiter);
  void set_step(int64_t step);
  int64_t count();

  void cancel(Waiter* waiter, const Status& status) override;

 private:
  struct Taker {
    Waiter* waiter;
    int64_t required;
  };
  struct Ending {
    Waiter* waiter;
    Token sum;
  };

  Status add(const TensorView& gradient);
  void serve(std::vector<Ending>* endings);

  const std::string name_;
  const DType dtype_;
  const bool mean_;

  std::mutex mutex_;  // guards all below; nobody is woken under it
  Tensor sum_;
  int64_t count_ = 0;
  int64_t step_ = 0;
  std::deque<Taker> takers_;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_QUEUES_ACCUMULATOR_H_
