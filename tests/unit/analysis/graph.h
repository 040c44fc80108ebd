// SPDX-License-Identifier: Apache-2.0
//
// A function read from a text, with what the tests of its graph ask: the statement of an
// instruction, a register by name.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "pyptx/analysis/accesses.h"
#include "pyptx/analysis/control_flow.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/text/text.h"

namespace pyptx::analysis {

inline constexpr std::string_view kHeader =
    ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
    "\t.reg .b32 %r<8>;\n\t.reg .b64 %rd<8>;\n\t.reg .pred %p<8>;\n";

class Graph {
 public:
  /// The body of an entry with registers %r, %rd and %p.
  explicit Graph(std::string_view body)
      : document_(text::check(std::string(kHeader) + std::string(body) + "}\n").document),
        flow_(function()),
        accesses_(module(), function()) {
    EXPECT_TRUE(document_.diagnostics().empty()) << document_.diagnostics()[0].message();
  }

  const ir::Module& module() const { return document_.module(); }
  const ir::Function& function() const { return *module().functions.back(); }
  const ControlFlow& flow() const { return flow_; }
  const Accesses& accesses() const { return accesses_; }

  /// The statement that prints as `text`.
  std::uint32_t at(std::string_view text) const {
    const ir::Function& here = function();
    for (std::uint32_t i = 0; i < here.body.size(); ++i) {
      if (here.body[i].kind != ir::StatementKind::Instruction) continue;
      const ir::Instruction& instruction = here.instructions[here.body[i].index];
      if (syntax::print(module(), here, instruction) == text) return i;
    }
    ADD_FAILURE() << "no instruction " << text;
    return 0;
  }
  BlockId block(std::string_view text) const { return flow_.block_of(at(text)); }

  ir::RegisterId reg(std::string_view name) const {
    return function().find_register(module().symbols, name).value();
  }

 private:
  syntax::Document document_;
  ControlFlow flow_;
  Accesses accesses_;
};

}  // namespace pyptx::analysis
