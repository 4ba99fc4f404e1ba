#include "image/candidates.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace plimsoll::image {

bool Belong(const Credentials& credentials, const Reference& reference, bool is_one_of_many) {
  if (!credentials.registry.empty()) {
    return absl::EqualsIgnoreCase(credentials.registry, reference.registry);
  }
  return !is_one_of_many || reference.registry == "docker.io";
}

bool IsForAll(const absl::Status& failure) {
  return absl::IsCancelled(failure) || absl::IsDeadlineExceeded(failure) ||
         absl::IsResourceExhausted(failure);
}

absl::Status Together(absl::string_view reference, const std::vector<absl::Status>& failures) {
  if (failures.size() == 1) return failures.front();
  absl::StatusCode code = absl::StatusCode::kNotFound;
  std::vector<absl::string_view> messages;
  for (const absl::Status& failure : failures) {
    messages.push_back(failure.message());
    if (code == absl::StatusCode::kNotFound) code = failure.code();
  }
  return absl::Status(code, absl::StrCat("pull ", reference, ": none of ", failures.size(),
                                         " registries gave it: ", absl::StrJoin(messages, "; ")));
}

}  // namespace plimsoll::image
