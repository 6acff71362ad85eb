// Classifies images by a model: run_model MODEL --images=IDX [--labels=IDX] [--predictions=FILE]
//
// The model's first input takes one image or several, uint8 as they are or float32 in [0, 1]. Its
// first output has a score for each class (float32 or int8), or the classes themselves (int32 or
// int64). Prints the accuracy and the time an image took; writes the classes, one a line.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "packages/core/native/kernel/dtype.h"
#include "packages/mobile_runtime/native/idx_file.h"
#include "packages/mobile_runtime/native/qanat_model.h"

extern "C" void qanat_register_kernels(QanatKernelRegistry* registry);

namespace qanat::mobile {
namespace {

struct Arguments {
  const char* model = nullptr;
  const char* images = nullptr;
  const char* labels = nullptr;
  const char* predictions = nullptr;
};

// What follows `name` in an argument; null where it does not begin so.
const char* value_of(const char* argument, const char* name) {
  const size_t length = std::strlen(name);
  return std::strncmp(argument, name, length) == 0 ? argument + length : nullptr;
}

bool parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    if (const char* images = value_of(argv[i], "--images=")) {
      arguments->images = images;
    } else if (const char* labels = value_of(argv[i], "--labels=")) {
      arguments->labels = labels;
    } else if (const char* predictions = value_of(argv[i], "--predictions=")) {
      arguments->predictions = predictions;
    } else if (argv[i][0] == '-' || arguments->model != nullptr) {
      return false;
    } else {
      arguments->model = argv[i];
    }
  }
  return arguments->model != nullptr && arguments->images != nullptr;
}

// The class of item i of a batch: the highest score, or what the output says.
template <typename T>
int64_t class_of(const QanatTensor& output, int64_t i) {
  const T* const values = static_cast<const T*>(output.data);
  if (output.rank == 1) return static_cast<int64_t>(values[i]);
  const int64_t classes = output.dims[1];
  int64_t best = 0;
  for (int64_t c = 1; c < classes; ++c) {
    if (values[i * classes + c] > values[i * classes + best]) best = c;
  }
  return best;
}

class Classifier {
 public:
  explicit Classifier(Failure& failure) : failure_(failure) {}
  ~Classifier() { qanat_model_close(model_); }
  Classifier(const Classifier&) = delete;
  Classifier& operator=(const Classifier&) = delete;

  bool open(const Arguments& arguments) {
    const QanatRegisterKernels kernels[] = {qanat_register_kernels};
    const QanatModelOptions options = {kernels, 1, 0, nullptr, nullptr};
    char message[QANAT_MESSAGE_BYTES] = {};
    if (const int32_t code = qanat_model_open_file(arguments.model, &options, &model_, message)) {
      return failure_.set(static_cast<StatusCode>(code), "%s", message);
    }
    return images_.open(arguments.images, failure_) &&
           (arguments.labels == nullptr || labels_.open(arguments.labels, failure_)) && check();
  }

  // Calls `see(class)` for each image.
  template <typename See>
  bool classify(See see) {
    for (uint64_t first = 0; first < images_.count(); first += batch_) {
      const uint64_t rest = images_.count() - first;
      const uint64_t count = rest < batch_ ? rest : batch_;
      for (uint64_t i = 0; i < count; ++i) set_image(i, images_.item(first + i));
      char message[QANAT_MESSAGE_BYTES] = {};
      if (const int32_t code = qanat_model_run(model_, message)) {
        return failure_.set(static_cast<StatusCode>(code), "%s", message);
      }
      for (uint64_t i = 0; i < count; ++i) see(class_at(static_cast<int64_t>(i)));
    }
    return true;
  }

  uint64_t count() const { return images_.count(); }
  bool has_labels() const { return labels_.count() > 0; }
  int64_t label(uint64_t i) const { return *labels_.item(i); }

 private:
  static bool is(const QanatTensor& tensor, DType dtype) {
    return tensor.dtype == static_cast<int32_t>(dtype);
  }

