// SPDX-License-Identifier: Apache-2.0
#include "pyptx/diag/exception.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <vector>

#include "golden.h"

namespace pyptx::diag {
namespace {

template <typename F>
Diagnostic thrown_by(F&& body) {
  try {
    body();
  } catch (...) {
    return current_exception();
  }
  return {};
}

TEST(CurrentException, MemoryAndTheRest) {
  golden::Folder goldens("exceptions");
  goldens.expect(thrown_by([] { throw std::bad_alloc(); }));
  goldens.expect(thrown_by([] { throw std::runtime_error("the words of it"); }));
  goldens.expect_complete();
  EXPECT_EQ(thrown_by([] { std::vector<int>().reserve(~std::size_t{0}); }).kind, Kind::OutOfMemory);
  EXPECT_EQ(thrown_by([] { throw 7; }).kind, Kind::UnexpectedException);
}

TEST(Exceptions, AResultThrowsItsDiagnosticForThoseWhoAsk) {
  const Result<int> bad = fail(Kind::UnknownTarget, {"sm_12"});
  try {
    static_cast<void>(bad.or_throw());
    FAIL();
  } catch (const Exception& error) {
    EXPECT_EQ(error.diagnostic().kind, Kind::UnknownTarget);
    EXPECT_STREQ(error.what(), describe(bad.error()).c_str());
  }
  EXPECT_EQ(thrown_by([&] { static_cast<void>(bad.or_throw()); }).kind, Kind::UnknownTarget);
  EXPECT_EQ(Result<int>(3).or_throw(), 3);
}

TEST(CurrentException, ItsWords) {
  try {
    throw std::runtime_error("the words of it");
  } catch (...) {
    const ExceptionWords words = words_of_current_exception();
    EXPECT_EQ(words.kind, Kind::UnexpectedException);
    EXPECT_NE(words.text.find("the words of it"), std::string::npos);
  }
}

}  // namespace
}  // namespace pyptx::diag
