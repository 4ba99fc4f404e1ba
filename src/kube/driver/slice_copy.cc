#include "kube/driver/slice_copy.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "kube/apiserver/json_fields.h"
#include "kube/driver/slices.h"
#include "qos/class_devices.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostDeleted = 100;
// The number of slices, 64 devices each: more than any node has, and little enough to be kept.
constexpr size_t kMostSlices = 100;

// Versions of one resource are numbers in order (KEP-5504). 0: it has none that is one.
uint64_t VersionOf(const Json& object) {
  uint64_t version = 0;
  const std::string text = TextOf(object, {"metadata", "resourceVersion"});
  return absl::SimpleAtoi(text, &version) ? version : 0;
}

}  // namespace

std::string SlicesOfNodeSelector(const std::string& node) {
  return absl::StrCat("spec.nodeName=", node, ",spec.driver=", qos::kClassDriver);
}

SliceCopy::SliceCopy(ApiClient& api, const std::string& node, std::function<void()> on_change,
                     std::function<void(const absl::Status&)> on_state)
    : on_change_(std::move(on_change)), watched_(api, OptionsFor(node, std::move(on_state))) {}

WatchedOptions SliceCopy::OptionsFor(const std::string& node,
                                     std::function<void(const absl::Status&)> on_state) {
  WatchedOptions options;
  options.path = kSlicesPath;
  options.field_selector = SlicesOfNodeSelector(node);
  options.most_objects = kMostSlices;
  options.on_change = [this](const ObjectChange& change) { Hear(change); };
  options.on_listed = [this] {
    {
      // A list is the truth of its moment: what was made before it and isn't in it is removed.
      const absl::MutexLock lock(&mutex_);
      written_.clear();
    }
    on_change_();
  };
  options.on_state = std::move(on_state);
  return options;
}

void SliceCopy::Hear(const ObjectChange& change) {
  {
    const absl::MutexLock lock(&mutex_);
    const bool is_gone = change.kind == ObjectChange::Kind::kDeleted;
    const uint64_t version = VersionOf(*change.object);
    // Shown as it was last known.
    if (is_gone) NoteDeleted(change.key, version);
    const auto at = written_.find(change.key);
    if (at != written_.end()) {
      const bool we_deleted = at->second.object.is_null();
      // News from before our write is none.
      if (we_deleted ? !is_gone && version <= at->second.version : version < at->second.version) {
        return;
      }
      written_.erase(at);
    }
  }
  on_change_();
}

void SliceCopy::NoteDeleted(const std::string& name, uint64_t version) {
  // A pool has few slices; names of others' making have no end.
  if (deleted_.size() >= kMostDeleted) deleted_.clear();
  deleted_[name] = version;
}

std::map<std::string, Json> SliceCopy::Slices() const {
  // In this order: what the watch reports in between is in the second, and newer than in the first.
  std::map<std::string, Written> written;
  {
    const absl::MutexLock lock(&mutex_);
    written = written_;
  }
  std::map<std::string, Json> slices = watched_.Objects();
  for (auto& [name, ours] : written) {
    const auto told = slices.find(name);
    if (told != slices.end() && VersionOf(told->second) > ours.version) continue;
    if (ours.object.is_null()) {
      slices.erase(name);
    } else {
      slices[name] = std::move(ours.object);
    }
  }
  return slices;
}

void SliceCopy::Remember(const Json& answer) {
  const std::string name = TextOf(answer, {"metadata", "name"});
  const absl::MutexLock lock(&mutex_);
  // The watch may have told the object's end before its answer came.
  const auto at = deleted_.find(name);
  if (at != deleted_.end() && at->second >= VersionOf(answer)) return;
  written_[name] = {answer, VersionOf(answer)};
}

void SliceCopy::Forget(const std::string& name) {
  const std::optional<Json> known = watched_.Find(name);
  const absl::MutexLock lock(&mutex_);
  const auto at = written_.find(name);
  const uint64_t version = at == written_.end() ? 0 : at->second.version;
  written_[name] = {Json(), std::max(version, known ? VersionOf(*known) : 0)};
}

}  // namespace plimsoll::kube
