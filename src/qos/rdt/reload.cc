#include "qos/rdt/reload.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "qos/rdt/type.h"

namespace plimsoll::qos {

std::vector<std::string> RdtReload::class_names() const {
  std::vector<std::string> names;
  for (const auto& [name, group] : after_.by_name) names.push_back(name);
  return names;
}

std::vector<std::string> RdtReload::changes() const {
  std::vector<std::string> lines;
  for (const auto& [name, group] : after_.by_name) {
    const RdtClassGroup* const before = before_->Find(name);
    if (before == nullptr) {
      lines.push_back(absl::StrCat("new class ", name, ": ", group.meaning));
    } else if (before->schemata != group.schemata || before->foreign != group.foreign) {
      lines.push_back(
          absl::StrCat("class ", name, ": ", group.meaning, " (was ", before->meaning, ")"));
    } else if (before->deny_pod_annotation != group.deny_pod_annotation ||
               before->deny_container_annotation != group.deny_container_annotation) {
      lines.push_back(absl::StrCat("class ", name, ": annotations that may name it"));
    }
  }
  for (const auto& [name, group] : before_->by_name) {
    if (after_.Find(name) == nullptr) lines.push_back(absl::StrCat("class ", name, " is gone"));
  }
  return lines;
}

std::vector<std::string> RdtReload::WhatIsWrong() const {
  std::vector<std::string> lines;
  for (const auto& [name, group] : after_.by_name) {
    const RdtClassGroup* const before = before_->Find(name);
    if (before == nullptr || before->schemata != group.schemata) continue;
    const std::string difference = type_.Difference(group);
    if (difference.empty()) continue;
    lines.push_back(absl::StrCat("class ", name, " is put right (found: ", difference, ")"));
  }
  return lines;
}

absl::Status RdtReload::Commit(const Holders& holders) {
  std::vector<std::string> wrong = WhatIsWrong();
  PLIMSOLL_RETURN_IF_ERROR(type_.PutInForce(after_, holders));
  put_right_ = std::move(wrong);
  return absl::OkStatus();
}

absl::Status RdtReload::Revert(const Holders& holders) {
  return type_.PutInForce(*before_, holders);
}

}  // namespace plimsoll::qos
