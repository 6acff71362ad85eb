#include "packages/mobile_runtime/native/test_fuzz.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "packages/mobile_runtime/native/qanat_model.h"
#include "packages/mobile_runtime/native/test_model.h"

extern "C" void qanat_register_kernels(QanatKernelRegistry* registry);

namespace qanat::mobile::testing {
namespace {

// More would only take time.
constexpr size_t kMemoryLimit = size_t{1} << 22;

void expect(bool holds) {
  if (!holds) std::abort();
}

int32_t run(QanatModel* model) {
  char message[QANAT_MESSAGE_BYTES] = {};
  for (int32_t i = 0; i < qanat_model_num_inputs(model); ++i) {
    QanatTensor tensor;
    expect(qanat_model_input(model, i, &tensor) == 0);
    if (tensor.dtype != static_cast<int32_t>(DType::kBool)) {
      std::memset(tensor.data, 0x3f, tensor.bytes);
    }
  }
  const int32_t code = qanat_model_run(model, message);
  expect((code == 0) == (message[0] == '\0'));
  for (int32_t i = 0; code == 0 && i < qanat_model_num_outputs(model); ++i) {
    QanatTensor tensor;
    expect(qanat_model_output(model, i, &tensor) == 0);
    std::string copy(tensor.bytes, '\0');
    expect(qanat_model_get_output(model, i, copy.data(), copy.size(), message) == 0);
  }
  return code;
}

}  // namespace

int32_t try_model(std::string bytes) {
  if (bytes.size() >= sizeof(HeaderRecord)) {
    const uint64_t size = bytes.size();
    std::memcpy(bytes.data(), kMagic, sizeof(kMagic));
    std::memcpy(&bytes[offsetof(HeaderRecord, file_bytes)], &size, sizeof(size));
    seal(&bytes);
  }
  const Image image(bytes);
  const QanatRegisterKernels kernels[] = {qanat_register_kernels};
  const QanatModelOptions options = {kernels, 1, kMemoryLimit, nullptr, nullptr};
  QanatModel* model = nullptr;
  char message[QANAT_MESSAGE_BYTES] = {};
  int32_t code = qanat_model_open(image.data(), image.size(), &options, &model, message);
  expect((code == 0) == (model != nullptr) && (code == 0) == (message[0] == '\0'));
  if (model == nullptr) return code;
  for (int i = 0; i < 2 && code == 0; ++i) code = run(model);
  qanat_model_close(model);
  return code;
}

}  // namespace qanat::mobile::testing

// libFuzzer's entry, for a program that is linked with it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  qanat::mobile::testing::try_model({reinterpret_cast<const char*>(data), size});
  return 0;
}
