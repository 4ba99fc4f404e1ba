#include "agent/pods/life/live_volumes.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/pods/status/pod_subject.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/pod_files/dir.h"
#include "pod_runner/pod_files/volume_dirs.h"

namespace plimsoll::agent {

void LiveVolumes::Refresh(const PodRecord& record, PodStarter& starter) {
  if (host_.objects == nullptr) return;
  ObjectDirectory::Snapshot latest = host_.objects->Latest();
  if (latest.version == seen_) return;
  const InvolvedObject subject = SubjectOf(record);
  pod::PodContext context;
  const absl::Status described = pod::DescribeNode(host_.root, context);
  if (!described.ok()) {
    host_.events.Add(subject, "Warning", "FailedSync",
                     absl::StrCat("error syncing pod: ", described.message()));
    return;  // the next step tries again
  }
  seen_ = latest.version;
  context.uid = record.uid;
  context.node_name = host_.node.name;
  context.objects = latest.objects.get();
  for (const pod::Volume& volume : pod_.volumes) {
    if (volume.files) Write(subject, volume, context);
  }
  const absl::Status adopted = starter.Adopt(std::move(latest.objects));
  if (adopted.ok()) return;
  host_.events.Add(
      subject, "Warning", "FailedSync",
      absl::StrCat("containers that restart keep their earlier variables: ", adopted.message()));
}

void LiveVolumes::Write(const InvolvedObject& subject, const pod::Volume& volume,
                        const pod::PodContext& context) const {
  const std::string path =
      absl::StrCat(pod::PodDirPath(host_.state_directory, context.uid), "/volumes/", volume.name);
  if (!host_.root.Exists(path)) return;  // its pod is being made
  const absl::Status written = pod::RefreshVolumeDir(host_.root, path, pod_, volume, context);
  if (written.ok()) return;
  host_.events.Add(subject, "Warning", "FailedMount",
                   absl::StrCat("MountVolume.SetUp failed for volume \"", volume.name,
                                "\", whose files stay as they were: ", written.message()));
}

}  // namespace plimsoll::agent
