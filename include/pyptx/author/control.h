// SPDX-License-Identifier: Apache-2.0
//
// Control flow of pyptx::ptx; a block is a function. See pyptx/build/control.h.
#pragma once

#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>

#include "pyptx/author/reg.h"

namespace pyptx::ptx {

using Block = std::function<void()>;
using Where = std::source_location;

/// if (condition) { then } else { otherwise }
void if_(const Guard& condition, const Block& then, const Block& otherwise = {},
         Where where = Where::current());
inline void if_(const Reg& predicate, const Block& then, const Block& otherwise = {},
                Where where = Where::current()) {
  if_(Guard{predicate, false}, then, otherwise, where);
}
/// label: body; @again bra label. The guard is read where the block ends.
void loop(std::string label, const Guard& again, const Block& body, Where where = Where::current());
/// A run-time loop: start, start + step, ... while below stop.
void range(const author::Right& start, const author::Right& stop,
           const std::function<void(Reg)>& body, const author::Right& step = 1,
           Where where = Where::current());
/// Runs `body` for 0 ... total - 1, `unroll` times per trip of a run-time loop.
void kloop(const author::Right& total, std::int64_t unroll,
           const std::function<void(build::Value)>& body, std::string_view label = "kloop",
           Where where = Where::current());
/// { ... }: names declared inside end with it.
void scope(const Block& body, Where where = Where::current());

void label(std::string_view name, Where where = Where::current());
void bra(std::string_view label, const Guard& guard = {}, Where where = Where::current());
void ret(const Guard& guard = {}, Where where = Where::current());
void trap(const Guard& guard = {}, Where where = Where::current());
void comment(std::string_view text, Where where = Where::current());
/// Text that goes into the function as it is, unchecked.
void raw(std::string_view text, Where where = Where::current());

}  // namespace pyptx::ptx
