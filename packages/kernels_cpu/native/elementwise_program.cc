#include "packages/kernels_cpu/native/elementwise_program.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "packages/core/native/kernel/tensor_view.h"

namespace qanat::kernels_cpu {
namespace {

using Operand = ElementwiseProgram::Operand;
using Instruction = ElementwiseProgram::Instruction;
using Space = ElementwiseProgram::Space;

// All tiles of a program together fit a 32 KB L1 cache, with room for what is streamed through it.
constexpr int64_t kTileBytes = 2048;
constexpr int kMaxTiles = 12;
constexpr int kMaxOperands = 256;

struct NamedBinary {
  std::string_view name;
  BinaryOp op;
};
struct NamedUnary {
  std::string_view name;
  UnaryOp op;
};
constexpr NamedBinary kBinaries[] = {
#define QANAT_NAMED(name) {#name, BinaryOp::k##name},
    QANAT_BINARY_OPS(QANAT_NAMED)
#undef QANAT_NAMED
    // Other graph ops with the same loops.
    {"RealDiv", BinaryOp::kDiv},
    {"AddV2", BinaryOp::kAdd},
    {"InvGrad", BinaryOp::kReciprocalGrad},
};
constexpr NamedUnary kUnaries[] = {
#define QANAT_NAMED(name) {#name, UnaryOp::k##name},
    QANAT_UNARY_OPS(QANAT_NAMED)
#undef QANAT_NAMED
        {"Inv", UnaryOp::kReciprocal},
    {"Rint", UnaryOp::kRound},
};

// Ops whose result is of the operands' type, as all of a program is.
bool keeps_type(BinaryOp op) { return op < BinaryOp::kLess; }
bool keeps_type(UnaryOp op) { return op < UnaryOp::kIsNan; }

BinaryLoop find_binary(std::string_view name, DType dtype, Space a, Space b) {
  for (const NamedBinary& named : kBinaries) {
    if (named.name != name || !keeps_type(named.op)) continue;
    const BinaryLoops loops = binary_loops(named.op, dtype);
    if (a == Space::kScalar) return loops.scalar_left;
    return b == Space::kScalar ? loops.scalar_right : loops.same;
  }
  return nullptr;
}

UnaryLoop find_unary(std::string_view name, DType dtype) {
  for (const NamedUnary& named : kUnaries) {
    if (named.name == name && keeps_type(named.op)) return unary_loop(named.op, dtype);
  }
  return nullptr;
}

// Takes what stands before `separator` off the front of the text; all of it where there is none.
std::string_view take(std::string_view* text, char separator) {
  const size_t at = text->find(separator);
  const std::string_view front = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
  return front;
}

int64_t step_of(const Operand& operand, int64_t at, int64_t element) {
  return operand.space == Space::kTile || operand.space == Space::kScalar ? 0 : at * element;
}

}  // namespace

bool ElementwiseProgram::parse(std::string_view text, DType dtype, int num_values, int num_handles,
                               int num_outputs) {
  dtype_ = dtype;
  num_handles_ = num_handles;
  num_outputs_ = num_outputs;
  uses_.assign(static_cast<size_t>(std::max(0, num_values)), Space::kNone);
  while (!text.empty()) {
    if (!parse_instruction(take(&text, ';'))) return false;
  }
  return share_tiles();
}

bool ElementwiseProgram::parse_instruction(std::string_view text) {
  const std::string_view whole = text;
  std::string_view target = take(&text, '=');
  Instruction instruction;
  char update = 0;
  if (!target.empty() && (target.back() == '+' || target.back() == '-')) {
    update = target.back();
    target.remove_suffix(1);
  }
  if (target == "out") {
    if (num_outputs_ != 1) return fail("expected no output", whole);
    instruction.result.space = Space::kOutput;
  } else if (!parse_operand(target, &instruction.result)) {
    return false;
  }
  const bool is_tile = instruction.result.space == Space::kTile;
  const bool is_variable = instruction.result.space == Space::kHandle;
  if (is_tile ? instruction.result.index != static_cast<int>(instructions_.size())
              : !is_variable && instruction.result.space != Space::kOutput) {
    return fail("expected the next t, an h or out to be written", whole);
  }
  if (update != 0 && !is_variable) return fail("expected only variables to be updated", whole);
  if (is_tile) {
    if (!parse_call(text, &instruction)) return false;
  } else if (!parse_operand(text, &instruction.a) || !check_operand(instruction.a, whole)) {
    return false;
  }
  if (update != 0) {
    instruction.b = instruction.a;
    instruction.a = instruction.result;
    instruction.binary =
        find_binary(update == '+' ? "Add" : "Sub", dtype_, Space::kHandle, instruction.b.space);
  } else if (!is_tile && instruction.a.space == Space::kScalar) {
    return fail("expected a value of the full shape", whole);
  }
  instructions_.push_back(instruction);
  return true;
}

bool ElementwiseProgram::parse_call(std::string_view call, Instruction* instruction) {
  const std::string_view whole = call;
  const std::string_view name = take(&call, '(');
  std::string_view arguments = take(&call, ')');
  const bool is_unary = arguments.find(',') == std::string_view::npos;
  if (!parse_operand(take(&arguments, ','), &instruction->a)) return false;
  if (!check_operand(instruction->a, whole)) return false;
  if (is_unary) {
    instruction->unary = find_unary(name, dtype_);
  } else {
    if (!parse_operand(arguments, &instruction->b)) return false;
    if (!check_operand(instruction->b, whole)) return false;
    instruction->binary = find_binary(name, dtype_, instruction->a.space, instruction->b.space);
  }
  const bool scalars = instruction->a.space == Space::kScalar &&
                       (is_unary || instruction->b.space == Space::kScalar);
  if (scalars) return fail("expected an operand of the full shape", whole);
  if (instruction->unary == nullptr && instruction->binary == nullptr) {
    return fail("expected an op that programs may hold", whole);
  }
  return true;
}

bool ElementwiseProgram::parse_operand(std::string_view text, Operand* operand) {
  const std::string_view digits = text.empty() ? text : text.substr(1);
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), operand->index);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() ||
      operand->index < 0 || operand->index >= kMaxOperands) {
    return fail("expected an operand such as v0", text);
  }
  switch (text.front()) {
    case 'v':
      operand->space = Space::kValue;
      return true;
    case 's':
      operand->space = Space::kScalar;
      return true;
    case 'h':
      operand->space = Space::kHandle;
      if (operand->index >= num_handles_) return fail("expected fewer variables", text);
      return true;
    case 't':
      operand->space = Space::kTile;
      return true;
    default:
      return fail("expected an operand such as v0", text);
  }
}

