#include <cmath>
#include <functional>
#include <random>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/testing/fake_host.h"

namespace qanat::testing {
namespace {

using Doubles = std::vector<double>;

Tensor random_tensor(std::mt19937& random, const Shape& shape) {
  Tensor made(DType::kFloat64, shape);
  for (int64_t i = 0; i < made.size(); ++i) {
    made.data<double>()[i] = static_cast<double>(random() % 200) / 100 - 1;
  }
  return made;
}

void check_near(const Tensor& got, const Doubles& want) {
  CHECK_EQ(got.size(), static_cast<int64_t>(want.size()));
  for (size_t i = 0; i < want.size(); ++i) CHECK_NEAR(got.data<double>()[i], want[i], 1e-9);
}

// The sizes of a random convolution or pool.
struct Geometry {
  explicit Geometry(std::mt19937& random) {
    for (int i = 0; i < 2; ++i) {
      size[i] = static_cast<int64_t>(random() % 8);
      extent[i] = 1 + static_cast<int64_t>(random() % 3);
      stride[i] = 1 + static_cast<int64_t>(random() % 3);
      dilation[i] = 1 + static_cast<int64_t>(random() % 2);
      before[i] = static_cast<int64_t>(random() % 3);
      after[i] = static_cast<int64_t>(random() % 3);
    }
    padding = std::vector<std::string>{"SAME", "VALID", "EXPLICIT"}[random() % 3];
    if (padding != "EXPLICIT") before[0] = before[1] = after[0] = after[1] = 0;
  }

  // TensorFlow's rules, or false where no window fits.
  bool place() {
    for (int i = 0; i < 2; ++i) {
      const int64_t span = (extent[i] - 1) * dilation[i] + 1;
      const int64_t padded = size[i] + before[i] + after[i];
      if (padding == "SAME") {
        positions[i] = (size[i] + stride[i] - 1) / stride[i];
        const int64_t needed = (positions[i] - 1) * stride[i] + span - size[i];
        before[i] = positions[i] == 0 ? 0 : std::max<int64_t>(0, needed) / 2;
      } else if (padded < span) {
        return false;
      } else {
        positions[i] = (padded - span) / stride[i] + 1;
      }
    }
    return true;
  }

  Attrs attrs() const {
    return {{"strides", Ints{1, stride[0], stride[1], 1}},
            {"dilations", Ints{1, dilation[0], dilation[1], 1}},
            {"ksize", Ints{1, extent[0], extent[1], 1}},
            {"explicit_paddings", Ints{0, 0, before[0], after[0], before[1], after[1], 0, 0}},
            {"padding", padding}};
  }

  // Calls visit(output pixel, input pixel, tap) wherever a window tap is inside the map.
  void for_taps(const std::function<void(int64_t, int64_t, int64_t)>& visit) const {
    for (int64_t y = 0; y < positions[0]; ++y) {
      for (int64_t x = 0; x < positions[1]; ++x) {
        for (int64_t i = 0; i < extent[0]; ++i) {
          for (int64_t j = 0; j < extent[1]; ++j) {
            const int64_t in_y = y * stride[0] - before[0] + i * dilation[0];
            const int64_t in_x = x * stride[1] - before[1] + j * dilation[1];
            if (in_y < 0 || in_y >= size[0] || in_x < 0 || in_x >= size[1]) continue;
            visit(y * positions[1] + x, in_y * size[1] + in_x, i * extent[1] + j);
          }
        }
      }
    }
  }

