// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are declared once and called: on views of host memory, where the emulator runs them,
// or of a device's. A call traces, composes and assembles what it has not met before, and keeps it.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ranges>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "pyptx/call/declaration.h"
#include "pyptx/call/view.h"
#include "pyptx/diag/diagnostic.h"
#include "pyptx/emu/emulator.h"
#include "pyptx/interop/open_kernel.h"
#include "pyptx/interop/report.h"
#include "pyptx/interop/saved.h"

namespace pyptx {

/// The size of a dimension or the type of a name, where no tensor says it: {"N", 1024}.
struct Known {
  Known(std::string of, std::integral auto size)
      : name(std::move(of)), number(static_cast<std::int64_t>(size)) {}
  Known(std::string of, isa::Type element) : name(std::move(of)), type(element) {}

  std::string name;
  std::int64_t number = 0;
  isa::Type type = isa::Type::None;  // None: it is a size
};
/// What is known of a kernel's names without a call.
using AllKnown = std::vector<Known>;

namespace call {

class Core;  // src/call/core.h

/// What a call brings.
struct Arguments {
  /// Inputs, then what is written, in the order of the call.
  std::span<const interop::ReadTensor> tensors;
  struct Tag {
    std::string_view name;
    Role role;
    bool is_const;
  };
  std::span<const Tag> written;
  std::span<const interop::Number> numbers;
  std::span<const NamedNumber> named;
  Place place;
  const void* values = nullptr;  // null: the default ones
  bool has_const_input = false;
  bool on_emulator = false;  // asked for, wherever it would run
};

/// A kernel of that declaration, whose mistakes its first use tells.
std::shared_ptr<Core> declare(Declaration declaration);

/// Runs or launches a call: at once, and settled ahead.
diag::Status run(Core& core, const Arguments& arguments);
/// A launch, settled ahead.
struct Bound;  // src/call/core.h
diag::Result<std::shared_ptr<const Bound>> bind(const std::shared_ptr<Core>& core,
                                                const Arguments& arguments);
diag::Status run(const Bound& bound, const Arguments& arguments);
diag::Result<emu::Report> emulate(Core& core, const emu::Options& options,
                                  const Arguments& arguments);

/// What a kernel declares.
const interop::Signature& signature(const Core& core);
/// What can be asked of a kernel without a call. `values` are null for the default ones.
diag::Status check(const Core& core);
diag::Result<std::shared_ptr<const ir::Module>> module(Core& core, const AllKnown& known,
                                                       const void* values);
diag::Result<std::string> ptx(Core& core, const AllKnown& known, const void* values);
diag::Result<interop::SavedKernel> saved(Core& core, const AllKnown& known, const void* values);
diag::Result<interop::OpenKernel> open(Core& core, const AllKnown& known, const void* values);
/// The traced kernel for the assembler alone: it has no grid and no tensors to launch.
diag::Result<std::shared_ptr<interop::KernelImage>> image(Core& core, const AllKnown& known,
                                                          const void* values);
diag::Result<std::string> cubin(Core& core, const AllKnown& known, const void* values);
diag::Result<std::string> sass(Core& core, const AllKnown& known, const void* values);
diag::Result<interop::Report> report(Core& core, const AllKnown& known, const void* values);
diag::Result<std::vector<interop::SourceLine>> source_map(Core& core, const AllKnown& known,
                                                          const void* values);
diag::Result<driver::Dim3> launch_grid(Core& core, const AllKnown& known, const void* values);
diag::Status save(Core& core, const std::string& path, const AllKnown& known, const void* values);

/// A type without const and references.
template <typename T>
using Plain = std::remove_cvref_t<T>;

/// What an argument of a call is.
template <typename T>
constexpr bool kIsNumber = (std::integral<Plain<T>> && !std::same_as<Plain<T>, bool>) ||
                           std::floating_point<Plain<T>> || std::same_as<Plain<T>, interop::Number>;
template <typename T>
constexpr bool kIsView = std::same_as<Plain<T>, TensorView>;
template <typename T>
constexpr bool is_range() {
  if constexpr (Range<T>) {
    return element_type<std::ranges::range_value_t<T>>() != isa::Type::None;
  }
  return false;
}
template <typename T>
constexpr bool kIsRange = is_range<T>();
template <typename T>
constexpr bool kIsWritten = std::same_as<Plain<T>, Written>;
template <typename T>
constexpr bool kIsNamed = std::same_as<Plain<T>, NamedNumber>;

/// Whether a call may bring these.
template <typename Values, typename... A>
constexpr bool are_arguments() {
  return ((kIsNumber<A> || kIsView<A> || kIsRange<A> || kIsWritten<A> || kIsNamed<A> ||
           std::same_as<Plain<A>, Place> || std::same_as<Plain<A>, Values>) &&
          ...);
}

/// The arguments of one call, by their kinds; it points into them.
template <typename Values, typename... A>
class Pack {
 public:
  explicit Pack(A&... given) { (take(given), ...); }

