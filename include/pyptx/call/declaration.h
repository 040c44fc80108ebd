// SPDX-License-Identifier: Apache-2.0
//
// What a kernel declares once: its tensors behind tiles, its grid, block and cluster, its scalars,
// and which sizes a launch brings. Python's `kernel(...)`, in C++.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pyptx/author/kernel.h"
#include "pyptx/call/view.h"
#include "pyptx/driver/plan.h"
#include "pyptx/interop/scalar.h"
#include "pyptx/interop/signature.h"
#include "pyptx/interop/size_expression.h"

namespace pyptx {

/// In place of template values, where a kernel has none.
struct NoValues {
  bool operator==(const NoValues&) const = default;
};

namespace call {

/// A tensor of a kernel.
struct TensorSpec {
  interop::Argument argument;
  Role role;
};

/// A tensor with its name and tile: Input("X", {"N"}, f32).
template <Role kRole>
struct Declares : TensorSpec {
  Declares(std::string name, interop::Tile tile)
      : TensorSpec{{std::move(name), std::move(tile)}, kRole} {}
  Declares(std::string name, std::vector<interop::Dimension> dims, isa::Type dtype)
      : Declares(std::move(name),
                 {.dims = std::move(dims), .dtype = std::string(isa::info(dtype).name)}) {}
};

/// The sizes and types of a call, by the names that its tiles have for them.
class Dims {
 public:
  explicit Dims(const interop::Bound& bound) : bound_(bound) {}
  /// The size of that name; 0, and the call is refused, where there is none.
  std::int64_t operator[](std::string_view name) const;
  /// The element type of that name.
  isa::Type type(std::string_view name) const;
  /// What was asked for and is not there.
  const std::string& missing() const { return missing_; }

 private:
  const interop::Bound& bound_;
  mutable std::string missing_;
};

/// A grid: one to three sizes.
struct GridSize {
  using Extent = interop::SizeExpression;
  template <std::convertible_to<Extent> X, std::convertible_to<Extent> Y = int,
            std::convertible_to<Extent> Z = int>
  GridSize(const X& x, const Y& y = 1, const Z& z = 1)  // NOLINT(*-explicit-*)
      : extents{Extent(x), Extent(y), Extent(z)} {}

  std::array<Extent, 3> extents;
};

/// The grid of a call, from its sizes and template values.
using GridFunction = std::function<GridSize(const Dims&, const void* values)>;

/// How a kernel's grid follows from its sizes and template values: numbers, expressions of sizes
/// (`ceil_div(dim("N"), 128)`), or a function of (const Dims&), (const Values&) or both.
template <typename Values>
class Grid {
 public:
  Grid() : Grid(1) {}
  template <std::convertible_to<GridSize::Extent> X>
  Grid(const X& x, const GridSize::Extent& y = 1,  // NOLINT(*-explicit-*)
       const GridSize::Extent& z = 1)
      : function([size = GridSize(x, y, z)](const Dims&, const void*) { return size; }) {}
  template <typename F>
    requires(!std::convertible_to<F, GridSize::Extent> && !std::same_as<F, Grid>)
  Grid(F f) {  // NOLINT(*-explicit-*)
    constexpr bool kOfBoth = std::is_invocable_r_v<GridSize, F&, const Dims&, const Values&>;
    constexpr bool kOfDims = std::is_invocable_r_v<GridSize, F&, const Dims&>;
    constexpr bool kOfValues = std::is_invocable_r_v<GridSize, F&, const Values&>;
    static_assert(kOfBoth || kOfDims || kOfValues,
                  "a grid is one to three sizes, or a function of (const Dims&), (const Values&) "
                  "or both that returns such");
    if constexpr (kOfBoth) {
      function = [f = std::move(f)](const Dims& dims, const void* values) mutable -> GridSize {
        return f(dims, *static_cast<const Values*>(values));
      };
    } else if constexpr (kOfDims) {
      function = [f = std::move(f)](const Dims& dims, const void*) mutable -> GridSize {
        return f(dims);
      };
    } else if constexpr (kOfValues) {
      function = [f = std::move(f)](const Dims&, const void* values) mutable -> GridSize {
        return f(*static_cast<const Values*>(values));
      };
    }
    is_open = kOfValues && !kOfBoth && !kOfDims;
  }

  GridFunction function;
  bool is_open = true;  // it asks for no number, so a kernel for any size can carry it
};

/// A scalar of a kernel, behind its tensors. Those named like a dimension have that size; others
/// come with each call, in their order or by name, and have a default where one is given.
struct ScalarSpec {
  isa::Type type;
  std::string name;
  std::optional<interop::Number> value = {};
};

}  // namespace call

/// What a kernel declares of a tensor: it is read, written, or both.
using Input = call::Declares<call::Role::Input>;
using Output = call::Declares<call::Role::Output>;
using InOut = call::Declares<call::Role::InOut>;
using call::Dims;
using call::GridSize;

/// The size of a named dimension, in an expression.
inline interop::SizeExpression dim(std::string_view name) {
  return interop::SizeExpression::of(name);
}
/// How many pieces of `piece` elements cover `size`.
inline interop::SizeExpression ceil_div(const interop::SizeExpression& size,
                                        const interop::SizeExpression& piece) {
  return (size + piece - 1) / piece;
}

/// The options of Python's `kernel(...)`; every one can be left out.
template <typename Values = NoValues>
struct KernelSpec {
  call::Grid<Values> grid = {};
  driver::Dim3 block = {};
  driver::Dim3 cluster = {};
  std::uint32_t shared = 0;  // bytes, where the body allocates less
  std::vector<call::ScalarSpec> scalars = {};
  /// Dimensions whose sizes come with the launch: registers in the body, and in no trace.
  std::vector<std::string> dynamic = {};
  /// Dimensions all of whose sizes are multiples of a number.
  std::vector<interop::Multiple> multiple_of = {};
  /// "auto": that of the device.
  std::string arch = "sm_90a";
  std::optional<isa::Version> version = {};  // default: the lowest that target and code allow
  bool maps_by_value = false;                // tensor maps stand in the parameters themselves
  bool programmatic = false;                 // a programmatic dependent launch
  bool force_dynamic_shared = false;
  std::string dynamic_shared_name = "dyn_smem";
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> directives = {};
  /// .file and .loc lines, for profilers and SASS; default: unless PYPTX_LINEINFO is 0.
  std::optional<bool> line_info = {};
  /// Those that a call without any has.
  Values values = {};
};

namespace call {

/// A declaration without the C++ types of its template values and its body.
struct Declaration {
  using Values = std::shared_ptr<const void>;

  std::string name;
  std::vector<TensorSpec> tensors;
  KernelSpec<> spec;  // but for the grid
  GridFunction grid;
  bool is_open_grid = true;
  std::function<void(std::span<const Tensor>, const void* values)> body;
  Values values;                                         // the default ones; null: it has none
  Values (*copy)(const void*) = nullptr;                 // null: there is nothing to copy
  bool (*are_same)(const void*, const void*) = nullptr;  // null: they are
  std::source_location where = std::source_location::current();
};

}  // namespace call
}  // namespace pyptx
