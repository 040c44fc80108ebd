// SPDX-License-Identifier: Apache-2.0
//
// Result<T, E>: a value or the reason there is none. C++20 has no std::expected; this is the part
// of it that the core uses. The core never throws across its API, so every fallible function
// returns one of these (see diag/diagnostic.h for the usual E). An error lies elsewhere: a
// diagnostic has hundreds of bytes, which every success on the way to a launch would fill.
#pragma once

#include <cassert>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

namespace pyptx::support {

/// Wraps an error so that a Result<T, E> can be built from it without naming the type.
template <typename E>
struct Failure {
  E error;
};

template <typename E>
Failure(E) -> Failure<E>;

/// The payload of a Result that carries no value.
struct Unit {};

template <typename T, typename E>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(*-explicit-*)
  template <typename F>
    requires std::is_constructible_v<E, F&&>
  Result(Failure<F> failure)  // NOLINT(*-explicit-*)
      : state_(std::in_place_index<1>, std::make_unique<E>(std::move(failure.error))) {}

  Result(const Result& other)
    requires(std::is_copy_constructible_v<T> && std::is_copy_constructible_v<E>)
      : state_(copy_of(other)) {}
  Result& operator=(const Result& other)
    requires(std::is_copy_constructible_v<T> && std::is_copy_constructible_v<E>)
  {
    state_ = copy_of(other);
    return *this;
  }
  Result(Result&&) = default;
  Result& operator=(Result&&) = default;
  ~Result() = default;

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  E& error() & {
    assert(!ok());
    return **std::get_if<1>(&state_);
  }
  const E& error() const& {
    assert(!ok());
    return **std::get_if<1>(&state_);
  }
  /// Moves the error out, ready to be returned from a function with another value type.
  Failure<E> failure() {
    assert(!ok());
    return Failure<E>{std::move(**std::get_if<1>(&state_))};
  }

 private:
  using State = std::variant<T, std::unique_ptr<E>>;

  static State copy_of(const Result& other) {
    if (other.ok()) return State(std::in_place_index<0>, other.value());
    return State(std::in_place_index<1>, std::make_unique<E>(other.error()));
  }

  State state_;
};

}  // namespace pyptx::support
