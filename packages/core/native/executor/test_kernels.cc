#include "packages/core/native/executor/test_kernels.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace qanat {
namespace {

// z = x + y, in place where it may.
template <typename T>
class Add final : public Kernel {
 public:
  explicit Add(KernelInit&) {}
  void compute(KernelContext& context) override {
    const TensorView& x = context.input(0);
    const TensorView& y = context.input(1);
    if (!(x.shape == y.shape)) return context.invalid("expected equal shapes, got others");
    static constexpr int kCandidates[] = {0, 1};
    TensorView* z = context.output_reusing(0, x.shape, kCandidates, 2);
    if (z == nullptr) return;
    const int64_t n = x.num_elements();
    for (int64_t i = 0; i < n; ++i) z->as<T>()[i] = x.as<T>()[i] + y.as<T>()[i];
  }
};

// Whether x < y, of two scalars.
class Less final : public Kernel {
 public:
  explicit Less(KernelInit&) {}
  void compute(KernelContext& context) override {
    TensorView* less = context.output(0, Shape());
    if (less == nullptr) return;
    *less->as<bool>() = *context.input(0).as<float>() < *context.input(1).as<float>();
  }
};

// Fails if its input is `at`, else gives it out.
class FailAt final : public Kernel {
 public:
  explicit FailAt(KernelInit& init) : at_(init.float_attr("at")) {}
  void compute(KernelContext& context) override {
    if (*context.input(0).as<float>() == at_) return context.invalid("expected another number");
    context.output_alias(0, 0, Shape());
  }

 private:
  const double at_;
};

// Sleeps for `ms` milliseconds, then gives out the sum of its inputs and 1.
class Sleep final : public Kernel {
 public:
  explicit Sleep(KernelInit& init) : ms_(init.int_attr("ms")) {}
  void compute(KernelContext& context) override {
    const int now = asleep.fetch_add(1) + 1;
    int most = most_asleep.load();
    while (most < now && !most_asleep.compare_exchange_weak(most, now)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(ms_));
    asleep.fetch_sub(1);
    TensorView* sum = context.output(0, Shape());
    if (sum == nullptr) return;
    *sum->as<float>() = 1;
    for (int i = 0; i < context.num_inputs(); ++i) {
      *sum->as<float>() += *context.input(i).as<float>();
    }
  }
  static std::atomic<int> asleep, most_asleep;

 private:
  const int64_t ms_;
};
std::atomic<int> Sleep::asleep{0}, Sleep::most_asleep{0};

// Allocates its output and some scratch memory, then fails.
class Fail final : public Kernel {
 public:
  explicit Fail(KernelInit& init) : message_(init.string_attr("message")) {}
  void compute(KernelContext& context) override {
    context.output(0, Shape({1000}));
    context.scratch(100'000);
    context.invalid("%s", message_.c_str());
  }

 private:
  const std::string message_;
};

// How often it ran, this kernel, whatever the plan.
class Count final : public Kernel {
 public:
  explicit Count(KernelInit&) {}
  void compute(KernelContext& context) override {
    if (TensorView* count = context.output(0, Shape())) *count->as<int64_t>() = ++count_;
  }

 private:
  std::atomic<int64_t> count_{0};
};

// A float vector of `size` ones, made by a loop over threads.
class Ones final : public Kernel {
 public:
  explicit Ones(KernelInit& init) : size_(init.int_attr("size")) {}
  void compute(KernelContext& context) override {
    TensorView* ones = context.output(0, Shape({size_}));
    if (ones == nullptr) return;
    constexpr int64_t kChunk = 1024;
    context.parallel().for_each((size_ + kChunk - 1) / kChunk, [&](int64_t chunk) {
      const int64_t end = std::min(size_, (chunk + 1) * kChunk);
      for (int64_t i = chunk * kChunk; i < end; ++i) ones->as<float>()[i] = 1;
    });
  }

 private:
  const int64_t size_;
};

// The input as a vector, without a copy.
class Flatten final : public Kernel {
 public:
  explicit Flatten(KernelInit&) {}
  void compute(KernelContext& context) override {
    context.output_alias(0, 0, Shape({context.input(0).num_elements()}));
  }
};

// Joins two string tensors of one shape element by element.
class Join final : public Kernel {
 public:
  explicit Join(KernelInit&) {}
  void compute(KernelContext& context) override {
    TensorView* out = context.output(0, context.input(0).shape);
    if (out == nullptr) return;
    for (int64_t i = 0; i < out->num_elements(); ++i) {
      std::string text(context.input(0).as<Bytes>()[i].view());
      text += context.input(1).as<Bytes>()[i].view();
      out->as<Bytes>()[i].assign(text);
    }
  }
};

// Makes no output although it has one.
class Forget final : public Kernel {
 public:
  explicit Forget(KernelInit&) {}
  void compute(KernelContext&) override {}
};

class Handle final : public Kernel {
 public:
  explicit Handle(KernelInit& init)
      : name_(init.string_attr("name")), dtype_(init.type_attr("dtype")) {}
  void compute(KernelContext& context) override { context.output_variable(0, "", name_, dtype_); }

 private:
  const std::string name_;
  const DType dtype_;
};

class Read final : public Kernel {
 public:
  explicit Read(KernelInit&) {}
  void compute(KernelContext& context) override { context.read_variable(0, 0); }
};

class Assign final : public Kernel {
 public:
  explicit Assign(KernelInit&) {}
  void compute(KernelContext& context) override { context.assign_variable(0, 1); }
};

// Adds its last input to every variable that it has a handle of, all locked at once.
class AssignAdd final : public Kernel {
 public:
  explicit AssignAdd(KernelInit&) {}
  void compute(KernelContext& context) override {
    const int count = context.num_inputs() - 1;
    int handles[8] = {};
    TensorView* values[8] = {};
    for (int i = 0; i < count; ++i) handles[i] = i;
    if (!context.lock_variables(handles, count, values)) return;
    const TensorView& delta = context.input(count);
    for (int v = 0; v < count; ++v) {
      for (int64_t i = 0; i < delta.num_elements(); ++i) {
        values[v]->as<float>()[i] += delta.as<float>()[i];
      }
    }
    context.unlock_variables(handles, count);
  }
};

}  // namespace

int most_asleep_at_once() { return Sleep::most_asleep.exchange(0); }

void register_test_kernels(KernelRegistry* registry) {
  registry->add<Add<float>>("TestAdd", {{"T", DType::kFloat32}});
  registry->add<Add<int64_t>>("TestAdd", {{"T", DType::kInt64}});
  registry->add<Less>("TestLess", {});
  registry->add<FailAt>("TestFailAt", {});
  registry->add<Sleep>("TestSleep", {}, kExpensive);
  registry->add<Fail>("TestFail", {});
  registry->add<Count>("TestCount", {}, kStateful);
  registry->add<Ones>("TestOnes", {}, kExpensive);
  registry->add<Flatten>("TestFlatten", {});
  registry->add<Join>("TestJoin", {});
  registry->add<Forget>("TestForget", {});
  registry->add<Handle>("TestHandle", {});
  registry->add<Read>("TestRead", {});
  registry->add<Assign>("TestAssign", {});
  registry->add<AssignAdd>("TestAssignAdd", {});
}

}  // namespace qanat
