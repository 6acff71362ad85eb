// Model files with random changes, whose sizes and checksums agree: whatever comes, an error code.
// Worth running under ASan (tools/bazel test --config=asan), and for longer:
//
//   QANAT_FUZZ_SECONDS=600 QANAT_FUZZ_SEED=7 bazel-bin/.../model_fuzz_test
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

#include "packages/core/native/kernel/status.h"
#include "packages/core/native/testing/check.h"
#include "packages/mobile_runtime/native/test_fuzz.h"
#include "packages/mobile_runtime/native/test_model.h"

namespace qanat::mobile::testing {
namespace {

constexpr int kTries = 4000;

uint64_t environment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  void change(std::string* bytes) {
    const int changes = 1 + static_cast<int>(below(4));
    for (int i = 0; i < changes && !bytes->empty(); ++i) {
      switch (below(8)) {
        case 0:
          (*bytes)[below(bytes->size())] ^= static_cast<char>(1 << below(8));
          break;
        case 1:
          bytes->resize(below(bytes->size()));
          break;
        case 2:
          copy_word(bytes);
          break;
        default:
          set_word(bytes);
      }
    }
  }

 private:
  uint64_t below(uint64_t bound) { return random_() % bound; }

  // Where a word of so many bytes is, behind the checksum; mostly among the records, in front.
  size_t place(const std::string& bytes, size_t width) {
    const size_t end = below(4) == 0 ? bytes.size() : std::min<size_t>(bytes.size(), 1800);
    return (kCheckedFrom + below(end - kCheckedFrom - width + 1)) / width * width;
  }

  void set_word(std::string* bytes) {
    const size_t width = below(2) == 0 ? 4 : 8;
    if (bytes->size() < kCheckedFrom + width) return;
    static constexpr uint64_t kInteresting[] = {0,
                                                1,
                                                2,
                                                3,
                                                4,
                                                7,
                                                8,
                                                9,
                                                63,
                                                64,
                                                65,
                                                128,
                                                255,
                                                256,
                                                1 << 16,
                                                0x7fffffff,
                                                0x80000000,
                                                0xffffffff,
                                                uint64_t{1} << 32,
                                                uint64_t{1} << 62,
                                                uint64_t{1} << 63,
                                                ~uint64_t{0},
                                                ~uint64_t{63}};
    const size_t at = place(*bytes, width);
    uint64_t word = 0;
    std::memcpy(&word, bytes->data() + at, width);
    word = below(3) == 0 ? word + below(5) - 2 : kInteresting[below(std::size(kInteresting))];
    std::memcpy(bytes->data() + at, &word, width);
  }

  void copy_word(std::string* bytes) {
    if (bytes->size() < kCheckedFrom + 4) return;
    const size_t from = place(*bytes, 4);
    std::memmove(bytes->data() + place(*bytes, 4), bytes->data() + from, 4);
  }

  std::mt19937_64 random_;
};

TEST(hostile_models_are_refused) {
  const uint64_t seconds = environment("QANAT_FUZZ_SECONDS", 0);
  Mutator mutator(environment("QANAT_FUZZ_SEED", 1));
  const std::string models[] = {small_lenet(), small_classifier(), small_program()};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  std::map<int32_t, int> codes;
  int tries = 0;
  for (; tries < kTries || std::chrono::steady_clock::now() < end; ++tries) {
    std::string bytes = models[tries % std::size(models)];
    mutator.change(&bytes);
    ++codes[try_model(bytes)];
  }
  std::fprintf(stderr, "%d tries:", tries);
  for (const auto& [code, count] : codes) std::fprintf(stderr, " %dx code %d", count, code);
  std::fprintf(stderr, "\n");
  // Some get as far as a kernel, and some all the way.
  CHECK(codes[static_cast<int32_t>(StatusCode::kOk)] > tries / 100);
  CHECK(codes[static_cast<int32_t>(StatusCode::kInvalidArgument)] > 0);
  CHECK(codes[static_cast<int32_t>(StatusCode::kUnimplemented)] > 0);
  CHECK(codes[static_cast<int32_t>(StatusCode::kDataLoss)] > tries / 10);
}

}  // namespace
}  // namespace qanat::mobile::testing
