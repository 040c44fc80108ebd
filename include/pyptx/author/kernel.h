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
#include "pyptx/diag/diagnostic.h"
#include "pyptx/ir/module.h"
#include "pyptx/isa/target.h"

namespace pyptx {

/// What a body sees of a tensor: the name of the parameter that holds its address.
class Tensor {
 public:
  Tensor(std::string name, bool map_by_value)
      : name_(std::move(name)), map_by_value_(map_by_value) {}
  const std::string& name() const { return name_; }
  /// A 64-bit register with the address of the tensor's map; the first use adds the parameter.
  Reg tma_desc(std::source_location where = std::source_location::current()) const;

 private:
  std::string name_;
  bool map_by_value_;
};

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
};

namespace author {

template <std::size_t>
using EachTensor = const Tensor&;

template <typename F, std::size_t... I>
constexpr bool takes_tensors(std::index_sequence<I...>) {
  return std::is_invocable_v<F&, EachTensor<I>...>;
}

/// `{}`, in place of the names of tensors.
struct NoTensors {};

}  // namespace author

class Kernel {
 public:
  using Body = std::function<void(std::span<const Tensor>)>;

  Kernel(std::string name, std::vector<std::string> tensors, KernelOptions options, Body body)
      : name_(std::move(name)),
        tensors_(std::move(tensors)),
        options_(std::move(options)),
        body_(std::move(body)) {}

  /// A body that takes each tensor by its own parameter.
  template <std::size_t N, typename F>
  Kernel(std::string name, const char* const (&tensors)[N], KernelOptions options, F body)
      : Kernel(std::move(name), std::vector<std::string>(tensors, tensors + N), std::move(options),
               spread<N>(std::move(body))) {}

  /// The body of a kernel without tensors takes nothing.
  template <typename F>
    requires(!std::is_convertible_v<F, Body>)
  Kernel(std::string name, author::NoTensors, KernelOptions options, F body)
      : Kernel(std::move(name), std::vector<std::string>(), std::move(options),
               spread<0>(std::move(body))) {}

  /// Runs the body. The first mistake is the error, its places resolved. Throws nothing but what
  /// the body's own code throws. Safe on several threads as far as the body is.
  diag::Result<Traced> trace() const;
  /// The text of trace().
  diag::Result<std::string> ptx() const;
  const std::string& name() const { return name_; }

 private:
  template <std::size_t N, typename F>
  static Body spread(F body) {
    constexpr bool kTakesThem = author::takes_tensors<F>(std::make_index_sequence<N>());
    static_assert(kTakesThem, "the body of a Kernel takes one `const Tensor&` for each name");
    if constexpr (kTakesThem) {
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