  int64_t size[2], extent[2], stride[2], dilation[2], before[2], after[2], positions[2];
  std::string padding;
};

TEST(convolutions_agree_with_the_definition) {
  std::mt19937 random(6);
  for (int trial = 0; trial < 150; ++trial) {
    Geometry at(random);
    const int64_t batch = static_cast<int64_t>(random() % 3),
                  in = 1 + static_cast<int64_t>(random() % 5),
                  out = 1 + static_cast<int64_t>(random() % 20);
    const Attrs attrs = at.attrs();
    const bool fits = at.place();
    const Tensor x = random_tensor(random, {batch, at.size[0], at.size[1], in});
    const Tensor w = random_tensor(random, {at.extent[0], at.extent[1], in, out});
    const Result forward = run("Conv2D", {x, w}, attrs);
    CHECK_EQ(forward.ok(), fits);
    if (!fits) continue;
    const Shape result({batch, at.positions[0], at.positions[1], out});
    CHECK(forward.outputs[0].shape() == result);
    const Tensor dy = random_tensor(random, result);
    Doubles y(static_cast<size_t>(dy.size())), dx(static_cast<size_t>(x.size())),
        dw(static_cast<size_t>(w.size()));
    const int64_t in_pixels = at.size[0] * at.size[1],
                  out_pixels = at.positions[0] * at.positions[1];
    for (int64_t b = 0; b < batch; ++b) {
      at.for_taps([&](int64_t to, int64_t from, int64_t tap) {
        for (int64_t i = 0; i < in; ++i) {
          for (int64_t o = 0; o < out; ++o) {
            const size_t at_y = static_cast<size_t>((b * out_pixels + to) * out + o);
            const size_t at_x = static_cast<size_t>((b * in_pixels + from) * in + i);
            const size_t at_w = static_cast<size_t>((tap * in + i) * out + o);
            y[at_y] += x.data<double>()[at_x] * w.data<double>()[at_w];
            dx[at_x] += dy.data<double>()[at_y] * w.data<double>()[at_w];
            dw[at_w] += dy.data<double>()[at_y] * x.data<double>()[at_x];
          }
        }
      });
    }
    check_near(forward.outputs[0], y);
    const auto dims = [](const Tensor& t) {
      return tensor<int32_t>({t.shape().dims(), t.shape().dims() + 4}, {4});
    };
    const Result back_x = run("Conv2DBackpropInput", {dims(x), w, dy}, attrs, {DType::kFloat64});
    check_near(back_x.outputs[0], dx);
    const Result back_w = run("Conv2DBackpropFilter", {x, dims(w), dy}, attrs, {DType::kFloat64});
    check_near(back_w.outputs[0], dw);

    const Tensor bias = random_tensor(random, {out});
    Attrs fused = attrs;
    fused["activation"] = std::string("Relu");
    const Result joined = run("_FusedConv2D", {x, w, bias}, fused);
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] = std::fmax(0, y[i] + bias.data<double>()[i % static_cast<size_t>(out)]);
    }
    check_near(joined.outputs[0], y);
  }
}

TEST(pools_agree_with_the_definition) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    Geometry at(random);
    at.dilation[0] = at.dilation[1] = 1;
    if (at.padding == "EXPLICIT") at.padding = "VALID";
    at.before[0] = at.before[1] = at.after[0] = at.after[1] = 0;
    Attrs attrs = at.attrs();
    attrs.erase("dilations");
    attrs.erase("explicit_paddings");
    const int64_t channels = 1 + static_cast<int64_t>(random() % 18);
    const bool fits = at.place();
    const Tensor x = random_tensor(random, {1, at.size[0], at.size[1], channels});
    const Result max = run("MaxPool", {x}, attrs), mean = run("AvgPool", {x}, attrs);
    CHECK_EQ(max.ok(), fits);
    CHECK_EQ(mean.ok(), fits);
    if (!fits) continue;
    const Tensor dy = random_tensor(random, max.outputs[0].shape());
    const Tensor ddx = random_tensor(random, x.shape());
    const size_t pooled = static_cast<size_t>(dy.size());
    Doubles largest(pooled, -INFINITY), sum(pooled), count(pooled),
        dx(static_cast<size_t>(x.size())), dx_mean(dx), ddy(pooled);
    std::vector<size_t> place(pooled);
    const auto for_channels = [&](const std::function<void(size_t, size_t)>& visit) {
      at.for_taps([&](int64_t to, int64_t from, int64_t) {
        for (int64_t c = 0; c < channels; ++c) {
          visit(static_cast<size_t>(to * channels + c), static_cast<size_t>(from * channels + c));
        }
      });
    };
    for_channels([&](size_t to, size_t from) {
      const double value = x.data<double>()[from];
      if (value > largest[to]) {
        largest[to] = value;
        place[to] = from;
      }
      sum[to] += value;
      count[to] += 1;
    });
    for_channels(
        [&](size_t to, size_t from) { dx_mean[from] += dy.data<double>()[to] / count[to]; });
    for (size_t i = 0; i < pooled; ++i) {
      dx[place[i]] += dy.data<double>()[i];
      ddy[i] = ddx.data<double>()[place[i]];
      sum[i] /= count[i];
    }
    check_near(max.outputs[0], largest);
    check_near(mean.outputs[0], sum);
    check_near(run("MaxPoolGrad", {x, max.outputs[0], dy}, attrs).outputs[0], dx);
    check_near(run("MaxPoolGradGrad", {x, max.outputs[0], ddx}, attrs).outputs[0], ddy);
    const Tensor dims = tensor<int32_t>({x.shape().dims(), x.shape().dims() + 4}, {4});
    check_near(run("AvgPoolGrad", {dims, dy}, attrs, {DType::kFloat64}).outputs[0], dx_mean);
  }
}