  Arguments arguments() const {
    return {tensors_, tags_, numbers_, named_, place_, values_, has_const_, false};
  }

 private:
  template <bool... kAre>
  static constexpr std::size_t kCount = (std::size_t{kAre} + ... + 0);
  static constexpr std::size_t kInputs = kCount<(kIsView<A> || kIsRange<A>)...>;
  static constexpr std::size_t kWritten = kCount<kIsWritten<A>...>;

  void take(const TensorView& view) {
    tensors_[input_count_++] = view.read();
    has_const_ = has_const_ || view.is_const();
  }
  template <typename T>
    requires kIsRange<T&>
  void take(T& range) {
    TensorView& made = made_[made_count_++];
    made = host(range);
    take(made);
  }
  void take(const Written& written) {
    tags_[written_count_] = {written.name, written.role, written.view.is_const()};
    tensors_[kInputs + written_count_++] = written.view.read();
  }
  template <typename T>
    requires kIsNumber<T>
  void take(T& number) {
    numbers_[number_count_++] = number;
  }
  void take(const NamedNumber& number) { named_[named_count_++] = number; }
  void take(const Place& place) { place_ = place; }
  void take(const Values& values) { values_ = &values; }

  std::array<interop::ReadTensor, kInputs + kWritten> tensors_;
  std::array<Arguments::Tag, kWritten> tags_;
  std::array<TensorView, kCount<kIsRange<A>...>> made_;
  std::array<interop::Number, kCount<kIsNumber<A>...>> numbers_;
  std::array<NamedNumber, kCount<kIsNamed<A>...>> named_;
  std::size_t input_count_ = 0;
  std::size_t written_count_ = 0;
  std::size_t made_count_ = 0;
  std::size_t number_count_ = 0;
  std::size_t named_count_ = 0;
  Place place_;
  const void* values_ = nullptr;
  bool has_const_ = false;
};

/// Refuses what no call may bring, in words.
template <typename Values, typename... A>
constexpr void check_arguments() {
  static_assert(are_arguments<Values, A...>(),
                "a call takes tensors (host, device, dlpack, a vector), out(...), inout(...), "
                "numbers, arg(name, number), on(stream) and the kernel's template values");
}

/// A body that takes N tensors and, where it wants them, the template values.
template <typename Values, typename F, std::size_t... I>
constexpr bool takes_values(std::index_sequence<I...>) {
  return std::is_invocable_v<F&, author::EachTensor<I>..., const Values&>;
}

}  // namespace call

/// A kernel that was bound to tensors like those of a call (DeclaredKernel::bind): traced,
/// assembled and loaded, so that its first call may stand in the capture of a CUDA graph. It takes
/// tensors of the same types, shapes and device, and never traces.
class BoundKernel {
 public:
  explicit BoundKernel(std::shared_ptr<const call::Bound> bound) : bound_(std::move(bound)) {}

  template <typename... A>
  diag::Status operator()(A&&... arguments) const {
    if constexpr (call::are_arguments<NoValues, A...>()) {
      return call::run(*bound_, call::Pack<NoValues, A...>(arguments...).arguments());
    } else {
      call::check_arguments<NoValues, A...>();
      return diag::success();
    }
  }

 private:
  std::shared_ptr<const call::Bound> bound_;
};

/// A kernel that was declared (see kernel()). Copies share what they have traced and loaded; all of
/// it may be used by several threads at once. Where the declaration is wrong each use says so.
template <typename Values = NoValues>
class DeclaredKernel {
 public:
  explicit DeclaredKernel(std::shared_ptr<call::Core> core) : core_(std::move(core)) {}

