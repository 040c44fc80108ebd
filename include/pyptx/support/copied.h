// SPDX-License-Identifier: Apache-2.0
//
// Values behind a pointer that are copied with their owner: Owned<T>, a copy each, and Shared<T>,
// one for all until somebody changes theirs. What one owner holds, no other can change, and what is
// const is const all the way down.
#pragma once

#include <memory>
#include <utility>

namespace pyptx::support {

/// A std::unique_ptr that copies what it points to, and does not let a const owner change it.
template <typename T>
class Owned {
 public:
  Owned(std::unique_ptr<T> value) : value_(std::move(value)) {}  // NOLINT(*-explicit-*)
  Owned(const Owned& other) : value_(copy_of(other)) {}
  Owned& operator=(const Owned& other) {
    value_ = copy_of(other);
    return *this;
  }
  Owned(Owned&&) noexcept = default;
  Owned& operator=(Owned&&) noexcept = default;
  ~Owned() = default;

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  T* get() { return value_.get(); }
  const T* get() const { return value_.get(); }

 private:
  static std::unique_ptr<T> copy_of(const Owned& other) {
    return other.value_ == nullptr ? nullptr : std::make_unique<T>(*other.value_);
  }

  std::unique_ptr<T> value_;
};

/// A value that copies of its owner share, and whoever asked for a snapshot, until an owner changes
/// it while others have it: then that one has a copy of its own. As with any object, one thread
/// changes an owner and nobody reads that owner meanwhile; owners on several threads know nothing
/// of each other.
template <typename T>
class CopyOnWrite {
 public:
  explicit CopyOnWrite(std::unique_ptr<T> value) : value_(std::move(value)) {}

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }
  /// The value as it is now, whatever happens to this owner.
  std::shared_ptr<const T> snapshot() const { return value_; }
  /// The value, to be changed. The reference is good until the next copy or snapshot.
  T& edit() {
    if (value_.use_count() != 1) {
      value_ = std::make_shared<T>(*value_);
    } else {
      // Reading the count orders nothing. Letting a reference go does: what another thread did
      // before it let the last other one go has happened.
      const std::shared_ptr<T> ordered = value_;
    }
    return *value_;
  }

 private:
  std::shared_ptr<T> value_;
};

}  // namespace pyptx::support
