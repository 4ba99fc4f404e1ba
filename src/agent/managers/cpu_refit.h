// The CPUs of grants on record beside other managers (see refit.h).
#ifndef PLIMSOLL_AGENT_MANAGERS_CPU_REFIT_H_
#define PLIMSOLL_AGENT_MANAGERS_CPU_REFIT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "agent/managers/node_managers.h"
#include "agent/managers/refit_pod.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

// For one refit.
class CpuRefit {
 public:
  // `pods`: oldest first; their grants, faults and notes are written. Both outlive this.
  CpuRefit(const NodeManagers& managers, std::vector<RefitPod>& pods)
      : managers_(managers), pods_(pods) {}

  void Run();

 private:
  // CPUs of a container, or of a pod as a whole. Slots of a pod follow each other in its order.
  struct Slot {
    size_t pod = 0;
    std::string container;  // "": the pod as a whole
    resources::ContainerRequirements::Role role =
        resources::ContainerRequirements::Role::kContainer;
    size_t count = 0;  // of CPUs that it is to have
    resources::CpuSet cpus;

    bool IsOrdinaryInit() const { return role == resources::ContainerRequirements::Role::kInit; }
    bool IsShort() const { return cpus.Size() < count; }
  };

  void TakeAllAway();
  void MakeSlots();
  void Keep();
  void KeepOf(Slot& slot, const resources::CpuSet& others);
  // First containers that stay, then ordinary init containers, which share CPUs with those.
  void Fill();
  void FillFrom(Slot& slot, const resources::CpuSet& pool);
  bool IsAnyShort() const;
  void ForgetInits();
  void Store();
  void Divide(RefitPod& pod);
  void Explain(const Slot& slot, const resources::CpuSet& others);
  void Note(RefitPod& pod, const std::string& container);

  resources::CpuSet Free() const;
  // CPUs of the slot's own pod: those of containers that don't run at the same time; and what ones
  // have that do.
  resources::CpuSet Reusable(const Slot& slot) const;
  resources::CpuSet OfCompanions(const Slot& slot) const;
  std::string HolderOf(uint32_t cpu, size_t besides) const;

  const NodeManagers& managers_;
  std::vector<RefitPod>& pods_;
  std::vector<Slot> slots_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_CPU_REFIT_H_