TEST(pools_of_integers_and_halves) {
  const Attrs attrs = {{"ksize", Ints{1, 1, 2, 1}},
                       {"strides", Ints{1, 1, 2, 1}},
                       {"padding", std::string("VALID")}};
  const Result ints =
      run("MaxPool", {tensor<int32_t>({1, INT32_MAX, INT32_MIN, -5}, {1, 1, 4, 1})}, attrs);
  CHECK(ints.outputs[0].values<int32_t>() == (std::vector<int32_t>{INT32_MAX, -5}));
  const Result halves =
      run("AvgPool", {tensor<Float16>({Float16(1), Float16(2)}, {1, 1, 2, 1})}, attrs);
  CHECK_EQ(static_cast<float>(halves.outputs[0].data<Float16>()[0]), 1.5f);
}

TEST(matrix_products_agree_with_the_definition) {
  std::mt19937 random(8);
  for (int trial = 0; trial < 200; ++trial) {
    const int64_t m = static_cast<int64_t>(random() % 20), n = static_cast<int64_t>(random() % 40),
                  k = static_cast<int64_t>(random() % 20),
                  batch = 1 + static_cast<int64_t>(random() % 40);
    const bool ta = random() % 2 == 0, tb = random() % 2 == 0;
    const Tensor a = random_tensor(random, {batch, ta ? k : m, ta ? m : k});
    const Tensor b = random_tensor(random, {batch, tb ? n : k, tb ? k : n});
    Doubles want(static_cast<size_t>(batch * m * n));
    for (int64_t s = 0; s < batch; ++s) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          for (int64_t t = 0; t < k; ++t) {
            want[static_cast<size_t>((s * m + i) * n + j)] +=
                a.data<double>()[s * m * k + (ta ? t * m + i : i * k + t)] *
                b.data<double>()[s * k * n + (tb ? j * k + t : t * n + j)];
          }
        }
      }
    }
    const Result result = run("BatchMatMul", {a, b}, {{"adj_x", ta}, {"adj_y", tb}});
    check_near(result.outputs[0], want);
    const auto whole = [](const Tensor& x) {
      return run("Cast", {x}, {}, {DType::kInt64}).outputs[0];
    };
    CHECK(run("BatchMatMul", {whole(a), whole(b)}, {{"adj_x", ta}, {"adj_y", tb}}).ok());
    if (batch != 1) continue;
    check_near(
        run("MatMul",
            {a.reshaped({a.shape()[1], a.shape()[2]}), b.reshaped({b.shape()[1], b.shape()[2]})},
            {{"transpose_a", ta}, {"transpose_b", tb}})
            .outputs[0],
        want);
  }
}

