// SPDX-License-Identifier: Apache-2.0
//
// Control flow of pyptx::ptx; a block is a function. A condition is a predicate register, or `!p`.
// See pyptx/build/control.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "pyptx/author/reg.h"

namespace pyptx::ptx {

/// The body of a block, run once while the kernel is traced.
using Block = std::function<void()>;
using Where = std::source_location;

/// A predicate, or a function that makes one: what it emits stands where the condition is asked.
struct Condition {
  std::function<Guard()> asked;
  std::optional<Guard> given{};

  template <typename F>
    requires std::invocable<F&> && std::convertible_to<std::invoke_result_t<F&>, Guard>
  Condition(F function)  // NOLINT(*-explicit-*)
      : asked([function = std::move(function)]() mutable -> Guard { return function(); }) {}
  Condition(const Guard& guard)  // NOLINT(*-explicit-*)
      : asked([guard] { return guard; }), given(guard) {}
  template <RegisterLike T>
  Condition(const T& predicate)  // NOLINT(*-explicit-*)
      : Condition(Guard(predicate)) {}
};

/// if (condition) { then } else { otherwise }
void if_(const Guard& condition, const Block& then, const Block& otherwise = {},
         Where where = Where::current());
/// else if (condition) { then }, directly behind an if_ or elif_ without `otherwise`. The condition
/// is a function where it takes instructions.
void elif_(const Condition& condition, const Block& then, Where where = Where::current());
/// else { otherwise }, directly behind an if_ or elif_ without `otherwise`.
void else_(const Block& otherwise, Where where = Where::current());
/// while (condition) { body }; a predicate is read on every trip, and the body writes it.
void while_(const Condition& condition, const Block& body, Where where = Where::current());
/// Leaves the innermost while_, range or loop.
void break_(const Guard& guard = {}, Where where = Where::current());
/// Goes on with the next trip of the innermost while_, range or loop.
void continue_(const Guard& guard = {}, Where where = Where::current());
/// label: body; @again bra label. The guard is read where the block ends.
void loop(std::string label, const Guard& again, const Block& body, Where where = Where::current());
/// A run-time loop: start, start + step, ... while below stop.
void range(const author::Right& start, const author::Right& stop,
           const std::function<void(const Reg&)>& body, const author::Right& step = 1,
           Where where = Where::current());
/// Runs `body` for 0 ... total - 1, `unroll` times per trip of a run-time loop. The index is a
/// register, also where the loop is written out.
void kloop(const author::Right& total, std::int64_t unroll,
           const std::function<void(const Reg&)>& body, std::string_view label = "kloop",
           Where where = Where::current());
/// { ... }: names declared inside end with it.
void scope(const Block& body, Where where = Where::current());
/// What `body` emits stands between comments with this name, and an error in it says so.
void intrinsic(std::string_view name, const Block& body, Where where = Where::current());

/// Puts a label here.
void label(std::string_view name, Where where = Where::current());
/// Branches to a label, which may come later.
void bra(std::string_view label, const Guard& guard = {}, Where where = Where::current());
/// Ends the thread.
void ret(const Guard& guard = {}, Where where = Where::current());
/// Stops the launch with an error.
void trap(const Guard& guard = {}, Where where = Where::current());
/// Ends the launch with an assertion error where `condition` does not hold.
void assert_(const Guard& condition, std::string_view message, Where where = Where::current());

/// A comment line in the text.
void comment(std::string_view text, Where where = Where::current());
/// Text that goes into the function as it is, unchecked.
void raw(std::string_view text, Where where = Where::current());
/// A .pragma directive.
void pragma(std::string_view text, Where where = Where::current());
/// .file number "name", and .loc file line column of one that is declared; the trace then adds
/// none.
void file(std::uint32_t number, std::string_view name, Where where = Where::current());
/// What follows comes from this line of a declared file.
void loc(std::uint32_t file, std::uint32_t line, std::uint32_t column = 0,
         Where where = Where::current());

}  // namespace pyptx::ptx
