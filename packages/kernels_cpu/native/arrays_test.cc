#include <algorithm>
#include <numeric>
#include <random>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/testing/fake_host.h"

namespace qanat::testing {
namespace {

using I32 = std::vector<int32_t>;
constexpr int64_t kHuge = int64_t{1} << 40;

// 0, 1, 2, ... of a shape.
Tensor counted(const Shape& shape) {
  Tensor made(DType::kInt32, shape);
  std::iota(made.data<int32_t>(), made.data<int32_t>() + made.size(), 0);
  return made;
}

Tensor words(const std::vector<const char*>& values, const Shape& shape) {
  std::vector<Bytes> bytes;
  for (const char* value : values) bytes.emplace_back(value);
  return tensor<Bytes>(bytes, shape);
}

I32 values(const Result& result, int output = 0) {
  CHECK_EQ(result.message, std::string());
  return result.outputs[static_cast<size_t>(output)].values<int32_t>();
}

TEST(reshape_resolves_one_open_dimension) {
  const Tensor x = counted({2, 6});
  CHECK(run("Reshape", {x, vector<int32_t>({3, -1})}).outputs[0].shape() == Shape({3, 4}));
  CHECK(run("Reshape", {x, vector<int64_t>({12})}).outputs[0].data<int32_t>() == x.data<int32_t>());
  CHECK(run("Reshape", {counted({0, 4}), vector<int32_t>({-1, 4})}).outputs[0].shape() ==
        Shape({0, 4}));
  CHECK(!run("Reshape", {x, vector<int32_t>({5, -1})}).ok());
  CHECK(!run("Reshape", {x, vector<int32_t>({-1, -1})}).ok());
  CHECK(!run("Reshape", {x, vector<int32_t>({-2, -6})}).ok());
  CHECK(!run("Reshape", {x, vector<int64_t>({kHuge, kHuge, kHuge})}).ok());
  CHECK(!run("Reshape", {x, vector<int32_t>({1, 1, 1, 1, 1, 1, 1, 1, 12})}).ok());
  CHECK(!run("Reshape", {counted({0}), vector<int32_t>({0, -1, 3})}).ok() ||
        run("Reshape", {counted({0}), vector<int32_t>({0, -1, 3})}).outputs[0].size() == 0);
}

TEST(dimensions_of_one_come_and_go) {
  CHECK(run("ExpandDims", {counted({2, 3}), scalar(-1)}).outputs[0].shape() == Shape({2, 3, 1}));
  CHECK(run("ExpandDims", {counted({2, 3}), scalar(-3)}).outputs[0].shape() == Shape({1, 2, 3}));
  CHECK(!run("ExpandDims", {counted({2, 3}), scalar(4)}).ok());
  const Tensor x = counted({1, 3, 1});
  CHECK(run("Squeeze", {x}, {{"squeeze_dims", Ints{}}}).outputs[0].shape() == Shape({3}));
  CHECK(run("Squeeze", {x}, {{"squeeze_dims", Ints{-1}}}).outputs[0].shape() == Shape({1, 3}));
  CHECK(!run("Squeeze", {x}, {{"squeeze_dims", Ints{1}}}).ok());
}

// Python's slice of one dimension, by its definition.
std::vector<int64_t> python_range(int64_t dim, int64_t begin, int64_t end, int64_t stride,
                                  bool begin_open, bool end_open) {
  const auto clamp = [&](int64_t at) {
    if (at < 0) at += dim;
    const int64_t low = stride > 0 ? 0 : -1, high = stride > 0 ? dim : dim - 1;
    return std::min(std::max(at, low), high);
  };
  const int64_t from = begin_open ? (stride > 0 ? 0 : dim - 1) : clamp(begin);
  const int64_t to = end_open ? (stride > 0 ? dim : -1) : clamp(end);
  std::vector<int64_t> taken;
  for (int64_t at = from; stride > 0 ? at < to : at > to; at += stride) taken.push_back(at);
  return taken;
}

// A random StridedSlice of a tensor, and, built beside it, what Python takes by it.
struct RandomSlice {
  explicit RandomSlice(std::mt19937& random) : random(random) {
    const int rank = 1 + static_cast<int>(random() % 4);
    for (int i = 0; i < rank; ++i) shape.add(random() % 5);
    inner = shape.num_elements();
    // The items name the dimensions before and after the ellipsis, or, without one, the first.
    const int open = static_cast<int>(random() % 3), before = static_cast<int>(random() % 3);
    const bool has_ellipsis = random() % 2 == 0;
    for (int i = 0; i < before && axis < rank; ++i) add_item();
    if (has_ellipsis) ellipsis |= push(7, -7, 2);
    for (int i = 0; i < open && axis < rank; ++i) take_all();
    while (has_ellipsis && axis < rank) add_item();
    while (axis < rank) take_all();
  }

