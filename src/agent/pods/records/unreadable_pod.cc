#include "agent/pods/records/unreadable_pod.h"

#include "absl/strings/str_cat.h"
#include "agent/pods/records/pod_key.h"

namespace plimsoll::agent {

absl::Status UnreadableError(const PodKey& pod, absl::string_view why) {
  const std::string in =
      pod.pod_namespace == "default" ? "" : absl::StrCat(" --namespace ", pod.pod_namespace);
  return absl::FailedPreconditionError(absl::StrCat(
      PodName(pod), " is on record and can't be read: ", why,
      "; its containers run on. `plimsoll delete pod ", pod.name, in, "` ends and forgets it"));
}

nlohmann::json BareObject(const PodKey& pod) {
  return {{"metadata", {{"name", pod.name}, {"namespace", pod.pod_namespace}}},
          {"spec", {{"containers", nlohmann::json::array()}}}};
}

pod::Manifest BareManifest(const PodRecord& record) {
  pod::Manifest manifest;
  manifest.pod_namespace = record.key.pod_namespace;
  manifest.name = record.key.name;
  manifest.grace_period_s = record.grace_s;
  return manifest;
}

}  // namespace plimsoll::agent
