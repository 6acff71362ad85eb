#include "packages/mobile_runtime/native/qanat_model.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "packages/mobile_runtime/native/interpreter.h"
#include "packages/mobile_runtime/native/mapped_file.h"

using qanat::StatusCode;
using qanat::TensorView;
using qanat::mobile::Failure;

static_assert(QANAT_MESSAGE_BYTES == Failure::kMessageBytes && QANAT_MAX_RANK == qanat::kMaxRank);

struct QanatModel {
  explicit QanatModel(size_t memory_limit) : interpreter(memory_limit) {}

  qanat::mobile::MappedFile mapped;  // goes last: kernels point into it
  qanat::mobile::Interpreter interpreter;
};

namespace {

constexpr int32_t kInvalid = static_cast<int32_t>(StatusCode::kInvalidArgument);

int32_t report(const Failure& failure, char* message) {
  if (!failure.ok() && message != nullptr) {
    std::memcpy(message, failure.message(), QANAT_MESSAGE_BYTES);
  }
  return static_cast<int32_t>(failure.code());
}

// Memory for the object itself is from malloc, too: there is no operator new on a phone.
QanatModel* make_model(const QanatModelOptions& options, Failure& failure) {
  void* const memory = std::malloc(sizeof(QanatModel));
  if (memory == nullptr) {
    failure.set(StatusCode::kResourceExhausted, "[Model] expected memory, got none");
    return nullptr;
  }
  return new (memory) QanatModel(options.memory_limit == 0 ? SIZE_MAX : options.memory_limit);
}

void destroy(QanatModel* model) {
  if (model == nullptr) return;
  model->~QanatModel();
  std::free(model);
}

bool load(QanatModel& model, const void* memory, size_t bytes, const QanatModelOptions& options,
          Failure& failure) {
  return model.interpreter.load(memory, bytes,
                                {.kernel_libraries = options.kernels,
                                 .num_kernel_libraries = options.num_kernels,
                                 .sharing = options.sharing,
                                 .sharing_arg = options.sharing_arg},
                                failure);
}

// Loads what `find(model)` gives as (memory, bytes) and hands out the model, or destroys it.
template <typename Find>
int32_t open(const QanatModelOptions* options, QanatModel** result, char* message, Find find) {
  *result = nullptr;
  Failure failure;
  QanatModel* const model = make_model(*options, failure);
  if (model != nullptr && find(*model, failure)) {
    *result = model;
  } else {
    destroy(model);
  }
  return report(failure, message);
}

int32_t describe(const TensorView& view, const char* name, QanatTensor* tensor) {
  *tensor = {name, view.data, view.num_bytes(), {}, view.rank(), static_cast<int32_t>(view.dtype)};
  for (int i = 0; i < view.rank(); ++i) tensor->dims[i] = view.dim(i);
  return 0;
}

// Why a buffer does not fit an input or output, if it does not.
int32_t check_buffer(int32_t got, const QanatTensor& tensor, size_t bytes, char* message) {
  Failure failure;
  if (got != 0) {
    failure.set(StatusCode::kInvalidArgument, "[Model] expected the number of an input or output");
  } else if (bytes != tensor.bytes) {
    failure.set(StatusCode::kInvalidArgument, "[Model] expected %zu bytes for '%s', got %zu",
                tensor.bytes, tensor.name, bytes);
  }
  return report(failure, message);
}

}  // namespace

int32_t qanat_model_kernel_abi(void) { return qanat::kKernelAbi; }

int32_t qanat_model_open(const void* memory, size_t bytes, const QanatModelOptions* options,
                         QanatModel** model, char* message) {
  return open(options, model, message, [&](QanatModel& made, Failure& failure) {
    return load(made, memory, bytes, *options, failure);
  });
}

int32_t qanat_model_open_file(const char* path, const QanatModelOptions* options,
                              QanatModel** model, char* message) {
  return open(options, model, message, [&](QanatModel& made, Failure& failure) {
    if (!made.mapped.open(path, failure)) return false;
    if (made.mapped.memory() == nullptr) {
      return failure.set(StatusCode::kDataLoss, "[Model] expected a model, got an empty file");
    }
    return load(made, made.mapped.memory(), made.mapped.bytes(), *options, failure);
  });
}

void qanat_model_close(QanatModel* model) { destroy(model); }

int32_t qanat_model_num_inputs(const QanatModel* model) {
  return static_cast<int32_t>(model->interpreter.file().header().inputs);
}

int32_t qanat_model_num_outputs(const QanatModel* model) {
  return static_cast<int32_t>(model->interpreter.file().header().outputs);
}

int32_t qanat_model_input(const QanatModel* model, int32_t i, QanatTensor* tensor) {
  if (i < 0 || i >= qanat_model_num_inputs(model)) return kInvalid;
  const auto& file = model->interpreter.file();
  const uint32_t index = static_cast<uint32_t>(i);
  return describe(model->interpreter.input(index), file.c_str(file.input(index).name), tensor);
}

int32_t qanat_model_output(const QanatModel* model, int32_t i, QanatTensor* tensor) {
  if (i < 0 || i >= qanat_model_num_outputs(model)) return kInvalid;
  const auto& file = model->interpreter.file();
  const uint32_t index = static_cast<uint32_t>(i);
  return describe(model->interpreter.output(index), file.c_str(file.output(index).name), tensor);
}

void qanat_model_memory(const QanatModel* model, QanatModelMemory* memory) {
  *memory = {model->interpreter.file().arena_bytes(), model->interpreter.scratch_bytes(),
             model->interpreter.memory_bytes() + sizeof(QanatModel)};
}

int32_t qanat_model_set_input(QanatModel* model, int32_t i, const void* data, size_t bytes,
                              char* message) {
  QanatTensor tensor;
  const int32_t got = qanat_model_input(model, i, &tensor);
  if (const int32_t code = check_buffer(got, tensor, bytes, message)) return code;
  if (bytes > 0) std::memcpy(tensor.data, data, bytes);
  return 0;
}

int32_t qanat_model_run(QanatModel* model, char* message) {
  Failure failure;
  model->interpreter.run(failure);
  return report(failure, message);
}

int32_t qanat_model_get_output(const QanatModel* model, int32_t i, void* data, size_t bytes,
                               char* message) {
  QanatTensor tensor;
  const int32_t got = qanat_model_output(model, i, &tensor);
  if (const int32_t code = check_buffer(got, tensor, bytes, message)) return code;
  if (bytes > 0) std::memcpy(data, tensor.data, bytes);
  return 0;
}