  Attrs attrs() const {
    return {{"begin_mask", begin_open},
            {"end_mask", end_open},
            {"ellipsis_mask", ellipsis},
            {"new_axis_mask", new_axis},
            {"shrink_axis_mask", shrink_axis}};
  }
  static Tensor items(const Ints& values) {
    return tensor<int64_t>(values, {static_cast<int64_t>(values.size())});
  }

  Shape shape, result;
  Ints begin, end, strides;
  int64_t begin_open = 0, end_open = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;
  std::vector<int64_t> offsets = {0};
  bool valid = true;

 private:
  void add_item() {
    const int64_t b = static_cast<int64_t>(random() % 13) - 6;
    const int64_t e = static_cast<int64_t>(random() % 13) - 6;
    const int64_t size = 1 + static_cast<int64_t>(random() % 3);
    const int64_t stride = random() % 2 == 0 ? size : -size;
    const int kind = static_cast<int>(random() % 5);
    if (kind == 0) {
      new_axis |= push(b, e, stride);
      valid = valid && result.add(1);
    } else if (kind == 1) {
      shrink_axis |= push(b, e, 1);
      const int64_t at = b < 0 ? b + shape[axis] : b;
      valid = valid && at >= 0 && at < shape[axis];
      take({at});
    } else {
      const int64_t bit = push(b, e, stride);
      if (random() % 3 == 0) begin_open |= bit;
      if (random() % 3 == 0) end_open |= bit;
      const auto taken = python_range(shape[axis], b, e, stride, begin_open & bit, end_open & bit);
      result.add(static_cast<int64_t>(taken.size()));
      take(taken);
    }
  }

  void take_all() {
    result.add(shape[axis]);
    take(python_range(shape[axis], 0, 0, 1, true, true));
  }

  void take(const std::vector<int64_t>& taken) {
    inner = shape[axis] == 0 ? 0 : inner / shape[axis];
    std::vector<int64_t> next;
    for (int64_t offset : offsets) {
      for (int64_t at : taken) next.push_back(offset + at * inner);
    }
    offsets = next;
    ++axis;
  }

  int64_t push(int64_t b, int64_t e, int64_t stride) {
    begin.push_back(b);
    end.push_back(e);
    strides.push_back(stride);
    return int64_t{1} << (begin.size() - 1);
  }

  std::mt19937& random;
  int axis = 0;
  int64_t inner = 0;
};

TEST(strided_slices_take_what_python_takes) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 3000; ++trial) {
    const RandomSlice slice(random);
    const Tensor x = counted(slice.shape);
    const Tensor b = RandomSlice::items(slice.begin), e = RandomSlice::items(slice.end),
                 s = RandomSlice::items(slice.strides);
    const Result result = run("StridedSlice", {x, b, e, s}, slice.attrs());
    CHECK_EQ(result.ok(), slice.valid);
    if (!slice.valid) continue;
    CHECK(result.outputs[0].shape() == slice.result);
    CHECK(values(result) == I32(slice.offsets.begin(), slice.offsets.end()));

    // The gradient puts each element back.
    const Ints dims(slice.shape.dims(), slice.shape.dims() + slice.shape.rank());
    const Result back =
        run("StridedSliceGrad", {RandomSlice::items(dims), b, e, s, result.outputs[0]},
            slice.attrs(), {DType::kInt32});
    I32 expected(static_cast<size_t>(x.size()), 0);
    for (int64_t at : slice.offsets) expected[static_cast<size_t>(at)] = static_cast<int32_t>(at);
    CHECK(values(back) == expected);
  }
}

