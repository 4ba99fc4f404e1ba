// A pod on record that this agent can't read: another version wrote it, or the database was
// changed.
#ifndef PLIMSOLL_AGENT_PODS_RECORDS_UNREADABLE_POD_H_
#define PLIMSOLL_AGENT_PODS_RECORDS_UNREADABLE_POD_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "agent/pods/records/pod_record.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// A pod whose containers run on. Nothing else of its name starts before it is deleted, or replaced
// by its manifest file. Its uid suffices for its end.
struct UnreadablePod {
  PodRecord record;  // without a usable object
  std::string why;
  nlohmann::json object = nullptr;  // as it was asked for; null: not even that is known
};

// FAILED_PRECONDITION names the pod, the reason and the command that removes it.
absl::Status UnreadableError(const PodKey& pod, absl::string_view why);

// The means to end such a pod: an object and a manifest without containers.
nlohmann::json BareObject(const PodKey& pod);
pod::Manifest BareManifest(const PodRecord& record);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RECORDS_UNREADABLE_POD_H_
