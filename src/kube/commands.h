// Commands of plimsoll-kube that end by themselves.
#ifndef PLIMSOLL_KUBE_COMMANDS_H_
#define PLIMSOLL_KUBE_COMMANDS_H_

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "kube/apiserver/api_client.h"
#include "kube/config.h"
#include "kube/link/runtime_link.h"
#include "kube/manifests/manifests.h"

namespace plimsoll::kube {

// Takes back what the node has published, and has plimsolld read annotations again. Returns what it
// did, a line each. FAILED_PRECONDITION: plimsoll-kube runs, or claims are prepared and `force` is
// not set. A part that fails leaves the others done; the error says which failed.
absl::StatusOr<std::string> Remove(const KubeProgramConfig& config, ApiClient& api,
                                   RuntimeLink& link, bool force);

// Writes the text and closes the stream; nothing else may be written to it then. The error says
// that the output is not whole.
absl::Status WriteAndClose(absl::string_view text, std::FILE* stream);

// All classes that the plimsolld at the socket has. UNAVAILABLE: it didn't answer in time.
absl::StatusOr<std::vector<qos::ClassId>> ClassesOfNode(const std::string& socket,
                                                        absl::Duration patience);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_COMMANDS_H_
