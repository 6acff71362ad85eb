// The waist between hosts and kernels: everything a kernel may know of the world that runs it.
//
// A host (the server's executor, the phone's interpreter) implements KernelInit and KernelContext;
// a kernel library implements Kernel. Both sides are compiled without exceptions and RTTI and share
// no other code, so either may be replaced, and the same kernel source serves both.
#ifndef PACKAGES_CORE_NATIVE_KERNEL_KERNEL_H_
#define PACKAGES_CORE_NATIVE_KERNEL_KERNEL_H_

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "packages/core/native/kernel/parallel.h"
#include "packages/core/native/kernel/resource.h"
#include "packages/core/native/kernel/status.h"
#include "packages/core/native/kernel/tensor_view.h"
#include "packages/core/native/kernel/text.h"

namespace qanat {

// Where a kernel says what is wrong. The first failure counts. The host puts "[Op] " in front and
// the node's name and the user's line behind, so a message reads "expected ..., got ...".
class FailureSink {
 public:
  virtual void fail(StatusCode code, const char* message) = 0;
  virtual bool failed() const = 0;

  __attribute__((format(printf, 3, 4))) void failf(StatusCode code, const char* format, ...) {
    char message[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    fail(code, message);
  }
  // failf(kInvalidArgument, ...), by far the most frequent.
  __attribute__((format(printf, 2, 3))) void invalid(const char* format, ...) {
    char message[512];
    va_list args;
    va_start(args, format);
    std::vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    fail(StatusCode::kInvalidArgument, message);
  }

 protected:
  ~FailureSink() = default;
};

// What a kernel is built from: its node. An attr that is missing or of another kind is a failure
// (the getter then returns a zero); what the getters return lives as long as the kernel.
class KernelInit : public FailureSink {
 public:
  template <typename T>
  struct List {
    const T* data;
    int size;
    const T* begin() const { return data; }
    const T* end() const { return data + size; }
    const T& operator[](int i) const { return data[i]; }
  };

  virtual Text node_name() const = 0;
  virtual int num_inputs() const = 0;
  virtual int num_outputs() const = 0;
  virtual DType input_dtype(int i) const = 0;
  virtual DType output_dtype(int i) const = 0;

  virtual bool has_attr(const char* name) const = 0;
  virtual int64_t int_attr(const char* name) = 0;
  virtual double float_attr(const char* name) = 0;
  virtual bool bool_attr(const char* name) = 0;
  virtual Text string_attr(const char* name) = 0;
  virtual DType type_attr(const char* name) = 0;
  virtual Shape shape_attr(const char* name) = 0;  // a fully known one
  virtual TensorView tensor_attr(const char* name) = 0;
  virtual List<int64_t> int_list_attr(const char* name) = 0;
  virtual List<double> float_list_attr(const char* name) = 0;
  // -1 for a dimension that is not known; none where the rank is not.
  virtual List<int64_t> partial_shape_attr(const char* name, bool* known_rank) = 0;

 protected:
  ~KernelInit() = default;
};

// One execution of one kernel. A method that returns a pointer returns null where it failed (and
// has then said why): the kernel returns at once.
class KernelContext : public FailureSink {
 public:
  int num_inputs() const { return num_inputs_; }
  // Never dead, of the dtypes the kernel was registered for.
  const TensorView& input(int i) const { return *inputs_[i]; }

  // Allocates output i: fresh memory, plain elements uninitialised, strings empty.
  virtual TensorView* output(int i, const Shape& shape) = 0;
  // The same, but hands over the buffer of one of the candidate inputs where nobody else holds it
  // and dtype and number of elements are right: the kernel must then read each element of that
  // input before it writes the element in its place.
  virtual TensorView* output_reusing(int i, const Shape& shape, const int* candidates,
                                     int count) = 0;
  // Output i is input `from` under another shape with as many elements: no bytes move.
  virtual bool output_alias(int i, int from, const Shape& shape) = 0;

  // Memory for this execution only, aligned to kAlignment, contents undefined.
  virtual void* scratch(size_t bytes) = 0;
  virtual Parallel& parallel() = 0;

  // Variables, by a handle (a resource tensor with one element). Output i becomes the handle of the
  // variable `name` in `container`, made without a value on first use.
  virtual bool output_variable(int i, Text container, Text name, DType dtype) = 0;
  virtual bool variable_initialized(int handle) = 0;
  // The value, shared: a later write does not change it (the writer copies).
  virtual bool read_variable(int handle, int output) = 0;
  // The variable's value becomes input `value`, shared without a copy.
  virtual bool assign_variable(int handle, int value) = 0;
  // For updates in place: takes the variable's lock and gives a buffer that nobody else reads (a
  // copy if readers hold the old one). Every success needs one unlock_variable. A kernel that locks
  // several names them in one call: the host orders the locks and so never deadlocks.
  virtual bool lock_variables(const int* handles, int count, TensorView** values) = 0;
  virtual void unlock_variables(const int* handles, int count) = 0;

  // Resources of a kernel library's own (stacks, arrays of tensors). Output i becomes the handle of
  // `made`, whose one reference the host takes over; it ends with its last handle.
  virtual bool output_resource(int i, Resource* made) = 0;
  // The resource behind a handle, where it is of that kind.
  Resource* resource(int handle, const char* kind) {
    const TensorView& view = input(handle);
    const bool one = view.dtype == DType::kResource && view.num_elements() == 1;
    Resource* held = one ? *view.as<Resource*>() : nullptr;
    if (held != nullptr && std::strcmp(held->kind(), kind) == 0) return held;
    invalid("expected input %d to be a %s's handle, got %s", handle, kind,
            held == nullptr ? "none" : held->kind());
    return nullptr;
  }
  // Input i's value, shared, and memory for a new one; the caller has a reference to what it gets.
  virtual KeptValue* keep(int input) = 0;
  virtual KeptValue* keep_new(DType dtype, const Shape& shape) = 0;
  // Output i becomes a kept value, shared; it has to be of the output's dtype.
  virtual bool output_kept(int i, KeptValue* value) = 0;

 protected:
  ~KernelContext() = default;
  const TensorView* const* inputs_ = nullptr;
  int num_inputs_ = 0;
};

// Built once per node, run by any number of threads at once: what compute() changes in it must be
// atomic. The constructor takes a KernelInit&; it validates attrs there and fails early.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void compute(KernelContext& context) = 0;
};

}  // namespace qanat

#endif  // PACKAGES_CORE_NATIVE_KERNEL_KERNEL_H_