Attrs no_masks() {
  return {{"begin_mask", int64_t{0}},
          {"end_mask", int64_t{0}},
          {"ellipsis_mask", int64_t{0}},
          {"new_axis_mask", int64_t{0}},
          {"shrink_axis_mask", int64_t{0}}};
}

TEST(strided_slices_refuse_nonsense) {
  const Tensor x = counted({4});
  const auto slice = [&](int64_t b, int64_t e, int64_t s) {
    return run("StridedSlice",
               {x, vector<int64_t>({b}), vector<int64_t>({e}), vector<int64_t>({s})}, no_masks());
  };
  CHECK(!slice(0, 4, 0).ok());
  CHECK(values(slice(INT64_MIN, INT64_MAX, INT64_MAX)) == (I32{0}));
  CHECK(values(slice(INT64_MAX, INT64_MIN, INT64_MIN)) == (I32{3}));
  CHECK(!run("StridedSlice",
             {x, vector<int64_t>({0, 0}), vector<int64_t>({1, 1}), vector<int64_t>({1, 1})},
             no_masks())
             .ok());
  CHECK(!run("StridedSlice",
             {x, vector<int64_t>({0}), vector<int64_t>({1, 1}), vector<int64_t>({1})}, no_masks())
             .ok());
}

TEST(slices_stay_inside) {
  const Tensor x = counted({3, 4});
  const auto slice = [&](std::initializer_list<int32_t> begin,
                         std::initializer_list<int32_t> size) {
    return run("Slice", {x, vector<int32_t>(begin), vector<int32_t>(size)});
  };
  CHECK(values(slice({1, 1}, {2, 2})) == (I32{5, 6, 9, 10}));
  CHECK(values(slice({2, 0}, {-1, 3})) == (I32{8, 9, 10}));
  CHECK(slice({3, 4}, {0, -1}).outputs[0].shape() == Shape({0, 0}));
  CHECK(!slice({2, 0}, {2, 4}).ok());
  CHECK(!slice({-1, 0}, {1, 1}).ok());
  CHECK(slice({0, 5}, {1, -1}).says("dimension 1"));
}

