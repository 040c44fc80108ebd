// SPDX-License-Identifier: Apache-2.0
//
// A module that was traced in this program, made a kernel that can be launched, emulated and saved.
// The parameters come in the order of pyptx::Kernel: the tensors' addresses, the scalars, the maps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/plan.h"
#include "pyptx/interop/saved.h"
#include "pyptx/interop/scalar.h"
#include "pyptx/ir/module.h"
#include "pyptx/layout/tensor_map.h"

namespace pyptx::interop {

/// A dense row-major tensor of elements that a framework has ("f32", "bf16", "s32").
SavedTensor dense_tensor(std::string name, std::string dtype, std::vector<std::int64_t> shape);

struct KernelLaunch {
  struct Scalar {
    std::uint64_t bits = 0;
    std::uint32_t size = 4;  // bytes
    // With a name, one that each launch brings: its type ("f32"), and its value where a launch
    // brings none. It has no bits and no size of its own then.
    std::string name = {};
    std::string type = {};
    std::optional<Number> value = {};
  };
  struct Map {
    std::string tensor;
    layout::TensorMap map;
  };
  driver::Dim3 grid;
  driver::Dim3 block;
  driver::Dim3 cluster;
  std::uint32_t dynamic_shared = 0;
  std::vector<SavedTensor> inputs;
  std::vector<SavedTensor> outputs;
  std::vector<Scalar> scalars;
  std::vector<Map> maps;  // as Traced::map_tensors names them
  bool maps_by_value = false;
};

/// The entry `entry` of `module`, launched so, where the module has it and takes that many
/// parameters, and a device could launch it.
diag::Result<SavedKernel> compose(const std::shared_ptr<const ir::Module>& module,
                                  std::string_view entry, KernelLaunch launch);

}  // namespace pyptx::interop
