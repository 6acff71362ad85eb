// Random numbers, orders and choices. Each execution of a node takes the next blocks of the node's
// stream, and number i of the output comes of a block counted from i: no result depends on threads.
#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "packages/kernels_cpu/native/families.h"
#include "packages/kernels_cpu/native/indices.h"
#include "packages/kernels_cpu/native/philox.h"
#include "packages/kernels_cpu/native/rows.h"
#include "packages/kernels_cpu/native/scratch.h"
#include "packages/kernels_cpu/native/types.h"

namespace qanat::kernels_cpu {
namespace {

uint64_t seed_of_the_moment() {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == static_cast<ssize_t>(sizeof(seed))) {
    return seed;
  }
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// The stream of a node. Seeds 0 and 0 ask for another one in each process.
class Generator {
 public:
  explicit Generator(KernelInit& init)
      : stream_{static_cast<uint64_t>(init.int_attr("seed")),
                static_cast<uint64_t>(init.int_attr("seed2"))} {
    if (stream_.seed == 0 && stream_.seed2 == 0) stream_.seed = seed_of_the_moment();
  }

  const PhiloxStream& stream() const { return stream_; }
  // The first of `tiles` tiles that nobody else gets.
  uint64_t take(int64_t tiles) {
    return next_.fetch_add(static_cast<uint64_t>(tiles * kRandomTileBlocks),
                           std::memory_order_relaxed);
  }

