// Errors of an API server as Status, and the wait that one asks for.
#ifndef PLIMSOLL_KUBE_APISERVER_API_ERROR_H_
#define PLIMSOLL_KUBE_APISERVER_API_ERROR_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plimsoll::kube {

// The error of an answer with this HTTP code, which is no success. `body` is a v1 Status, or
// anything. The codes are those that ApiClient names.
absl::Status ErrorOfAnswer(absl::string_view method, int code, absl::string_view body);

// The error of a redirect, which isn't followed: the token would go to another server. `location`
// is the answer's field of this name; only its host is shown.
absl::Status ErrorOfRedirect(int code, absl::string_view location);

// The error that a v1 Status object reports, as a watch's ERROR event has it.
absl::Status ErrorOfStatus(absl::string_view method, const nlohmann::json& object);

// The wait that a Retry-After field asks for: seconds, or a date. nullopt: it is neither.
std::optional<absl::Duration> RetryAfter(absl::string_view field, absl::Time now);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_API_ERROR_H_
