// SPDX-License-Identifier: Apache-2.0
//
// A declared kernel: its signature, what it has traced, and the launches that calls know. What is
// known is compared as numbers (recent.h, hit.cpp); all else goes through prepare(), which binds,
// traces and composes by the functions that Python's kernels use. Safe on several threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/call/kernel.h"
#include "pyptx/interop/bind.h"
#include "pyptx/interop/compose.h"
#include "pyptx/interop/expected.h"
#include "pyptx/interop/open_kernel.h"
#include "pyptx/interop/run.h"

namespace pyptx::call {

/// What a trace depends on.
struct TraceKey {
  std::vector<author::TracedTensor> tensors;
  std::string target;
  Declaration::Values values;
};

/// A trace, and what was asked for it.
struct TraceSlot {
  TraceKey key;
  std::mutex mutex;  // held while it is traced
  std::shared_ptr<const Traced> traced;
  interop::TracedText text;
};

/// A specialisation: what the tensors of a call must be for an image to be launched as it is.
/// It never changes, so whoever found it may use it without a lock.
struct Entry {
  interop::ExpectedTensors expected;
  dlpack::DeviceType device = dlpack::DeviceType::Cpu;
  std::int32_t ordinal = -1;  // -1: any device of that type
  bool has_work = true;       // else the grid is empty
  std::shared_ptr<interop::KernelImage> image;
  Declaration::Values values;
  std::vector<interop::TensorShape> tensors;
  std::uint64_t hash = 0;  // of the call's extents
};

/// A call that is ready: the specialisation lives as long as this.
struct Ready {
  std::shared_ptr<const Entry> kept;  // null where the thread's own table holds it
  const Entry* entry = nullptr;
  std::span<const interop::ReadTensor> views;
  dlpack::Device device = kHost;
};

class Core {
 public:
  explicit Core(Declaration declaration);

  diag::Status check() const;
  const Declaration& declared() const { return declared_; }
  const interop::Signature& signature() const { return signature_; }
  /// Scalars that each call brings, in order.
  const std::vector<interop::ScalarParameter>& scalars() const { return scalars_; }
  /// Never that of another kernel.
  std::uint64_t id() const { return id_; }
  std::size_t input_count() const { return signature_.inputs.size(); }
  /// Whether calls write their inputs: those of a kernel that writes nothing else do.
  bool writes_inputs() const { return signature_.outputs.empty(); }
  Role role_of_output(std::size_t index) const { return roles_[index]; }
  bool are_same(const void* a, const void* b) const {
    return declared_.are_same == nullptr || declared_.are_same(a, b);
  }
  const void* values_or_default(const void* values) const {
    return values == nullptr ? declared_.values.get() : values;
  }

  /// The specialisation that was met, or null.
  std::shared_ptr<const Entry> find(const Arguments& call,
                                    std::span<const interop::ReadTensor> views,
                                    std::uint64_t hash) const;
  /// Whether a specialisation is that of the call, whose tensors in order are these.
  bool matches(const Entry& entry, const Arguments& call,
               std::span<const interop::ReadTensor> views) const;
  /// Launches, or emulates.
  diag::Status launch(const Ready& ready, std::span<const interop::ScalarParameter> scalars,
                      const Arguments& call) const;
  /// Binds, traces and composes.
  diag::Result<std::shared_ptr<const Entry>> prepare(const Arguments& call, std::uint64_t hash);

  /// The trace for these tensors; made once.
  diag::Result<std::shared_ptr<TraceSlot>> trace(TraceKey key);
  /// What is known of the tensors without a call.
  diag::Result<TraceKey> key_of(const AllKnown& known, const void* values) const;

  /// The kernel for these sizes, and the one for any size of those that are left open.
  diag::Result<interop::SavedKernel> saved(const AllKnown& known, const void* values);
  diag::Result<interop::OpenKernel> open(const AllKnown& known, const void* values);
  diag::Result<driver::Dim3> launch_grid(const AllKnown& known, const void* values) const;

 private:
  /// The sizes and types that are given, each checked.
  diag::Result<interop::Bound> bind(const AllKnown& known) const;
  Declaration::Values copy_of(const void* values) const {
    const bool is_default = values == nullptr || declared_.copy == nullptr;
    return is_default ? declared_.values : declared_.copy(values);
  }
  std::vector<interop::OpenScalar> open_scalars(const interop::Signature& settled,
                                                const interop::Bound& bound) const;
  diag::Status declare();
  diag::Status declare_tensors();
  diag::Status declare_scalars();
  diag::Status check_dynamic() const;
  std::optional<std::string> stride_name(std::size_t tensor, std::size_t dimension) const;
  author::TracedSize traced_size(std::string_view parameter, std::int64_t divisor) const;
  author::TracedTensor traced_tensor(std::size_t index, const interop::Shape& shape,
                                     const std::string& dtype) const;
  diag::Result<std::array<std::int64_t, 3>> grid_for(const interop::Bound& bound,
                                                     const void* values) const;
  std::vector<interop::KernelLaunch::Scalar> fixed_scalars(const interop::Bound& bound,
                                                           const interop::Facts& facts) const;
  interop::KernelLaunch launch_of(const TraceSlot& slot, const std::array<std::int64_t, 3>& grid,
                                  std::vector<interop::KernelLaunch::Scalar> scalars) const;
  diag::Result<std::string> target_for(const dlpack::Device& device) const;
  void keep(const std::shared_ptr<const Entry>& entry);

  Declaration declared_;
  interop::Signature signature_;
  std::vector<Role> roles_;  // of the signature's outputs
  std::vector<interop::ScalarParameter> scalars_;
  std::optional<diag::Diagnostic> refused_;
  std::uint64_t id_;

  mutable std::shared_mutex entries_mutex_;
  std::vector<std::shared_ptr<const Entry>> entries_;
  std::mutex traces_mutex_;
  std::vector<std::shared_ptr<TraceSlot>> traces_;
};

/// A launch that is settled: its kernel, the specialisation, and the scalars with what the example
/// had for them.
struct Bound {
  std::shared_ptr<Core> core;
  std::shared_ptr<const Entry> entry;
  std::vector<interop::ScalarParameter> scalars;
  dlpack::Device device;
};

}  // namespace pyptx::call
