// SPDX-License-Identifier: Apache-2.0
#include "pyptx/driver/assemble.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "deep_stack.h"
#include "fake_driver.h"
#include "process.h"
#include "temporary_folder.h"

// nvJitLink keeps a few bytes of a session whose target or options it refused.
extern "C" [[gnu::visibility("default")]] const char* __lsan_default_suppressions() {
  return "leak:libnvJitLink";
}

namespace pyptx::driver {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

std::string kernel_text(const std::string& version, const std::string& line) {
  return ".version " + version +
         "\n.target sm_90a\n.address_size 64\n.visible .entry k(.param "
         ".u64 a)\n{\n.reg .b64 %rd<3>;\n" +
         line + "\nret;\n}\n";
}

class AssembleTest : public FakeDriverTest {
 protected:
  void SetUp() override {
    FakeDriverTest::SetUp();
    std::string name = (fs::temp_directory_path() / "pyptx-assemble-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    setenv("PYPTX_CACHE_DIR", folder_.c_str(), 1);
    add_compiler_folder(PYPTX_SITE_PACKAGES);
  }
  void TearDown() override {
    fs::remove_all(folder_);
    unsetenv("PYPTX_CACHE_DIR");
    FakeDriverTest::TearDown();
  }
  /// Ends a process that EXPECT_EXIT started.
  [[noreturn]] void leave() const {
    fs::remove_all(folder_);
    std::exit(HasFailure() ? 1 : 0);
  }
  static AssembleOptions options(Compiler compiler) {
    AssembleOptions out;
    out.target = "sm_90a";
    out.compiler = compiler;
    return out;
  }

  std::string folder_;
};

/// The tests of both real compilers; each is skipped where its compiler is not installed.
class RealCompilerTest : public AssembleTest, public testing::WithParamInterface<Compiler> {
 protected:
  void SetUp() override {
    AssembleTest::SetUp();
    if (const auto found = find_compiler(GetParam()); !found) {
      EXPECT_EQ(found.error().code(), "PTX0601");
      GTEST_SKIP() << found.error()->notes.at(0);
    }
  }
};

TEST_P(RealCompilerTest, MakesACubin) {
  const auto result = assemble(kernel_text("8.0", "ld.param.u64 %rd1,[a];"), options(GetParam()));
  ASSERT_TRUE(result.ok()) << result.error().diagnostic.message();
  EXPECT_THAT(result->cubin, StartsWith("\x7f"
                                        "ELF"));
  EXPECT_EQ(result->compiler, find_compiler(GetParam())->name);
  EXPECT_FALSE(result->from_cache);
}

TEST_P(RealCompilerTest, PassesOptionsAndKeepsTheLog) {
  auto verbose = options(GetParam());
  verbose.flags = {"-v", "--maxrregcount=32"};
  const auto result = assemble(kernel_text("8.0", ""), verbose);
  ASSERT_TRUE(result.ok()) << result.error().diagnostic.message();
  EXPECT_THAT(result->log, HasSubstr("registers"));
  const auto again = assemble(kernel_text("8.0", ""), verbose);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->from_cache);
  EXPECT_EQ(again->log, result->log);
  EXPECT_EQ(again->cubin, result->cubin);
  verbose.flags.pop_back();
  EXPECT_FALSE(assemble(kernel_text("8.0", ""), verbose)->from_cache) << "other options";
}

TEST_P(RealCompilerTest, NamesTheLine) {
  const auto result = assemble(kernel_text("8.0", "ld.foo.u64 %rd1,[a];"), options(GetParam()));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().diagnostic.code(), "PTX0602");
  EXPECT_EQ(result.error().ptx_line, 7U);
  EXPECT_THAT(result.error().diagnostic.message(), HasSubstr(".foo"));
  EXPECT_THAT(result.error().diagnostic->notes.at(0), StartsWith("PTX line 7: "));
}

TEST_P(RealCompilerTest, SaysThatTheVersionIsTooNew) {
  const auto result = assemble(kernel_text("19.9", ""), options(GetParam()));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().diagnostic.code(), "PTX0603");
  EXPECT_THAT(result.error().diagnostic.message(), HasSubstr("PTX ISA 19.9"));
}

TEST_P(RealCompilerTest, SaysThatTargetOrOptionAreUnknown) {
  auto wrong = options(GetParam());
  // Some of them would end the process inside nvJitLink.
  for (const char* name : {"sm_9000", "sm_1", "sm_9", "sm_9a", "sm_", "sm_x", "", "compute_90"}) {
    wrong.target = name;
    const auto result = assemble(kernel_text("8.0", ""), wrong);
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().diagnostic.code(), "PTX0605") << result.error().diagnostic.message();
  }
  wrong = options(GetParam());
  wrong.flags = {"--nonsense"};
  const auto result = assemble(kernel_text("8.0", ""), wrong);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().diagnostic.code(), "PTX0606") << result.error().diagnostic.message();
}