  /// Launches: k(a, b, out(c), 2.0). Tensors come in the order of the declaration, what is written
  /// as out(...) or inout(...), scalars in their order or by name; then, in any place, on(stream)
  /// and template values. On the host the emulator runs it, with race checks, and returns when it
  /// is done; what is worth knowing and no error goes to standard error.
  template <typename... A>
  diag::Status operator()(A&&... arguments) const {
    if constexpr (call::are_arguments<Values, A...>()) {
      return call::run(*core_, call::Pack<Values, A...>(arguments...).arguments());
    } else {
      call::check_arguments<Values, A...>();
      return diag::success();
    }
  }
  /// Runs on the emulator, with options, and says what it counted and found.
  template <typename... A>
  diag::Result<emu::Report> emulate(const emu::Options& options, A&&... arguments) const {
    if constexpr (call::are_arguments<Values, A...>()) {
      return call::emulate(*core_, options, call::Pack<Values, A...>(arguments...).arguments());
    } else {
      call::check_arguments<Values, A...>();
      return emu::Report();
    }
  }

  /// Prepares a launch on tensors like these, and launches nothing. Scalars that are given are what
  /// a call has that brings none.
  template <typename... A>
  diag::Result<BoundKernel> bind(A&&... arguments) const {
    if constexpr (call::are_arguments<Values, A...>()) {
      auto bound = call::bind(core_, call::Pack<Values, A...>(arguments...).arguments());
      if (!bound) return bound.failure();
      return BoundKernel(std::move(*bound));
    } else {
      call::check_arguments<Values, A...>();
      return BoundKernel(nullptr);
    }
  }

  /// What it declares: its name, tensors and scalars, those that a launch brings too.
  const interop::Signature& signature() const { return call::signature(*core_); }
  /// The grid for these sizes.
  diag::Result<driver::Dim3> launch_grid(const AllKnown& known = {}) const {
    return call::launch_grid(*core_, known, nullptr);
  }
  diag::Result<driver::Dim3> launch_grid(const AllKnown& known, const Values& values) const {
    return call::launch_grid(*core_, known, &values);
  }

  /// Why nobody can call it: DeclarationType, DeclarationValue.
  diag::Status check() const { return call::check(*core_); }
  /// The traced module, for these sizes and template values: k.module({{"N", 1024}}).
  diag::Result<std::shared_ptr<const ir::Module>> module(const AllKnown& known = {}) const {
    return call::module(*core_, known, nullptr);
  }
  diag::Result<std::shared_ptr<const ir::Module>> module(const AllKnown& known,
                                                         const Values& values) const {
    return call::module(*core_, known, &values);
  }
  /// Its text.
  diag::Result<std::string> ptx(const AllKnown& known = {}) const {
    return call::ptx(*core_, known, nullptr);
  }
  diag::Result<std::string> ptx(const AllKnown& known, const Values& values) const {
    return call::ptx(*core_, known, &values);
  }

  /// The machine code for its target; the same as text, by NVIDIA's disassembler.
  diag::Result<std::string> cubin(const AllKnown& known = {}) const {
    return call::cubin(*core_, known, nullptr);
  }
  diag::Result<std::string> cubin(const AllKnown& known, const Values& values) const {
    return call::cubin(*core_, known, &values);
  }
  diag::Result<std::string> sass(const AllKnown& known = {}) const {
    return call::sass(*core_, known, nullptr);
  }
  diag::Result<std::string> sass(const AllKnown& known, const Values& values) const {
    return call::sass(*core_, known, &values);
  }
  /// What it costs: registers, spills, occupancy, machine instructions by the author's lines.
  diag::Result<interop::Report> report(const AllKnown& known = {}) const {
    return call::report(*core_, known, nullptr);
  }
  diag::Result<interop::Report> report(const AllKnown& known, const Values& values) const {
    return call::report(*core_, known, &values);
  }
  /// Which line of the author's made each line of the text.
  diag::Result<std::vector<interop::SourceLine>> source_map(const AllKnown& known = {}) const {
    return call::source_map(*core_, known, nullptr);
  }
  diag::Result<std::vector<interop::SourceLine>> source_map(const AllKnown& known,
                                                            const Values& values) const {
    return call::source_map(*core_, known, &values);
  }

  /// The kernel for these sizes of all dimensions, settled: launched, emulated and saved.
  diag::Result<interop::SavedKernel> saved(const AllKnown& known = {}) const {
    return call::saved(*core_, known, nullptr);
  }
  diag::Result<interop::SavedKernel> saved(const AllKnown& known, const Values& values) const {
    return call::saved(*core_, known, &values);
  }
  /// The kernel for any size of dynamic dimensions; others need theirs: OpenSizes.
  diag::Result<interop::OpenKernel> open(const AllKnown& known = {}) const {
    return call::open(*core_, known, nullptr);
  }
  diag::Result<interop::OpenKernel> open(const AllKnown& known, const Values& values) const {
    return call::open(*core_, known, &values);
  }
  /// Writes the one or, where sizes of dynamic dimensions are not given, the other to a file.
  diag::Status save(const std::string& path, const AllKnown& known = {}) const {
    return call::save(*core_, path, known, nullptr);
  }
  diag::Status save(const std::string& path, const AllKnown& known, const Values& values) const {
    return call::save(*core_, path, known, &values);
  }

