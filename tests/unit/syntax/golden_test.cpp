// SPDX-License-Identifier: Apache-2.0
//
// What only a text too large for a file of tests/files/diagnostics provokes, as it is shown
// (golden.h).
#include "golden.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>

#include "pyptx/syntax/lexer.h"
#include "pyptx/syntax/parser.h"

namespace pyptx::syntax {
namespace {

/// Address space without memory behind it: reading a page of it would take one.
class Reserved {
 public:
  explicit Reserved(std::size_t size)
      : size_(size),
        data_(mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Reserved() { munmap(data_, size_); }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

  bool ok() const { return data_ != MAP_FAILED; }
  std::string_view text() const { return {static_cast<const char*>(data_), size_}; }

 private:
  std::size_t size_;
  void* data_;
};

void expect_first(golden::Folder& goldens, std::string_view text, std::string_view file) {
  const auto outcome = parse_all(text, file);
  ASSERT_FALSE(outcome.diagnostics.empty()) << file;
  goldens.expect(outcome.diagnostics.front(), &outcome.module->locations);
}

TEST(Goldens, WhatIsTooLarge) {
  golden::Folder goldens("limits");
  const Reserved huge(kMaxTextBytes + 1);
  ASSERT_TRUE(huge.ok());
  expect_first(goldens, huge.text(), "huge.ptx");  // refused without a look at it

  std::string operands = "%r1";
  for (int i = 0; i < 70000; ++i) operands += ",%r1";
  expect_first(goldens,
               ".version 9.4\n.target sm_90a\n.address_size 64\n.entry k() {\n.reg .b32 %r<4>;\n"
               "mov.b32 %r1, {" +
                   operands + "};\nret;\n}\n",
               "operands.ptx");
  goldens.expect_complete();
}

}  // namespace
}  // namespace pyptx::syntax
