// SPDX-License-Identifier: Apache-2.0
//
// Ten threads that launch kernels with TMA, both descriptor forms, different shapes, buffers whose
// addresses change: on the emulator, where every result is checked, and through the fake driver,
// where every tensor map that a launch passes is. Images, registry and caches are shared. Made to
// run under ThreadSanitizer; its twin on a GPU is tests/gpu/stress.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "fake_driver.h"
#include "kernels.h"
#include "pyptx/interop/compose.h"
#include "pyptx/interop/registry.h"
#include "pyptx/interop/saved.h"

namespace pyptx::interop {
namespace {

constexpr std::size_t kThreads = 10;
constexpr std::size_t kRounds = 20;

struct Matrix {
  std::int64_t rows;
  std::int64_t columns;
  std::size_t elements() const { return static_cast<std::size_t>(rows * columns); }
};
constexpr std::array<Matrix, 5> kShapes = {{{8, 32}, {1, 4}, {9, 36}, {24, 68}, {17, 100}}};

/// Z = 2 X + Y, each tensor behind a map of boxes of 8 x 32 (tests/support/sample_kernels.py).
const std::shared_ptr<const ir::Module>& module(bool by_value) {
  static const auto read = [](const char* name) {
    auto text = read_module(kernels::text_of(name));
    EXPECT_TRUE(text) << text.error().message();
    return *text;
  };
  static const std::shared_ptr<const ir::Module> modules[] = {read("tma_axpy_pointer.ptx"),
                                                              read("tma_axpy_value.ptx")};
  return modules[by_value ? 1 : 0];
}

SavedKernel axpy(const Matrix& shape, bool by_value) {
  const Tile tile{.dims = {"M", "N"}, .dtype = "f32", .box = {8, 32}};
  const Signature signature{
      .kernel = "tma_axpy", .inputs = {{"X", tile}, {"Y", tile}}, .outputs = {{"Z", tile}}};
  KernelLaunch launch;
  launch.grid = {static_cast<std::uint32_t>((shape.columns + 31) / 32),
                 static_cast<std::uint32_t>((shape.rows + 7) / 8), 1};
  launch.block = {32, 1, 1};
  launch.maps = {{"X"}, {"Y"}, {"Z"}};
  launch.maps_by_value = by_value;
  const auto facts = signature.facts({{"M", shape.rows}, {"N", shape.columns}});
  auto kernel = compose(module(by_value), signature, *facts, launch);
  EXPECT_TRUE(kernel) << kernel.error().message();
  return std::move(*kernel);
}

template <typename Body>
void on_ten_threads(Body&& body) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

/// One launch on buffers of its own. The number of wrong elements.
std::size_t wrong_elements(const SavedKernel& kernel, std::size_t count, std::size_t seed) {
  std::vector<float> x(count), y(count), z(count, -1.0F);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>((i * 7 + seed * 13) % 101) / 8;
    y[i] = static_cast<float>((i * 5 + seed * 31) % 89) / 3;
  }
  const auto tensor = [](std::vector<float>& values, bool writable) {
    return HostTensor{reinterpret_cast<std::uintptr_t>(values.data()),
                      values.size() * sizeof(float), writable};
  };
  const HostTensor tensors[] = {tensor(x, false), tensor(y, false), tensor(z, true)};
  emu::Options options;
  options.threads = 1 + seed % 2;
  const auto report = kernel.emulate(tensors, options);
  EXPECT_TRUE(report) << report.error().message();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) wrong += z[i] == std::fma(x[i], 2.0F, y[i]) ? 0 : 1;
  return wrong;
}

