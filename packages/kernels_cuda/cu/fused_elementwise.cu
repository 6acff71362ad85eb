// A program of pointwise functions in one pass over memory: what an optimizer's update becomes.
#include "common.cuh"
#include "pointwise.cuh"

constexpr int kMaxInstructions = 128;
constexpr int kMaxArrays = 80;

// registers[result] = function(registers[x], registers[y])
struct Instruction {
  unsigned short function, result, x, y;
};

// The arrays are read into the first registers, instructions fill those after them, and the stores
// are what is written at the end.
struct Program {
  Index count, num_inputs, num_instructions, num_stores;
  const void* inputs[kMaxArrays];
  Index strides[kMaxArrays];  // of inputs: 1, or 0 for a single element
  void* outputs[kMaxArrays];
  Index stored[kMaxArrays];  // the register of each store
  Instruction instructions[kMaxInstructions];
};

// The functions by number, in the order of the table: first those of one argument.
enum Function : unsigned short {
#define QANAT_NUMBER(op, value) k##op,
  QANAT_UNARY(QANAT_NUMBER) QANAT_BINARY(QANAT_NUMBER)
#undef QANAT_NUMBER
};

template <typename T>
__device__ T evaluate(unsigned short function, T x, T y) {
  switch (function) {
#define QANAT_CASE(op, value) \
  case k##op:                 \
    return pointwise::op::apply(x);
    QANAT_UNARY(QANAT_CASE)
#undef QANAT_CASE
#define QANAT_CASE(op, value) \
  case k##op:                 \
    return pointwise::op::apply(x, y);
    QANAT_BINARY(QANAT_CASE)
#undef QANAT_CASE
  }
  return T(0);
}

template <typename T>
__device__ void run_program(const Program* program) {
  T registers[kMaxArrays + kMaxInstructions];
  for (Index i = first_index(); i < program->count; i += index_stride()) {
    for (int k = 0; k < program->num_inputs; ++k) {
      registers[k] = static_cast<const T*>(program->inputs[k])[i * program->strides[k]];
    }
    for (int k = 0; k < program->num_instructions; ++k) {
      const Instruction& code = program->instructions[k];
      registers[code.result] = evaluate(code.function, registers[code.x], registers[code.y]);
    }
    for (int k = 0; k < program->num_stores; ++k) {
      static_cast<T*>(program->outputs[k])[i] = registers[program->stored[k]];
    }
  }
}

#define QANAT_KERNEL(T, suffix) \
  KERNEL(program_##suffix, Program program) { run_program<T>(&program); }
QANAT_FLOATS(QANAT_KERNEL)
#undef QANAT_KERNEL
