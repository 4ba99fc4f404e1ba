// The memory of grants on record beside other managers (see refit.h).
#ifndef PLIMSOLL_AGENT_MANAGERS_MEMORY_REFIT_H_
#define PLIMSOLL_AGENT_MANAGERS_MEMORY_REFIT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/managers/node_managers.h"
#include "agent/managers/refit_pod.h"

namespace plimsoll::agent {

// For one refit.
class MemoryRefit {
 public:
  // `pods`: oldest first, with their new CPUs; their grants, faults and notes are written. Both
  // outlive this.
  MemoryRefit(const NodeManagers& managers, std::vector<RefitPod>& pods);

  void Run();

 private:
  void TakeAllAway();
  void Keep(RefitPod& pod, const std::string& container, bool is_ordinary_init);
  // Why the blocks are not those of the demand; empty: they are.
  static std::string Mismatch(const Demand& demand, const std::vector<MemoryBlock>& blocks,
                              bool is_ordinary_init);
  // Why the node doesn't have the blocks; empty: it has, and they are taken.
  std::string Take(const std::vector<MemoryBlock>& blocks);
  void Fill(RefitPod& pod, const std::string& container);
  absl::Status Allocate(RefitPod& pod, const std::string& container);
  // An ordinary init container goes where the pod's other containers are, and shares theirs.
  bool JoinOthers(RefitPod& pod, const std::string& container);
  std::vector<MemoryBlock> Used() const;
  NodeMask NodesOf(const resources::CpuSet& cpus) const;

  const NodeManagers& managers_;
  std::vector<RefitPod>& pods_;
  MemoryByNode free_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_MEMORY_REFIT_H_
