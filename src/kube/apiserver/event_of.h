// The events of a watch, out of its frames.
#ifndef PLIMSOLL_KUBE_APISERVER_EVENT_OF_H_
#define PLIMSOLL_KUBE_APISERVER_EVENT_OF_H_

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "kube/apiserver/api_client.h"

namespace plimsoll::kube {

// The event that a frame is. The error that an event of the type ERROR reports; UNAVAILABLE: the
// frame is no event.
absl::StatusOr<WatchEvent> EventOf(nlohmann::json frame);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_EVENT_OF_H_