 private:
  std::shared_ptr<call::Core> core_;
};

namespace call {

/// A body that takes its tensors as one that takes them all.
template <typename Values, std::size_t N, typename Body>
auto spread(Body body) {
  constexpr bool kWithValues = takes_values<Values, Body>(std::make_index_sequence<N>());
  constexpr bool kTakesThem =
      kWithValues || author::takes_tensors<Body>(std::make_index_sequence<N>());
  static_assert(kTakesThem,
                "the body of a kernel takes one `const Tensor&` for each tensor and, where it "
                "wants them, the template values");
  return [body = std::move(body)](std::span<const Tensor> given, const void* values) mutable {
    if constexpr (kTakesThem) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        if constexpr (kWithValues) {
          body(given[I]..., *static_cast<const Values*>(values));
        } else {
          body(given[I]...);
        }
      }(std::make_index_sequence<N>());
    }
  };
}

/// What kernel() does.
template <typename Values, std::size_t N, typename Body>
DeclaredKernel<Values> declare(std::string name, std::vector<TensorSpec> tensors,
                               KernelSpec<Values> spec, Body body,
                               const std::source_location& where) {
  Declaration out;
  out.name = std::move(name);
  out.tensors = std::move(tensors);
  out.grid = std::move(spec.grid.function);
  out.is_open_grid = spec.grid.is_open;
  out.body = spread<Values, N>(std::move(body));
  out.where = where;
  constexpr bool kAreValues = std::equality_comparable<Values> && std::copy_constructible<Values>;
  static_assert(kAreValues,
                "template values can be copied and compared: bool operator==(const Values&) const "
                "= default;");
  if constexpr (kAreValues) {
    out.values = std::make_shared<const Values>(std::move(spec.values));
    if constexpr (!std::same_as<Values, NoValues>) {
      out.copy = [](const void* values) -> Declaration::Values {
        return std::make_shared<const Values>(*static_cast<const Values*>(values));
      };
      out.are_same = [](const void* a, const void* b) {
        return *static_cast<const Values*>(a) == *static_cast<const Values*>(b);
      };
    }
  }
  out.spec = {.block = spec.block,
              .cluster = spec.cluster,
              .shared = spec.shared,
              .scalars = std::move(spec.scalars),
              .dynamic = std::move(spec.dynamic),
              .multiple_of = std::move(spec.multiple_of),
              .arch = std::move(spec.arch),
              .version = spec.version,
              .maps_by_value = spec.maps_by_value,
              .programmatic = spec.programmatic,
              .force_dynamic_shared = spec.force_dynamic_shared,
              .dynamic_shared_name = std::move(spec.dynamic_shared_name),
              .directives = std::move(spec.directives),
              .line_info = spec.line_info};
  return DeclaredKernel<Values>(declare(std::move(out)));
}

}  // namespace call

/// Declares a kernel: its name, its tensors in the order of the body, inputs first, its options and
/// its body, which is traced when a call needs it.
///
///     const auto scale = kernel("scale", {Input("X", {"N"}, f32), Output("Y", {"N"}, f32)},
///                               {.grid = ceil_div(dim("N"), 128), .block = {128}},
///                               [](const Tensor& X, const Tensor& Y) { ... });
///     scale(x, out(y)).or_throw();
///
/// Template values are a struct of the author's: kernel<Config>(...), whose body takes them behind
/// its tensors. What a body captures is read when it is traced, and is no part of what
/// specialisations are told apart by; values that change belong into the struct.
template <typename Values = NoValues, std::size_t N, typename Body>
DeclaredKernel<Values> kernel(std::string name, const call::TensorSpec (&tensors)[N],
                              KernelSpec<Values> spec, Body body,
                              std::source_location where = std::source_location::current()) {
  return call::declare<Values, N>(std::move(name), {tensors, tensors + N}, std::move(spec),
                                  std::move(body), where);
}
/// One without tensors.
template <typename Values = NoValues, typename Body>
DeclaredKernel<Values> kernel(std::string name, author::NoTensors, KernelSpec<Values> spec,
                              Body body,
                              std::source_location where = std::source_location::current()) {
  return call::declare<Values, 0>(std::move(name), {}, std::move(spec), std::move(body), where);
}

}  // namespace pyptx
