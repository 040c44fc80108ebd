// SPDX-License-Identifier: Apache-2.0
//
// Result<T, E>: a value or the reason there is none. C++20 has no std::expected; this is the part
// of it that the core uses. The core never throws across its API, so every fallible function
// returns one of these (see diag/diagnostic.h for the usual E). An error lies elsewhere: a
// diagnostic has hundreds of bytes, which every success on the way to a launch would fill.
//
// Asking for the value where there is none, or for the error of a success, is a mistake of the
// program: it ends there, in every build, with the error in words. or_throw() is for programs that
// use exceptions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
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

/// Writes `words` to standard error and ends the program. What a Result is asked for is not there.
[[noreturn]] void end_without(std::string_view what, const std::string& words);

/// `error` in words, where its namespace has a describe() for it.
template <typename E>
std::string words_of(const E& error) {
  if constexpr (requires { describe(error); }) {
    return describe(error);
  } else {
    return {};
  }
}

/// A value or an error.
template <typename T, typename E>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  using error_type = E;

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

  T& value() & { return *std::get_if<0>(&with_value()); }
  const T& value() const& { return *std::get_if<0>(&with_value()); }
  T&& value() && { return std::move(*std::get_if<0>(&with_value())); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The value, or `other`.
  template <typename U>
  T value_or(U&& other) const& {
    return ok() ? value() : static_cast<T>(std::forward<U>(other));
  }
  template <typename U>
  T value_or(U&& other) && {
    return ok() ? std::move(*this).value() : static_cast<T>(std::forward<U>(other));
  }
  /// What `f` makes of the value, itself a Result with this error; else the error.
  template <typename F>
  auto and_then(F&& f) const& -> std::invoke_result_t<F, const T&> {
    if (ok()) return std::forward<F>(f)(value());
    return Failure<E>{error()};
  }
  template <typename F>
  auto and_then(F&& f) && -> std::invoke_result_t<F, T&&> {
    if (ok()) return std::forward<F>(f)(std::move(*this).value());
    return failure();
  }
  /// The value; the error is thrown, as its namespace's throw_error() does.
  const T& or_throw() const& {
    if (!ok()) throw_error(error());
    return value();
  }
  T or_throw() && {
    if (!ok()) throw_error(std::move(error()));
    return std::move(*this).value();
  }

  E& error() & { return *with_error(); }
  const E& error() const& { return *with_error(); }
  /// Moves the error out, ready to be returned from a function with another value type.
  Failure<E> failure() { return Failure<E>{std::move(*with_error())}; }

 private:
  using State = std::variant<T, std::unique_ptr<E>>;

  static State copy_of(const Result& other) {
    if (other.ok()) return State(std::in_place_index<0>, other.value());
    return State(std::in_place_index<1>, std::make_unique<E>(other.error()));
  }

  State& with_value() {
    if (!ok()) [[unlikely]]
      end_without("value", words_of(error()));
    return state_;
  }
  const State& with_value() const {
    if (!ok()) [[unlikely]]
      end_without("value", words_of(error()));
    return state_;
  }
  const std::unique_ptr<E>& with_error() const {
    if (ok()) [[unlikely]]
      end_without("error", {});
    return *std::get_if<1>(&state_);
  }

  State state_;
};

}  // namespace pyptx::support
