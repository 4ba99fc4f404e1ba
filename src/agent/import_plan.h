// Which pods of a kubelet keep what they had, as plimsoll-agent import-kubelet-state decides it.
#ifndef PLIMSOLL_AGENT_IMPORT_PLAN_H_
#define PLIMSOLL_AGENT_IMPORT_PLAN_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/managers/kubelet_state.h"
#include "agent/pods/records/imported_grants.h"
#include "agent/pods/records/pod_key.h"
#include "cri/runtime/v1/api.pb.h"

namespace plimsoll::agent {

// Facts about a kubelet's pods beside its checkpoints.
struct KubeletNames {
  std::map<std::string, PodKey> pods;  // by uid
  // Pod's uid and container's name, by the runtime's id.
  std::map<std::string, std::pair<std::string, std::string>> containers;

  // Reads kubelet's labels. A name that is known stays.
  void Add(const std::vector<::runtime::v1::PodSandbox>& sandboxes);
  void Add(const std::vector<::runtime::v1::Container>& containers);
};

// "UID=NAMESPACE/NAME". INVALID_ARGUMENT quotes the text.
absl::StatusOr<std::pair<std::string, PodKey>> ParsePodName(absl::string_view text);

struct ImportPlan {
  std::vector<ImportedGrant> grants;
  struct Line {
    std::string pod;      // "namespace/name", or its uid, or a container's id
    std::string has;      // "main: CPUs 2-3, NUMA node 0"
    std::string refusal;  // why it isn't imported; empty: it is
  };
  std::vector<Line> lines;  // by pod

  bool IsComplete() const;  // no line has a refusal
};

// `taken`: pods that the agent has already.
ImportPlan PlanImport(KubeletState state, const KubeletNames& names,
                      const std::vector<PodKey>& taken);

// A table for people.
std::string ImportTable(const ImportPlan& plan);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_IMPORT_PLAN_H_
