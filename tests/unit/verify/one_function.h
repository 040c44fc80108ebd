// SPDX-License-Identifier: Apache-2.0
//
// A module with one function, and registers in it: what tests of single instructions start from.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "pyptx/ir/module.h"

namespace pyptx::verify {

class OneFunctionTest : public ::testing::Test {
 protected:
  explicit OneFunctionTest(isa::Target target = {90, 'a'}) {
    module_.target = target;
    module_.version = {9, 4};
    module_.functions.push_back(std::make_unique<ir::Function>());
    function_ = module_.functions.back().get();
  }

  ir::Operand reg(isa::Type type) {
    const auto name = "%x" + std::to_string(function_->registers.size());
    return ir::Operand::reg(function_->add_named(module_.symbols.intern(name), type));
  }

  ir::Module module_;
  ir::Function* function_ = nullptr;
};

}  // namespace pyptx::verify
