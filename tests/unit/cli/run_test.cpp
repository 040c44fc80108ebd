// SPDX-License-Identifier: Apache-2.0
//
// pyptx run: arguments, buffers, files, and what it says to each mistake.
#include <gmock/gmock.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "outcome.h"
#include "pyptx/cli/command.h"

namespace pyptx::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// y[i] = x[i] * a + i
constexpr const char* kKernel = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 a)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  .reg .f32 %f<4>;
  ld.param.u64 %rd0, [x];
  ld.param.u64 %rd1, [y];
  ld.param.f32 %f0, [a];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %rd2, %r0, 4;
  add.u64 %rd0, %rd0, %rd2;
  add.u64 %rd1, %rd1, %rd2;
  cvt.rn.f32.u32 %f1, %r0;
  ld.global.f32 %f2, [%rd0];
  fma.rn.f32 %f1, %f2, %f0, %f1;
  st.global.f32 [%rd1], %f1;
  ret;
}
)";

Outcome run_kernel(std::vector<std::string> words, const std::string& text = kKernel) {
  words.insert(words.begin(), {"run", "-"});
  std::istringstream in(text);
  std::ostringstream out;
  std::ostringstream err;
  const int status = run(words, {in, out, err});
  return {status, out.str(), err.str()};
}

TEST(RunCommand, ShowsWarnings) {
  const std::string same = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry same(.param .u64 x)
{
  .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [x];
  st.global.u32 [%rd0], 7;
  ret;
}
)";
  const std::vector<std::string> words{"--block", "64", "--arg", "u32[1]:zeros"};
  const Outcome outcome = run_kernel(words, same);
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("warning[PTX0941]"), HasSubstr("byte 0 of x")));
  std::vector<std::string> silent = words;
  silent.insert(silent.end(), {"--ignore", "PTX0941"});
  EXPECT_EQ(run_kernel(silent, same).err, "");
}

