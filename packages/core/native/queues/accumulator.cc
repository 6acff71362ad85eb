#include "packages/core/native/queues/accumulator.h"

#include <algorithm>
#include <span>

namespace qanat {
namespace {

template <typename T>
void add_elements(const TensorView& from, const TensorView& to) {
  const T* x = from.as<T>();
  T* sum = to.as<T>();
  for (int64_t i = 0; i < from.num_elements(); ++i) sum[i] += x[i];
}

template <typename T>
void divide_elements(const TensorView& view, int64_t by) {
  T* sum = view.as<T>();
  for (int64_t i = 0; i < view.num_elements(); ++i) sum[i] /= static_cast<T>(by);
}

}  // namespace

Status Accumulator::apply(int64_t step, const TensorView& gradient) {
  std::vector<Ending> endings;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (step < step_) return {};
    Status status = add(gradient);
    if (!status.ok()) return status;
    ++count_;
    serve(&endings);
  }
  for (Ending& ending : endings) ending.waiter->wake({}, {&ending.sum, 1});
  return {};
}

Status Accumulator::add(const TensorView& gradient) {
  if (gradient.dtype != dtype_ || (count_ > 0 && !(gradient.shape == sum_.view.shape))) {
    return error(
        StatusCode::kInvalidArgument,
        "expected gradients of one type and shape in accumulator \"" + name_ + "\", got another");
  }
  if (count_ == 0) {
    if (!sum_.allocate(dtype_, gradient.shape, &Allocator::process())) {
      return exhausted(dtype_, gradient.shape);
    }
    copy_elements(gradient, sum_.view);
  } else if (dtype_ == DType::kFloat32) {
    add_elements<float>(gradient, sum_.view);
  } else {
    add_elements<double>(gradient, sum_.view);
  }
  return {};
}

void Accumulator::take(int64_t required, Waiter* waiter) {
  std::vector<Ending> endings;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    takers_.push_back({waiter, required});
    serve(&endings);
  }
  for (Ending& ending : endings) ending.waiter->wake({}, {&ending.sum, 1});
}

void Accumulator::serve(std::vector<Ending>* endings) {
  if (takers_.empty() || count_ < takers_.front().required) return;
  if (mean_ && dtype_ == DType::kFloat32) divide_elements<float>(sum_.view, count_);
  if (mean_ && dtype_ == DType::kFloat64) divide_elements<double>(sum_.view, count_);
  endings->push_back({takers_.front().waiter, {std::move(sum_), false}});
  takers_.pop_front();
  sum_ = Tensor();
  count_ = 0;
  ++step_;
}

void Accumulator::set_step(int64_t step) {
  std::lock_guard<std::mutex> lock(mutex_);
  step_ = std::max(step_, step);
}

int64_t Accumulator::count() {
  std::lock_guard<std::mutex> lock(mutex_);
  return count_;
}

void Accumulator::cancel(Waiter* waiter, const Status& status) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto is_waiter = [waiter](const Taker& taker) { return taker.waiter == waiter; };
    auto taker = std::find_if(takers_.begin(), takers_.end(), is_waiter);
    if (taker == takers_.end()) return;
    takers_.erase(taker);
  }
  waiter->wake(status, {});
}

}  // namespace qanat
