#include "packages/mobile_runtime/native/memory.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "packages/core/native/kernel/tensor_view.h"

namespace qanat::mobile {

// Stands in front of what is handed out.
struct alignas(kAlignment) Memory::Block {
  Block* next;
};

void* Memory::allocate(size_t bytes) {
  size_t size = 0;
  if (__builtin_add_overflow(bytes, sizeof(Block) + kAlignment - 1, &size)) return nullptr;
  size -= size % kAlignment;
  if (size > left()) return nullptr;
  void* const memory = std::aligned_alloc(kAlignment, size);
  if (memory == nullptr) return nullptr;
  used_ += size;
  std::memset(memory, 0, size);
  Block* const block = static_cast<Block*>(memory);
  block->next = std::exchange(blocks_, block);
  return block + 1;
}

void Memory::release() {
  while (blocks_ != nullptr) std::free(std::exchange(blocks_, blocks_->next));
  used_ = 0;
}

}  // namespace qanat::mobile
