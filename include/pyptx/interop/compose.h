// SPDX-License-Identifier: Apache-2.0
//
// The composer of launches: what a kernel declares, what a call settled, and a module that was
// traced for it, made an image that can be launched, emulated and saved. Python's kernels and those
// of C++ come here alike. The parameters come in the order of pyptx::Kernel: the tensors'
// addresses, the scalars, the maps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/plan.h"
#include "pyptx/interop/saved.h"
#include "pyptx/interop/scalar.h"
#include "pyptx/interop/signature.h"
#include "pyptx/ir/module.h"
#include "pyptx/layout/tensor_map.h"

namespace pyptx::interop {

/// How a module is launched.
struct KernelLaunch {
  /// The value of a raw parameter: of every launch, or the one where a launch brings none. Raw
  /// parameters that have none here come with each launch.
  struct Scalar {
    std::string name;
    Number value;
    bool is_fixed = false;
  };
  struct Map {
    std::string tensor;
    std::optional<layout::TensorMap> map = {};  // in place of the one that the tile describes
  };
  driver::Dim3 grid = {};
  driver::Dim3 block = {};
  driver::Dim3 cluster = {};
  std::uint32_t dynamic_shared = 0;
  std::vector<Scalar> scalars = {};
  std::vector<Map> maps = {};  // in the order of Traced::map_tensors
  bool maps_by_value = false;
  bool is_programmatic = false;  // driver::LaunchPlan
};

/// A module that was traced, and its text.
struct TracedText {
  std::shared_ptr<const ir::Module> module;
  std::string ptx;
  std::string target;
};

/// A module and what it prints.
TracedText text_of(const std::shared_ptr<const ir::Module>& module);

/// The image of a traced kernel for these facts, shared with whoever composed the same: BadPlan,
/// EmuNoEntry, KernelParameters, LaunchShape, ScalarValue, BlockDirective, SharedTarget, ArrayMap.
diag::Result<std::shared_ptr<KernelImage>> make_image(TracedText text, const Signature& signature,
                                                      const Facts& facts,
                                                      const KernelLaunch& launch);

/// The same with what a launch takes. The signature's kernel is the module's entry; its tensors and
/// scalars are the entry's parameters of these names, or by their order where the entry has others.
/// The facts are checked like the arrays of a call (see bind.h).
diag::Result<SavedKernel> compose(TracedText text, const Signature& signature, const Facts& facts,
                                  const KernelLaunch& launch);
/// Of a module whose text is what it prints. One that was read is verified, as its text would be.
diag::Result<SavedKernel> compose(const std::shared_ptr<const ir::Module>& module,
                                  const Signature& signature, const Facts& facts,
                                  const KernelLaunch& launch);

/// The same of a trace (pyptx::Traced), which says itself what maps and how much dynamic shared
/// memory a launch passes; where `launch` says something of either, that holds.
template <typename T>
  requires requires(const T& traced) {
    traced.module;
    traced.map_tensors;
    traced.dynamic_shared_bytes;
  }
diag::Result<SavedKernel> compose(const T& traced, const Signature& signature, const Facts& facts,
                                  KernelLaunch launch) {
  if (launch.maps.empty()) {
    for (const std::string& tensor : traced.map_tensors) launch.maps.push_back({tensor});
  }
  if (launch.dynamic_shared == 0) {
    launch.dynamic_shared = static_cast<std::uint32_t>(traced.dynamic_shared_bytes);
  }
  return compose(traced.module, signature, facts, launch);
}

/// The image whose launches bring no scalars: these, as bits, are its own. ScalarCount.
diag::Result<std::shared_ptr<KernelImage>> with_scalars(const KernelImage& image,
                                                        std::span<const std::uint64_t> bits);

/// A scalar and a map as parameters of a plan.
struct ScalarSlot {
  std::optional<std::uint64_t> bits;  // none: each launch brings them
  std::uint32_t size = 4;             // bytes
};
/// A map over a tensor, by the tensor's index.
struct MapSlot {
  std::uint32_t tensor = 0;
  layout::TensorMap map;
};

/// Adds the parameters of a kernel to a plan that counts its tensors.
void add_parameters(driver::LaunchPlan& plan, std::span<const ScalarSlot> scalars,
                    std::span<const MapSlot> maps, bool maps_by_value);

}  // namespace pyptx::interop