TEST(ThreadsTest, TenThreadsEmulateKernelsWithTensorMaps) {
  // One image that all share from the start; the others are made, shared and dropped on the way.
  const SavedKernel shared = axpy(kShapes[3], true);
  const auto bytes = axpy(kShapes[2], false).to_bytes();
  ASSERT_TRUE(bytes);
  std::array<std::size_t, kThreads> wrong{};
  std::array<std::size_t, kThreads> launches{};
  on_ten_threads([&](std::size_t thread) {
    const auto run = [&](const SavedKernel& kernel, const Matrix& shape, std::size_t seed) {
      wrong[thread] += wrong_elements(kernel, shape.elements(), seed);
      ++launches[thread];
    };
    for (std::size_t round = 0; round < kRounds; ++round) {
      const std::size_t turn = thread + round * 3;
      const Matrix& shape = kShapes[turn % kShapes.size()];
      const SavedKernel kernel = axpy(shape, turn % 2 == 0);
      Registry::instance().handle_of(kernel.image);
      run(kernel, shape, turn);
      if (turn % 3 == 0) run(shared, kShapes[3], turn + 1);
      if (turn % 4 == 0) {
        const auto loaded = SavedKernel::from_bytes(*bytes);
        ASSERT_TRUE(loaded);
        run(*loaded, kShapes[2], turn + 2);
      }
      if (turn % 5 == 0) {
        Registry::instance().drop(Registry::instance().handle_of(kernel.image));
      }
    }
  });
  for (std::size_t i = 0; i < kThreads; ++i) {
    EXPECT_EQ(wrong[i], 0U) << "thread " << i;
    EXPECT_GE(launches[i], kRounds);
  }
}

class FakeThreadsTest : public driver::FakeDriverTest {
 protected:
  static std::uint64_t word(const std::vector<unsigned char>& block, std::size_t offset) {
    std::uint64_t value = 0;
    EXPECT_LE(offset + 8, block.size());
    std::memcpy(&value, block.data() + offset, 8);
    return value;
  }

  /// The addresses of a launch: which thread, shape and round are in them.
  static std::array<std::uint64_t, 3> addresses(std::size_t thread, std::size_t shape,
                                                std::size_t round) {
    const std::uint64_t base = (thread + 1) << 40 | (shape + 1) << 32 | (round + 1) << 16;
    return {base, base + 0x4000, base + 0x8000};
  }

  /// Whether the maps of a recorded launch are those of its own tensors and shape.
  static void check(const fake::Launch& launch, bool by_value) {
    const std::uint64_t base = word(launch.parameters, 0);
    const Matrix& shape = kShapes[(base >> 32 & 0xFF) - 1];
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(launch.stream), (base >> 40) << 12);
    EXPECT_EQ(launch.grid[0], static_cast<unsigned>((shape.columns + 31) / 32));
    for (std::size_t i = 0; i < 3; ++i) {
      std::array<std::uint64_t, 16> map{};
      if (by_value) {
        std::memcpy(map.data(), launch.parameters.data() + 64 + 128 * i, sizeof(map));
      } else {
        std::memcpy(map.data(), reinterpret_cast<void*>(word(launch.parameters, 24 + 8 * i)),
                    sizeof(map));
      }
      // The fake's encoding: the address, a word of modes, the dimensions.
      EXPECT_EQ(map[0], word(launch.parameters, 8 * i)) << "tensor " << i;
      EXPECT_EQ(map[2], static_cast<std::uint64_t>(shape.columns));
      EXPECT_EQ(map[3], static_cast<std::uint64_t>(shape.rows));
    }
  }

  static void run(bool by_value) {
    cuda().entries = {"tma_axpy"};
    take_parameters_of(axpy(kShapes[0], by_value).image->plan());
    std::vector<SavedKernel> kernels;  // shared, and so are their launchers and caches of maps
    for (const Matrix& shape : kShapes) {
      kernels.push_back(axpy(shape, by_value));
      kernels.back().image->adopt_cubin("sm_90a", by_value ? "by value" : "by pointer");
    }
    on_ten_threads([&](std::size_t thread) {
      void* stream = reinterpret_cast<void*>((thread + 1) << 12);
      for (std::size_t round = 0; round < 4 * kRounds; ++round) {
        // Every fourth address is one that this thread has used before: a cached map.
        const std::size_t shape = (thread + round) % kShapes.size();
        const auto pointers = addresses(thread, shape, round % 4 == 3 ? 0 : round);
        const int device = static_cast<int>(thread % 2);
        const auto launched = kernels[shape].launch(stream, device, pointers);
        ASSERT_TRUE(launched) << launched.error().message();
      }
    });
    ASSERT_EQ(cuda().launches.size(), kThreads * 4 * kRounds);
    for (const fake::Launch& launch : cuda().launches) check(launch, by_value);
  }
};

TEST_F(FakeThreadsTest, EveryLaunchHasItsOwnMapsByValue) { run(true); }
TEST_F(FakeThreadsTest, EveryLaunchHasItsOwnMapsByPointer) { run(false); }

}  // namespace
}  // namespace pyptx::interop
