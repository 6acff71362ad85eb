#include "packages/kernels_cpu/native/elementwise_program.h"

#include <cmath>
#include <string>
#include <vector>

#include "packages/core/native/testing/check.h"
#include "packages/kernels_cpu/native/simd/each_level.h"

namespace qanat::kernels_cpu {
namespace {

bool parses(const char* text, int values = 2, int handles = 1, int outputs = 1) {
  ElementwiseProgram program;
  return program.parse(text, DType::kFloat32, values, handles, outputs);
}

void check_run() {
  constexpr int kCount = 3000;  // several tiles and a rest
  std::vector<float> value(kCount), variable(kCount), output(kCount);
  for (int i = 0; i < kCount; ++i) {
    value[static_cast<size_t>(i)] = static_cast<float>(i) * 0.25f;
    variable[static_cast<size_t>(i)] = static_cast<float>(i);
  }
  const float rate = 0.5f;
  ElementwiseProgram program;
  CHECK(program.parse("t0=Mul(s0,h0);t1=Add(t0,v1);t2=Sqrt(t1);h0-=t2;out=t1", DType::kFloat32, 2,
                      1, 1));
  CHECK(program.use_of_value(0) == ElementwiseProgram::Space::kScalar);
  CHECK(program.use_of_value(1) == ElementwiseProgram::Space::kValue);
  const char* const values[] = {reinterpret_cast<const char*>(&rate),
                                reinterpret_cast<const char*>(value.data())};
  char* const handles[] = {reinterpret_cast<char*>(variable.data())};
  const ProgramMemory memory{values, handles, reinterpret_cast<char*>(output.data())};
  program.run(memory, 0, 1000);
  program.run(memory, 1000, kCount);
  for (int i = 0; i < kCount; ++i) {
    const float sum = 0.5f * static_cast<float>(i) + static_cast<float>(i) * 0.25f;
    CHECK_EQ(output[static_cast<size_t>(i)], sum);
    CHECK_EQ(variable[static_cast<size_t>(i)], static_cast<float>(i) - std::sqrt(sum));
  }
}

TEST(a_program_reads_values_scalars_and_variables_and_writes_last) {
  simd::for_each_level(check_run);
}

TEST(results_share_tiles_once_they_are_read) {
  std::string text = "t0=Neg(v0)";
  for (int i = 1; i < 40; ++i) {
    const std::string before = "t" + std::to_string(i - 1);
    text += ";t" + std::to_string(i) + "=Add(" + before + "," + before + ")";
  }
  CHECK(parses((text + ";out=t39").c_str()));
  std::string wide;
  for (int i = 0; i < 20; ++i) wide += "t" + std::to_string(i) + "=Neg(v0);";
  wide += "t20=Add(t0,t1)";
  for (int i = 2; i < 20; ++i) {
    wide += ";t" + std::to_string(19 + i) + "=Add(t" + std::to_string(18 + i) + ",t" +
            std::to_string(i) + ")";
  }
  CHECK(!parses(wide.c_str()));
}

TEST(what_is_no_program_is_refused) {
  CHECK(parses("t0=Add(v0,v1);out=t0"));
  for (const char* text : {
           "nonsense",
           "t0=",
           "t0=Add(",
           "t0=Add(v0,v2);out=t0",     // no third value
           "t0=Add(v0,h1);out=t0",     // no second variable
           "t0=Add(v0,t0);out=t0",     // reads itself
           "t0=Add(v0,v1);out=t1",     // reads what is not there
           "t1=Add(v0,v1);out=t1",     // misnumbered
           "t0=Less(v0,v1);out=t0",    // of another type
           "t0=MatMul(v0,v1);out=t0",  // not pointwise
           "t0=Add(s0,s1);out=t0",     // no operand of the full shape
           "t0=Add(v0,s0);out=t0",     // read in two ways
           "v0=v1",                    // writes an input
           "out=s0",                   // not of the full shape
           "t0=Add(v0,v1);t0+=v0",     // updates a result
           "h0=v0;t1=Neg(h0);out=t1",  // reads a variable after it is written
           "t0=Add(v99999999999999,v1);out=t0",
       }) {
    if (parses(text)) testing::fail(__FILE__, __LINE__, text);
  }
  CHECK(!parses("t0=Neg(v0);out=t0", 2, 1, 0));
}

}  // namespace
}  // namespace qanat::kernels_cpu
