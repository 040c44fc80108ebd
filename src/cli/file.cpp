// SPDX-License-Identifier: Apache-2.0
#include "file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <ostream>
#include <system_error>

namespace pyptx::cli {
namespace {

void complain(Streams& streams, const std::string& path, const std::string& why) {
  streams.err << "pyptx: " << path << ": " << why << '\n';
}

std::string rest_of(std::istream& stream) {
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

std::optional<std::string> read_file(const std::string& path, Streams& streams) {
  if (path == "-") return rest_of(streams.in);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    complain(streams, path, "is a folder");
    return std::nullopt;
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    complain(streams, path, std::strerror(errno));
    return std::nullopt;
  }
  std::string bytes = rest_of(stream);
  if (stream.bad()) {
    complain(streams, path, "cannot be read");
    return std::nullopt;
  }
  return bytes;
}

bool replace_file(const std::string& path, const std::string& bytes, Streams& streams) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path real = fs::canonical(path, error);  // a link stays a link
  const fs::path beside = real.string() + ".pyptx-new";
  if (!error) {
    std::ofstream stream(beside, std::ios::binary | std::ios::trunc);
    stream << bytes;
    stream.close();
    if (!stream) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) fs::permissions(beside, fs::status(real, error).permissions(), error);
  if (!error) fs::rename(beside, real, error);
  if (!error) return true;
  std::error_code ignored;
  fs::remove(beside, ignored);
  complain(streams, path, "cannot be written: " + error.message());
  return false;
}

}  // namespace pyptx::cli
