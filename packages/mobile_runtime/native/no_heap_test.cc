// Once a model is loaded, nothing is allocated and nothing freed until it is closed. Linked with
// --wrap for each function of the heap, which leads all calls of this program's code here.
#include <cstddef>
#include <cstdlib>

#include "packages/core/native/testing/check.h"
#include "packages/mobile_runtime/native/qanat_model.h"
#include "packages/mobile_runtime/native/test_model.h"

extern "C" {
void qanat_register_kernels(qanat::KernelRegistry* registry);

static int heap_calls = 0;

void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* memory, size_t size);
void* __real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void** memory, size_t alignment, size_t size);
void __real_free(void* memory);

void* __wrap_malloc(size_t size) {
  ++heap_calls;
  return __real_malloc(size);
}
void* __wrap_calloc(size_t count, size_t size) {
  ++heap_calls;
  return __real_calloc(count, size);
}
void* __wrap_realloc(void* memory, size_t size) {
  ++heap_calls;
  return __real_realloc(memory, size);
}
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  ++heap_calls;
  return __real_aligned_alloc(alignment, size);
}
int __wrap_posix_memalign(void** memory, size_t alignment, size_t size) {
  ++heap_calls;
  return __real_posix_memalign(memory, alignment, size);
}
void __wrap_free(void* memory) {
  ++heap_calls;
  __real_free(memory);
}
}

namespace qanat::mobile {
namespace {

TEST(a_loaded_model_leaves_the_heap_alone) {
  for (const std::string& bytes :
       {testing::small_lenet(), testing::small_classifier(), testing::small_program()}) {
    const testing::Image image(bytes);
    const QanatRegisterKernels kernels[] = {qanat_register_kernels};
    const QanatModelOptions options = {kernels, 1, 0, nullptr, nullptr};
    QanatModel* model = nullptr;
    const int before = heap_calls;
    CHECK_EQ(qanat_model_open(image.data(), image.size(), &options, &model, nullptr), 0);
    CHECK(heap_calls > before);  // so it is counted

    const int loaded = heap_calls;
    float values[64] = {1, 2, 3};
    char message[QANAT_MESSAGE_BYTES];
    QanatTensor input, output;
    for (int i = 0; i < 3; ++i) {
      CHECK_EQ(qanat_model_input(model, 0, &input), 0);
      CHECK_EQ(qanat_model_output(model, 0, &output), 0);
      CHECK_EQ(qanat_model_set_input(model, 0, values, input.bytes, message), 0);
      CHECK_EQ(qanat_model_run(model, message), 0);
      CHECK_EQ(qanat_model_get_output(model, 0, values, output.bytes, message), 0);
      CHECK(qanat_model_set_input(model, 0, values, 1, message) != 0);  // errors, too
    }
    CHECK_EQ(heap_calls, loaded);
    qanat_model_close(model);
  }
}

}  // namespace
}  // namespace qanat::mobile
