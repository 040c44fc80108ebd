// SPDX-License-Identifier: Apache-2.0
//
// Saved kernels that somebody changed and signed again: each is refused, or runs inside its
// tensors. PYPTX_SAVED_MUTATIONS says how many.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "kernels.h"
#include "mutate.h"
#include "pyptx/interop/open_kernel.h"
#include "pyptx/interop/registry.h"
#include "pyptx/interop/saved.h"
#include "pyptx/support/sha256.h"

namespace pyptx::interop {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::byte kPattern{0x5A};

thread_local std::chrono::steady_clock::time_point stop_at;
bool is_late() { return std::chrono::steady_clock::now() > stop_at; }

/// The lines behind the first, which is about them.
std::string body_of(const std::string& bytes) { return bytes.substr(bytes.find('\n') + 1); }

std::string signed_again(const std::string& body, std::uint64_t version) {
  return "pyptx-kernel " + std::to_string(version) + " " + std::to_string(body.size()) + " " +
         support::Sha256::hex(body) + "\n" + body;
}

/// The text's length stands before it: without that hardly any change would be read.
std::string with_lengths(std::string body) {
  const std::size_t head = body.find("\nptx ");
  const std::size_t end = body.rfind("\nend\n");
  const std::size_t text = head == std::string::npos ? head : body.find('\n', head + 1);
  if (text == std::string::npos || end == std::string::npos || end <= text) return body;
  return body.replace(head + 5, text - head - 5, std::to_string(end - text - 1));
}

bool emulate(const SavedKernel& kernel) {
  std::vector<std::unique_ptr<std::byte[]>> memory;
  std::vector<HostTensor> tensors;
  for (std::size_t i = 0; i < kernel.tensor_count(); ++i) {
    const std::uint64_t bytes = kernel.tensor(i).bytes;
    if (bytes > kMostBytes) return false;
    memory.push_back(std::make_unique<std::byte[]>(bytes + 16));
    std::memset(memory.back().get(), static_cast<int>(kPattern), bytes);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.back().get());
    tensors.push_back({(address + 15) / 16 * 16, bytes});
  }
  emu::Options options;
  std::ostringstream output;
  options.output = &output;
  options.threads = 1;
  options.interrupt = &is_late;
  stop_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  const bool ran = kernel.emulate(tensors, options).ok();
  for (std::size_t i = 0; i < kernel.tensor_count(); ++i) {
    if (kernel.is_written(i)) continue;
    const auto* bytes = reinterpret_cast<const std::byte*>(tensors[i].address);
    for (std::uint64_t k = 0; k < tensors[i].bytes; ++k) EXPECT_EQ(bytes[k], kPattern);
  }
  return ran;
}

std::uint64_t mutations() {
  const char* given = std::getenv("PYPTX_SAVED_MUTATIONS");
  return given == nullptr ? 300 : std::strtoull(given, nullptr, 10);
}

/// Changes a body again and again; `answer` says whether what it then is runs, nothing where it is
/// refused.
template <typename Answer>
void expect_answers(const std::string& body, const Answer& answer) {
  const std::uint64_t count = mutations();
  std::uint64_t read = 0;
  std::uint64_t ran = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    fuzz::Random random(i);
    std::string changed = fuzz::mutate(body, random);
    if (random.below(4) != 0) changed = with_lengths(changed);
    const std::optional<bool> runs = answer(changed, random);
    read += runs ? 1U : 0U;
    ran += runs.value_or(false) ? 1U : 0U;
  }
  EXPECT_GT(read, count / 20);
  EXPECT_GT(ran, 0U);
  EXPECT_LT(ran, read);
}

TEST(Mutation, EverySavedKernelIsAnswered) {
  SavedKernel kernel;
  kernel.image = Registry::instance().intern(kernels::kAdd, "sm_90a", kernels::add_plan(64));
  kernel.inputs = {{"a", "f32", {64}, 256, false}, {"b", "f32", {64}, 256, false}};
  kernel.outputs = {{"c", "f32", {64}, 256, false}};
  const auto bytes = kernel.to_bytes();
  ASSERT_TRUE(bytes);
  expect_answers(body_of(*bytes), [](const std::string& body, fuzz::Random& random) {
    const auto again = SavedKernel::from_bytes(signed_again(body, 1 + random.below(2)));
    return again ? std::optional(emulate(*again)) : std::nullopt;
  });
}

/// One number for all dimensions that are open.
Sizes sizes_of(const OpenKernel& kernel, std::int64_t size) {
  Sizes out;
  for (std::size_t i = 0; i < kernel.signature.tensor_count(); ++i) {
    for (const Dimension& dim : kernel.signature.tensor(i).tile.dims) {
      if (dim.is_named() && !out.find(dim.name)) out.add(dim.name, size);
    }
  }
  return out;
}

TEST(Mutation, EveryKernelForAnySizeIsAnswered) {
  const std::string whole = body_of(*kernels::open_add().to_bytes());
  expect_answers(whole, [](const std::string& body, fuzz::Random&) -> std::optional<bool> {
    const auto again = OpenKernel::from_bytes(signed_again(body, 3));
    if (!again) return std::nullopt;
    const auto kernel = again->at(sizes_of(*again, 64));
    return kernel && emulate(*kernel);
  });
}

}  // namespace
}  // namespace pyptx::interop
