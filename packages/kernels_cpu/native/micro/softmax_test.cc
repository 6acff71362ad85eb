#include "packages/kernels_cpu/native/micro/softmax.h"

#include <limits>
#include <vector>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/micro/test_support.h"

namespace qanat::micro {
namespace {

template <typename T>
struct Results {
  std::vector<T> softmax, log_softmax, loss, d_logits, sparse_loss, sparse_d_logits;
};

template <typename T>
struct Data {
  Data(Random& random, int64_t rows, int64_t cols)
      : logits(random.vector<T>(rows * cols)), labels(random.vector<T>(rows * cols)) {
    for (T& x : logits) x *= 20;
    for (T& x : labels) x = x < 0 ? 0 : x;
    for (int64_t r = 0; r < rows; ++r) classes.push_back(random.between(0, cols - 1));
  }
  std::vector<T> logits, labels;
  std::vector<int64_t> classes;
};

template <typename T>
Results<double> expected(int64_t rows, int64_t cols, const Data<T>& data) {
  Results<double> e;
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = data.logits.data() + r * cols;
    double largest = -std::numeric_limits<double>::infinity(), total = 0, loss = 0;
    for (int64_t c = 0; c < cols; ++c) largest = std::max<double>(largest, x[c]);
    for (int64_t c = 0; c < cols; ++c) total += std::exp(x[c] - largest);
    for (int64_t c = 0; c < cols; ++c) {
      const double label = data.labels[r * cols + c];
      e.softmax.push_back(std::exp(x[c] - largest) / total);
      e.log_softmax.push_back(x[c] - largest - std::log(total));
      e.d_logits.push_back(e.softmax.back() - label);
      e.sparse_d_logits.push_back(e.softmax.back() - (c == data.classes[r] ? 1 : 0));
      if (label != 0) loss -= label * e.log_softmax.back();
      if (c == data.classes[r]) e.sparse_loss.push_back(-e.log_softmax.back());
    }
    e.loss.push_back(loss);
  }
  return e;
}

template <typename T>
Results<T> actual(int64_t rows, int64_t cols, const Data<T>& data, int threads) {
  TestThreads parallel(threads);
  const std::vector<T> values(rows * cols, T{7}), row_values(rows, T{7});
  Results<T> r = {values, values, row_values, values, row_values, data.logits};
  softmax(rows, cols, data.logits.data(), r.softmax.data(), parallel);
  log_softmax(rows, cols, data.logits.data(), r.log_softmax.data(), parallel);
  softmax_cross_entropy(rows, cols, data.logits.data(), data.labels.data(), r.loss.data(),
                        r.d_logits.data(), parallel);
  // In place.
  sparse_softmax_cross_entropy(rows, cols, r.sparse_d_logits.data(), data.classes.data(),
                               r.sparse_loss.data(), r.sparse_d_logits.data(), parallel);
  return r;
}

template <typename T>
void check(Random& random, int64_t rows, int64_t cols) {
  const Data<T> data(random, rows, cols);
  const Results<double> e = expected(rows, cols, data);
  const Results<T> a = actual(rows, cols, data, 1);
  const double bound = tolerance<T>(16);
  CHECK_NEAR(worst_error(a.softmax, e.softmax), 0, bound);
  CHECK_NEAR(worst_error(a.log_softmax, e.log_softmax), 0, bound);
  CHECK_NEAR(worst_error(a.loss, e.loss), 0, bound);
  CHECK_NEAR(worst_error(a.d_logits, e.d_logits), 0, bound);
  CHECK_NEAR(worst_error(a.sparse_loss, e.sparse_loss), 0, bound);
  CHECK_NEAR(worst_error(a.sparse_d_logits, e.sparse_d_logits), 0, bound);
  const Results<T> two = actual(rows, cols, data, 2);
  CHECK(same_bits(a.softmax, two.softmax) && same_bits(a.log_softmax, two.log_softmax));
  CHECK(same_bits(a.loss, two.loss) && same_bits(a.d_logits, two.d_logits));
  CHECK(same_bits(a.sparse_loss, two.sparse_loss));
  CHECK(same_bits(a.sparse_d_logits, two.sparse_d_logits));
}

void check_all() {
  Random random;
  for (int64_t cols : {1, 2, 3, 4, 7, 8, 9, 10, 15, 16, 17, 33, 100, 1000, 3001}) {
    for (int64_t rows : {0, 1, 5, 64}) {
      check<float>(random, rows, cols);
      check<double>(random, rows, cols);
    }
  }
}

void check_special() {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits = {1e30f, 0,        -1e30f, 1, nan,       2,  //
                                     3,     infinity, 4,      5, -infinity, 5};
  const std::vector<float> labels = {1, 0, 0, 0, 1, 0, 1, 0, 0, 0.5f, 0, 0.5f};
  std::vector<float> output(12), loss(4);
  SerialParallel parallel;
  softmax<float>(4, 3, logits.data(), output.data(), parallel);
  CHECK(output[0] == 1 && output[1] == 0 && output[2] == 0);
  for (int i = 3; i < 9; ++i) CHECK(std::isnan(output[i]));
  CHECK(output[9] == 0.5f && output[10] == 0 && output[11] == 0.5f);
  softmax_cross_entropy<float>(4, 3, logits.data(), labels.data(), loss.data(), output.data(),
                               parallel);
  CHECK_EQ(loss[0], 0);
  CHECK(std::isnan(loss[1]) && std::isnan(loss[2]));
  CHECK_NEAR(loss[3], std::log(2.0),
             1e-6);  // a label of 0 on a logit of -infinity counts for nothing
}

TEST(rows_agree_with_the_plain_loops) { for_each_level(check_all); }

TEST(large_infinite_and_nan_logits) { for_each_level(check_special); }

}  // namespace
}  // namespace qanat::micro
