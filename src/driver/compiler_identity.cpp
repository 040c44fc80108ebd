// SPDX-License-Identifier: Apache-2.0
//
// The build ID is a note (ELF gABI, "Note Section") named GNU of type NT_GNU_BUILD_ID.
#include "compiler_identity.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>

#include "pyptx/support/concat.h"

namespace pyptx::driver {
namespace {

using support::concat;

constexpr std::size_t kMaxNoteBytes = 65536;

/// A descriptor that is closed with its scope.
class File {
 public:
  explicit File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  std::optional<struct stat> status() const {
    struct stat info{};
    if (fd_ < 0 || fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
    return info;
  }
  bool read_at(std::uint64_t offset, void* out, std::size_t size) const {
    return pread(fd_, out, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }

 private:
  int fd_;
};

std::string hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char byte : bytes) {
    out += kDigits[static_cast<std::uint8_t>(byte) >> 4];
    out += kDigits[static_cast<std::uint8_t>(byte) & 15];
  }
  return out;
}

/// The build ID among the notes of one segment; empty when it is not there.
std::string build_id_in(std::string_view notes) {
  const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  Elf64_Nhdr note{};
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    const std::uint64_t name = padded(note.n_namesz);
    if (name + note.n_descsz > notes.size()) return {};
    const bool is_gnu = notes.substr(0, note.n_namesz) == std::string_view("GNU\0", 4);
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID) return hex(notes.substr(name, note.n_descsz));
    notes.remove_prefix(std::min<std::uint64_t>(name + padded(note.n_descsz), notes.size()));
  }
  return {};
}

/// Whether a file begins as a 64-bit, little-endian ELF file does.
bool is_elf(const File& file, Elf64_Ehdr& header) {
  return file.read_at(0, &header, sizeof header) &&
         std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
         header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_phentsize == sizeof(Elf64_Phdr);
}

std::string build_id(const File& file, const Elf64_Ehdr& header) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const std::uint64_t place = header.e_phoff + std::uint64_t{i} * sizeof segment;
    if (!file.read_at(place, &segment, sizeof segment)) return {};
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNoteBytes) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!file.read_at(segment.p_offset, notes.data(), notes.size())) continue;
    if (std::string id = build_id_in(notes); !id.empty()) return id;
  }
  return {};
}

}  // namespace

std::string compiler_identity(const std::string& path) {
  const File file(path);
  const auto info = file.status();
  Elf64_Ehdr header{};
  if (!info || !is_elf(file, header)) return {};
  const std::string name = std::filesystem::path(path).filename().string();
  if (const std::string id = build_id(file, header); !id.empty())
    return concat(name, " build ", id);
  return concat(name, " of ", info->st_size, " bytes, changed ", info->st_mtim.tv_sec, ".",
                info->st_mtim.tv_nsec);
}

}  // namespace pyptx::driver
