// SPDX-License-Identifier: Apache-2.0
//
// The compiler inside the driver (CUDA driver API, "Module Management": cuLink). The last resort:
// it knows PTX only up to the driver's own version, and takes few options.
#include <dlfcn.h>

#include <algorithm>
#include <charconv>

#include "compiler_identity.h"
#include "compiler_log.h"
#include "compilers.h"
#include "context.h"
#include "deep_stack.h"
#include "pyptx/support/concat.h"

namespace pyptx::driver {
namespace {

using support::concat;

constexpr std::size_t kLogBytes = 16384;

struct JitOptions {
  std::vector<int> names;
  std::vector<void*> values;

  void add(int name, std::uintptr_t value) {
    names.push_back(name);
    values.push_back(cuda::as_pointer(value));
  }
};

std::optional<unsigned> number(std::string_view text) {
  unsigned value = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

/// What was written into a buffer.
std::string until_zero(const std::string& buffer) { return buffer.substr(0, buffer.find('\0')); }

/// sm_90a as the driver numbers it.
std::optional<unsigned> target_number(std::string_view target) {
  if (!target.starts_with("sm_")) return std::nullopt;
  target.remove_prefix(3);
  unsigned base = 0;
  if (target.ends_with("a")) base = cuda::kJitAcceleratedBase;
  if (target.ends_with("f")) base = cuda::kJitFamilyBase;
  if (base != 0) target.remove_suffix(1);
  const auto value = number(target);
  if (!value) return std::nullopt;
  return base + *value;
}

bool add_flag(std::string_view flag, JitOptions& out) {
  for (const std::string_view prefix : {"--maxrregcount=", "-maxrregcount="}) {
    if (!flag.starts_with(prefix)) continue;
    const auto value = number(flag.substr(prefix.size()));
    if (value) out.add(cuda::kJitMaxRegisters, *value);
    return value.has_value();
  }
  if (flag.starts_with("-O")) {
    const auto value = number(flag.substr(2));
    if (value) out.add(cuda::kJitOptimizationLevel, *value);
    return value.has_value();
  }
  if (flag == kLineInfo) {
    out.add(cuda::kJitGenerateLineInfo, 1);
    return true;
  }
  return flag == "-v" || flag == "--verbose";  // its log is all there is
}

/// Drivers of one CUDA version have many builds, each with a compiler of its own.
std::string library_identity(const cuda::Api& api) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(api.driver_version), &info) == 0) return {};
  return info.dli_fname != nullptr ? compiler_identity(info.dli_fname) : std::string();
}

/// The device to compile on where no context is current: one that runs the code and has a context
/// already, else one that runs it, else the first.
int device_for(const Driver& driver, std::string_view target) {
  int first = -1;
  for (const DeviceInfo& device : driver.devices) {
    const auto code = code_target(target, device);
    if (!code || *code != target) continue;
    if (find_primary(driver, device.ordinal) != nullptr) return device.ordinal;
    if (first < 0) first = device.ordinal;
  }
  return std::max(first, 0);
}

class DriverJit final : public PtxCompiler {
 public:
  DriverJit(CompilerInfo info, const Driver& loaded)
      : PtxCompiler(std::move(info)), driver_(loaded) {}

  CompileResult compile(const std::string& ptx, const AssembleOptions& options) override {
    JitOptions jit;
    const auto target = target_number(options.target);
    if (!target) {
      return support::Failure{AssembleFailure{
          diag::Diagnostic(diag::Kind::CompilerTarget, {info().name, options.target}), 0, {}}};
    }
    jit.add(cuda::kJitTarget, *target);
    for (const std::string& flag : options.flags) {
      if (add_flag(flag, jit)) continue;
      return support::Failure{AssembleFailure{
          diag::Diagnostic(diag::Kind::CompilerOption, {info().name, flag}), 0, {}}};
    }
    CompileResult result = support::Failure{breakdown(info().name, "it was not run")};
    // A context costs hundreds of megabytes on its device: the caller's serves, on the other
    // thread.
    cuda::Context callers = nullptr;
    const auto code = driver_.api.context_current(&callers);
    if (code != cuda::kSuccess) return broken("cuCtxGetCurrent", code);
    on_deep_stack([&] { result = link(ptx, options, jit, callers); });
    return result;
  }

 private:
  CompileResult link(const std::string& ptx, const AssembleOptions& options, JitOptions jit,
                     cuda::Context callers) {
    std::string errors(kLogBytes, '\0');
    std::string infos(kLogBytes, '\0');
    jit.add(cuda::kJitErrorLogBuffer, reinterpret_cast<std::uintptr_t>(errors.data()));
    jit.add(cuda::kJitErrorLogBufferSize, errors.size() - 1);
    jit.add(cuda::kJitInfoLogBuffer, reinterpret_cast<std::uintptr_t>(infos.data()));
    jit.add(cuda::kJitInfoLogBufferSize, infos.size() - 1);
    const RelaxedCapture relaxed(driver_.api);
    const int device = callers != nullptr ? 0 : device_for(driver_, options.target);
    const ContextScope context(driver_, callers, device);
    if (!context.ok()) return support::Failure{breakdown(info().name, context.error().message())};
    cuda::LinkState state = nullptr;
    auto code = driver_.api.link_create(static_cast<unsigned>(jit.names.size()), jit.names.data(),
                                        jit.values.data(), &state);
    if (code != cuda::kSuccess) return broken("cuLinkCreate", code);
    CompileResult result = finish(state, ptx, options, errors, infos);
    driver_.api.link_destroy(state);  // the cubin was the linker's memory; it is copied by now
    return result;
  }

  CompileResult finish(cuda::LinkState state, const std::string& ptx,
                       const AssembleOptions& options, const std::string& errors,
                       const std::string& infos) {
    void* cubin = nullptr;
    std::size_t size = 0;
    const char* call = "cuLinkAddData";
    auto code = driver_.api.link_add(state, cuda::kJitInputPtx, const_cast<char*>(ptx.c_str()),
                                     ptx.size() + 1, "kernel.ptx", 0, nullptr, nullptr);
    if (code == cuda::kSuccess) {
      call = "cuLinkComplete";
      code = driver_.api.link_complete(state, &cubin, &size);
    }
    if (code == cuda::kSuccess) {
      return Compiled{std::string(static_cast<const char*>(cubin), size), until_zero(infos)};
    }
    if (errors[0] == '\0') return broken(call, code);
    return support::Failure{refusal(info().name, options.target, until_zero(errors))};
  }

  CompileResult broken(std::string_view call, cuda::Code code) {
    diag::Diagnostic cause = cuda_error(driver_.api, call, code);
    AssembleFailure out = breakdown(info().name, cause.message());
    out.diagnostic->notes = std::move(cause->notes);
    return support::Failure{std::move(out)};
  }

  const Driver& driver_;
};

}  // namespace

std::shared_ptr<PtxCompiler> find_driver_jit(std::vector<std::string>& tried) {
  const auto loaded = driver();
  if (!loaded) {
    tried.push_back(concat("the driver's JIT: ", loaded.error().message()));
    return nullptr;
  }
  const int version = (*loaded)->version;
  const std::string name = concat("the driver's JIT ", version / 1000, ".", version % 1000 / 10);
  return std::make_shared<DriverJit>(
      CompilerInfo{Compiler::DriverJit, name, "", library_identity((*loaded)->api)}, **loaded);
}

}  // namespace pyptx::driver
