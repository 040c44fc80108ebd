// SPDX-License-Identifier: Apache-2.0
//
// Things that others own, found by a key while they live. What has died takes a row of the table
// until as many rows have been added as there were, so that the table has at most twice as many
// rows as things have lived at once, and looking after it costs a constant for each that is added.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <unordered_map>
#include <utility>

namespace pyptx::support {

/// Not thread-safe.
template <typename Key, typename Value>
class WeakTable {
 public:
  /// Null where there is none, or none any more.
  std::shared_ptr<Value> find(const Key& key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : found->second.lock();
  }

  /// In place of the one that had the key.
  void set(Key key, const std::shared_ptr<Value>& value) {
    if (rows_.size() >= swept_at_) {
      std::erase_if(rows_, [](const auto& row) { return row.second.expired(); });
      swept_at_ = std::max(kFew, 2 * rows_.size());
    }
    rows_[std::move(key)] = value;
  }

  /// The living and the dead that were not yet swept out.
  std::size_t rows() const { return rows_.size(); }

 private:
  static constexpr std::size_t kFew = 64;

  std::unordered_map<Key, std::weak_ptr<Value>> rows_;
  std::size_t swept_at_ = kFew;
};

}  // namespace pyptx::support
