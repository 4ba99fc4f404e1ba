#include "agent/device_manager/resource_name.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/label_text.h"

namespace plimsoll::agent {

bool IsExtendedResourceName(const std::string& name) {
  if (!absl::StrContains(name, '/') || absl::StrContains(name, "kubernetes.io/")) return false;
  return !absl::StartsWith(name, "requests.") && IsLabelKey(absl::StrCat("requests.", name));
}

}  // namespace plimsoll::agent
