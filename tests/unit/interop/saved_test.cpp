// SPDX-License-Identifier: Apache-2.0
//
// Saved kernels: bytes and files that come back as they were, damage that is found, and launches
// that are refused before anything runs.
#include "pyptx/interop/saved.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "fake_driver.h"
#include "golden.h"
#include "kernels.h"
#include "pyptx/driver/memory.h"
#include "pyptx/interop/registry.h"
#include "pyptx/support/sha256.h"

namespace pyptx::interop {
namespace {

using diag::Kind;
using testing::HasSubstr;

SavedKernel add_kernel(std::uint32_t n = 100) {
  SavedKernel kernel;
  kernel.image = Registry::instance().intern(kernels::kAdd, "sm_90a", kernels::add_plan(n));
  kernel.inputs = {{"a", "f32", {n}, 4UL * n, false}, {"b", "f32", {n}, 4UL * n, false}};
  kernel.outputs = {{"c", "f32", {n}, 4UL * n, false}};
  return kernel;
}

std::string bytes_of(const SavedKernel& kernel) {
  auto bytes = kernel.to_bytes();
  EXPECT_TRUE(bytes) << bytes.error().message();
  return bytes ? *bytes : "";
}

Kind kind_of(std::string_view bytes) {
  const auto read = SavedKernel::from_bytes(bytes);
  EXPECT_FALSE(read);
  return read ? Kind::UnknownOpcode : read.error().kind;
}

/// A file in a folder of its own, gone with it.
class SavedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "saved.XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name = "add.pyptx") const { return folder_ / name; }
  std::filesystem::path folder_;
};

TEST(SavedTest, BytesComeBackAsTheyWere) {
  SavedKernel kernel = add_kernel();
  kernel.inputs[1].column_major = true;
  kernel.inputs[0].shape = {};
  kernel.outputs[0].shape = {10, 1, 0};
  kernel.binaries = {{"sm_90a", std::string("\x7f\0\n\xff", 4)}, {"sm_100a", ""}};
  const std::string bytes = bytes_of(kernel);
  const auto read = SavedKernel::from_bytes(bytes);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->image->hash(), kernel.image->hash());
  EXPECT_EQ(read->inputs, kernel.inputs);
  EXPECT_EQ(read->outputs, kernel.outputs);
  EXPECT_EQ(read->binaries, kernel.binaries);
  EXPECT_EQ(bytes_of(*read), bytes);
}

TEST(SavedTest, AFilesBinariesAreOfItsOwnImageAlone) {
  SavedKernel kernel = add_kernel(31);
  const auto text = SavedKernel::from_bytes(bytes_of(kernel));
  ASSERT_TRUE(text);
  EXPECT_EQ(text->image, kernel.image) << "the registry's";
  kernel.binaries = {{"sm_90a", "another kernel's code"}};
  const auto read = SavedKernel::from_bytes(bytes_of(kernel));
  ASSERT_TRUE(read);
  EXPECT_NE(read->image, kernel.image);
  EXPECT_EQ(*read->image->cubin(), "another kernel's code");
  EXPECT_EQ(Registry::instance().find(kernel.image->hash()), kernel.image);
}

TEST(SavedTest, WithoutBinariesTheBytesAreText) {
  for (const char c : bytes_of(add_kernel())) ASSERT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f));
}

TEST(SavedTest, EveryPrefixAndEveryFlippedBitIsFound) {
  SavedKernel kernel = add_kernel();
  kernel.binaries = {{"sm_90a", "cubin"}};
  const std::string bytes = bytes_of(kernel);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(kind_of(std::string_view(bytes).substr(0, size)), Kind::SavedKernelBytes) << size;
  }
  EXPECT_EQ(kind_of(bytes + "\n"), Kind::SavedKernelBytes);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    // A flipped bit of the version's digit may make it a later one.
    const Kind found = kind_of(flipped);
    ASSERT_TRUE(found == Kind::SavedKernelBytes || found == Kind::SavedKernelVersion) << at;
  }
}

