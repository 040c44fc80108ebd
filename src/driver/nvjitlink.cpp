// SPDX-License-Identifier: Apache-2.0
//
// nvJitLink, opened at run time (nvJitLink documentation, "User Interface"). One thread at a time:
// its versions so far leak memory when texts are compiled in parallel.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "compiler_identity.h"
#include "compiler_log.h"
#include "compilers.h"
#include "cuda_api.h"
#include "deep_stack.h"
#include "pyptx/support/concat.h"

namespace pyptx::driver {
namespace {

using support::concat;

using Handle = void*;
constexpr int kSuccess = 0;
constexpr int kInputPtx = 2;

struct Api {
  int (*create)(Handle*, std::uint32_t, const char**) = nullptr;
  int (*destroy)(Handle*) = nullptr;
  int (*add_data)(Handle, int, const void*, std::size_t, const char*) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubin_size)(Handle, std::size_t*) = nullptr;
  int (*cubin)(Handle, void*) = nullptr;
  int (*error_log_size)(Handle, std::size_t*) = nullptr;
  int (*error_log)(Handle, char*) = nullptr;
  int (*info_log_size)(Handle, std::size_t*) = nullptr;
  int (*info_log)(Handle, char*) = nullptr;
  int (*version)(unsigned*, unsigned*) = nullptr;
};

template <typename F>
bool resolve(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  return out != nullptr;
}

bool resolve_all(void* library, Api& api) {
  return resolve(library, "nvJitLinkCreate", api.create) &&
         resolve(library, "nvJitLinkDestroy", api.destroy) &&
         resolve(library, "nvJitLinkAddData", api.add_data) &&
         resolve(library, "nvJitLinkComplete", api.complete) &&
         resolve(library, "nvJitLinkGetLinkedCubinSize", api.cubin_size) &&
         resolve(library, "nvJitLinkGetLinkedCubin", api.cubin) &&
         resolve(library, "nvJitLinkGetErrorLogSize", api.error_log_size) &&
         resolve(library, "nvJitLinkGetErrorLog", api.error_log) &&
         resolve(library, "nvJitLinkGetInfoLogSize", api.info_log_size) &&
         resolve(library, "nvJitLinkGetInfoLog", api.info_log) &&
         resolve(library, "nvJitLinkVersion", api.version);
}

/// One linker session, destroyed with it.
class Session {
 public:
  explicit Session(const Api& api) : api_(api) {}
  ~Session() {
    if (handle_ != nullptr) api_.destroy(&handle_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// False when a step failed; the log says why.
  bool run(const std::string& ptx, std::vector<const char*>& options, std::string& cubin) {
    if (api_.create(&handle_, static_cast<std::uint32_t>(options.size()), options.data()) !=
        kSuccess) {
      return false;
    }
    // The size covers the terminating zero: PTX input is read up to it.
    std::size_t size = 0;
    if (api_.add_data(handle_, kInputPtx, ptx.c_str(), ptx.size() + 1, "kernel.ptx") != kSuccess ||
        api_.complete(handle_) != kSuccess || api_.cubin_size(handle_, &size) != kSuccess) {
      return false;
    }
    cubin.resize(size);
    return api_.cubin(handle_, cubin.data()) == kSuccess;
  }

  std::string error_log() const { return log(api_.error_log_size, api_.error_log); }
  std::string info_log() const { return log(api_.info_log_size, api_.info_log); }

 private:
  std::string log(int (*ask)(Handle, std::size_t*), int (*get)(Handle, char*)) const {
    std::size_t size = 0;
    if (handle_ == nullptr || ask(handle_, &size) != kSuccess || size == 0) return {};
    std::string text(size + 1, '\0');
    if (get(handle_, text.data()) != kSuccess) return {};
    text.resize(text.find('\0'));
    return text;
  }

  const Api& api_;
  Handle handle_ = nullptr;
};

class NvJitLink final : public PtxCompiler {
 public:
  NvJitLink(CompilerInfo info, const Api& api) : PtxCompiler(std::move(info)), api_(api) {}

  CompileResult compile(const std::string& ptx, const AssembleOptions& options) override {
    std::vector<std::string> words{concat("-arch=", options.target)};
    for (const std::string& flag : options.flags) words.push_back(concat("-Xptxas=", flag));
    std::vector<const char*> pointers;
    pointers.reserve(words.size());
    for (const std::string& word : words) pointers.push_back(word.c_str());
    static std::mutex one_at_a_time;
    const std::scoped_lock lock(one_at_a_time);
    CompileResult result = support::Failure{breakdown(info().name, "it was not run")};
    on_deep_stack([&] {
      Session session(api_);
      Compiled out;
      if (session.run(ptx, pointers, out.cubin)) {
        out.log = session.info_log();
        result = std::move(out);
      } else {
        result = support::Failure{refusal(info().name, options.target, session.error_log())};
      }
    });
    return result;
  }

 private:
  Api api_;
};

/// The file that the environment chose, or nothing.
std::string chosen_path() {
  const char* chosen = std::getenv("PYPTX_NVJITLINK");
  return chosen != nullptr ? chosen : "";
}

/// The files to try, best first. A cubin of another major version than the driver's may not load,
/// so that version is tried first.
std::vector<std::string> nvjitlink_candidates() {
  if (const std::string chosen = chosen_path(); !chosen.empty()) return {chosen};
  std::vector<std::string> names{"libnvJitLink.so.13", "libnvJitLink.so.12"};
  const auto version = library_version();
  if (version && *version / 1000 == 12) std::swap(names[0], names[1]);
  std::vector<std::string> out;
  for (const std::string& name : names) {
    for (const std::string& folder : compiler_folders()) {
      for (const char* inside :
           {"/nvidia/cu13/lib/", "/nvidia/nvjitlink/lib/", "/", "/lib64/", "/lib/"}) {
        out.push_back(concat(folder, inside, name));
      }
    }
    out.push_back(name);
  }
  return out;
}

/// The file of an opened library, which may have been found by its bare name.
std::string file_of(void* library, const std::string& asked) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map->l_name == nullptr)
    return asked;
  return *map->l_name != '\0' ? map->l_name : asked;
}

}  // namespace

std::string locate_nvjitlink() {
  for (const std::string& path : nvjitlink_candidates()) {
    if (path.find('/') != std::string::npos && access(path.c_str(), R_OK) == 0) {
      return compiler_identity(path);
    }
  }
  return {};
}

std::shared_ptr<PtxCompiler> find_nvjitlink(std::vector<std::string>& tried) {
  std::string why = "no libnvJitLink.so.13 or .12 on the loader's path or in the folders given";
  if (const std::string chosen = chosen_path(); !chosen.empty()) {
    why = concat(chosen, ", which PYPTX_NVJITLINK names, cannot be opened");
  }
  for (const std::string& path : nvjitlink_candidates()) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    Api api;
    unsigned major = 0;
    unsigned minor = 0;
    if (resolve_all(library, api) && api.version(&major, &minor) == kSuccess) {
      const std::string file = file_of(library, path);
      return std::make_shared<NvJitLink>(
          CompilerInfo{Compiler::NvJitLink, concat("nvJitLink ", major, ".", minor), file,
                       compiler_identity(file)},
          api);
    }
    dlclose(library);
    why = concat(path, " is older than 12.3");
  }
  tried.push_back(concat("nvJitLink: ", why));
  return nullptr;
}

}  // namespace pyptx::driver