TEST(joining_and_cutting_are_inverse) {
  const Tensor a = counted({2, 1, 3}), b = counted({2, 2, 3}), none = counted({2, 0, 3});
  const Result joined = run("ConcatV2", {a, none, b, scalar(-2)});
  CHECK(values(joined) == (I32{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  const std::vector<DType> three(3, DType::kInt32);
  const Result cut = run("SplitV", {joined.outputs[0], vector<int32_t>({1, 0, -1}), scalar(1)},
                         {{"num_split", int64_t{3}}}, three);
  CHECK(values(cut, 0) == a.values<int32_t>());
  CHECK(cut.outputs[1].shape() == none.shape());
  CHECK(values(cut, 2) == b.values<int32_t>());
  CHECK(!run("ConcatV2", {a, counted({2, 3}), scalar(0)}).ok());
  CHECK(!run("ConcatV2", {a, b, scalar(0)}).ok());
  CHECK(!run("ConcatV2", {scalar(1), scalar(2), scalar(0)}).ok());
  CHECK(
      !run("SplitV", {a, vector<int32_t>({1, 1, 0}), scalar(1)}, {{"num_split", int64_t{3}}}, three)
           .ok());

  const Result packed = run("Pack", {counted({2}), counted({2})}, {{"axis", int64_t{-1}}});
  CHECK(values(packed) == (I32{0, 0, 1, 1}));
  const std::vector<DType> two(2, DType::kInt32);
  const Result unpacked =
      run("Unpack", {packed.outputs[0]}, {{"num", int64_t{2}}, {"axis", int64_t{1}}}, two);
  CHECK(values(unpacked, 1) == (I32{0, 1}));
  CHECK(!run("Unpack", {counted({3})}, {{"num", int64_t{2}}, {"axis", int64_t{0}}}, two).ok());
  const Result split = run("Split", {scalar(0), counted({4})}, {{"num_split", int64_t{2}}}, two);
  CHECK(values(split, 1) == (I32{2, 3}));
  CHECK(!run("Split", {scalar(0), counted({3})}, {{"num_split", int64_t{2}}}, two).ok());
}

TEST(strings_move_as_values) {
  const Tensor x = words({"a", "", "long enough to be on the heap", "d"}, {2, 2});
  const auto joined = [](const Result& result) {
    CHECK_EQ(result.message, std::string());
    std::string text;
    for (int64_t i = 0; i < result.outputs[0].size(); ++i) {
      text += std::string(result.outputs[0].data<Bytes>()[i].view()) + ",";
    }
    return text;
  };
  CHECK_EQ(joined(run("Transpose", {x, vector<int32_t>({1, 0})})),
           "a,long enough to be on the heap,,d,");
  CHECK_EQ(joined(run("ConcatV2", {x, x, scalar(1)}, {}, {DType::kString})),
           "a,,a,,long enough to be on the heap,d,long enough to be on the heap,d,");
  CHECK_EQ(joined(run("GatherV2", {x, vector<int32_t>({1, 1}), scalar(1)})), ",,d,d,");
  CHECK_EQ(joined(run("Tile", {x, vector<int32_t>({1, 2})})),
           "a,,a,,long enough to be on the heap,d,long enough to be on the heap,d,");
  CHECK_EQ(
      joined(run("PadV2", {words({"x"}, {1}), tensor<int32_t>({1, 1}, {1, 2}), words({"p"}, {})})),
      "p,x,p,");
  CHECK_EQ(joined(run("ReverseV2", {x, vector<int32_t>({0, 1})})),
           "d,long enough to be on the heap,,a,");
  CHECK_EQ(joined(run("Fill", {vector<int32_t>({2}), words({"f"}, {})}, {}, {DType::kString})),
           "f,f,");
  CHECK_EQ(joined(run("ZerosLike", {x})), ",,,,");
}

TEST(padding_tiling_and_broadcasting) {
  const Tensor x = counted({2, 2});
  const Tensor paddings = tensor<int32_t>({1, 0, 0, 2}, {2, 2});
  CHECK(values(run("Pad", {x, paddings})) == (I32{0, 0, 0, 0, 0, 1, 0, 0, 2, 3, 0, 0}));
  CHECK(values(run("PadV2", {x, paddings, scalar(9)})) ==
        (I32{9, 9, 9, 9, 0, 1, 9, 9, 2, 3, 9, 9}));
  CHECK(!run("Pad", {x, tensor<int32_t>({1, 0, 0, -2}, {2, 2})}).ok());
  CHECK(!run("Pad", {x, tensor<int64_t>({INT64_MAX, 1, 0, 0}, {2, 2})}).ok());
  CHECK(values(run("Tile", {x, vector<int32_t>({2, 1})})) == (I32{0, 1, 2, 3, 0, 1, 2, 3}));
  CHECK(values(run("Tile", {counted({2, 1}), vector<int32_t>({1, 3})})) == (I32{0, 0, 0, 1, 1, 1}));
  CHECK(run("Tile", {x, vector<int32_t>({0, 1})}).outputs[0].shape() == Shape({0, 2}));
  CHECK(!run("Tile", {x, vector<int32_t>({-1, 1})}).ok());
  CHECK(!run("Tile", {x, vector<int64_t>({kHuge, kHuge})}).ok());
  CHECK(values(run("BroadcastTo", {counted({2, 1}), vector<int32_t>({2, 2, 2})})) ==
        (I32{0, 0, 1, 1, 0, 0, 1, 1}));
  CHECK(!run("BroadcastTo", {x, vector<int32_t>({2, 1})}).ok());
}

TEST(memory_that_no_machine_has_is_an_error) {
  for (const auto& dims : {Ints{kHuge, kHuge}, Ints{kHuge}, Ints{-1}}) {
    const Tensor shape = tensor<int64_t>(dims, {static_cast<int64_t>(dims.size())});
    CHECK(!run("Fill", {shape, scalar(1.0f)}, {}, {DType::kFloat32}).ok());
  }
}

TEST(transposes_agree_with_indexing) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const int rank = static_cast<int>(random() % 5);
    Shape shape;
    I32 perm;
    for (int i = 0; i < rank; ++i) {
      shape.add(random() % 4 + (random() % 8 != 0));
      perm.push_back(i);
    }
    std::shuffle(perm.begin(), perm.end(), random);
    const Tensor x = counted(shape);
    const Result result = run("Transpose", {x, tensor<int32_t>(perm, {rank})});
    CHECK_EQ(result.message, std::string());
    const Tensor& y = result.outputs[0];
    for (int64_t flat = 0; flat < y.size(); ++flat) {
      int64_t rest = flat, at[8];
      for (int i = rank - 1; i >= 0; --i) {
        at[perm[static_cast<size_t>(i)]] = rest % y.shape()[i];
        rest /= y.shape()[i];
      }
      int64_t want = 0;
      for (int i = 0; i < rank; ++i) want = want * shape[i] + at[i];
      CHECK_EQ(y.data<int32_t>()[flat], want);
    }
  }
  CHECK(!run("Transpose", {counted({2, 2}), vector<int32_t>({0, 0})}).ok());
  CHECK(!run("Transpose", {counted({2, 2}), vector<int32_t>({0, 2})}).ok());
  CHECK(values(run("InvertPermutation", {vector<int32_t>({2, 0, 1})})) == (I32{1, 2, 0}));
  CHECK(!run("InvertPermutation", {vector<int32_t>({2, 0, 2})}).ok());
}

TEST(gathers_check_every_index) {
  const Tensor x = counted({2, 3, 2});
  CHECK(values(run("GatherV2", {x, vector<int64_t>({2, 0}), scalar(1)})) ==
        (I32{4, 5, 0, 1, 10, 11, 6, 7}));
  const Result bad = run("GatherV2", {x, vector<int32_t>({0, 2, 3, 5}), scalar(-2)});
  CHECK(bad.code == StatusCode::kInvalidArgument);
  CHECK(bad.says("[0, 3), got 3 at position 2"));
  CHECK(!run("GatherV2", {x, vector<int32_t>({-1}), scalar(0)}).ok());
  CHECK(!run("GatherV2", {scalar(1), vector<int32_t>({0}), scalar(0)}).ok());
  CHECK(!run("GatherV2", {counted({0, 2}), vector<int32_t>({0}), scalar(0)}).ok());
  CHECK(values(run("GatherNd", {x, tensor<int32_t>({1, 2, 0, 0}, {2, 2})})) == (I32{10, 11, 0, 1}));
  CHECK(run("GatherNd", {x, tensor<int32_t>({1, 3, 0, 0}, {2, 2})}).says("got 3 in row 0"));
  CHECK(run("GatherNd", {x, Tensor(DType::kInt32, {2, 0})}).outputs[0].size() == 24);
  CHECK(run("GatherNd", {Tensor(DType::kInt32, {0}), Tensor(DType::kInt32, {kHuge, 0})}).ok());
}

TEST(scatters_add_in_order_and_drop_negative_segments) {
  const Tensor at = tensor<int32_t>({1, 3, 1}, {3, 1});
  CHECK(values(run("ScatterNd", {at, vector<int32_t>({5, 6, 7}), vector<int32_t>({4})})) ==
        (I32{0, 12, 0, 6}));
  CHECK(!run("ScatterNd", {at, vector<int32_t>({5, 6, 7}), vector<int32_t>({3})}).ok());
  CHECK(!run("ScatterNd", {at, vector<int32_t>({5, 6}), vector<int32_t>({4})}).ok());
  const Tensor data = counted({4, 2});
  const auto sum = [&](std::initializer_list<int32_t> ids, int segments) {
    return run("UnsortedSegmentSum", {data, vector<int32_t>(ids), scalar(segments)});
  };
  CHECK(values(sum({2, -1, 0, 2}, 3)) == (I32{4, 5, 0, 0, 6, 8}));
  CHECK(sum({0, 0, 3, 0}, 3).says("[0, 3), got 3 at position 2"));
  CHECK(!sum({0, 0, 0, 0}, -1).ok());
  CHECK(!run("UnsortedSegmentSum", {data, vector<int32_t>({0, 1}), scalar(2)}).ok());
}

TEST(one_hot_and_range_and_where) {
  const auto hot = [](const Tensor& indices, int64_t axis) {
    return run("OneHot", {indices, scalar(3), scalar(1), scalar(0)}, {{"axis", axis}},
               {DType::kInt32});
  };
  CHECK(values(hot(vector<int64_t>({2, -1, 0}), -1)) == (I32{0, 0, 1, 0, 0, 0, 1, 0, 0}));
  CHECK(values(hot(vector<uint8_t>({2, 7, 0}), 0)) == (I32{0, 0, 1, 0, 0, 0, 1, 0, 0}));
  const auto range = [](int64_t start, int64_t limit, int64_t delta) {
    return run("Range", {scalar(start), scalar(limit), scalar(delta)});
  };
  CHECK(range(0, 7, 3).outputs[0].values<int64_t>() == (Ints{0, 3, 6}));
  CHECK(range(5, 0, -2).outputs[0].values<int64_t>() == (Ints{5, 3, 1}));
  CHECK_EQ(range(0, -1, 1).outputs[0].size(), 0);
  CHECK_EQ(range(INT64_MIN, INT64_MAX, INT64_MAX).outputs[0].size(), 3);
  CHECK(!range(INT64_MIN, INT64_MAX, 1).ok());
  CHECK(!range(0, 1, 0).ok());
  CHECK_EQ(run("Range", {scalar(0.0f), scalar(1.0f), scalar(0.1f)}).outputs[0].size(), 10);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(!run("Range", {scalar(0.0f), scalar(nan), scalar(0.1f)}).ok());
  const Result where =
      run("Where", {tensor<float>({0, 2, nan, -0.0f}, {2, 2})}, {}, {DType::kInt64});
  CHECK(where.outputs[0].values<int64_t>() == (Ints{0, 1, 1, 0}));
}

TEST(top_k_orders_ties_by_index_and_nan_first) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = vector<float>({1, 5, nan, 5, 2});
  const Result top =
      run("TopKV2", {x, scalar(3)}, {{"sorted", true}}, {DType::kFloat32, DType::kInt32});
  CHECK(values(top, 1) == (I32{2, 1, 3}));
  CHECK(!run("TopKV2", {x, scalar(6)}, {}, {DType::kFloat32, DType::kInt32}).ok());
  CHECK(!run("TopKV2", {x, scalar(-1)}, {}, {DType::kFloat32, DType::kInt32}).ok());
  const Tensor predictions = tensor<float>({1, 2, 2, 0, nan, 1}, {2, 3});
  const auto in_top = [&](int32_t a, int32_t b, int32_t k) {
    return run("InTopKV2", {predictions, vector<int32_t>({a, b}), scalar(k)}, {}, {DType::kBool})
        .outputs[0]
        .values<bool>();
  };
  CHECK(in_top(2, 1, 1) == (std::vector<bool>{true, false}));
  CHECK(in_top(0, 2, 2) == (std::vector<bool>{false, true}));
  CHECK(in_top(3, -1, 9) == (std::vector<bool>{false, false}));
}

TEST(broadcast_gradient_args_name_the_axes) {
  const std::vector<DType> two(2, DType::kInt32);
  const auto axes = [&](std::initializer_list<int32_t> a, std::initializer_list<int32_t> b) {
    return run("BroadcastGradientArgs", {vector<int32_t>(a), vector<int32_t>(b)}, {}, two);
  };
  CHECK(values(axes({2, 3, 4}, {3, 1}), 1) == (I32{0, 2}));
  CHECK(values(axes({2, 3, 4}, {3, 1}), 0) == I32{});
  CHECK(!axes({2}, {3}).ok());
}

}  // namespace
}  // namespace qanat::testing