TEST(SavedTest, WithAnyChangedBodyItIsRefusedOrReadAsItStands) {
  SavedKernel kernel = add_kernel();
  kernel.inputs[0].shape = {10, 10};
  kernel.binaries = {{"sm_90a", "cubin"}};
  const std::string bytes = bytes_of(kernel);
  const std::size_t start = bytes.find('\n') + 1;
  std::size_t refused = 0;
  for (std::size_t at = start; at < bytes.size(); ++at) {
    for (const char replacement : {'0', '9', ',', ' ', '\n', ']', '-', '\x80'}) {
      std::string body = bytes.substr(start);
      body[at - start] = replacement;
      const std::string changed = "pyptx-kernel 1 " + std::to_string(body.size()) + " " +
                                  support::Sha256::hex(body) + "\n" + body;
      const auto read = SavedKernel::from_bytes(changed);
      refused += read ? 0 : 1;
      if (read) {
        ASSERT_EQ(bytes_of(*read), changed) << at;
      }
    }
  }
  EXPECT_GT(refused, 500U) << "what is not in the text or the binary is structure";
}

TEST(SavedTest, WhatCouldNotBeReadBackIsNotWritten) {
  SavedKernel kernel = add_kernel();
  kernel.inputs.pop_back();
  EXPECT_FALSE(kernel.to_bytes()) << "the plan counts three";
  kernel = add_kernel();
  kernel.inputs[0].name = "a b";
  EXPECT_FALSE(kernel.to_bytes());
  kernel = add_kernel();
  kernel.inputs[0].dtype = "";
  EXPECT_FALSE(kernel.to_bytes());
  kernel = add_kernel();
  kernel.outputs[0].shape = {-1};
  EXPECT_FALSE(kernel.to_bytes());
  kernel = add_kernel();
  kernel.binaries = {{"sm 90", "x"}};
  EXPECT_FALSE(kernel.to_bytes());
}

TEST(SavedTest, AForeignBodyWithAValidChecksumIsRefused) {
  const std::string body = "end\n";
  const std::string text = "pyptx-kernel 1 4 " + support::Sha256::hex(body) + "\n" + body;
  EXPECT_EQ(kind_of(text), Kind::SavedKernelBytes);
}

TEST(SavedTest, ALoadedKernelRunsOnTheEmulator) {
  const auto kernel = SavedKernel::from_bytes(bytes_of(add_kernel()));
  ASSERT_TRUE(kernel);
  std::vector<float> a(100, 1.5F), b(100, 2.0F), c(100);
  const auto tensor = [](std::vector<float>& values) {
    return HostTensor{reinterpret_cast<std::uintptr_t>(values.data()), values.size() * 4, true};
  };
  const HostTensor tensors[] = {tensor(a), tensor(b), tensor(c)};
  const auto report = kernel->emulate(tensors);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_EQ(c, std::vector<float>(100, 3.5F));

  std::vector<float> small(99, -1.0F);
  const HostTensor wrong[] = {tensor(a), tensor(b), tensor(small)};
  const auto refused = kernel->emulate(wrong);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::TensorBytes);
  EXPECT_EQ(small[0], -1.0F);
  EXPECT_EQ(kernel->emulate(std::span(tensors).first(2)).error().kind, Kind::TensorCount);
  const HostTensor null[] = {tensor(a), tensor(b), {0, 400, true}};
  EXPECT_EQ(kernel->emulate(null).error().kind, Kind::NullTensor);
}

TEST_F(SavedFileTest, AFileComesBackAndIsReplacedWhole) {
  ASSERT_TRUE(add_kernel(10).save(path()));
  ASSERT_TRUE(add_kernel(20).save(path()));
  const auto read = SavedKernel::load(path());
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->inputs, add_kernel(20).inputs);
  const auto files = std::distance(std::filesystem::directory_iterator(folder_), {});
  EXPECT_EQ(files, 1) << "no temporary is left";
}

TEST_F(SavedFileTest, ALinkAndAPipeStayWhatTheyAre) {
  const std::string link = path("link");
  std::filesystem::create_symlink("real", link);
  ASSERT_TRUE(add_kernel(10).save(path("real")));
  ASSERT_TRUE(add_kernel(20).save(link));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(SavedKernel::load(path("real"))->inputs, add_kernel(20).inputs);

  const std::string pipe = path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { EXPECT_TRUE(add_kernel(30).save(pipe)); });
  const auto read = SavedKernel::load(pipe);
  writer.join();
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->inputs, add_kernel(30).inputs);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST_F(SavedFileTest, ThreadsThatSaveToOnePathAllSucceed) {
  const SavedKernel kernel = add_kernel(10);
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 25; ++turn) failures += kernel.save(path()) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_TRUE(SavedKernel::load(path()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
}

TEST_F(SavedFileTest, AFileThatCannotBeWrittenLeavesNothing) {
  std::filesystem::create_directory(path());
  const auto saved = add_kernel().save(path());
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().kind, Kind::SavedKernelFile);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  EXPECT_FALSE(add_kernel().save(path("no/such/folder")));
}

