#include "agent/pods/status/start_events.h"

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {

std::string WaitingMessage(const pod::ContainerManifest& container, absl::string_view reason,
                           const absl::Status& status) {
  if (reason != "ErrImageNeverPull") return std::string(status.message());
  return absl::StrCat("Container image \"", container.image,
                      "\" is not present with pull policy of Never");
}

void TellStartFailure(KubeEventLog& events, const InvolvedObject& subject,
                      const pod::ContainerManifest& container, absl::string_view reason,
                      const absl::Status& status) {
  if (reason == "ErrImageNeverPull") {
    events.Add(subject, "Warning", reason, WaitingMessage(container, reason, status));
  } else if (reason == "InvalidImageName") {
    events.Add(
        subject, "Warning", "InspectFailed",
        absl::StrCat("Failed to inspect image \"", container.image, "\": ", status.message()));
  } else if (reason == "ErrImagePull") {
    events.Add(subject, "Warning", "Failed",
               absl::StrCat("Failed to pull image \"", container.image, "\": ", status.message()));
  } else {
    events.Add(subject, "Warning", "Failed", absl::StrCat("Error: ", status.message()));
    return;
  }
  events.Add(subject, "Warning", "Failed", absl::StrCat("Error: ", reason));
}

void TellPullBackOff(KubeEventLog& events, const InvolvedObject& subject,
                     const std::string& image) {
  events.Add(subject, "Normal", "BackOff", absl::StrCat("Back-off pulling image \"", image, "\""));
  events.Add(subject, "Warning", "Failed", "Error: ImagePullBackOff");
}

}  // namespace plimsoll::agent