TEST(integer_and_half_products) {
  const Attrs plain = {{"transpose_a", false}, {"transpose_b", true}};
  const Tensor a = tensor<int32_t>({1, 2, 3, 4}, {2, 2}), b = tensor<int32_t>({5, 6, 7, 8}, {2, 2});
  CHECK(run("MatMul", {a, b}, plain).outputs[0].values<int32_t>() ==
        (std::vector<int32_t>{17, 23, 39, 53}));
  const auto half = [](const Tensor& x) {
    return run("Cast", {x}, {}, {DType::kBFloat16}).outputs[0];
  };
  CHECK_EQ(
      static_cast<float>(run("MatMul", {half(a), half(b)}, plain).outputs[0].data<BFloat16>()[3]),
      53.0f);
  CHECK(!run("MatMul", {a, Tensor(DType::kInt32, {3, 3})}, plain).ok());
  const int64_t huge = int64_t{1} << 40;
  CHECK(!run("MatMul", {Tensor(DType::kFloat32, {huge, 0}), Tensor(DType::kFloat32, {huge, 0})},
             plain)
             .ok());
}

TEST(bias_is_added_along_the_last_dimension) {
  const Tensor x = tensor<float>({1, 2, 3, 4, 5, 6}, {1, 2, 3});
  CHECK(run("BiasAdd", {x, vector<float>({10, 20, 30})}).outputs[0].values<float>() ==
        (std::vector<float>{11, 22, 33, 14, 25, 36}));
  CHECK(run("BiasAddGrad", {x}).outputs[0].values<float>() == (std::vector<float>{5, 7, 9}));
  CHECK(run("BiasAddGrad", {Tensor(DType::kFloat32, {0, 2})}).outputs[0].values<float>() ==
        (std::vector<float>{0, 0}));
  CHECK(!run("BiasAdd", {x, vector<float>({10, 20})}).ok());
  CHECK(!run("BiasAdd", {vector<float>({1}), vector<float>({1})}).ok());
}

TEST(losses_and_their_gradients) {
  const std::vector<DType> two(2, DType::kFloat64);
  const Tensor logits = tensor<double>({1, 2, 3, 1000, 0, -1000}, {2, 3});
  const Result sparse =
      run("SparseSoftmaxCrossEntropyWithLogits", {logits, vector<int32_t>({2, 1})}, {}, two);
  CHECK_NEAR(sparse.outputs[0].data<double>()[0], std::log(std::exp(-2) + std::exp(-1) + 1), 1e-12);
  CHECK_NEAR(sparse.outputs[0].data<double>()[1], 1000.0, 1e-9);
  const Tensor labels = tensor<double>({0, 0, 1, 0, 1, 0}, {2, 3});
  const Result dense = run("SoftmaxCrossEntropyWithLogits", {logits, labels}, {}, two);
  for (int64_t i = 0; i < 6; ++i) {
    CHECK_NEAR(dense.outputs[1].data<double>()[i], sparse.outputs[1].data<double>()[i], 1e-12);
  }
  const Result bad =
      run("SparseSoftmaxCrossEntropyWithLogits", {logits, vector<int64_t>({0, 3})}, {}, two);
  CHECK(bad.code == StatusCode::kInvalidArgument);
  CHECK(bad.says("labels in [0, 3), got 3 at position 1"));
  const Result soft = run("Softmax", {logits});
  CHECK_NEAR(soft.outputs[0].data<double>()[0] + soft.outputs[0].data<double>()[1] +
                 soft.outputs[0].data<double>()[2],
             1.0, 1e-12);
  CHECK_NEAR(run("LogSoftmax", {logits}).outputs[0].data<double>()[5], -2000.0, 1e-9);
  CHECK(run("Softmax", {Tensor(DType::kFloat32, {0, 3})}).ok());
  CHECK(run("Softmax", {Tensor(DType::kFloat32, {3, 0})}).ok());
  CHECK(!run("Softmax", {scalar(1.0f)}).ok());
  std::vector<float> ones(70000, 1.0f);
  CHECK_EQ(run("L2Loss", {tensor<float>(ones, {70000})}).outputs[0].data<float>()[0], 35000.0f);
}

}  // namespace
}  // namespace qanat::testing
