// A pod while its grant is made to fit other managers (see refit.h).
#ifndef PLIMSOLL_AGENT_MANAGERS_REFIT_POD_H_
#define PLIMSOLL_AGENT_MANAGERS_REFIT_POD_H_

#include <string>
#include <vector>

#include "agent/managers/pod_demand.h"
#include "agent/managers/pod_grant.h"

namespace plimsoll::agent {

struct RefitPod {
  std::string name;  // "namespace/name"
  PodDemand demand;
  bool has_manifest = true;  // false: `demand` is that of the grant
  // CPUs and memory are the pod's as a whole (KEP-2837), and its containers have parts of them.
  bool is_whole = false;
  PodGrant before;
  PodGrant grant;
  // Why the grant doesn't fit, a sentence without its end for each thing.
  std::vector<std::string> faults;
  // The outcome, likewise.
  std::vector<std::string> notes;

  const Demand& DemandOf(const std::string& container) const;  // "": the pod's
  static const ContainerGrant& In(const PodGrant& grant, const std::string& container);
  ContainerGrant& Own(const std::string& container);  // in `grant`
};

// Static memory gives it some.
bool WantsMemory(const Demand& demand);

// "container main", or "the pod" for "".
std::string Subject(const std::string& container);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_REFIT_POD_H_
