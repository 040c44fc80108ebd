// SPDX-License-Identifier: Apache-2.0
//
// What the helpers of src/build say about an argument that will not do, and operands made of lists
// of registers. Not an API.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pyptx/build/shared.h"
#include "pyptx/build/tracer.h"

namespace pyptx::build {

/// "a register of type u64"
std::string words(const Reg& reg);
/// The number, or the register's words.
std::string words(const Index& value);

/// Reports that `what` must be `wanted`; always false.
bool refuse(Tracer& tracer, const Argument& what, std::string_view wanted, std::string got);
/// Whether `value` is `first` or `second`; reports `what` otherwise.
bool check_choice(Tracer& tracer, const Argument& what, std::int64_t value, std::int64_t first,
                  std::int64_t second);
/// Whether `value` lies within [lowest, highest]; reports `what` otherwise.
bool check_range(Tracer& tracer, const Argument& what, std::int64_t value, std::int64_t lowest,
                 std::int64_t highest);
/// Whether `reg` has 64 bits; reports `what` otherwise.
bool check_wide(Tracer& tracer, const Argument& what, const Reg& reg);

/// Whether the constant part of `place` is a multiple of `align`, all that can be judged while
/// tracing; reports what needs it otherwise, under the argument that gave the place.
bool check_place(Tracer& tracer, const SharedPlace& place, std::uint32_t align,
                 const Argument& what);

/// {a, b, ...}
ir::Operand vector_of(Tracer& tracer, std::span<const Reg> registers);
ir::Operand vector_of(Tracer& tracer, std::span<const Index> values);

/// A predicate register for `flag`: a predicate as it is, a 32-bit register compared with 0, a
/// constant compared likewise.
Reg as_predicate(Tracer& tracer, const std::variant<bool, Reg>& flag, const Argument& what);

/// A mask of CTAs as a 16-bit operand; a 32-bit register is narrowed.
std::optional<ir::Operand> cta_mask(Tracer& tracer, const Index& mask);

/// Whether the table has `text`, on any target.
bool is_spelling(std::string_view text);
/// The first of `endings` with which `stem` is a spelling of the table, appended to `stem`; the
/// first one where none is, so that the refusal speaks of it.
std::string spelled(std::string_view stem, std::span<const std::string_view> endings);

}  // namespace pyptx::build