TEST_P(RealCompilerTest, RefusesGarbage) {
  for (const std::string& text : {std::string("garbage"), std::string(), std::string("a\0b", 3)}) {
    const auto result = assemble(text, options(GetParam()));
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().diagnostic.code(), "PTX0602") << result.error().diagnostic.message();
  }
}

TEST_P(RealCompilerTest, ThreadsCompileTogether) {
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&failed, i] {
      const auto text = kernel_text("8.0", "add.u64 %rd1, %rd2, " + std::to_string(i) + ";");
      if (!assemble(text, options(GetParam()))) ++failed;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
}

INSTANTIATE_TEST_SUITE_P(Compilers, RealCompilerTest,
                         testing::Values(Compiler::NvJitLink, Compiler::Ptxas),
                         [](const auto& compiler) {
                           return compiler.param == Compiler::NvJitLink ? "NvJitLink" : "Ptxas";
                         });

// nvJitLink leaves setmaxnreg without effect, so a text with it is for ptxas; if that refuses the
// text, as one that is too old does, nvJitLink still gets it.
TEST_F(AssembleTest, SetmaxnregIsForPtxas) {
  const auto jit = find_compiler(Compiler::NvJitLink);
  const auto ptxas = find_compiler(Compiler::Ptxas);
  if (!jit || !ptxas) GTEST_SKIP() << "one of the compilers is not installed";
  const std::string with = kernel_text("8.0", "setmaxnreg.dec.sync.aligned.u32 40;");
  const auto any = options(Compiler::Any);
  EXPECT_EQ(assemble(kernel_text("8.0", ""), any)->compiler, jit->name);
  EXPECT_EQ(assemble(with, any)->compiler, ptxas->name);
  EXPECT_EQ(assemble(with, options(Compiler::NvJitLink))->compiler, jit->name);
  const auto refused =
      assemble(kernel_text("8.0", "setmaxnreg.dec.sync.aligned.u32 nonsense;"), any);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().diagnostic.message(), testing::HasSubstr(jit->name));
}

TEST_F(AssembleTest, TheDriverIsTheLastResort) {
  const auto found = find_compiler(Compiler::DriverJit);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->name, "the driver's JIT 13.0");
  auto jit = options(Compiler::DriverJit);
  jit.flags = {"-O1", "--maxrregcount=64", "-v"};
  const auto result = assemble("good text", jit);
  ASSERT_TRUE(result.ok()) << result.error().diagnostic.message();
  EXPECT_EQ(result->cubin, "cubin for 65626");  // 0x10000 + 90: sm_90a
  EXPECT_EQ(count("cuLinkDestroy"), 1);
}

TEST_F(AssembleTest, TheDriversWordsAreQuoted) {
  auto result = assemble("bad text", options(Compiler::DriverJit));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().ptx_line, 3U);
  EXPECT_EQ(result.error().diagnostic.message(),
            "the driver's JIT 13.0 refused the kernel: it is bad");
  EXPECT_EQ(count("cuLinkDestroy"), 1);
  cuda().failures["cuLinkComplete"] = 2;
  result = assemble("good text", options(Compiler::DriverJit));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().diagnostic.code(), "PTX0604");
  auto odd = options(Compiler::DriverJit);
  odd.flags = {"--fmad=false"};
  EXPECT_EQ(assemble("good text", odd).error().diagnostic.code(), "PTX0606");
  odd.flags.clear();
  odd.target = "compute_90";
  EXPECT_EQ(assemble("good text", odd).error().diagnostic.code(), "PTX0605");
}

TEST_F(AssembleTest, FindingACompilerDoesNotStartCuda) {
  // CUDA does not survive fork(), and a process may compile before it forks its workers.
  add_compiler_folder(folder_);  // look again
  for (const Compiler compiler : {Compiler::NvJitLink, Compiler::Ptxas}) {
    if (!find_compiler(compiler)) continue;
    EXPECT_EQ(count("cuInit"), 0);
  }
}

TEST_F(AssembleTest, TheDriversJitWorksInTheCallersContext) {
  auto jit = options(Compiler::DriverJit);
  jit.use_cache = false;
  library().set_context(1);
  ASSERT_TRUE(assemble("good text", jit).ok());
  EXPECT_EQ(cuda().link_device, 1);
  library().set_own_context(1);
  ASSERT_TRUE(assemble("good text", jit).ok());
  EXPECT_EQ(cuda().link_device, 1);
  EXPECT_EQ(count("cuDevicePrimaryCtxRetain"), 0);
  EXPECT_EQ(library().context_depth(), 1);
  // Without one, in a device's that the code is for.
  library().set_context(-1);
  ASSERT_TRUE(assemble("good text", jit).ok());
  EXPECT_EQ(cuda().link_device, 0);
  jit.target = "sm_80";
  ASSERT_TRUE(assemble("good text", jit).ok());
  EXPECT_EQ(cuda().link_device, 2);
  jit.target = "sm_75";
  ASSERT_TRUE(assemble("good text", jit).ok());
  EXPECT_EQ(cuda().link_device, 0);
}

