#include <string>
#include <utility>
#include <vector>

#include "packages/core/native/executor/async_run.h"
#include "packages/core/native/queues/kernels.h"
#include "packages/core/native/queues/queue.h"

namespace qanat {
namespace {

Queue* queue(StepContext& context) {
  return static_cast<Queue*>(context.resource(0, Queue::kKind));
}

std::vector<DType> component_types(KernelInit& init) {
  std::vector<DType> types;
  for (int64_t number : init.int_list_attr("component_types")) {
    types.push_back(static_cast<DType>(number));
  }
  return types;
}

bool has_types(KernelContext& context, const Queue& queue, const std::vector<DType>& types) {
  if (queue.types() == types) return true;
  context.invalid("expected queue \"%s\" to have these component types, got others",
                  queue.name().c_str());
  return false;
}

class FifoQueueKernel final : public Kernel {
 public:
  explicit FifoQueueKernel(KernelInit& init)
      : container_(init.string_attr("container")),
        name_(init.string_attr("shared_name")),
        capacity_(init.int_attr("capacity")),
        types_(component_types(init)) {
    if (name_.empty()) name_ = init.node_name();
  }

  void compute(KernelContext& context) override {
    auto& host = static_cast<StepContext&>(context);
    const auto make = [this] { return new Queue(std::string(name_), types_, capacity_); };
    Resource* made = host.output_resource(0, container_, name_, Queue::kKind, make);
    if (made != nullptr) has_types(host, *static_cast<Queue*>(made), types_);
  }

 private:
  std::string_view container_, name_;
  const int64_t capacity_;
  const std::vector<DType> types_;
};

// The tuple that the inputs after the handle are. False where one is not of the queue's type.
bool take_tuple(StepContext& context, const Queue& queue, Tuple* tuple) {
  const auto count = static_cast<size_t>(context.num_inputs() - 1);
  if (count != queue.types().size()) {
    context.invalid("expected %zu components for queue \"%s\", got %zu", queue.types().size(),
                    queue.name().c_str(), count);
    return false;
  }
  tuple->resize(count);
  for (size_t i = 0; i < count; ++i) {
    const int input = static_cast<int>(i) + 1;
    if (context.input(input).dtype != queue.types()[i]) {
      context.invalid("expected component %zu of queue \"%s\" to be %s, got %s", i,
                      queue.name().c_str(), dtype_name(queue.types()[i]),
                      dtype_name(context.input(input).dtype));
      return false;
    }
    if (!context.share_input(input, &(*tuple)[i])) return false;
  }
  return true;
}

// Row `row` of a batch, as a tensor of its own.
bool take_row(StepContext& context, const TensorView& batch, int64_t row, Tensor* element) {
  const Shape shape(batch.shape.dims() + 1, batch.rank() - 1);
  if (!element->allocate(batch.dtype, shape, &Allocator::process())) {
    return context.fail_with(exhausted(batch.dtype, shape));
  }
  const size_t bytes = element->view.num_bytes();
  copy_elements({batch.as<char>() + static_cast<size_t>(row) * bytes, batch.dtype, shape},
                element->view);
  return true;
}

class EnqueueKernel final : public AsyncKernel {
 public:
  explicit EnqueueKernel(KernelInit& init) : name_(init.node_name()) {}

  void start(AsyncRun* run) override {
    Queue* to = queue(run->context());
    std::vector<Tuple> tuples(1);
    if (to == nullptr || !take_tuple(run->context(), *to, &tuples[0])) return run->give_up();
    run->wait_at(to);
    to->enqueue(std::move(tuples), run);
  }

  std::string awaited() const override { return "room in a queue, at '" + name_ + "'"; }

 private:
  const std::string name_;
};

class EnqueueManyKernel final : public AsyncKernel {
 public:
  explicit EnqueueManyKernel(KernelInit& init) : name_(init.node_name()) {}

  void start(AsyncRun* run) override {
    StepContext& context = run->context();
    Queue* to = queue(context);
    Tuple batch;
    std::vector<Tuple> tuples;
    if (to == nullptr || !take_tuple(context, *to, &batch) || !split(context, batch, &tuples)) {
      return run->give_up();
    }
    run->wait_at(to);
    to->enqueue(std::move(tuples), run);
  }