 private:
  PhiloxStream stream_;
  std::atomic<uint64_t> next_{0};
};

uint64_t word64(const uint32_t* words, int64_t i) {
  return uint64_t{words[2 * i]} << 32 | words[2 * i + 1];
}

// 64 random bits as a number in [0, 1).
double unit_double(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

int64_t tiles_of(int64_t n, int64_t tile) { return (n + tile - 1) / tile; }

// Calls use(i, bits) for each i in [0, n), with 64 random bits that nobody else gets.
template <typename F>
void for_random_words(KernelContext& context, Generator& generator, int64_t n, F&& use) {
  constexpr int64_t kTile = kRandomTile<int64_t>;
  const uint64_t first = generator.take(tiles_of(n, kTile));
  for_ranges(context, n, 32 * kTile, [&](int64_t begin, int64_t end) {
    uint32_t words[kRandomTileWords];
    for (int64_t i = begin; i < end; ++i) {
      if (i % kTile == 0) {
        const auto tile = static_cast<uint64_t>(i / kTile * kRandomTileBlocks);
        random_words(generator.stream(), first + tile, words);
      }
      use(i, word64(words, i % kTile));
    }
  });
}

// Uniform in [0, 1), with as many random bits as the type's mantissa has.
template <typename T>
T uniform(const uint32_t* words, int64_t i) {
  if constexpr (std::is_same_v<T, double>) {
    return unit_double(word64(words, i));
  } else if constexpr (std::is_same_v<T, float>) {
    return static_cast<float>(words[i] >> 8) * 0x1p-24f;
  } else if constexpr (std::is_same_v<T, Float16>) {
    return Float16(static_cast<float>(words[i] >> 21) * 0x1p-11f);
  } else {
    return BFloat16(static_cast<float>(words[i] >> 24) * 0x1p-8f);
  }
}

// A distribution fills a tile of numbers from the blocks that start at `block`, of which it may use
// the first kTiles tiles' worth.
struct Uniform {
  static constexpr int kTiles = 1;
  template <typename T>
  static void fill(const PhiloxStream& stream, uint64_t block, T* numbers) {
    uint32_t words[kRandomTileWords];
    random_words(stream, block, words);
    for (int64_t i = 0; i < kRandomTile<T>; ++i) numbers[i] = uniform<T>(words, i);
  }
};

struct Normal {
  static constexpr int kTiles = 1;
  template <typename T>
  static void fill(const PhiloxStream& stream, uint64_t block, T* numbers) {
    uint32_t words[kRandomTileWords];
    random_words(stream, block, words);
    if constexpr (is_half<T>) {
      float normals[kRandomTile<float>];
      random_normals(words, normals);
      for (int64_t i = 0; i < kRandomTile<T>; ++i) numbers[i] = T(normals[i]);
    } else {
      random_normals(words, numbers);
    }
  }
};

// Numbers beyond two standard deviations are replaced, in order, by those that are not of further
// tiles.
struct TruncatedNormal {
  static constexpr int kTiles = 16;
  template <typename T>
  static void fill(const PhiloxStream& stream, uint64_t block, T* numbers) {
    Normal::fill(stream, block, numbers);
    T fresh[kRandomTile<T>];
    int64_t next = kRandomTile<T>;
    int tile = 0;
    for (int64_t i = 0; i < kRandomTile<T>; ++i) {
      while (!is_near(numbers[i])) {
        if (next == kRandomTile<T>) {
          // A tile holds some twenty of them: to need more than two tiles is unheard of.
          if (++tile == kTiles) return std::fill(numbers + i, numbers + kRandomTile<T>, T{});
          Normal::fill(stream, block + static_cast<uint64_t>(tile * kRandomTileBlocks), fresh);
          next = 0;
        }
        numbers[i] = fresh[next++];
      }
    }
  }

 private:
  template <typename T>
  static bool is_near(T number) {
    const auto value = static_cast<Computed<T>>(number);
    return value >= -2 && value <= 2;
  }
};

// An output of the shape in input 0; null where it failed.
TensorView* shaped_output(KernelContext& context) {
  Shape shape;
  return read_shape(context, 0, "a shape", &shape) ? context.output(0, shape) : nullptr;
}

// Calls fill(block, numbers) for each tile of the output, and cuts the last one. T is its element,
// `first` the block to begin with.
template <typename T, typename Fill>
void fill_tiles(KernelContext& context, uint64_t first, int tiles_each, const TensorView& out,
                const Fill& fill) {
  constexpr int64_t kTile = kRandomTile<T>;
  const int64_t n = out.num_elements();
  for_ranges(context, tiles_of(n, kTile), 16, [&](int64_t begin, int64_t end) {
    for (int64_t tile = begin; tile < end; ++tile) {
      const uint64_t block = first + static_cast<uint64_t>(tile * tiles_each * kRandomTileBlocks);
      T* to = out.as<T>() + tile * kTile;
      if ((tile + 1) * kTile <= n) {
        fill(block, to);
        continue;
      }
      T numbers[kTile];
      fill(block, numbers);
      std::copy(numbers, numbers + (n - tile * kTile), to);
    }
  });
}

template <typename Distribution>
class RandomKernel final : public Kernel {
 public:
  explicit RandomKernel(KernelInit& init) : generator_(init) {
    if (expect_arity(init, 1, 1)) expect_indices(init, 0, "a shape");
  }

  void compute(KernelContext& context) override {
    TensorView* out = shaped_output(context);
    if (out == nullptr) return;
    visit_type<float, double, Float16, BFloat16>(out->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const int64_t tiles = tiles_of(out->num_elements(), kRandomTile<T>) * Distribution::kTiles;
      fill_tiles<T>(context, generator_.take(tiles), Distribution::kTiles, *out,
                    [&](uint64_t block, T* numbers) {
                      Distribution::fill(generator_.stream(), block, numbers);
                    });
    });
  }

 private:
  Generator generator_;
};

// Numbers from the stream that the two integers of input 1 name: the same in every execution.
template <typename Distribution>
class StatelessKernel final : public Kernel {
 public:
  explicit StatelessKernel(KernelInit& init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_indices(init, 0, "a shape");
    expect_indices(init, 1, "a seed");
  }

