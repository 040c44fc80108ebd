// SPDX-License-Identifier: Apache-2.0
//
// A kernel image: PTX text, its target and its launch plan, named by the hash of the three. That
// is all a compiled program of another framework has to carry. The image turns itself into what a
// launch needs when it is first needed: a loaded kernel on a GPU, a decoded program on the
// emulator. It holds no tensors and no stream.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "pyptx/diag/diagnostic.h"
#include "pyptx/driver/assemble.h"
#include "pyptx/driver/device.h"
#include "pyptx/driver/launch.h"
#include "pyptx/driver/plan.h"
#include "pyptx/emu/emulator.h"
#include "pyptx/ir/module.h"

namespace pyptx::interop {

/// Shared by whoever launches it; a binding that holds one shares the same ownership.
class KernelImage : public std::enable_shared_from_this<KernelImage> {
 public:
  /// `module` is what the text was printed from, when it is at hand: the emulator then runs it and
  /// its errors point at the author's lines. Use Registry::intern, which shares equal images.
  KernelImage(std::string ptx, std::string target, driver::LaunchPlan plan,
              std::shared_ptr<const ir::Module> module);
  ~KernelImage();
  KernelImage(const KernelImage&) = delete;
  KernelImage& operator=(const KernelImage&) = delete;

  const std::string& ptx() const { return ptx_; }
  const std::string& target() const { return target_; }
  const driver::LaunchPlan& plan() const { return plan_; }
  /// Hexadecimal SHA-256 of the text, the target and the plan.
  const std::string& hash() const { return hash_; }
  static std::string hash_of(std::string_view ptx, std::string_view target,
                             std::string_view plan_text);

  /// The binary for the image's own target; assembled once.
  diag::Result<std::string_view> cubin();
  /// Takes a binary for `target` that somebody says was assembled from this text, unless there is
  /// one. For an image that the registry does not share.
  void adopt_cubin(const std::string& target, std::string_view cubin);
  /// Assembles for `target` with further options of ptxas and keeps nothing. What the compiler
  /// refuses is at the author's line.
  diag::Result<driver::Assembled> assemble(const std::string& target,
                                           std::vector<std::string> flags = {}) const;
  /// The plan bound to the kernel loaded for `device`; loaded once. Later calls cost one atomic
  /// load. PTX for an older target is assembled for the device's own, as the driver would do.
  diag::Result<const driver::Launcher*> launcher(int device);
  /// The decoded program; decoded once.
  diag::Result<const emu::Program*> program();
  /// The memory of the module's variables, which launches of this image share, as those of a
  /// loaded module do. For an image with a program.
  std::shared_ptr<emu::Variables> variables();
  /// A launch went wrong, and left in `stale` what no launch on a GPU would find: the next one gets
  /// new ones.
  void renew_variables(const std::shared_ptr<emu::Variables>& stale);
  /// The module that program() runs: locations of its diagnostics refer to it. Null before that.
  std::shared_ptr<const ir::Module> module() const;
  /// That module's table of places, kept alive with it; null while there is no module.
  std::shared_ptr<const diag::LocationTable> locations() const;
  /// Takes a module for the emulator if the image has none yet.
  void adopt(std::shared_ptr<const ir::Module> module);

 private:
  /// What the text becomes for one target: sm_90 code from sm_80 text, say.
  struct Binary {
    std::string cubin;
    std::unique_ptr<driver::Launcher> launcher;
  };

  /// Whether the text names source files. The text decides, which is all that travels: to caches,
  /// to XLA, to other processes.
  bool has_line_table() const;
  /// Where the author wrote a line of the text; none where nobody can say.
  diag::Loc line_loc(std::uint32_t ptx_line) const;
  diag::Result<Binary*> assemble_locked(const std::string& code_target);
  diag::Result<const driver::Launcher*> load_locked(int device);
  diag::Status decode_locked();

  const std::string ptx_;
  const std::string target_;
  const driver::LaunchPlan plan_;
  const std::string hash_;

  // Two locks: assembling for a GPU takes long and must not hold up the emulator.
  std::mutex device_mutex_;
  std::map<std::string, Binary> binaries_;  // by target
  std::array<std::atomic<const driver::Launcher*>, driver::kMaxDevices> launchers_{};

  std::mutex host_mutex_;
  std::shared_ptr<const emu::Program> owned_program_;
  std::atomic<const emu::Program*> program_{nullptr};
  std::shared_ptr<emu::Variables> variables_;  // made by the first launch

  // Held for a moment only. Decoding may have to resolve a place in the host language, which can
  // wait for another thread that asks for the module here.
  mutable std::mutex module_mutex_;
  std::shared_ptr<const ir::Module> module_;
};

/// Reads PTX text into a module that the emulator can decode: parsed, each instruction matched to
/// its form by the validator.
diag::Result<std::shared_ptr<const ir::Module>> read_module(std::string_view ptx);

}  // namespace pyptx::interop
