// SPDX-License-Identifier: Apache-2.0
//
// Parameters, variables, generic addresses and output of pyptx::ptx. See pyptx/build/memory.h.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string_view>
#include <tuple>

#include "pyptx/author/kernel.h"
#include "pyptx/author/operand.h"

namespace pyptx::ptx {

using Where = std::source_location;

/// The global address that a tensor's parameter holds.
Reg global_ptr(const Tensor& tensor, Where where = Where::current());
/// One per tensor: `const auto [px, py] = ptx::global_ptrs(X, Y);`. A class, since only a
/// constructor has both as many parameters as are given and one that tells where.
template <std::same_as<Tensor>... T>
class global_ptrs : public std::array<Reg, sizeof...(T)> {
 public:
  explicit global_ptrs(const T&... tensors, Where where = Where::current())
      : std::array<Reg, sizeof...(T)>{global_ptr(tensors, where)...} {}
};
template <std::same_as<Tensor>... T>
global_ptrs(const T&...) -> global_ptrs<T...>;

/// The value of a parameter.
Reg param(isa::Type type, std::string_view name, const std::optional<Reg>& destination = {},
          Where where = Where::current());
/// The special register of this name, "%laneid"; those of special:: have theirs in C++.
Reg sreg(std::string_view name, Where where = Where::current());

/// What a variable is besides its type.
struct VariableOptions {
  std::optional<std::uint64_t> size = {};  // elements; none: it is no array
  std::uint32_t align = 0;
  std::string_view linking = {};  // "extern", "visible", ...
};
/// Declares a variable; its address.
Address var(std::string_view space, isa::Type type, std::string_view name,
            const VariableOptions& options = {}, Where where = Where::current());

namespace cvta {
/// The generic address of a parameter's place: cvta.param.u64.
Reg param(const Reg& source, const std::optional<Reg>& destination = {},
          Where where = Where::current());
/// The global address behind a generic one: cvta.to.global.u64.
Reg to_global(const Reg& source, const std::optional<Reg>& destination = {},
              Where where = Where::current());
}  // namespace cvta

/// Prints from the running kernel; conversions are held against the values' types.
void printf(std::string_view format, std::initializer_list<author::Right> values = {},
            const Guard& guard = {}, Where where = Where::current());

}  // namespace pyptx::ptx

// What structured bindings ask for.
// NOLINTBEGIN(bugprone-std-namespace-modification)
template <typename... T>
struct std::tuple_size<pyptx::ptx::global_ptrs<T...>>
    : std::integral_constant<std::size_t, sizeof...(T)> {};
template <std::size_t kIndex, typename... T>
struct std::tuple_element<kIndex, pyptx::ptx::global_ptrs<T...>> {
  using type = pyptx::Reg;
};
// NOLINTEND(bugprone-std-namespace-modification)
