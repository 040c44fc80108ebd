// SPDX-License-Identifier: Apache-2.0
//
// A module as a compiler sees it: the tour of docs/guide/modules.md, on a kernel of a few lines.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "pyptx/analysis/def_use.h"
#include "pyptx/analysis/liveness.h"
#include "pyptx/pyptx.h"
#include "pyptx/syntax/edits.h"
#include "pyptx/syntax/printer.h"

namespace analysis = pyptx::analysis;
namespace ir = pyptx::ir;

namespace {

constexpr const char* kKernel = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry sum(.param .u64 out)
{
	.reg .pred %p<1>;
	.reg .b32 %r<2>;
	.reg .b64 %rd<1>;
	ld.param.u64 %rd0, [out];
	mov.u32 %r0, 0;
	mov.u32 %r1, 0;
LOOP:
	add.u32 %r1, %r1, %r0;   // the sum
	add.u32 %r0, %r0, 1;
	setp.lt.u32 %p0, %r0, 8;
	@%p0 bra LOOP;
	st.global.u32 [%rd0], %r1;
	ret;
}
)";

std::string text(const ir::Module& module, const ir::Function& function, std::uint32_t statement) {
  const ir::Statement& here = function.body[statement];
  if (here.kind != ir::StatementKind::Instruction) return "";
  return pyptx::syntax::print(module, function, function.instructions[here.index]);
}

void show_operands(const ir::Module& module, const ir::Function& function) {
  const ir::Instruction& add = function.instructions[3];
  std::cout << pyptx::syntax::print(module, function, add) << '\n';
  analysis::visit_operands(module, function, add, [&](const analysis::OperandUse& use) {
    std::cout << "  " << pyptx::syntax::print(module, function, use.operand)
              << (use.writes() ? " is written" : " is read") << '\n';
  });
}

void show_blocks(const ir::Module& module, const ir::Function& function) {
  const analysis::ControlFlow flow(function);
  const analysis::Accesses accesses(module, function);
  const analysis::Liveness liveness(accesses, flow);
  for (const analysis::BlockId id : flow.reverse_postorder()) {
    const analysis::Block& block = flow.at(id);
    std::cout << "block " << static_cast<std::uint32_t>(id) << ", " << liveness.live_in(id).size()
              << " registers live, goes to";
    for (const analysis::BlockId next : block.successors) {
      std::cout << ' ' << static_cast<std::uint32_t>(next);
    }
    std::cout << (block.leaves ? " the end\n" : "\n");
  }
}

void show_chains(const ir::Module& module, const ir::Function& function) {
  const analysis::ControlFlow flow(function);
  const analysis::Accesses accesses(module, function);
  const analysis::DefUse chains(accesses, flow);
  const ir::RegisterId sum = *function.find_register(module.symbols, "%r1");
  const analysis::Site store = chains.uses(sum).back();
  std::cout << text(module, function, store.statement) << " may see\n";
  for (const analysis::Site& site : chains.reaching(sum, store.statement).definitions) {
    std::cout << "  " << text(module, function, site.statement) << '\n';
  }
}

void sync_in_loop(pyptx::Document& document) {
  const ir::Function& function = *document.module().functions[0];
  const analysis::ControlFlow flow(function);
  // Before the first instruction of the loop, each time around: a barrier of the warp.
  const std::vector<ir::Operand> everybody{ir::Operand::integer(-1)};
  const analysis::BlockId loop = flow.reverse_postorder()[1];
  pyptx::syntax::Edits edits(0);
  edits.insert(flow.begin_of(function, loop),
               {*pyptx::isa::spell("bar.warp.sync"), everybody, {}, false});
  edits.apply(document);
  document.rename(0, *function.find_register(document.module().symbols, "%r1"), "%sum");
}

void show_findings(const pyptx::Document& document) {
  const auto found = pyptx::check(document.module());
  for (const auto& one : found) std::cout << one.code() << ": " << one.message() << '\n';
  if (found.empty()) std::cout << "nothing is wrong\n";
}

}  // namespace

int main() {
  pyptx::Document document = pyptx::parse(kKernel);
  const ir::Module& module = document.module();
  const ir::Function& function = *module.functions[0];
  show_operands(module, function);
  show_blocks(module, function);
  show_chains(module, function);

  sync_in_loop(document);
  show_findings(document);
  const std::string printed = pyptx::print(document);
  const std::size_t loop = printed.find("LOOP:");
  std::cout << printed.substr(loop, printed.find("setp") - loop - 1);

  document.rename(0, *function.find_register(module.symbols, "%sum"), "%r0");
  show_findings(document);
  return 0;
}
