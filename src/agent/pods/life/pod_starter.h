// The start of one pod's sandbox and containers.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_POD_STARTER_H_
#define PLIMSOLL_AGENT_PODS_LIFE_POD_STARTER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "agent/pods/status/pod_status.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/cri_requests/to_cri.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/manifest/objects.h"
#include "pod_runner/pod_files/dir.h"

namespace plimsoll::agent {

// Used by one thread at a time. All references outlive it.
class PodStarter {
 public:
  PodStarter(const PodHost& host, const pod::Manifest& pod) : host_(host), pod_(pod) {}

  // Puts the first of the pod's user ids on record.
  using KeepIds = absl::FunctionRef<absl::Status(uint32_t first_id)>;
  // Makes the pod's directory, its control group and the CRI's messages; chooses user ids where the
  // record has none. OK at once after the first success.
  absl::Status Prepare(const PodRecord& record, KeepIds keep);
  // The manifest has changed: the next Prepare and Complete do their work again.
  void Renew();
  // After Prepare. The sandbox's id. FAILED_PRECONDITION: another pod of this name, which isn't on
  // record, lives still.
  absl::StatusOr<std::string> MakeSandbox(uint32_t attempt);
  // After Prepare, before containers start in the sandbox: brings in its addresses where the pod
  // asks for them. OK at once after the first success for a sandbox.
  absl::Status Complete(const std::string& sandbox);

  // Containers that start from now on have their variables from these objects. An error leaves all
  // as it was. OK before Prepare, which reads the objects itself.
  absl::Status Adopt(std::shared_ptr<const pod::ConfigObjects> objects);

  // The failure of a start, as the container's status shows it.
  struct Failure {
    Waiting waiting;
    absl::Status status;
  };
  // After Prepare. Brings the image, makes and starts the container; one that is created already is
  // only started. `last`: the container's newest run, may be null. nullopt: it runs.
  std::optional<Failure> Start(const PodRecord& record, size_t index, const std::string& sandbox,
                               const ObservedContainer* last);

  // Unmounts the subPaths of containers that have ended. If it fails, the next call or the pod's
  // removal does it.
  void ReleaseSubPaths(const PodRecord& record, const ObservedPod& observed) const;

 private:
  // 0: the pod has no user namespace.
  absl::StatusOr<uint32_t> ChooseIds(const PodRecord& record, KeepIds keep);
  // An agent that lost its database must not run a pod beside the one that it ran before.
  absl::Status CheckNoNamesake() const;
  // The fields of the proposals.
  absl::Status Extend(pod::PodConfigs& configs) const;
  // Binds the container's subPaths for this attempt, before its creation.
  absl::Status BindSubPaths(size_t index, uint32_t attempt);
  // Makes the group with the resources in effect. Returns the CRI's cgroup_parent.
  absl::StatusOr<std::string> MakeGroup(const PodRecord& record) const;
  absl::Status Pull(const InvolvedObject& subject, const std::string& reference);
  absl::Status BringImage(const InvolvedObject& subject, const pod::ContainerManifest& container);
  // Images of image volumes, into the context.
  absl::Status BringVolumes(const InvolvedObject& subject);
  // The hook after the start. A failure ends the container, as under kubelet.
  absl::Status RunPostStart(const InvolvedObject& subject, const pod::ContainerManifest& container,
                            const std::string& id, const std::string& sandbox);
  // Files for the containers' last words, into the context. Those that are there stay.
  absl::Status PrepareLastWords(const std::string& directory);
  absl::StatusOr<std::string> Create(const PodRecord& record, size_t index,
                                     const std::string& sandbox, uint32_t attempt);
  // `last`: the newest container of that name that the runtime has; may be null.
  uint32_t NextAttempt(const std::string& name, const ObservedContainer* last);

  const PodHost& host_;
  const pod::Manifest& pod_;
  std::shared_ptr<const pod::ConfigObjects> objects_;
  pod::PodContext context_;
  // The attempt for which a container's subPaths were bound last, by name. The runtime may still
  // create it after an error, if the answer was lost.
  std::map<std::string, uint32_t> bound_;
  // The newest attempt that was made, by a container's name; at first the newest with a log.
  std::map<std::string, std::optional<uint32_t>> made_;
  std::string completed_;  // the id of the sandbox that Complete was done for
  std::optional<pod::PodDir> dir_;
  std::optional<pod::PodConfigs> configs_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_POD_STARTER_H_
