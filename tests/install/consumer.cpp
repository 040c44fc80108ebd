// SPDX-License-Identifier: Apache-2.0
//
// Reads PTX from standard input, verifies it and prints it back, with nothing but the installed
// package: the smallest program a user would write.
#include <pyptx/diag/render.h>
#include <pyptx/pyptx.h>

#include <iostream>
#include <iterator>
#include <string>

int main() {
  const std::string text{std::istreambuf_iterator<char>(std::cin),
                         std::istreambuf_iterator<char>()};
  const pyptx::Checked checked = pyptx::check(text, "input.ptx");
  if (!checked.ok()) {
    std::cerr << pyptx::diag::render(checked.diagnostics, &checked.document.module().locations);
    return 1;
  }
  std::cout << pyptx::print(checked.document);
  return 0;
}
