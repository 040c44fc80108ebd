// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics as they are shown, beside what they are expected to look like: text and JSON of each
// kind lie in tests/files/diagnostics/. PYPTX_UPDATE_GOLDENS=1 writes them anew. Every kind must be
// provoked by the code that reports it, so each layer keeps the goldens of its own kinds; that none
// is missing is checked in tests/unit/diag/golden_test.cpp.
#pragma once

#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "pyptx/diag/diagnostic.h"

namespace pyptx::golden {

/// tests/files/diagnostics, or a folder in it.
std::filesystem::path folder(std::string_view name = {});

std::string contents(const std::filesystem::path& file);
/// Compares a text with the file that it is kept in.
void expect_text(const std::filesystem::path& expected, const std::string& shown);

/// "PTX0601_no_compiler".
std::string name_of(diag::Kind kind);
/// The kind that a golden is about, by the code that its name begins with.
diag::Kind kind_of(const std::filesystem::path& golden);

/// Long hexadecimal numbers, which are addresses and differ from run to run, as 0x....
std::string without_addresses(const std::string& text);

/// Compares the rendering of `findings` with the files `golden`.txt and `golden`.json; one of them
/// must be of the kind that the golden is about.
void expect_rendering(const std::filesystem::path& golden,
                      std::span<const diag::Diagnostic> findings, const diag::LocationTable* table);

/// A folder whose goldens are provoked by code: each kind once.
class Folder {
 public:
  explicit Folder(std::string_view name) : path_(folder(name)) {}
  /// Compares one finding with the golden of its kind.
  void expect(const diag::Diagnostic& finding, const diag::LocationTable* table = nullptr);
  /// The folder holds the goldens of these kinds and no other.
  void expect_complete() const;

 private:
  std::filesystem::path path_;
  std::set<std::string> seen_;
};

}  // namespace pyptx::golden
