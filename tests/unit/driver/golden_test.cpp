// SPDX-License-Identifier: Apache-2.0
//
// Findings of the assembler, the driver and launches as they are shown (golden.h), provoked through
// the fake driver.
#include "golden.h"

#include <cstdlib>
#include <vector>

#include "compiler_log.h"
#include "cuda_api.h"
#include "fake_driver.h"
#include "pyptx/driver/assemble.h"
#include "pyptx/driver/device.h"
#include "pyptx/driver/disassemble.h"
#include "pyptx/driver/launch.h"
#include "pyptx/driver/library.h"
#include "pyptx/driver/tensor_map.h"

namespace pyptx::driver {
namespace {

class GoldenTest : public FakeDriverTest {
 protected:
  static AssembleOptions jit(const std::string& target, std::vector<std::string> flags = {}) {
    AssembleOptions options;
    options.target = target;
    options.flags = std::move(flags);
    options.compiler = Compiler::DriverJit;
    options.use_cache = false;
    return options;
  }
  static LaunchPlan plan(std::uint32_t tensors) {
    LaunchPlan out;
    out.entry = "kernel";
    out.grid = {8, 2, 1};
    out.block = {128, 1, 1};
    out.tensor_count = tensors;
    for (std::uint32_t i = 0; i < tensors; ++i) out.params.emplace_back().tensor = i;
    out.tensor_bytes.assign(tensors, 4096);
    return out;
  }
  /// The kernel takes what the plan passes.
  static std::unique_ptr<Launcher> launcher(const LaunchPlan& plan) {
    take_parameters_of(plan);
    auto made = Launcher::create(plan, *load_kernel("a cubin", "kernel"));
    EXPECT_TRUE(made.ok());
    return std::move(*made);
  }
  static diag::Diagnostic refusal(const LaunchPlan& plan, std::vector<std::uint64_t> tensors,
                                  int device = 0) {
    const auto status = launcher(plan)->launch(nullptr, device, {.pointers = tensors});
    EXPECT_FALSE(status.ok());
    return status.error();
  }
};

// A compiler that was found stays: only a process that has looked for none yet can miss one.
TEST_F(GoldenTest, NoCompiler) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("PYPTX_PTXAS", "/no/such/ptxas", 1);
        golden::Folder goldens("no_compiler");
        goldens.expect(find_compiler(Compiler::Ptxas).error());
        goldens.expect_complete();
        std::exit(HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(GoldenTest, Assembler) {
  golden::Folder goldens("assembler");
  goldens.expect(assemble("bad text", jit("sm_90a")).error().diagnostic);
  // The words are ptxas's, which the driver's compiler shares.
  goldens.expect(driver::refusal("ptxas 13.4", "sm_90a",
                                 "ptxas k.ptx, line 1; fatal   : Unsupported .version 19.9; "
                                 "current version is '9.4'\n")
                     .diagnostic);
  goldens.expect(assemble("good text", jit("compute_90")).error().diagnostic);
  goldens.expect(assemble("good text", jit("sm_90a", {"--fmad=false"})).error().diagnostic);
  cuda().failures["cuLinkComplete"] = 2;
  goldens.expect(assemble("good text", jit("sm_90a")).error().diagnostic);
  goldens.expect_complete();
}

TEST_F(GoldenTest, Disassembler) {
  golden::Folder goldens("disassembler");
  setenv("PYPTX_NVDISASM", "/no/such/nvdisasm", 1);
  goldens.expect(disassemble("a cubin").error());
  setenv("PYPTX_NVDISASM", "/bin/false", 1);
  goldens.expect(disassemble("a cubin").error());
  setenv("PYPTX_NVDISASM", "/bin/echo", 1);
  EXPECT_TRUE(disassemble("a cubin", true)->starts_with("-c -g --no-dataflow "));
  unsetenv("PYPTX_NVDISASM");
  goldens.expect_complete();
}

TEST_F(GoldenTest, Driver) {
  golden::Folder goldens("driver");
  goldens.expect(open_api("/nowhere/libcuda.so.1").error());
  goldens.expect(device(7).error());
  goldens.expect(LaunchPlan::from_text("not a plan").error());
  goldens.expect(load_kernel("a cubin", "absent").error());
  DeviceInfo blackwell;
  blackwell.major = 10;
  blackwell.minor = 3;
  blackwell.target = "sm_103a";
  goldens.expect(code_target("sm_90a", blackwell).error());

  LaunchPlan clusters = plan(0);
  clusters.cluster = {2, 1, 1};
  goldens.expect(refusal(clusters, {}, 2));
  goldens.expect(refusal(plan(2), {0x1000}));
  goldens.expect(refusal(plan(2), {0x1000, 0}));
  LaunchPlan scaled = plan(1);
  scaled.params.emplace_back().kind = ParamSlot::Kind::Argument;
  goldens.expect(refusal(scaled, {0x1000}));
  cuda().static_shared = 40000;
  LaunchPlan large = plan(0);
  large.dynamic_shared = 200000;
  goldens.expect(refusal(large, {}));
  cuda().static_shared = 0;

  layout::TensorMap map;
  map.type = layout::MapType::F32;
  map.rank = 1;
  map.dims = {1024};
  map.box = {64};
  goldens.expect(encode_map(map, 0x1004).error());

  const LaunchPlan one = plan(1);
  const auto prepared = launcher(one);
  ASSERT_TRUE(prepared->prepare(0).ok());
  cuda().failures["cuLaunchKernelEx"] = cuda::kIllegalAddress;
  const std::uint64_t tensor = 0x1000;
  goldens.expect(prepared->launch(nullptr, 0, {.pointers = {&tensor, 1}}).error());
  cuda().failures.clear();
  cuda().knows_parameters = true;
  cuda().parameters = {{0, 8}, {8, 4}};
  goldens.expect((*Launcher::create(one, *load_kernel("a cubin", "kernel")))->prepare(0).error());
  goldens.expect_complete();
}

}  // namespace
}  // namespace pyptx::driver
