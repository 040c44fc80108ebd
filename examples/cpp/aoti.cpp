// SPDX-License-Identifier: Apache-2.0
//
// Runs an AOTInductor package that calls a pyptx kernel, in a process without Python:
//   aoti libpyptx_torch.so model.pt2 cpu|cuda [SIZE...]
// The model computes 4 * x by adding, of 64 floats, or of as many as asked for where it was
// exported with a symbolic size. Built against torch alone:
//   c++ -std=c++20 aoti.cpp -I$TORCH/include -L$TORCH/lib -Wl,--no-as-needed -ltorch -ltorch_cpu
//   -lc10
#include <ATen/ops/arange.h>
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

bool has_python() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("libpython") != std::string::npos) return true;
    if (line.find("libtorch_python") != std::string::npos) return true;
  }
  return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr;
}

int run(const char* package, const char* device, const std::vector<std::int64_t>& sizes) {
  torch::inductor::AOTIModelPackageLoader loader(package);
  for (const std::int64_t size : sizes) {
    const at::Tensor x = at::arange(size, at::TensorOptions().dtype(at::kFloat).device(device));
    const auto outputs = loader.run({x});
    if (outputs.size() != 1 || !outputs[0].equal(x.mul(4))) {
      std::puts("wrong result");
      return 1;
    }
  }
  std::printf("right result, python: %s\n", has_python() ? "yes" : "no");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::vector<std::int64_t> sizes;
  for (int i = 4; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes.push_back(64);
  // Loading it registers the operators with the torch that this program is linked with.
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) {
    std::puts(dlerror());
    return 2;
  }
  // Asked again, it says why they could not be registered, or null.
  using Register = const char* (*)();
  const auto again = reinterpret_cast<Register>(dlsym(library, "pyptx_torch_register"));
  if (const char* reason = again()) {
    std::puts(reason);
    return 2;
  }
  try {
    return run(argv[2], argv[3], sizes);
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 3;
  }
}
