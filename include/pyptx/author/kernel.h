// SPDX-License-Identifier: Apache-2.0
//
// A kernel written in C++: its name, its tensors, and a body that is run once to trace it. Sizes
// and other constants are the body's captured values; launching is pyptx/interop's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pyptx/author/reg.h"
#include "pyptx/author/size.h"
#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/isa/target.h"
#include "pyptx/layout/tensor_map.h"

namespace pyptx {

namespace author {

/// A size or stride as a trace has it: a number, or the parameter that a launch brings it in.
struct TracedSize {
  std::int64_t number = 0;
  std::string parameter = {};  // empty: it is the number
  isa::Type type = isa::Type::U32;
  std::int64_t divisor = 1;  // of what is brought
  bool operator==(const TracedSize&) const = default;
};

/// What a trace knows of a tensor beside its name.
struct TracedTensor {
  std::string name;
  /// Nothing: nobody has said what it is, or all that is missing is the value of a name.
  std::optional<std::vector<TracedSize>> shape = {};
  std::vector<TracedSize> strides = {};  // empty: it is dense
  isa::Type dtype = isa::Type::None;
  bool is_column = false;                            // the first dimension is the contiguous one
  std::optional<layout::TensorMap> map = {};         // that a launch will pass
  std::string missing = "its kernel declares none";  // why there is no shape
  bool operator==(const TracedTensor&) const = default;
};

}  // namespace author

/// What a body sees of a tensor: the name of the parameter that holds its address and, in a kernel
/// that declares its tensors (pyptx/call), their sizes and element types.
class Tensor {
 public:
  using Where = std::source_location;

  Tensor(std::string name, bool map_by_value)
      : Tensor(author::TracedTensor{.name = std::move(name)}, map_by_value) {}
  Tensor(author::TracedTensor known, bool map_by_value)
      : known_(std::move(known)), map_by_value_(map_by_value) {}

  const std::string& name() const { return known_.name; }
  /// A 64-bit register with the address of the tensor's map; the first use adds the parameter.
  Reg tma_desc(Where where = Where::current()) const;

  /// How many dimensions; TensorFact where nobody has said.
  std::size_t rank(Where where = Where::current()) const;
  /// The size of a dimension: TensorFact, BadArgument.
  Size shape(std::size_t dimension, Where where = Where::current()) const;
  /// Elements from one index of a dimension to the next.
  Size stride(std::size_t dimension, Where where = Where::current()) const;
  /// What the size is a multiple of: itself, or what the kernel promises of one that is brought.
  std::int64_t divisor(std::size_t dimension, Where where = Where::current()) const;
  /// What was said of it.
  const author::TracedTensor& known() const { return known_; }
  /// The type of its elements: TensorFact.
  isa::Type dtype(Where where = Where::current()) const;

 private:
  const author::TracedSize* find(std::size_t dimension, const Where& where) const;

  author::TracedTensor known_;
  bool map_by_value_;
};

/// What a kernel is traced for, and how its text is written.
struct KernelOptions {
  isa::Target target{90, 'a'};
  std::optional<isa::Version> version{};  // default: the lowest that target and code allow
  bool maps_by_value = false;             // tensor maps stand in the parameters themselves
  bool force_dynamic_shared = false;
  std::string dynamic_shared_name = "dyn_smem";
  std::vector<std::pair<isa::Type, std::string>> raw_params{};  // after the tensors
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> directives{};
  /// .file and .loc lines, for profilers and SASS; default: unless PYPTX_LINEINFO is 0.
  std::optional<bool> line_info{};
};

/// A traced kernel. The module is nobody else's.
struct Traced {
  std::shared_ptr<const ir::Module> module;
  std::vector<std::string> map_tensors;  // whose descriptors are parameters, in this order
  std::uint64_t dynamic_shared_bytes = 0;
  diag::Diagnostics lints = {};  // what is no error (NarrowOffset), its places resolved
};

namespace author {

/// What a body takes for each name.
template <std::size_t>
using EachTensor = const Tensor&;

/// Whether a body takes that many tensors.
template <typename F, std::size_t... I>
constexpr bool takes_tensors(std::index_sequence<I...>) {
  return std::is_invocable_v<F&, EachTensor<I>...>;
}

/// `{}`, in place of the names of tensors.
struct NoTensors {};

using TensorsBody = std::function<void(std::span<const Tensor>)>;

/// Runs a body that takes these tensors; see Kernel::trace().
diag::Result<Traced> trace(const std::string& name, std::span<const TracedTensor> tensors,
                           const KernelOptions& options, const TensorsBody& body);

}  // namespace author

/// A kernel: each trace runs its body anew.
class Kernel {
 public:
  using Body = author::TensorsBody;

  Kernel(std::string name, std::vector<std::string> tensors, KernelOptions options, Body body)
      : name_(std::move(name)),
        tensors_(std::move(tensors)),
        options_(std::move(options)),
        body_(std::move(body)) {}

  /// A body that takes each tensor by its own parameter.
  template <std::size_t N, typename F>
  Kernel(std::string name, const char* const (&tensors)[N], KernelOptions options, F body)
      : Kernel(std::move(name), std::vector<std::string>(tensors, tensors + N), std::move(options),
               spread<N>(std::move(body))) {
    static_assert(author::takes_tensors<F>(std::make_index_sequence<N>()),
                  "the body of a Kernel takes one `const Tensor&` for each name");
  }

  /// The body of a kernel without tensors takes nothing.
  template <typename F>
    requires(!std::is_convertible_v<F, Body>)
  Kernel(std::string name, author::NoTensors, KernelOptions options, F body)
      : Kernel(std::move(name), std::vector<std::string>(), std::move(options),
               spread<0>(std::move(body))) {
    static_assert(std::is_invocable_v<F&>, "the body of a Kernel without tensors takes nothing");
  }

  /// Runs the body. The first mistake is the error, its places resolved. Throws nothing but what
  /// the body's own code throws. Safe on several threads as far as the body is.
  diag::Result<Traced> trace() const;
  /// The text of trace().
  diag::Result<std::string> ptx() const;
  const std::string& name() const { return name_; }

 private:
  template <std::size_t N, typename F>
  static Body spread(F body) {
    // Where it does not, the constructor says so: the compiler then shows its author's line first.
    if constexpr (author::takes_tensors<F>(std::make_index_sequence<N>())) {
      return [body = std::move(body)](std::span<const Tensor> given) mutable {
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          body(given[I]...);
        }(std::make_index_sequence<N>());
      };
    } else {
      return {};
    }
  }

  std::string name_;
  std::vector<std::string> tensors_;
  KernelOptions options_;
  Body body_;
};

}  // namespace pyptx
