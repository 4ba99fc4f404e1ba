#include "kube/driver/slice_copy.h"

#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "kube/driver/json_fields.h"
#include "kube/driver/slices.h"
#include "qos/class_devices.h"

namespace plimsoll::kube {
namespace {

using Json = nlohmann::json;

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
  options.on_change = [this](const ObjectChange& change) { Hear(change); };
  options.on_listed = [this] {
    {
      // A list is the truth of its moment: what was made before it and isn't in it has gone.
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
    const auto at = written_.find(change.key);
    // News from before our write is none. A deletion shows the object as it was last known.
    if (at != written_.end() && !at->second.is_null() &&
        VersionOf(*change.object) < VersionOf(at->second)) {
      return;
    }
    if (at != written_.end()) written_.erase(at);
  }
  on_change_();
}

std::map<std::string, Json> SliceCopy::Slices() const {
  std::map<std::string, Json> slices = watched_.Objects();
  const absl::MutexLock lock(&mutex_);
  for (const auto& [name, object] : written_) {
    if (object.is_null()) {
      slices.erase(name);
    } else {
      slices[name] = object;
    }
  }
  return slices;
}

void SliceCopy::Remember(const Json& answer) {
  const std::string name = TextOf(answer, {"metadata", "name"});
  const std::optional<Json> known = watched_.Find(name);
  const absl::MutexLock lock(&mutex_);
  // The watch may have been faster than the answer.
  if (known && VersionOf(*known) >= VersionOf(answer)) {
    written_.erase(name);
  } else {
    written_[name] = answer;
  }
}

void SliceCopy::Forget(const std::string& name) {
  const bool is_known = watched_.Find(name).has_value();
  const absl::MutexLock lock(&mutex_);
  if (is_known) {
    written_[name] = Json();
  } else {
    written_.erase(name);
  }
}

}  // namespace plimsoll::kube