  std::string awaited() const override { return "room in a queue, at '" + name_ + "'"; }

 private:
  static bool split(StepContext& context, const Tuple& batch, std::vector<Tuple>* tuples) {
    for (const Tensor& component : batch) {
      if (component.view.rank() == 0 || component.view.dim(0) != batch[0].view.dim(0)) {
        context.invalid("expected components with one size along their first dimension");
        return false;
      }
    }
    const int64_t rows = batch.empty() ? 0 : batch[0].view.dim(0);
    for (int64_t row = 0; row < rows; ++row) {
      Tuple& tuple = tuples->emplace_back(batch.size());
      for (size_t i = 0; i < batch.size(); ++i) {
        if (!take_row(context, batch[i].view, row, &tuple[i])) return false;
      }
    }
    return true;
  }

  const std::string name_;
};

template <Queue::Want kWant>
class DequeueKernel final : public AsyncKernel {
 public:
  explicit DequeueKernel(KernelInit& init)
      : name_(init.node_name()), types_(component_types(init)) {}

  void start(AsyncRun* run) override {
    StepContext& context = run->context();
    Queue* from = queue(context);
    int64_t count = 1;
    if (from == nullptr || !has_types(context, *from, types_) ||
        (kWant != Queue::Want::kOne && !read_count(context, *from, &count))) {
      return run->give_up();
    }
    run->wait_at(from);
    from->dequeue(count, kWant, run);
  }

  std::string awaited() const override { return "elements of a queue, at '" + name_ + "'"; }

 private:
  static bool read_count(StepContext& context, const Queue& from, int64_t* count) {
    const TensorView& given = context.input(1);
    *count = given.num_elements() == 1 ? *given.as<int32_t>() : -1;
    if (*count >= 0) return true;
    context.invalid("expected a number of elements of queue \"%s\", 0 or more, got %lld",
                    from.name().c_str(), static_cast<long long>(*count));
    return false;
  }

  const std::string name_;
  const std::vector<DType> types_;
};

class CloseKernel final : public Kernel {
 public:
  explicit CloseKernel(KernelInit& init)
      : cancel_pending_(init.bool_attr("cancel_pending_enqueues")) {}

  void compute(KernelContext& context) override {
    if (Queue* closed = queue(static_cast<StepContext&>(context))) closed->close(cancel_pending_);
  }

 private:
  const bool cancel_pending_;
};

class IsClosedKernel final : public Kernel {
 public:
  explicit IsClosedKernel(KernelInit&) {}
  void compute(KernelContext& context) override {
    Queue* asked = queue(static_cast<StepContext&>(context));
    TensorView* is_closed = asked == nullptr ? nullptr : context.output(0, Shape());
    if (is_closed != nullptr) *is_closed->as<bool>() = asked->is_closed();
  }
};

class SizeKernel final : public Kernel {
 public:
  explicit SizeKernel(KernelInit&) {}
  void compute(KernelContext& context) override {
    Queue* asked = queue(static_cast<StepContext&>(context));
    TensorView* size = asked == nullptr ? nullptr : context.output(0, Shape());
    if (size != nullptr) *size->as<int32_t>() = static_cast<int32_t>(asked->size());
  }
};

}  // namespace

void register_queue_kernels(KernelRegistry* registry) {
  registry->add<FifoQueueKernel>("FIFOQueueV2", {});
  registry->add<EnqueueKernel>("QueueEnqueueV2", {}, kAsync);
  registry->add<EnqueueManyKernel>("QueueEnqueueManyV2", {}, kAsync);
  registry->add<DequeueKernel<Queue::Want::kOne>>("QueueDequeueV2", {}, kAsync);
  registry->add<DequeueKernel<Queue::Want::kMany>>("QueueDequeueManyV2", {}, kAsync);
  registry->add<DequeueKernel<Queue::Want::kUpTo>>("QueueDequeueUpToV2", {}, kAsync);
  registry->add<CloseKernel>("QueueCloseV2", {});
  registry->add<IsClosedKernel>("QueueIsClosedV2", {});
  registry->add<SizeKernel>("QueueSizeV2", {});
}

}  // namespace qanat
