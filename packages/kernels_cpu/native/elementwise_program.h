// A small program of pointwise ops, run over tiles that stay in the L1 cache.
#ifndef PACKAGES_KERNELS_CPU_NATIVE_ELEMENTWISE_PROGRAM_H_
#define PACKAGES_KERNELS_CPU_NATIVE_ELEMENTWISE_PROGRAM_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "packages/kernels_cpu/native/elementwise_loops.h"

namespace qanat::kernels_cpu {

// What a program reads and writes: each pointer is to element 0.
struct ProgramMemory {
  const char* const* values;
  char* const* handles;  // the variables' values
  char* output;
};

// Parsed from text such as "t0=Mul(s0,h0);t1=Add(t0,v1);h0=t1;out=t1": `v` is a value of the full
// shape, `s` one of one element, `h` a variable, `t` an earlier result. A `t` is numbered as its
// instruction is. Instructions that write to `h` (by =, += or -=) or `out` stand last.
class ElementwiseProgram {
 public:
  enum class Space : uint8_t { kNone, kValue, kScalar, kHandle, kTile, kOutput };
  struct Operand {
    Space space = Space::kNone;
    int index = 0;
  };
  // result = loop(a, b), where unary loops have no b; without a loop, result = a.
  struct Instruction {
    Operand result, a, b;
    BinaryLoop binary = nullptr;
    UnaryLoop unary = nullptr;
  };

  // dtype is float32 or float64. False where the text is no program that can run; message() says
  // why.
  bool parse(std::string_view text, DType dtype, int num_values, int num_handles, int num_outputs);
  const char* message() const { return message_; }

  // How the program reads value i: kValue, kScalar, or kNone.
  Space use_of_value(int i) const { return uses_[static_cast<size_t>(i)]; }

  // Computes elements [begin, end). May run on several threads at once, on different elements.
  void run(const ProgramMemory& memory, int64_t begin, int64_t end) const;

 private:
  bool parse_instruction(std::string_view text);
  bool parse_call(std::string_view call, Instruction* instruction);
  bool parse_operand(std::string_view text, Operand* operand);
  bool check_operand(const Operand& operand, std::string_view text);
  bool share_tiles();
  bool fail(const char* why, std::string_view what);
  void run_tile(const ProgramMemory& memory, char* tiles, int64_t at, int64_t count) const;

  DType dtype_ = DType::kInvalid;
  int num_handles_ = 0;
  int num_outputs_ = 0;
  std::vector<Instruction> instructions_;
  std::vector<Space> uses_;
  char message_[160] = "";
};

}  // namespace qanat::kernels_cpu

#endif  // PACKAGES_KERNELS_CPU_NATIVE_ELEMENTWISE_PROGRAM_H_
