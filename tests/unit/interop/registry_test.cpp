// SPDX-License-Identifier: Apache-2.0
#include "pyptx/interop/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <vector>

#include "golden.h"
#include "kernels.h"

namespace pyptx::interop {
namespace {

using testing::HasSubstr;

Registry& registry() { return Registry::instance(); }

std::shared_ptr<KernelImage> image(const std::string& ptx, std::uint32_t n = 64) {
  return registry().intern(ptx, "sm_90a", kernels::add_plan(n));
}

TEST(RegistryTest, EqualContentIsOneImage) {
  const auto first = image("same");
  EXPECT_EQ(image("same"), first);
  EXPECT_EQ(registry().find(first->hash()), first);
  EXPECT_NE(image("same", 65), first) << "another plan";
  EXPECT_NE(image("other"), first);
  EXPECT_NE(registry().intern("same", "sm_100a", kernels::add_plan(64)), first);
}

TEST(RegistryTest, TheHashCoversTextTargetAndPlan) {
  const std::string plan = kernels::add_plan(64).to_text();
  const std::string hash = KernelImage::hash_of("a", "sm_90a", plan);
  EXPECT_EQ(hash.size(), 64U);
  EXPECT_EQ(registry().intern("a", "sm_90a", kernels::add_plan(64))->hash(), hash);
  EXPECT_NE(KernelImage::hash_of("b", "sm_90a", plan), hash);
  EXPECT_NE(KernelImage::hash_of("a", "sm_90", plan), hash);
  EXPECT_NE(KernelImage::hash_of("as", "m_90a", plan), hash);
  EXPECT_NE(KernelImage::hash_of("a", "sm_90a", kernels::add_plan(65).to_text()), hash);
}

TEST(RegistryTest, AHashKeepsNothingAliveAHandleDoes) {
  const std::string forgotten = image("forgotten")->hash();
  EXPECT_EQ(registry().find(forgotten), nullptr);

  std::int64_t handle = 0;
  std::string kept;
  {
    const auto named = image("named");
    handle = registry().handle_of(named);
    EXPECT_EQ(registry().handle_of(named), handle);
    kept = named->hash();
  }
  ASSERT_NE(registry().find(kept), nullptr);
  const auto found = registry().image(handle);
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->ptx(), "named");
  registry().drop(handle);
  EXPECT_EQ(registry().image(handle).error().kind, diag::Kind::UnknownHandle);
}

TEST(RegistryTest, HandlesAreNeverGivenTwice) {
  const std::int64_t fresh = registry().new_handle();
  EXPECT_NE(registry().new_handle(), fresh);
  ASSERT_TRUE(registry().set_raw(fresh + 100, {}));
  EXPECT_GT(registry().new_handle(), fresh + 100) << "a number the caller chose";
}

TEST(RegistryTest, RawLaunchesAndImagesKeepToTheirKind) {
  const auto held = image("an image");
  const std::int64_t handle = registry().handle_of(held);
  EXPECT_EQ(registry().set_raw(handle, {}).error().kind, diag::Kind::ImageHandle);
  EXPECT_EQ(registry().add_scalar(handle, {1, 4}).error().kind, diag::Kind::ImageHandle);

  const std::int64_t raw = registry().new_handle();
  EXPECT_EQ(registry().add_scalar(raw, {1, 4}).error().kind, diag::Kind::UnknownHandle);
  ASSERT_TRUE(registry().set_raw(raw, {}));
  ASSERT_TRUE(registry().add_scalar(raw, {1, 4}));
  EXPECT_EQ(registry().add_scalar(raw, {1, 3}).error().kind, diag::Kind::LaunchShape);
  EXPECT_EQ(registry().add_map(raw, {0, 0, 0}).error().kind, diag::Kind::LaunchShape);
  EXPECT_EQ(registry().image(raw).error().kind, diag::Kind::RawHandle);
}

TEST(RegistryTest, Goldens) {
  golden::Folder goldens("handles");
  goldens.expect(registry().image(-7).error());
  // Handles are counted through the process, so the golden's is chosen.
  constexpr std::int64_t kRaw = 1 << 20;
  ASSERT_TRUE(registry().set_raw(kRaw, {}));
  goldens.expect(registry().image(kRaw).error());
  const auto held = image("the first after a chosen number");
  ASSERT_EQ(registry().handle_of(held), kRaw + 1);
  goldens.expect(registry().set_raw(kRaw + 1, {}).error());
  goldens.expect_complete();
  registry().drop(kRaw);
  registry().drop(kRaw + 1);
}

TEST(RegistryTest, TheCEntrySaysWhatWentWrong) {
  void* pointers[] = {nullptr};
  EXPECT_EQ(pyptx_shim_launch_raw(-5, nullptr, pointers, 1), 1);
  EXPECT_THAT(pyptx_shim_last_error(), HasSubstr("handle -5"));
  std::thread([] { EXPECT_STREQ(pyptx_shim_last_error(), ""); }).join();
}

TEST(RegistryTest, ThreadsAgree) {
  std::vector<std::shared_ptr<KernelImage>> images(8);
  std::vector<std::int64_t> handles(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < images.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        images[i] = image("shared by threads");
        handles[i] = registry().handle_of(images[i]);
        (void)image("short-lived " + std::to_string(round));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(std::set(images.begin(), images.end()).size(), 1U);
  EXPECT_EQ(std::set(handles.begin(), handles.end()).size(), 1U);
}

}  // namespace
}  // namespace pyptx::interop
