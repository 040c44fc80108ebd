// SPDX-License-Identifier: Apache-2.0
//
// Removes dead code from a file of PTX.
//
//     dead_code kernel.ptx     prints the PTX; how much is gone on standard error
#include "dead_code.h"

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "pyptx/diag/render.h"

namespace {

bool show_errors(const pyptx::diag::Diagnostics& found, const pyptx::Document& document) {
  bool is_ok = true;
  for (const auto& one : found) {
    if (one.severity() != pyptx::diag::Severity::Error) continue;
    std::cerr << pyptx::diag::render(one, &document.module().locations);
    is_ok = false;
  }
  return is_ok;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: dead_code FILE\n";
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  if (!file) {
    std::cerr << "dead_code: " << argv[1] << " cannot be read\n";
    return 2;
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto checked = pyptx::check(text, argv[1]);
  if (!show_errors(checked.diagnostics, checked.document)) return 1;
  const std::size_t removed = examples::remove_dead_code(checked.document);
  // What was right is right without what nobody missed; a pass asks all the same.
  if (!show_errors(pyptx::check(checked.document), checked.document)) return 1;
  std::cout << pyptx::print(checked.document);
  std::cerr << removed << " instructions removed\n";
  return 0;
}