TEST_F(SavedFileTest, ADamagedFileIsNamed) {
  ASSERT_TRUE(add_kernel().save(path()));
  std::filesystem::resize_file(path(), 500);
  const auto read = SavedKernel::load(path());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, Kind::SavedKernelBytes);
  ASSERT_EQ(read.error()->notes.size(), 1U);
  EXPECT_THAT(read.error()->notes[0], HasSubstr(path()));
  EXPECT_FALSE(SavedKernel::load(folder_.string())) << "a folder";
}

class SavedLaunchTest : public driver::FakeDriverTest {};

TEST_F(SavedLaunchTest, DeviceMemoryIsLaunchedOnWithTheBinaryThatWasSaved) {
  SavedKernel kernel = add_kernel(30);
  kernel.binaries = {{"sm_90a", "machine code of add, 30"}};
  const auto loaded = SavedKernel::from_bytes(bytes_of(kernel));
  ASSERT_TRUE(loaded);
  take_parameters_of(loaded->image->plan());
  ASSERT_TRUE(loaded->prepare(1));
  EXPECT_TRUE(cuda().launches.empty());
  EXPECT_EQ(count("cuLinkCreate"), 0) << "nothing is left to compile";

  const auto stream = driver::Stream::create(1);
  ASSERT_TRUE(stream);
  std::vector<driver::DeviceMemory> memory;
  std::vector<DeviceTensor> tensors;
  for (std::size_t i = 0; i < loaded->tensor_count(); ++i) {
    auto made = driver::DeviceMemory::allocate(1, loaded->tensor(i).bytes);
    ASSERT_TRUE(made);
    tensors.push_back({made->address(), made->bytes()});
    memory.push_back(std::move(*made));
  }
  ASSERT_TRUE(loaded->launch(stream->handle(), 1, tensors));
  ASSERT_EQ(cuda().launches.size(), 1U);
  EXPECT_EQ(cuda().launches[0].stream, stream->handle());
  std::uint64_t last = 0;
  std::memcpy(&last, cuda().launches[0].parameters.data() + 16, sizeof(last));
  EXPECT_EQ(last, memory[2].address());
}

TEST_F(SavedLaunchTest, WrongTensorsLaunchNothing) {
  const SavedKernel kernel = add_kernel();
  const auto kind = [&](std::vector<DeviceTensor> tensors) {
    const auto launched = kernel.launch(nullptr, 0, tensors);
    EXPECT_FALSE(launched);
    return launched ? Kind::UnknownOpcode : launched.error().kind;
  };
  EXPECT_EQ(kind({{0x1000, 400}, {0x2000, 400}}), Kind::TensorCount);
  EXPECT_EQ(kind({{0x1000, 400}, {0x2000, 404}, {0x3000, 400}}), Kind::TensorBytes);
  EXPECT_EQ(kind({{0x1000, 400}, {0, 400}, {0x3000, 400}}), Kind::NullTensor);
  const std::uint64_t pointers[] = {0x1000, 0, 0x3000};
  EXPECT_EQ(kernel.launch(nullptr, 0, pointers).error().kind, Kind::NullTensor);
  EXPECT_TRUE(cuda().launches.empty());
}

TEST(SavedTest, Goldens) {
  golden::Folder goldens("saved");
  const std::string bytes = bytes_of(add_kernel());
  goldens.expect(SavedKernel::from_bytes(bytes.substr(0, bytes.size() - 7)).error());
  goldens.expect(SavedKernel::from_bytes("pyptx-kernel 6 0 0\n").error());
  goldens.expect(SavedKernel::load("/no/such/kernel.pyptx").error());
  const DeviceTensor tensors[] = {{0x1000, 400}, {0x2000, 400}, {0x3000, 396}};
  goldens.expect(add_kernel().launch(nullptr, 0, tensors).error());
  goldens.expect_complete();
}

}  // namespace
}  // namespace pyptx::interop
