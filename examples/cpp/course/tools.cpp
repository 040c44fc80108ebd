// SPDX-License-Identifier: Apache-2.0
//
// The program of docs/guide/cpp_tools.md, which shows what it prints.
#include <cstdint>
#include <iostream>
#include <string>

#include "../dead_code.h"
#include "../vector_add.h"
#include "pyptx/diag/render.h"
#include "pyptx/pyptx.h"

namespace {

using namespace pyptx;

constexpr const char* kText = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry twice(.param .u64 out)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<1>;
	ld.param.u64 %rd0, [out];
	mov.u32 %r0, %tid.x;      // odd   spacing, kept
	mul.lo.u32 %r1, %r0, %r0;
	add.u32 %r2, %r0, %r0;
	st.global.u32 [%rd0], %r2;
	ret;
}
)";

void check_text() {
  std::string text = kText;
  text.replace(text.find("mul.lo"), 6, "mul.loo");
  const auto checked = check(text, "twice.ptx");
  for (const auto& found : checked.diagnostics) {
    std::cout << diag::render(found, &checked.document.module().locations);
  }
}

void count_instructions(const ir::Module& module) {
  for (const auto& function : module.functions) {
    std::cout << function->instructions.size() << " instructions\n";
  }
}

}  // namespace

int main() {
  check_text();
  Document document = parse(kText);
  count_instructions(document.module());
  std::cout << (print(document) == kText ? "the same bytes\n" : "other bytes\n");

  std::cout << examples::remove_dead_code(document) << " removed\n";
  const std::string shorter = print(document);
  std::cout << shorter.substr(shorter.find("\tmov"));

  const auto traced = examples::vector_add.module({{"N", 1000}}).or_throw();
  count_instructions(*traced);
  return 0;
}