// What is read exists, and a value is read in one way only.
bool ElementwiseProgram::check_operand(const Operand& operand, std::string_view text) {
  const size_t index = static_cast<size_t>(operand.index);
  if (operand.space == Space::kTile) {
    if (index >= instructions_.size() || instructions_[index].result.space != Space::kTile) {
      return fail("expected only earlier results to be read", text);
    }
  } else if (operand.space == Space::kHandle) {
    for (const Instruction& instruction : instructions_) {
      if (instruction.result.space == Space::kHandle) {
        return fail("expected variables to be read before any is written", text);
      }
    }
  } else {
    if (index >= uses_.size()) return fail("expected fewer values", text);
    if (uses_[index] != Space::kNone && uses_[index] != operand.space) {
      return fail("expected a value to be read as v or as s, not both", text);
    }
    uses_[index] = operand.space;
  }
  return true;
}

// Gives results the tiles of those that are not read any more.
bool ElementwiseProgram::share_tiles() {
  const size_t count = instructions_.size();
  std::vector<size_t> last_use(count, 0);
  for (size_t i = 0; i < count; ++i) {
    for (const Operand& operand : {instructions_[i].a, instructions_[i].b}) {
      if (operand.space == Space::kTile) last_use[static_cast<size_t>(operand.index)] = i;
    }
  }
  std::vector<int> tile(count, 0);
  bool taken[kMaxTiles] = {};
  for (size_t i = 0; i < count; ++i) {
    Instruction& instruction = instructions_[i];
    for (Operand* operand : {&instruction.a, &instruction.b}) {
      if (operand->space != Space::kTile) continue;
      const size_t source = static_cast<size_t>(operand->index);
      operand->index = tile[source];
      if (last_use[source] == i) taken[operand->index] = false;
    }
    if (instruction.result.space != Space::kTile) continue;
    bool* const free_tile = std::find(taken, taken + kMaxTiles, false);
    if (free_tile == taken + kMaxTiles) return fail("expected fewer results at a time", "");
    *free_tile = true;
    tile[i] = instruction.result.index = static_cast<int>(free_tile - taken);
  }
  return true;
}

bool ElementwiseProgram::fail(const char* why, std::string_view what) {
  std::snprintf(message_, sizeof(message_), "%s in an elementwise program, got '%.*s'", why,
                static_cast<int>(std::min<size_t>(what.size(), 64)), what.data());
  return false;
}

void ElementwiseProgram::run(const ProgramMemory& memory, int64_t begin, int64_t end) const {
  alignas(kAlignment) char tiles[kMaxTiles * kTileBytes];
  const int64_t tile = kTileBytes / static_cast<int64_t>(dtype_size(dtype_));
  for (int64_t at = begin; at < end; at += tile) {
    run_tile(memory, tiles, at, std::min(tile, end - at));
  }
}

void ElementwiseProgram::run_tile(const ProgramMemory& memory, char* tiles, int64_t at,
                                  int64_t count) const {
  const int64_t element = static_cast<int64_t>(dtype_size(dtype_));
  const auto place = [&](const Operand& operand) -> char* {
    const int64_t step = step_of(operand, at, element);
    switch (operand.space) {
      case Space::kValue:
      case Space::kScalar:
        return const_cast<char*>(memory.values[operand.index]) + step;  // only ever read
      case Space::kHandle:
        return memory.handles[operand.index] + step;
      case Space::kOutput:
        return memory.output + step;
      case Space::kTile:
        return tiles + operand.index * kTileBytes;
      case Space::kNone:
        break;
    }
    return nullptr;
  };
  for (const Instruction& instruction : instructions_) {
    const char* a = place(instruction.a);
    char* result = place(instruction.result);
    if (instruction.binary != nullptr) {
      instruction.binary(a, place(instruction.b), result, count, 0);
    } else if (instruction.unary != nullptr) {
      instruction.unary(a, result, count, 0);
    } else if (a != result) {
      std::memcpy(result, a, static_cast<size_t>(count * element));
    }
  }
}

}  // namespace qanat::kernels_cpu
