// Volumes of files that follow their ConfigMaps and Secrets while the pod runs.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_LIVE_VOLUMES_H_
#define PLIMSOLL_AGENT_PODS_LIFE_LIVE_VOLUMES_H_

#include <cstdint>

#include "agent/pods/life/pod_host.h"
#include "agent/pods/life/pod_starter.h"
#include "agent/pods/records/pod_record.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// The volumes of one pod; used by its stepping thread. References outlive it.
class LiveVolumes {
 public:
  LiveVolumes(const PodHost& host, const pod::Manifest& pod) : host_(host), pod_(pod) {}

  // Writes the volumes' files again if the objects have changed since the last call, each volume at
  // once for its readers; a file that is mounted by subPath stays. Gives `starter` the objects.
  // A volume whose object or key is missing keeps its files, and an event says so. Call it while
  // the pod has a sandbox: only then are its volumes in memory sure to be mounted.
  void Refresh(const PodRecord& record, PodStarter& starter);

 private:
  void Write(const InvolvedObject& subject, const pod::Volume& volume,
             const pod::PodContext& context) const;

  const PodHost& host_;
  const pod::Manifest& pod_;
  uint64_t seen_ = 0;  // the objects' version
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_LIVE_VOLUMES_H_
