// SPDX-License-Identifier: Apache-2.0
//
// A file of its own: where the compiler could inline one half of a pair, it would warn that new and
// free do not match.
#include "allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local long allocations = 0;

void* counted_allocation(std::size_t size) {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}

}  // namespace

void* operator new(std::size_t size) {
  if (void* memory = counted_allocation(size)) return memory;
  throw std::bad_alloc();
}
// std::stable_sort asks for its buffer this way and gives it back the other.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted_allocation(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace pyptx {

long allocations_so_far() { return allocations; }

}  // namespace pyptx