TEST_F(AssembleTest, DoesWithoutACache) {
  auto jit = options(Compiler::DriverJit);
  ASSERT_TRUE(assemble("good cached", jit).ok());
  EXPECT_TRUE(assemble("good cached", jit)->from_cache);
  jit.use_cache = false;
  EXPECT_FALSE(assemble("good cached", jit)->from_cache);
  jit.use_cache = true;
  setenv("PYPTX_CACHE_DIR", "/dev/null/no/folder", 1);
  EXPECT_TRUE(assemble("good cached", jit).ok());
  EXPECT_FALSE(assemble("good cached", jit)->from_cache);
}

TEST_F(AssembleTest, RunsPrograms) {
  std::string why;
  auto run = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"}, why);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->exit_code, 3);
  EXPECT_EQ(run->output, "out\nerr\n");
  run = run_process({"sh", "-c", "kill -9 $$"}, why);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->signal, 9);
  EXPECT_FALSE(run_process({"/no/such/program"}, why));
  EXPECT_THAT(why, HasSubstr("No such file"));
}

// A process that ignores SIGCHLD cannot learn how its children ended. It is another one, because a
// compiler that was found stays.
TEST_F(AssembleTest, PtxasServesWhereChildrenAreNotWaitedFor) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::signal(SIGCHLD, SIG_IGN);
        std::string why;
        const auto run = run_process({"sh", "-c", "echo out; exit 3"}, why);
        EXPECT_TRUE(run && run->output == "out\n" && !run->exit_code);
        if (find_compiler(Compiler::Ptxas)) {
          auto ptxas = options(Compiler::Ptxas);
          EXPECT_TRUE(assemble(kernel_text("8.0", ""), ptxas).ok());
          const auto refused = assemble(kernel_text("8.0", "ld.foo.u64 %rd1,[a];"), ptxas);
          EXPECT_TRUE(!refused && refused.error().ptx_line == 7);
        } else {
          EXPECT_EQ(access(PYPTX_SITE_PACKAGES "/nvidia/cu13/bin/ptxas", X_OK), -1);
        }
        leave();
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(AssembleTest, HalfACubinIsNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const std::string script = folder_ + "/ptxas";
        std::ofstream(script) << "#!/bin/sh\n"
                                 "[ $1 = --version ] && echo 'release 13.0, V13.0.1' && exit\n"
                                 "while [ $1 != -o ]; do shift; done\n"
                                 "printf '\\177ELF' > $2\n"
                                 "kill -9 $$\n";
        fs::permissions(script, fs::perms::owner_all);
        setenv("PYPTX_PTXAS", script.c_str(), 1);
        std::signal(SIGCHLD, SIG_IGN);
        const auto result = assemble("text", options(Compiler::Ptxas));
        EXPECT_FALSE(result.ok());
        if (!result.ok()) {
          EXPECT_THAT(result.error().diagnostic.message(), HasSubstr("wrote no whole cubin"));
        }
        leave();
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(AssembleTest, FoldersOfKilledProcessesGo) {
  const fs::path base = folder_;
  const auto day = std::chrono::hours(25);
  for (const char* name : {"pyptx-ptxas-old", "pyptx-ptxas-new", "another-old"}) {
    fs::create_directory(base / name);
    std::ofstream(base / name / "kernel.ptx") << "text";
  }
  fs::create_directory_symlink(base / "another-old", base / "pyptx-ptxas-link");
  for (const char* name : {"pyptx-ptxas-old", "another-old"}) {
    fs::last_write_time(base / name, fs::file_time_type::clock::now() - day);
  }
  TemporaryFolder::remove_abandoned(base);
  EXPECT_FALSE(fs::exists(base / "pyptx-ptxas-old"));
  EXPECT_TRUE(fs::exists(base / "pyptx-ptxas-new" / "kernel.ptx")) << "it may be in use";
  EXPECT_TRUE(fs::exists(base / "another-old" / "kernel.ptx"));
  std::string path;
  {
    const TemporaryFolder made;
    ASSERT_TRUE(made.ok());
    path = made.file("");
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

int depth_of(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth == 0 ? frame[0] : depth_of(depth - 1) + (frame[0] == frame[0] ? 1 : 0);
}

TEST_F(AssembleTest, ADeepStackIsDeep) {
  int reached = 0;
  on_deep_stack([&reached] { reached = depth_of(10000); });  // 40 MiB
  EXPECT_EQ(reached, 10000);
}

}  // namespace
}  // namespace pyptx::driver
