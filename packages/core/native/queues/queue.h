// A queue of tuples of tensors that steps meet at, first in, first out.
#ifndef PACKAGES_CORE_NATIVE_QUEUES_QUEUE_H_
#define PACKAGES_CORE_NATIVE_QUEUES_QUEUE_H_

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "packages/core/native/rendezvous/waiter.h"

namespace qanat {

using Tuple = std::vector<Tensor>;

// Nobody who waits here holds a thread. Waiters have their turn in the order in which they came.
class Queue final : public WaitingPlace {
 public:
  static constexpr const char* kKind = "queue";

  // `capacity`: tuples it holds at most; negative for any number.
  Queue(std::string name, std::vector<DType> types, int64_t capacity)
      : name_(std::move(name)), types_(std::move(types)), capacity_(capacity) {}

  const char* kind() const override { return kKind; }
  const std::string& name() const { return name_; }
  const std::vector<DType>& types() const { return types_; }
  int64_t capacity() const { return capacity_; }

  // Adds the tuples one by one as there is room; wakes the waiter when all are in, or with
  // kCancelled where the queue is closed.
  void enqueue(std::vector<Tuple> tuples, Waiter* waiter);

  enum class Want {
    kOne,   // the components of one tuple
    kMany,  // those of `count` tuples, each stacked along a new first dimension
    kUpTo,  // the same, or fewer but not none once the queue is closed
  };
  // Wakes the waiter with one token a component; with kOutOfRange where the queue is closed and has
  // too few.
  void dequeue(int64_t count, Want want, Waiter* waiter);

  // Nothing is added from now on; what waits to add is let in first, or is cancelled.
  void close(bool cancel_pending);
  bool is_closed();
  int64_t size();

  void cancel(Waiter* waiter, const Status& status) override;

 private:
  struct Enqueuer {
    Waiter* waiter;
    std::deque<Tuple> left;
  };
  struct Dequeuer {
    Waiter* waiter;
    int64_t count;
    Want want;
    std::vector<Tuple> taken;
  };
  struct Ending {
    Waiter* waiter;
    Status status;
    std::vector<Tuple> tuples;
    Want want;
  };

  void serve(std::vector<Ending>* endings);
  bool let_in(std::vector<Ending>* endings);
  bool hand_out(std::vector<Ending>* endings);
  void put_back(std::vector<Tuple>* taken);
  bool has_room() const;
  void wake(std::vector<Ending> endings) const;
  Status stacked(std::vector<Tuple>* tuples, std::vector<Token>* tokens) const;

  const std::string name_;
  const std::vector<DType> types_;
  const int64_t capacity_;

  std::mutex mutex_;  // guards all below; nobody is woken under it
  std::deque<Tuple> tuples_;
  std::deque<Enqueuer> enqueuers_;
  std::deque<Dequeuer> dequeuers_;
  bool closed_ = false;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_QUEUES_QUEUE_H_
