// SPDX-License-Identifier: Apache-2.0
//
// What is asked of a kernel that is composed: that its facts are those of some call, and that what
// the plan passes are the entry's own parameters.
#pragma once

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/plan.h"
#include "pyptx/interop/compose.h"
#include "pyptx/interop/signature.h"
#include "pyptx/ir/module.h"

namespace pyptx::interop {

/// A shape and a type for each tensor.
diag::Status check_fact_count(const Signature& signature, const Facts& facts);
/// Shapes and element types against the signature's tiles, in the words of a call with such arrays.
diag::Status check_facts(const Signature& signature, const Facts& facts);

/// The parameters of the plan in the order of the entry's names. Tensors, scalars and maps of these
/// names may stand in any order; where none is out of place the order decides, whatever the names.
diag::Status order_parameters(driver::LaunchPlan& plan, const Signature& signature,
                              const KernelLaunch& launch, const ir::Module& module,
                              const ir::Function& entry);

/// The dynamic array of a module that has one gets memory, on a target that has so much.
diag::Status check_dynamic_shared(const Signature& signature, const ir::Module& module,
                                  const KernelLaunch& launch);

}  // namespace pyptx::interop
