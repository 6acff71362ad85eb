// Queues and accumulators: order, room, batches, and how waits end.
#include "packages/core/native/queues/queue.h"

#include <thread>

#include "packages/core/native/queues/accumulator.h"
#include "packages/core/native/testing/check.h"

namespace qanat {
namespace {

class Listener final : public Waiter {
 public:
  void wake(const Status& given, std::span<Token> tokens) override {
    ++times;
    status = given;
    for (Token& token : tokens) values.push_back(std::move(token.value));
  }
  float value() const { return *values[0].view.as<float>(); }

  int times = 0;
  Status status;
  std::vector<Tensor> values;
};

Tensor number(float value) {
  Tensor tensor;
  CHECK(tensor.allocate(DType::kFloat32, Shape(), &Allocator::process()));
  *tensor.view.as<float>() = value;
  return tensor;
}

// Counted resources are only made by new.
struct Numbers {
  explicit Numbers(int64_t capacity) : queue(new Queue("numbers", {DType::kFloat32}, capacity)) {}
  ~Numbers() { queue->unref(); }
  Queue* operator->() { return queue; }

  void put(std::vector<float> values, Waiter* waiter) {
    std::vector<Tuple> tuples;
    for (float value : values) tuples.push_back({number(value)});
    queue->enqueue(std::move(tuples), waiter);
  }

  Queue* const queue;
};

TEST(elements_come_out_in_the_order_they_went_in) {
  Numbers numbers(-1);
  Listener in, first, rest;
  numbers.put({1, 2, 3}, &in);
  CHECK_EQ(in.times, 1);
  CHECK_EQ(numbers->size(), 3);
  numbers->dequeue(1, Queue::Want::kOne, &first);
  numbers->dequeue(2, Queue::Want::kMany, &rest);
  CHECK_EQ(first.value(), 1);
  CHECK_EQ(rest.values[0].view.as<float>()[1], 3);
  CHECK(rest.values[0].view.shape == Shape({2}));
}

TEST(who_waits_first_is_served_first) {
  Numbers numbers(-1);
  Listener many, one, in;
  numbers->dequeue(2, Queue::Want::kMany, &many);
  numbers->dequeue(1, Queue::Want::kOne, &one);
  numbers.put({1}, &in);
  CHECK_EQ(many.times + one.times, 0);
  numbers.put({2, 3}, &in);
  CHECK_EQ(many.values[0].view.as<float>()[0], 1);
  CHECK_EQ(one.value(), 3);
}

TEST(a_full_queue_lets_in_as_room_comes) {
  Numbers numbers(2);
  Listener in, out, all;
  numbers.put({1, 2, 3, 4, 5}, &in);
  CHECK_EQ(in.times, 0);
  numbers->dequeue(1, Queue::Want::kOne, &out);
  CHECK_EQ(in.times, 0);
  numbers->dequeue(4, Queue::Want::kMany, &all);  // more than it ever holds
  CHECK_EQ(in.times, 1);
  CHECK_EQ(all.values[0].view.as<float>()[3], 5);
}

TEST(a_closed_queue_gives_what_it_has) {
  Numbers numbers(-1);
  Listener in, many, some, late, more;
  numbers.put({1, 2}, &in);
  numbers->dequeue(3, Queue::Want::kMany, &many);
  numbers->close(false);
  CHECK_EQ(many.status.code, StatusCode::kOutOfRange);
  numbers.put({3}, &late);
  CHECK_EQ(late.status.code, StatusCode::kCancelled);
  numbers->dequeue(3, Queue::Want::kUpTo, &some);
  CHECK(some.values[0].view.shape == Shape({2}));
  numbers->dequeue(1, Queue::Want::kUpTo, &more);
  CHECK_EQ(more.status.code, StatusCode::kOutOfRange);
}

TEST(closing_can_cancel_what_waits_for_room) {
  Numbers numbers(1);
  Listener in, one;
  numbers.put({1, 2}, &in);
  numbers->close(true);
  CHECK_EQ(in.status.code, StatusCode::kCancelled);
  numbers->dequeue(1, Queue::Want::kOne, &one);
  CHECK_EQ(one.value(), 1);
}

TEST(a_cancelled_dequeue_leaves_its_elements_to_the_next) {
  Numbers numbers(-1);
  Listener in, many, one;
  numbers->dequeue(2, Queue::Want::kMany, &many);
  numbers.put({7}, &in);
  numbers->dequeue(1, Queue::Want::kOne, &one);
  CHECK_EQ(one.times, 0);
  numbers->cancel(&many, error(StatusCode::kCancelled, "enough"));
  numbers->cancel(&many, error(StatusCode::kCancelled, "enough"));
  CHECK_EQ(many.times, 1);
  CHECK_EQ(one.value(), 7);
}

TEST(nothing_is_lost_between_threads) {
  constexpr int kEach = 1000;
  Numbers numbers(3);
  std::vector<Listener> in(2 * kEach), out(2 * kEach);
  std::thread threads[4];
  for (int t = 0; t < 2; ++t) {
    threads[t] = std::thread([&, t] {
      for (int i = 0; i < kEach; ++i) numbers.put({1}, &in[t * kEach + i]);
    });
    threads[2 + t] = std::thread([&, t] {
      for (int i = 0; i < kEach; ++i) {
        numbers->dequeue(1, Queue::Want::kOne, &out[t * kEach + i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 2 * kEach; ++i) {
    CHECK_EQ(in[i].times, 1);
    CHECK_EQ(out[i].value(), 1);
  }
}

struct Gradients {
  Accumulator* const sums = new Accumulator("sums", DType::kFloat32, true);
  ~Gradients() { sums->unref(); }

  void add(int64_t step, float value) {
    const Tensor gradient = number(value);
    CHECK(sums->apply(step, gradient.view).ok());
  }
};

TEST(an_accumulator_gives_the_mean_of_enough_gradients) {
  Gradients gradients;
  Listener taker;
  gradients.add(0, 1);
  gradients.sums->take(2, &taker);
  CHECK_EQ(taker.times, 0);
  gradients.add(0, 4);
  CHECK_EQ(taker.value(), 2.5);
  CHECK_EQ(gradients.sums->count(), 0);
}

TEST(a_gradient_of_a_step_that_is_over_is_dropped) {
  Gradients gradients;
  Listener first, second;
  gradients.add(0, 1);
  gradients.sums->take(1, &first);
  gradients.add(0, 100);  // too late
  gradients.add(1, 2);
  gradients.sums->take(1, &second);
  CHECK_EQ(second.value(), 2);
  gradients.sums->set_step(7);
  gradients.sums->set_step(3);  // no way back
  gradients.add(6, 1);
  CHECK_EQ(gradients.sums->count(), 0);
}

}  // namespace
}  // namespace qanat
