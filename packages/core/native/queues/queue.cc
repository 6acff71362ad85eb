#include "packages/core/native/queues/queue.h"

#include <algorithm>

namespace qanat {

void Queue::enqueue(std::vector<Tuple> tuples, Waiter* waiter) {
  std::vector<Ending> endings;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) {
      endings.push_back({waiter,
                         error(StatusCode::kCancelled,
                               "expected queue \"" + name_ + "\" to be open, got it closed"),
                         {},
                         Want::kOne});
    } else {
      enqueuers_.push_back(
          {waiter,
           {std::make_move_iterator(tuples.begin()), std::make_move_iterator(tuples.end())}});
      serve(&endings);
    }
  }
  wake(std::move(endings));
}

void Queue::dequeue(int64_t count, Want want, Waiter* waiter) {
  std::vector<Ending> endings;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    dequeuers_.push_back({waiter, count, want, {}});
    serve(&endings);
  }
  wake(std::move(endings));
}

void Queue::close(bool cancel_pending) {
  std::vector<Ending> endings;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    while (cancel_pending && !enqueuers_.empty()) {
      endings.push_back({enqueuers_.front().waiter,
                         error(StatusCode::kCancelled, "queue \"" + name_ + "\" was closed"),
                         {},
                         Want::kOne});
      enqueuers_.pop_front();
    }
    serve(&endings);
  }
  wake(std::move(endings));
}

bool Queue::is_closed() {
  std::lock_guard<std::mutex> lock(mutex_);
  return closed_;
}

int64_t Queue::size() {
  std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int64_t>(tuples_.size());
}

void Queue::cancel(Waiter* waiter, const Status& status) {
  std::vector<Ending> endings;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto is_waiter = [waiter](const auto& one) { return one.waiter == waiter; };
    auto enqueuer = std::find_if(enqueuers_.begin(), enqueuers_.end(), is_waiter);
    auto dequeuer = std::find_if(dequeuers_.begin(), dequeuers_.end(), is_waiter);
    if (enqueuer != enqueuers_.end()) {
      enqueuers_.erase(enqueuer);
    } else if (dequeuer != dequeuers_.end()) {
      put_back(&dequeuer->taken);
      dequeuers_.erase(dequeuer);
    } else {
      return;
    }
    endings.push_back({waiter, status, {}, Want::kOne});
    serve(&endings);
  }
  wake(std::move(endings));
}

// Lets in and hands out as far as that goes.
void Queue::serve(std::vector<Ending>* endings) {
  bool moved = true;
  while (moved) {
    const bool in = let_in(endings);
    const bool out = hand_out(endings);
    moved = in || out;
  }
}

bool Queue::has_room() const {
  return capacity_ < 0 || static_cast<int64_t>(tuples_.size()) < capacity_;
}

bool Queue::let_in(std::vector<Ending>* endings) {
  bool moved = false;
  while (!enqueuers_.empty()) {
    Enqueuer& first = enqueuers_.front();
    while (!first.left.empty() && has_room()) {
      tuples_.push_back(std::move(first.left.front()));
      first.left.pop_front();
      moved = true;
    }
    if (!first.left.empty()) return moved;
    endings->push_back({first.waiter, {}, {}, Want::kOne});
    enqueuers_.pop_front();
    moved = true;
  }
  return moved;
}

bool Queue::hand_out(std::vector<Ending>* endings) {
  bool moved = false;
  while (!dequeuers_.empty()) {
    Dequeuer& first = dequeuers_.front();
    const auto missing = [&first] {
      return first.count - static_cast<int64_t>(first.taken.size());
    };
    while (missing() > 0 && !tuples_.empty()) {
      first.taken.push_back(std::move(tuples_.front()));
      tuples_.pop_front();
      moved = true;
    }
    const bool last = closed_ && enqueuers_.empty() && tuples_.empty();
    if (missing() > 0 && !last) return moved;
    Ending ending{first.waiter, {}, {}, first.want};
    const bool enough = missing() == 0 || (first.want == Want::kUpTo && !first.taken.empty());
    if (enough) {
      ending.tuples = std::move(first.taken);
    } else {
      ending.status =
          error(StatusCode::kOutOfRange,
                format("expected %lld elements in queue \"%s\", got %zu: it is closed",
                       static_cast<long long>(first.count), name_.c_str(), first.taken.size()));
      put_back(&first.taken);
    }
    dequeuers_.pop_front();
    endings->push_back(std::move(ending));
    moved = enough;
    if (!enough && !tuples_.empty()) moved = true;  // the next may want fewer
  }
  return moved;
}

void Queue::put_back(std::vector<Tuple>* taken) {
  for (auto tuple = taken->rbegin(); tuple != taken->rend(); ++tuple) {
    tuples_.push_front(std::move(*tuple));
  }
  taken->clear();
}

void Queue::wake(std::vector<Ending> endings) const {
  for (Ending& ending : endings) {
    std::vector<Token> tokens;
    Status status = ending.status;
    if (status.ok() && !ending.tuples.empty()) {
      if (ending.want == Want::kOne) {
        for (Tensor& component : ending.tuples[0]) tokens.push_back({std::move(component), false});
      } else {
        status = stacked(&ending.tuples, &tokens);
      }
    } else if (status.ok() && ending.want != Want::kOne) {
      status = stacked(&ending.tuples, &tokens);
    }
    ending.waiter->wake(status, tokens);
  }
}

// The components of several tuples, each along a new first dimension.
Status Queue::stacked(std::vector<Tuple>* tuples, std::vector<Token>* tokens) const {
  for (size_t i = 0; i < types_.size(); ++i) {
    Shape shape({static_cast<int64_t>(tuples->size())});
    const Shape element = tuples->empty() ? Shape({0}) : (*tuples)[0][i].view.shape;
    for (int axis = 0; axis < element.rank(); ++axis) {
      if (!shape.add(element[axis])) {
        return error(StatusCode::kInvalidArgument,
                     "expected fewer elements, got too many to stack");
      }
    }
    Token token;
    if (!token.value.allocate(types_[i], shape, &Allocator::process())) {
      return exhausted(types_[i], shape);
    }
    char* to = token.value.view.as<char>();
    for (const Tuple& tuple : *tuples) {
      const TensorView& from = tuple[i].view;
      if (!(from.shape == element)) {
        return error(StatusCode::kInvalidArgument,
                     "expected elements of one shape to stack, got several: give the queue shapes");
      }
      copy_elements(from, {to, types_[i], element});
      to += from.num_bytes();
    }
    tokens->push_back(std::move(token));
  }
  return {};
}

}  // namespace qanat
