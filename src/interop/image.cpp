// SPDX-License-Identifier: Apache-2.0
//
// Kernel images: assembling, loading and decoding on first use (see the header).
#include "pyptx/interop/image.h"

#include <optional>
#include <utility>
#include <vector>

#include "pyptx/driver/library.h"
#include "pyptx/support/concat.h"
#include "pyptx/support/sha256.h"
#include "pyptx/syntax/document.h"
#include "pyptx/syntax/parser.h"
#include "pyptx/syntax/printer.h"
#include "pyptx/verify/instruction.h"
#include "pyptx/verify/module.h"

namespace pyptx::interop {

std::string KernelImage::hash_of(std::string_view ptx, std::string_view target,
                                 std::string_view plan_text) {
  support::Sha256 hash;
  hash.field("pyptx kernel image 1");
  hash.field(ptx);
  hash.field(target);
  hash.field(plan_text);
  return support::Sha256::hex(hash.finish());
}

namespace {

/// What the module shows, which its text does not tell; empty for most.
std::string shown_of(const ir::Module* module) {
  std::string text;
  if (module == nullptr) return text;
  for (const auto& function : module->functions) {
    for (const ir::ShownTile& tile : function->shown) {
      text += support::concat(tile.before, " ", static_cast<std::uint32_t>(tile.variable), " ",
                              tile.offset, " ", static_cast<int>(tile.type), " ", int{tile.swizzle},
                              " ", tile.times, " ", tile.label, " ");
      for (const std::uint32_t part : tile.cta) text += support::concat(part, ",");
      for (const std::uint64_t extent : tile.shape) text += support::concat(extent, "x");
      const auto line = module->locations.line(tile.loc);
      if (line) text += support::concat(line->file, ":", line->line);
      text += "\n";
    }
  }
  return text;
}

}  // namespace

KernelImage::KernelImage(std::string ptx, std::string target, driver::LaunchPlan plan,
                         std::shared_ptr<const ir::Module> module)
    : ptx_(std::move(ptx)),
      target_(std::move(target)),
      plan_(std::move(plan)),
      hash_(hash_of(ptx_, target_, plan_.to_text() + shown_of(module.get()))),
      module_(std::move(module)) {}

KernelImage::~KernelImage() = default;

diag::Loc KernelImage::line_loc(std::uint32_t ptx_line) const {
  const auto traced = module();
  if (traced == nullptr || ptx_line == 0) return diag::Loc::None;
  std::vector<diag::Loc> locs;
  // Printed again because it was refused, which is rare; a text from elsewhere has other lines.
  if (syntax::print(*traced, &locs) != ptx_ || ptx_line > locs.size()) return diag::Loc::None;
  return locs[ptx_line - 1];
}

bool KernelImage::has_line_table() const {
  if (const auto known = module()) return !known->files.empty();
  return !syntax::Document::read(ptx_, "<ptx>").module().files.empty();
}

diag::Result<driver::Assembled> KernelImage::assemble(const std::string& target,
                                                      std::vector<std::string> flags) const {
  driver::AssembleOptions options;
  options.target = target;
  options.flags = std::move(flags);
  options.line_info = has_line_table();
  auto assembled = driver::assemble(ptx_, options);
  if (assembled) return std::move(*assembled);
  diag::Diagnostic& refused = assembled.error().diagnostic;
  refused.loc = line_loc(assembled.error().ptx_line);
  return diag::fail(std::move(refused));
}

diag::Result<KernelImage::Binary*> KernelImage::assemble_locked(const std::string& code_target) {
  Binary& binary = binaries_[code_target];
  if (!binary.cubin.empty()) return &binary;
  auto assembled = assemble(code_target);
  if (!assembled) return assembled.failure();
  binary.cubin = std::move(assembled->cubin);
  return &binary;
}

diag::Result<std::string_view> KernelImage::cubin() {
  const std::lock_guard lock(device_mutex_);
  auto binary = assemble_locked(target_);
  if (!binary) return binary.failure();
  return std::string_view((*binary)->cubin);
}

void KernelImage::adopt_cubin(const std::string& target, std::string_view cubin) {
  const std::lock_guard lock(device_mutex_);
  Binary& binary = binaries_[target];
  if (binary.cubin.empty()) binary.cubin = cubin;
}

diag::Result<const driver::Launcher*> KernelImage::load_locked(int device) {
  // A machine without a driver is told so before it is told that it lacks a compiler.
  auto available = driver::available();
  if (!available) return available.failure();
  auto info = driver::device(device);
  if (!info) return info.failure();
  auto code_target = driver::code_target(target_, **info);
  if (!code_target) return code_target.failure();
  auto binary = assemble_locked(*code_target);
  if (!binary) return binary.failure();
  auto& launcher = (*binary)->launcher;
  if (launcher == nullptr) {
    auto kernel = driver::load_kernel((*binary)->cubin, plan_.entry);
    if (!kernel) return kernel.failure();
    std::optional<std::size_t> parameter_count;
    if (const auto traced = module()) {
      if (const ir::Function* entry = traced->entry(plan_.entry)) {
        parameter_count = entry->parameters.size();
      }
    }
    auto created = driver::Launcher::create(plan_, std::move(*kernel), parameter_count);
    if (!created) return created.failure();
    launcher = std::move(*created);
  }
  launchers_[static_cast<std::size_t>(device)].store(launcher.get(), std::memory_order_release);
  return static_cast<const driver::Launcher*>(launcher.get());
}

diag::Result<const driver::Launcher*> KernelImage::launcher(int device) {
  if (device >= 0 && device < driver::kMaxDevices) {
    const auto& slot = launchers_[static_cast<std::size_t>(device)];
    if (const auto* ready = slot.load(std::memory_order_acquire)) return ready;
  }
  const std::lock_guard lock(device_mutex_);
  return load_locked(device);
}

diag::Status KernelImage::decode_locked() {
  if (module() == nullptr) {
    auto read = read_module(ptx_);
    if (!read) return read.failure();
    adopt(std::move(*read));
  }
  auto program = emu::decode(module(), plan_.entry);
  if (!program) return program.failure();
  owned_program_ = std::move(*program);
  program_.store(owned_program_.get(), std::memory_order_release);
  return diag::success();
}

diag::Result<const emu::Program*> KernelImage::program() {
  if (const auto* ready = program_.load(std::memory_order_acquire)) return ready;
  const std::lock_guard lock(host_mutex_);
  if (owned_program_ == nullptr) {
    auto decoded = decode_locked();
    if (!decoded) return decoded.failure();
  }
  return static_cast<const emu::Program*>(owned_program_.get());
}

std::shared_ptr<emu::Variables> KernelImage::variables() {
  const std::lock_guard lock(host_mutex_);
  if (variables_ == nullptr) variables_ = emu::make_variables(*owned_program_);
  return variables_;
}

void KernelImage::renew_variables(const std::shared_ptr<emu::Variables>& stale) {
  const std::lock_guard lock(host_mutex_);
  if (variables_ == stale) variables_ = nullptr;
}

diag::Result<std::shared_ptr<const ir::Module>> read_module(std::string_view ptx) {
  verify::InstructionJudge judge;
  syntax::ParseOptions options;
  options.judge = &judge;
  auto module = syntax::parse(ptx, "<ptx>", options);
  if (!module) return module.failure();
  // What no single instruction shows: declarations, labels, calls, sizes.
  for (diag::Diagnostic& found : verify::verify_module(**module)) {
    if (found.severity() != diag::Severity::Error) continue;
    found.resolve((*module)->locations);
    return diag::fail(std::move(found));
  }
  return std::shared_ptr<const ir::Module>(std::move(*module));
}

std::shared_ptr<const ir::Module> KernelImage::module() const {
  const std::lock_guard lock(module_mutex_);
  return module_;
}

std::shared_ptr<const diag::LocationTable> KernelImage::locations() const {
  auto traced = module();
  if (traced == nullptr) return nullptr;
  const diag::LocationTable* table = &traced->locations;
  return {std::move(traced), table};
}

void KernelImage::adopt(std::shared_ptr<const ir::Module> module) {
  if (module == nullptr) return;
  const std::lock_guard lock(module_mutex_);
  if (module_ == nullptr) module_ = std::move(module);
}

}  // namespace pyptx::interop