  void compute(KernelContext& context) override {
    if (!expect_vector(context, 1, "a seed", 2)) return;
    const Indices seed(context.input(1));
    const PhiloxStream stream{static_cast<uint64_t>(seed[0]), static_cast<uint64_t>(seed[1])};
    TensorView* out = shaped_output(context);
    if (out == nullptr) return;
    visit_type<float, double, Float16, BFloat16>(out->dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      fill_tiles<T>(context, 0, Distribution::kTiles, *out, [&](uint64_t block, T* numbers) {
        Distribution::fill(stream, block, numbers);
      });
    });
  }
};

// The upper 64 bits of a product: `word` scaled from [0, 2^64) to [0, range).
uint64_t scaled(uint64_t word, uint64_t range) {
  const uint64_t word_low = word & 0xffffffff, word_high = word >> 32;
  const uint64_t range_low = range & 0xffffffff, range_high = range >> 32;
  const uint64_t cross = word_high * range_low + (word_low * range_low >> 32);
  const uint64_t middle = word_low * range_high + (cross & 0xffffffff);
  return word_high * range_high + (cross >> 32) + (middle >> 32);
}

// Integers in [minval, maxval).
template <typename T>
class RandomUniformIntKernel final : public Kernel {
 public:
  explicit RandomUniformIntKernel(KernelInit& init) : generator_(init) {
    if (!expect_arity(init, 3, 1)) return;
    expect_indices(init, 0, "a shape");
    expect_dtype(init, 1, dtype_of<T>, "minval");
    expect_dtype(init, 2, dtype_of<T>, "maxval");
    expect_output_dtype(init, 1, 0);
  }

  void compute(KernelContext& context) override {
    if (!expect_rank(context, 1, 0, "minval") || !expect_rank(context, 2, 0, "maxval")) return;
    const T low = *context.input(1).as<T>(), high = *context.input(2).as<T>();
    if (low >= high) {
      return context.invalid("expected minval < maxval, got %lld and %lld",
                             static_cast<long long>(low), static_cast<long long>(high));
    }
    TensorView* out = shaped_output(context);
    if (out == nullptr) return;
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    for_random_words(context, generator_, out->num_elements(), [&](int64_t i, uint64_t word) {
      out->as<T>()[i] = static_cast<T>(static_cast<uint64_t>(low) + scaled(word, range));
    });
  }

 private:
  Generator generator_;
};

// The slices along dimension 0 in random order, by the shuffle of Fisher and Yates.
class RandomShuffleKernel final : public Kernel {
 public:
  explicit RandomShuffleKernel(KernelInit& init) : generator_(init) {
    if (expect_arity(init, 1, 1)) expect_output_dtype(init, 0, 0);
  }

  void compute(KernelContext& context) override {
    const TensorView& in = context.input(0);
    if (in.rank() == 0 || in.num_elements() == 0 || in.dim(0) == 1) {
      context.output_alias(0, 0, in.shape);
      return;
    }
    const int64_t rows = in.dim(0);
    int64_t* order = scratch_of<int64_t>(context, rows);
    TensorView* out = context.output(0, in.shape);
    if (order == nullptr || out == nullptr) return;
    shuffle(order, rows);
    copy_rows(context, in, *out, rows, in.num_elements() / rows,
              [&](int64_t r) { return order[r]; });
  }

 private:
  void shuffle(int64_t* order, int64_t rows) {
    constexpr int64_t kTile = kRandomTile<int64_t>;
    const uint64_t first = generator_.take(tiles_of(rows, kTile));
    for (int64_t i = 0; i < rows; ++i) order[i] = i;
    uint32_t words[kRandomTileWords];
    for (int64_t i = 0; i + 1 < rows; ++i) {
      if (i % kTile == 0) {
        random_words(generator_.stream(),
                     first + static_cast<uint64_t>(i / kTile * kRandomTileBlocks), words);
      }
      const uint64_t left = static_cast<uint64_t>(rows - i);
      std::swap(order[i], order[i + static_cast<int64_t>(scaled(word64(words, i % kTile), left))]);
    }
  }