  bool check() {
    if (qanat_model_input(model_, 0, &input_) != 0 ||
        qanat_model_output(model_, 0, &output_) != 0) {
      return refuse("a model with an input and an output");
    }
    if (!is(input_, DType::kUInt8) && !is(input_, DType::kFloat32)) {
      return refuse("an input of uint8 or float32");
    }
    const uint64_t pixels = input_.bytes / dtype_size(static_cast<DType>(input_.dtype));
    const uint64_t item = images_.item_bytes();
    if (item == 0 || pixels == 0 || pixels % item != 0) return refuse("an input of whole images");
    batch_ = pixels / item;
    const bool classes =
        output_.rank == 1 && (is(output_, DType::kInt32) || is(output_, DType::kInt64));
    const bool scores = output_.rank == 2 && output_.dims[1] > 0 &&
                        (is(output_, DType::kFloat32) || is(output_, DType::kInt8));
    if ((!classes && !scores) || static_cast<uint64_t>(output_.dims[0]) != batch_) {
      return refuse("an output of scores or classes, as many as images");
    }
    if (has_labels() && (labels_.count() != images_.count() || labels_.item_bytes() != 1)) {
      return refuse("a label for each image");
    }
    return true;
  }

  bool refuse(const char* expected) {
    return failure_.set(StatusCode::kInvalidArgument, "expected %s, got another", expected);
  }

  void set_image(uint64_t i, const uint8_t* pixels) {
    const uint64_t size = images_.item_bytes();
    if (is(input_, DType::kUInt8)) {
      std::memcpy(static_cast<uint8_t*>(input_.data) + i * size, pixels, size);
      return;
    }
    float* const to = static_cast<float*>(input_.data) + i * size;
    for (uint64_t p = 0; p < size; ++p) to[p] = static_cast<float>(pixels[p]) * (1.0f / 255);
  }

  int64_t class_at(int64_t i) const {
    if (is(output_, DType::kFloat32)) return class_of<float>(output_, i);
    if (is(output_, DType::kInt8)) return class_of<int8_t>(output_, i);
    if (is(output_, DType::kInt32)) return class_of<int32_t>(output_, i);
    return class_of<int64_t>(output_, i);
  }

  Failure& failure_;
  QanatModel* model_ = nullptr;
  IdxFile images_, labels_;
  QanatTensor input_ = {}, output_ = {};
  uint64_t batch_ = 1;
};

double seconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

bool run(const Arguments& arguments, Failure& failure) {
  Classifier classifier(failure);
  if (!classifier.open(arguments)) return false;
  std::FILE* file = nullptr;
  if (arguments.predictions != nullptr) {
    file = std::fopen(arguments.predictions, "w");
    if (file == nullptr) {
      return failure.set(StatusCode::kPermissionDenied, "expected a file to write, got %s",
                         arguments.predictions);
    }
  }
  uint64_t seen = 0, correct = 0;
  const double begin = seconds();
  const bool done = classifier.classify([&](int64_t predicted) {
    if (file != nullptr) std::fprintf(file, "%d\n", static_cast<int>(predicted));
    if (classifier.has_labels() && classifier.label(seen) == predicted) ++correct;
    ++seen;
  });
  if (file != nullptr && std::fclose(file) != 0) {
    return failure.set(StatusCode::kDataLoss, "expected to write %s", arguments.predictions);
  }
  if (!done || seen == 0) return done;
  const double images = static_cast<double>(seen);
  std::printf("%.0f images, %.1f us each\n", images, (seconds() - begin) * 1e6 / images);
  if (!classifier.has_labels()) return true;
  std::printf("accuracy: %.2f %%\n", 100 * static_cast<double>(correct) / images);
  return true;
}

}  // namespace
}  // namespace qanat::mobile

int main(int argc, char** argv) {
  qanat::mobile::Arguments arguments;
  if (!qanat::mobile::parse(argc, argv, &arguments)) {
    std::fprintf(stderr, "usage: %s MODEL --images=IDX [--labels=IDX] [--predictions=FILE]\n",
                 argv[0]);
    return 2;
  }
  qanat::mobile::Failure failure;
  if (qanat::mobile::run(arguments, failure)) return 0;
  std::fprintf(stderr, "%s\n", failure.message());
  return 1;
}
