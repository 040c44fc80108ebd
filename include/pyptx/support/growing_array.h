// SPDX-License-Identifier: Apache-2.0
//
// A growable array of plain values, for what a module has by the ten thousand: operands,
// instructions, statements, locations. It differs from std::vector in where its memory comes from
// (memory.h): growing keeps pages where the system can, and what one module lets go the next one
// of the thread gets without asking the system for it. Values are moved as bytes; nothing with a
// destructor fits in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "pyptx/support/memory.h"

namespace pyptx::support {

/// An array of plain values that grows.
template <typename T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  static_assert(alignof(T) <= alignof(std::max_align_t));

 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;

  GrowingArray() = default;
  GrowingArray(std::initializer_list<T> values) { append(std::span(values)); }
  GrowingArray(const GrowingArray& other) { append(std::span(other)); }
  GrowingArray(GrowingArray&& other) noexcept { swap(other); }
  GrowingArray& operator=(GrowingArray other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowingArray() { release_memory({data_, bytes_}); }

  void swap(GrowingArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(bytes_, other.bytes_);
  }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }
  /// Checked: throws std::out_of_range.
  const T& at(std::size_t index) const {
    if (index >= size_) throw std::out_of_range("GrowingArray::at");
    return data_[index];
  }
  T& front() { return data_[0]; }
  const T& front() const { return data_[0]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void reserve(std::size_t count) {
    if (count > capacity_) grow(count);
  }
  /// New elements are default values.
  void resize(std::size_t count) {
    reserve(count);
    if (count > size_) std::fill(data_ + size_, data_ + count, T());
    size_ = count;
  }
  void clear() { size_ = 0; }
  void pop_back() { --size_; }
  T& push_back(T value) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_] = value;
    return data_[size_++];
  }
  /// `values` are not this array's own.
  void append(std::span<const T> values) {
    if (values.size() > capacity_ - size_) grow(size_ + values.size());
    std::copy(values.begin(), values.end(), data_ + size_);
    size_ += values.size();
  }
  /// Puts values before `place`; they are not this array's own.
  void insert(const T* place, std::span<const T> values) {
    const auto at = static_cast<std::size_t>(place - data_);
    reserve(size_ + values.size());
    std::copy_backward(data_ + at, data_ + size_, data_ + size_ + values.size());
    std::copy(values.begin(), values.end(), data_ + at);
    size_ += values.size();
  }
  void insert(const T* place, T value) { insert(place, std::span<const T>(&value, 1)); }
  void erase(const T* first, const T* last) {
    T* const kept = std::copy(last, const_cast<const T*>(end()), data_ + (first - data_));
    size_ = static_cast<std::size_t>(kept - data_);
  }

 private:
  /// Out of the way of the calls that find room.
  [[gnu::noinline]] void grow(std::size_t count) {
    const Memory grown = grow_memory({data_, bytes_}, count * sizeof(T));
    data_ = static_cast<T*>(grown.data);
    bytes_ = grown.bytes;
    capacity_ = grown.bytes / sizeof(T);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;  // in elements
  std::size_t bytes_ = 0;     // of the block, which need not be a multiple of their size
};

}  // namespace pyptx::support
