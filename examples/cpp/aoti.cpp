// SPDX-License-Identifier: Apache-2.0
//
// Runs an AOTInductor package that calls a pyptx kernel, in a process without Python:
//   aoti libpyptx_torch.so model.pt2 cpu|cuda
// The model computes 4 * x of 64 floats by adding. Built against torch alone:
//   c++ -std=c++20 aoti.cpp -I$TORCH/include -L$TORCH/lib -Wl,--no-as-needed -ltorch -ltorch_cpu
//   -lc10
#include <ATen/ops/arange.h>
#include <dlfcn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace {

bool has_python() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("libpython") != std::string::npos) return true;
    if (line.find("libtorch_python") != std::string::npos) return true;
  }
  return dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr;
}

int run(const char* package, const char* device) {
  torch::inductor::AOTIModelPackageLoader loader(package);
  const at::Tensor x = at::arange(64, at::TensorOptions().dtype(at::kFloat).device(device));
  const auto outputs = loader.run({x});
  if (outputs.size() != 1 || !outputs[0].equal(x.mul(4))) {
    std::puts("wrong result");
    return 1;
  }
  std::printf("right result, python: %s\n", has_python() ? "yes" : "no");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
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
    return run(argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 3;
  }
}
