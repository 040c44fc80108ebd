// SPDX-License-Identifier: Apache-2.0
//
// Saved kernels with scalars that each launch brings: their bytes, their defaults, their values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "fake_driver.h"
#include "kernels.h"
#include "pyptx/interop/registry.h"
#include "pyptx/interop/saved.h"
#include "pyptx/support/sha256.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint32_t kSize = 64;

/// c = a + b for the first n elements, where n comes with the launch.
SavedKernel add_kernel(std::optional<std::uint64_t> value) {
  driver::LaunchPlan plan = kernels::add_plan(kSize);
  plan.params[3] = {driver::ParamSlot::Kind::Argument, 0, 4, 0, {}};
  SavedKernel kernel;
  kernel.image = Registry::instance().intern(kernels::kAdd, "sm_90a", plan);
  kernel.inputs = {{"a", "f32", {kSize}, 256, false}, {"b", "f32", {kSize}, 256, false}};
  kernel.outputs = {{"c", "f32", {kSize}, 256, false}};
  kernel.scalars = {{"n", find_scalar_type("u32"), value}};
  return kernel;
}

std::string with_head(const std::string& version, const std::string& body) {
  return "pyptx-kernel " + version + " " + std::to_string(body.size()) + " " +
         support::Sha256::hex(body) + "\n" + body;
}

TEST(SavedScalarsTest, BytesComeBackAsTheyWere) {
  for (const auto value : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(7)}) {
    const SavedKernel kernel = add_kernel(value);
    const auto bytes = kernel.to_bytes();
    ASSERT_TRUE(bytes) << bytes.error().message();
    EXPECT_THAT(*bytes, StartsWith("pyptx-kernel 2 "));
    EXPECT_THAT(*bytes, HasSubstr(value ? "\nscalar u32 7 n\n" : "\nscalar u32 - n\n"));
    const auto read = SavedKernel::from_bytes(*bytes);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(read->scalars, kernel.scalars);
    EXPECT_EQ(read->image, kernel.image);
  }
}

TEST(SavedScalarsTest, WithoutScalarsTheFormatIsTheFirst) {
  SavedKernel kernel = add_kernel(std::nullopt);
  kernel.image = Registry::instance().intern(kernels::kAdd, "sm_90a", kernels::add_plan(kSize));
  kernel.scalars.clear();
  const auto bytes = kernel.to_bytes();
  ASSERT_TRUE(bytes);
  EXPECT_THAT(*bytes, StartsWith("pyptx-kernel 1 "));
  const std::string body = bytes->substr(bytes->find('\n') + 1);
  EXPECT_TRUE(SavedKernel::from_bytes(with_head("1", body)));
  EXPECT_EQ(SavedKernel::from_bytes(with_head("2", body)).error().kind, Kind::SavedKernelBytes);
  EXPECT_EQ(SavedKernel::from_bytes(with_head("0", body)).error().kind, Kind::SavedKernelBytes);
  EXPECT_EQ(SavedKernel::from_bytes(with_head("6", body)).error().kind, Kind::SavedKernelVersion);
}

TEST(SavedScalarsTest, LinesThatDescribeNoScalarAreRefused) {
  const std::string bytes = *add_kernel(7).to_bytes();
  const std::string body = bytes.substr(bytes.find('\n') + 1);
  for (const char* line :
       {"scalar u33 7 n", "scalar u32 x n", "scalar u32 07 n", "scalar u32 7 ", "scalar u32 7 n m",
        "scalar u64 7 n", "scalar u32 4294967296 n", "scalar u32 7 n\nscalar u32 7 m"}) {
    std::string changed = body;
    changed.replace(changed.find("scalar u32 7 n"), 14, line);
    const auto read = SavedKernel::from_bytes(with_head("2", changed));
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().kind, Kind::SavedKernelBytes) << line;
  }
  SavedKernel kernel = add_kernel(7);
  kernel.scalars.clear();
  EXPECT_FALSE(kernel.to_bytes()) << "the plan takes one";
}

TEST(SavedScalarsTest, ALaunchBringsThemOrTakesTheDefaults) {
  std::vector<float> a(kSize, 1.5F), b(kSize, 2.0F), c(kSize);
  const auto tensor = [](std::vector<float>& values) {
    return HostTensor{reinterpret_cast<std::uintptr_t>(values.data()), values.size() * 4, true};
  };
  const HostTensor tensors[] = {tensor(a), tensor(b), tensor(c)};
  const SavedKernel kernel = add_kernel(7);
  ASSERT_TRUE(kernel.emulate(tensors));
  EXPECT_EQ(std::vector<float>(c.begin(), c.begin() + 8),
            (std::vector<float>{3.5F, 3.5F, 3.5F, 3.5F, 3.5F, 3.5F, 3.5F, 0}));
  const Number all[] = {kSize};
  ASSERT_TRUE(kernel.emulate(tensors, {}, all));
  EXPECT_EQ(c, std::vector<float>(kSize, 3.5F));

  const auto refused = [&](const SavedKernel& of, std::vector<Number> values) {
    const auto report = of.emulate(tensors, {}, values);
    EXPECT_FALSE(report);
    return report ? "ran" : report.error().message();
  };
  EXPECT_EQ(refused(kernel, {1, 2}), "'kernel' takes 1 scalars at run time, got 2");
  EXPECT_EQ(refused(kernel, {-1}), "kernel 'kernel': raw parameter 'n' (.u32) cannot hold -1");
  EXPECT_EQ(refused(kernel, {0.5}), "kernel 'kernel': raw parameter 'n' (.u32) cannot hold 0.5");
  EXPECT_EQ(refused(add_kernel(std::nullopt), {}), "'kernel' takes 1 scalars at run time, got 0");
}

class SavedScalarsLaunchTest : public driver::FakeDriverTest {};

TEST_F(SavedScalarsLaunchTest, TheDriverGetsTheirBits) {
  SavedKernel kernel = add_kernel(7);
  kernel.binaries = {{"sm_90a", "machine code of add with a scalar"}};
  const auto loaded = SavedKernel::from_bytes(*kernel.to_bytes());
  ASSERT_TRUE(loaded);
  take_parameters_of(loaded->image->plan());
  const DeviceTensor tensors[] = {{0x1000, 256}, {0x2000, 256}, {0x3000, 256}};
  const Number values[] = {40};
  ASSERT_TRUE(loaded->launch(nullptr, 0, tensors));
  ASSERT_TRUE(loaded->launch(nullptr, 0, tensors, values));
  for (const std::uint32_t expected : {7U, 40U}) {
    std::uint32_t got = 0;
    const auto& parameters = cuda().launches[expected == 7U ? 0 : 1].parameters;
    std::memcpy(&got, parameters.data() + 24, sizeof(got));
    EXPECT_EQ(got, expected);
  }
  const Number wrong[] = {-40};
  EXPECT_EQ(loaded->launch(nullptr, 0, tensors, wrong).error().kind, Kind::ScalarValue);
  EXPECT_EQ(cuda().launches.size(), 2U);
}

}  // namespace
}  // namespace pyptx::interop
