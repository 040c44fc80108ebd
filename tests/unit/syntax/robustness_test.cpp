// SPDX-License-Identifier: Apache-2.0
//
// Damaged texts: every prefix and every single-byte change of a sample is read without a crash, and
// what is accepted prints to a fixed point. Run under AddressSanitizer and UBSan to mean the most.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "pyptx/syntax/parser.h"
#include "pyptx/syntax/printer.h"
#include "samples.h"

namespace pyptx::syntax {
namespace {

// Reading must end, and whatever is read without complaint must survive printing.
void check(std::string_view text) {
  const ParseOutcome outcome = parse_all(text);
  const std::string printed = print(*outcome.module);
  if (!outcome.ok()) return;
  const ParseOutcome again = parse_all(printed);
  ASSERT_TRUE(again.ok()) << text << "\n----\n" << printed;
  ASSERT_EQ(print(*again.module), printed) << text;
}

TEST(Robustness, EveryPrefix) {
  for (const std::string_view sample : {samples::kEverything, samples::kSaxpy}) {
    for (std::size_t size = 0; size <= sample.size(); ++size) check(sample.substr(0, size));
  }
}

TEST(Robustness, EverySingleByteChange) {
  constexpr std::string_view kBytes = std::string_view("\0\xff;{}()[],:@.\"%0a_-/ \n", 23);
  std::string text(samples::kEverything);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char original = text[i];
    // Each position gets some of the bytes; neighbours get the others.
    for (std::size_t b = i % 6; b < kBytes.size(); b += 6) {
      text[i] = kBytes[b];
      check(text);
      if (HasFatalFailure()) return;
    }
    text[i] = original;
  }
}

TEST(Robustness, EverySingleByteRemoved) {
  for (std::size_t i = 0; i < samples::kEverything.size(); ++i) {
    std::string text(samples::kEverything);
    text.erase(i, 1);
    check(text);
    if (HasFatalFailure()) return;
  }
}

TEST(Robustness, DeepNestingIsRefusedNotOverflowed) {
  const std::string header = ".version 8.7 .target sm_90a .entry k { .reg .b32 a; mov.u32 a, ";
  for (const std::string_view open : {"(", "{", "[", "-", "!", "~", "(.u64)", "1?"}) {
    std::string text = header;
    for (int i = 0; i < 100000; ++i) text += open;
    const ParseOutcome outcome = parse_all(text);
    EXPECT_FALSE(outcome.ok()) << open;
  }
  std::string blocks = ".version 8.7 .target sm_90a .entry k ";
  blocks.append(100000, '{').append(100000, '}');
  check(blocks);
}

}  // namespace
}  // namespace pyptx::syntax
