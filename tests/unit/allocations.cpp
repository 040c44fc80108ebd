// SPDX-License-Identifier: Apache-2.0
//
// A file of its own: where the compiler could inline one half of a pair, it would warn that new and
// free do not match.
#include "allocations.h"

#include <cstdlib>
#include <new>

namespace {

constexpr long kUnlimited = -1;

thread_local long allocations = 0;
thread_local long granted = kUnlimited;
thread_local bool is_refused = false;

void* counted_allocation(std::size_t size) {
  ++allocations;
  if (granted == 0) {
    is_refused = true;
    return nullptr;
  }
  if (granted > 0) --granted;
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

NoMemory::NoMemory(long times) {
  granted = times;
  is_refused = false;
}
NoMemory::~NoMemory() { granted = kUnlimited; }
bool NoMemory::was_felt() { return is_refused; }

OwnMemory::OwnMemory() : granted_(granted) { granted = kUnlimited; }
OwnMemory::~OwnMemory() { granted = granted_; }

}  // namespace pyptx
