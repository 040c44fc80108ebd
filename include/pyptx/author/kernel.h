// SPDX-License-Identifier: Apache-2.0
//
// A kernel written in C++: its name, its tensors, and a body that is run once to trace it. Sizes
// and other constants are the body's captured values; launching is pyptx/interop's.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
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
};

/// A traced kernel.
struct Traced {
  std::shared_ptr<const ir::Module> module;
  std::vector<std::string> map_tensors;  // whose descriptors are parameters, in this order
  std::uint64_t dynamic_shared_bytes = 0;
};

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
               [body = std::move(body)](std::span<const Tensor> given) {
                 [&]<std::size_t... I>(std::index_sequence<I...>) {
                   body(given[I]...);
                 }(std::make_index_sequence<N>());
               }) {}

  /// Runs the body. The first mistake is the error, its places resolved. Safe on several threads
  /// as far as the body is.
  diag::Result<Traced> trace() const;
  /// The text of trace().
  diag::Result<std::string> ptx() const;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::vector<std::string> tensors_;
  KernelOptions options_;
  Body body_;
};

namespace ptx {

/// The global address that a tensor's parameter holds.
Reg global_ptr(const Tensor& tensor, std::source_location where = std::source_location::current());
/// One per tensor: `auto [px, py] = ptx::global_ptrs(X, Y);`
template <std::same_as<Tensor>... T>
std::array<Reg, sizeof...(T)> global_ptrs(const T&... tensors) {
  return {global_ptr(tensors)...};
}
/// The value of a parameter.
Reg param(isa::Type type, std::string_view name, std::optional<build::Reg> destination = {},
          std::source_location where = std::source_location::current());

}  // namespace ptx
}  // namespace pyptx
