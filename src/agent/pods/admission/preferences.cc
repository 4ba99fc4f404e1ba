#include "agent/pods/admission/preferences.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::agent {

PreferDevices Preferences::Known() {
  if (devices_ == nullptr) return nullptr;
  return [this](const std::string& resource, const std::vector<std::string>& available,
                const std::vector<std::string>& must_include,
                int64_t count) -> absl::StatusOr<std::vector<std::string>> {
    Question question(resource, available, must_include, count);
    const auto known = answers_.find(question);
    if (known != answers_.end()) return known->second;
    questions_.push_back(std::move(question));
    return absl::UnavailableError(
        absl::StrCat("the plugin of ", resource, " is being asked for its preference"));
  };
}

bool Preferences::Ask() {
  if (!WillAsk()) return false;
  ++rounds_;
  for (Question& each : std::exchange(questions_, {})) {
    const auto& [resource, available, must_include, count] = each;
    auto answer = devices_->Prefer(resource, available, must_include, count);
    answers_.insert_or_assign(std::move(each), std::move(answer));
  }
  return true;
}

}  // namespace plimsoll::agent