TEST(RunCommand, PrintsTheBuffersThatChanged) {
  const Outcome outcome = run_kernel({"--block", "16", "--arg", "f32[16]:ones", "--arg",
                                      "f32[16]:zeros", "--arg", "f32:0.5", "--entry", "scale"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "argument 1, f32[16]: 0.5 1.5 2.5 3.5 4.5 5.5 6.5 7.5 ...\n");
}

TEST(RunCommand, SavesAndReadsFiles) {
  const std::string file = testing::TempDir() + "/pyptx_run_test.npy";
  ASSERT_EQ(run_kernel({"--block=8", "--arg", "f32[2x4]:arange", "--arg", "f32[2x4]:zeros", "--arg",
                        "f32:1", "--save", "1=" + file})
                .status,
            0);
  const Outcome again = run_kernel(
      {"--block=8", "--arg", "@" + file, "--arg", "f32[8]:zeros", "--arg", "f32:1", "--show=3"});
  EXPECT_EQ(again.out, "argument 1, f32[8]: 0 3 6 ...\n") << again.err;
  const Outcome wrong = run_kernel({"--arg", "f32[4]:@" + file});
  EXPECT_THAT(wrong.err, HasSubstr("holds f32[2x4], not f32[4]"));
  std::filesystem::remove(file);
}

TEST(RunCommand, CountsAndTraces) {
  const std::string file = testing::TempDir() + "/pyptx_run_test.json";
  const Outcome outcome =
      run_kernel({"--arg=f32[32]:random:7", "--arg=f32[32]:zeros", "--arg=f32:2", "--counters",
                  "--trace", file, "--schedule=random", "--seed=3"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("warp instructions"), HasSubstr("fma.rn.f32  <stdin>:")));
  EXPECT_GT(std::filesystem::file_size(file), 500U);
  std::filesystem::remove(file);
}

TEST(RunCommand, ShowsWhatWentWrongAtItsLine) {
  const Outcome outcome =
      run_kernel({"--block=16", "--arg=f32[8]:ones", "--arg=f32[16]:zeros", "--arg=f32:1"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.err, AllOf(HasSubstr("PTX0904"), HasSubstr("<stdin>:17")));
  EXPECT_EQ(run_kernel({}, "nonsense").status, 1);
  EXPECT_THAT(run_kernel({"--entry", "other"}).err, HasSubstr("PTX0901"));
}

struct Mistake {
  std::vector<std::string> words;
  const char* words_of_error;
};

TEST(RunCommand, SaysWhichWordIsWrong) {
  const std::vector<Mistake> mistakes = {
      {{"--grid", "0"}, "--grid is one to three positive numbers"},
      {{"--block", "1,2,3,4"}, "--block is one to three"},
      {{"--smem", "many"}, "--smem is a number, not 'many'"},
      {{"--schedule", "soon"}, "schedule is 'earliest', 'latest' or 'random', not 'soon'"},
      {{"--numerics", "slow"}, "numerics is 'fast' or 'exact'"},
      {{"--checks", "all"}, "checks is 'races' or 'basic'"},
      {{"--ignore", "PTX0902"}, "cannot go on behind PTX0902"},
      {{"--arg", "7"}, "an argument is TYPE:VALUE"},
      {{"--arg", "q32:7"}, "there is no type 'q32'"},
      {{"--arg", "u8:256"}, "256 does not fit u8"},
      {{"--arg", "s8:-129"}, "-129 does not fit s8"},
      {{"--arg", "u32:-1"}, "-1 does not fit u32"},
      {{"--arg", "u32:1.5"}, "'1.5' is not an integer"},
      {{"--arg", "f32:one"}, "'one' is not a number"},
      {{"--arg", "f32[0]:zeros"}, "'f32[0]' is not TYPE[N]"},
      {{"--arg", "f32[8:zeros"}, "is not TYPE[N]"},
      {{"--arg", "f32[8]:threes"}, "a buffer is filled with zeros, ones"},
      {{"--arg", "f32[8]:random:x"}, "the seed 'x'"},
      {{"--arg", "@/nonexistent.npy"}, "/nonexistent.npy: No such file"},
      {{"--arg", "f32:1"}, "the entry has 3 parameters, got 1 --arg"},
      {{"--arg=f32[1]:ones", "--arg=f32[1]:ones", "--arg=f64:1"},
       "'a' has 4 bytes, argument 2 has 8"},
      {{"--arg=f32[1]:ones", "--arg=f32[1]:ones", "--arg=f32[1]:ones"},
       "is the address of a buffer"},
      {{"--save", "out.npy"}, "--save is N=FILE.npy"},
      {{"--save", "0=out.npy"}, "--save 0: there is no buffer of that number"},
      {{"--frob"}, "unknown option '--frob'"},
  };
  for (const Mistake& mistake : mistakes) {
    const Outcome outcome = run_kernel(mistake.words);
    EXPECT_EQ(outcome.status, 2) << mistake.words_of_error;
    EXPECT_THAT(outcome.err, HasSubstr(mistake.words_of_error));
  }
}

TEST(RunCommand, ReadsEveryType) {
  // Copies the first eight bytes of a scalar and of a buffer's first element.
  const std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 x)
{
  .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [x];
  ld.global.u8 %rd1, [%rd0];
  st.global.u8 [%rd0+1], %rd1;
  ret;
}
)";
  const auto shown = [&](const std::string& argument) {
    return run_kernel({"--block=1", "--checks=basic", "--arg", argument}, text).out;
  };
  EXPECT_EQ(shown("u16[1]:ones"), "argument 0, u16[1]: 257\n");
  EXPECT_EQ(shown("s8[2]:ones"), "");
  EXPECT_EQ(shown("u8[3]:arange"), "argument 0, u8[3]: 0 0 2\n");
  EXPECT_EQ(shown("f16[1]:ones"), "argument 0, f16[1]: 0\n");
  EXPECT_EQ(shown("bf16[1]:ones"), "argument 0, bf16[1]: -1.17549435e-38\n");  // 0x8080
}

TEST(RunCommand, InterruptEndsIt) {
  std::istringstream in(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nLOOP:\nbra "
      "LOOP;\n}\n");
  std::ostringstream out;
  std::ostringstream err;
  Streams streams{in, out, err};
  streams.interrupt = [] { return true; };
  const std::vector<std::string> words = {"run", "-"};
  EXPECT_EQ(run(words, streams), 1);
  EXPECT_THAT(err.str(), HasSubstr("PTX0915"));
}

TEST(RunCommand, LimitsEndARun) {
  const std::string endless =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nLOOP:\nbra "
      "LOOP;\n}\n";
  const Outcome steps = run_kernel({"--limit", "100000", "--limit", "60s"}, endless);
  EXPECT_EQ(steps.status, 1);
  EXPECT_THAT(steps.err, AllOf(HasSubstr("PTX0950"), HasSubstr("<stdin>:7")));
  EXPECT_THAT(run_kernel({"--limit", "50ms"}, endless).err, HasSubstr("PTX0951"));
  const Outcome wrong = run_kernel({"--limit", "2.5"}, endless);
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--limit is a number of warp instructions"));
}

}  // namespace
}  // namespace pyptx::cli