  Generator generator_;
};

// The running sums of exp(logit - the largest). Where a logit is NaN or +inf, or all are -inf, the
// last is NaN.
template <typename T>
void running_sums(const T* logits, int64_t classes, double* sums) {
  double largest = -HUGE_VAL;
  for (int64_t i = 0; i < classes; ++i) {
    largest = std::max(largest, static_cast<double>(static_cast<Computed<T>>(logits[i])));
  }
  double sum = 0;
  for (int64_t i = 0; i < classes; ++i) {
    sum += std::exp(static_cast<double>(static_cast<Computed<T>>(logits[i])) - largest);
    sums[i] = sum;
  }
}

// The class whose share of [0, 1) `place` is in.
int64_t class_at(const double* sums, int64_t classes, double place) {
  const double* end = sums + classes;
  const double total = end[-1];
  const double* found = std::upper_bound(sums, end, place * total);
  // The product may have been rounded up to the total: then it is the last class that has a share.
  if (found == end) found = std::lower_bound(sums, end, total);
  return found - sums;
}

// Classes, with the probabilities that logits say, by their running sums.
class MultinomialKernel final : public Kernel {
 public:
  explicit MultinomialKernel(KernelInit& init) : generator_(init) {
    if (!expect_arity(init, 2, 1)) return;
    expect_dtype(init, 1, DType::kInt32, "num_samples");
    if (!kIndices.contains(output_dtype(init, 0))) {
      init.invalid("expected an output of dtype int32 or int64");
    }
  }

  void compute(KernelContext& context) override {
    int64_t samples = 0;
    if (!expect_rank(context, 0, 2, "logits")) return;
    if (!read_scalar(context, 1, "num_samples", &samples)) return;
    if (samples < 0) {
      return context.invalid("expected num_samples of 0 or more, got %lld",
                             static_cast<long long>(samples));
    }
    const int64_t rows = context.input(0).dim(0), classes = context.input(0).dim(1);
    Shape shape;
    if (!shape.add(rows) || !shape.add(samples)) {
      return context.invalid("expected fewer samples than %lld for each of %lld rows",
                             static_cast<long long>(samples), static_cast<long long>(rows));
    }
    if (classes == 0 && shape.num_elements() > 0) {
      return context.invalid("expected logits of one class or more, got none");
    }
    double* sums = scratch_of<double>(context, rows * classes);
    if (sums == nullptr || !sum_rows(context, sums)) return;
    TensorView* out = context.output(0, shape);
    if (out == nullptr) return;
    for_random_words(context, generator_, shape.num_elements(), [&](int64_t i, uint64_t word) {
      const double* row = sums + i / samples * classes;
      set_index(*out, i, class_at(row, classes, unit_double(word)));
    });
  }

 private:
  // The running sums of each row of logits; false, and a failure, where a row has no probabilities.
  bool sum_rows(KernelContext& context, double* sums) {
    const TensorView& logits = context.input(0);
    const int64_t rows = logits.dim(0), classes = logits.dim(1);
    visit_type<float, double, Float16, BFloat16>(logits.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for_ranges(context, rows, row_grain(16 * classes), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          running_sums(logits.as<T>() + row * classes, classes, sums + row * classes);
        }
      });
    });
    for (int64_t row = 0; classes > 0 && row < rows; ++row) {
      if (std::isfinite(sums[(row + 1) * classes - 1])) continue;
      context.invalid(
          "expected logits below infinity, and one or more above -infinity in each row, got others "
          "in row %lld",
          static_cast<long long>(row));
      return false;
    }
    return true;
  }

  Generator generator_;
};

}  // namespace

void register_random(KernelRegistry& registry) {
  constexpr DTypes kDrawn = kFloats | kHalves;
  add_each<RandomKernel<Uniform>>(registry, "RandomUniform", "dtype", kDrawn, kStateful);
  add_each<RandomKernel<Normal>>(registry, "RandomStandardNormal", "dtype", kDrawn, kStateful);
  add_each<RandomKernel<TruncatedNormal>>(registry, "TruncatedNormal", "dtype", kDrawn, kStateful);
  add_each<StatelessKernel<Uniform>>(registry, "StatelessRandomUniform", "dtype", kDrawn);
  registry.add<RandomUniformIntKernel<int32_t>>("RandomUniformInt", {{"Tout", DType::kInt32}},
                                                kStateful);
  registry.add<RandomUniformIntKernel<int64_t>>("RandomUniformInt", {{"Tout", DType::kInt64}},
                                                kStateful);
  add_each<RandomShuffleKernel>(registry, "RandomShuffle", "T", kArrays, kStateful);
  add_each<MultinomialKernel>(registry, "Multinomial", "T", kDrawn, kStateful);
}

}  // namespace qanat::kernels_cpu
