// The static policy of kubelet's CPU manager: chooses CPUs that a container has for itself
// (pkg/kubelet/cm/cpumanager; Kubernetes' "Control CPU Management Policies on the Node").
#ifndef PLIMSOLL_AGENT_CPU_MANAGER_STATIC_CPU_POLICY_H_
#define PLIMSOLL_AGENT_CPU_MANAGER_STATIC_CPU_POLICY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/cpu_manager/cpu_layout.h"
#include "agent/cpu_manager/cpu_options.h"
#include "agent/topology_manager/hint.h"
#include "agent/topology_manager/node_mask.h"
#include "agent/topology_manager/topology_manager.h"
#include "resources/cpu_set.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

// Which CPUs pods never have for themselves: kubelet's reservedSystemCPUs, or else as many as are
// reserved (systemReserved and kubeReserved), rounded up, from the lowest core on.
struct CpuReservation {
  std::optional<resources::CpuSet> cpus;
  int64_t milli = 0;
  // The machine has CPUs outside of the node's topology. They belong to the system, so the node
  // needs no reserved CPUs.
  bool has_others = false;
};

// Knows the machine, and nothing of who has which CPUs: callers say which are free. Immutable.
class StaticCpuPolicy {
 public:
  // FAILED_PRECONDITION: a CPU without a number; nothing reserved and no CPU outside of the
  // topology (kubelet demands reserved ones in any case); reserved CPUs that the machine lacks, or
  // more than it has; options that this machine or the topology manager's policy excludes.
  static absl::StatusOr<StaticCpuPolicy> Make(std::shared_ptr<const topology::MachineMaps> maps,
                                              const CpuReservation& reservation,
                                              const CpuOptions& options,
                                              TopologyPolicy topology_policy);

  const resources::CpuSet& all() const { return all_; }
  const resources::CpuSet& reserved() const { return reserved_; }
  // CPUs that can be given to a container for itself: all but the reserved ones.
  resources::CpuSet exclusive() const { return all_.Difference(reserved_); }
  // CPUs on which other containers run while `taken` are in exclusive use. With
  // strict-cpu-reservation the reserved ones are among them only while there are no others: without
  // a list of CPUs a container would run on the exclusive ones.
  resources::CpuSet SharedBeside(const resources::CpuSet& taken) const;

  // Hints for `count` CPUs, of `free` (never reserved ones) and `reusable` (those of init
  // containers of the same pod that have ended by then, all of which are to be used). Never
  // nullopt.
  std::vector<Hint> Hints(int64_t count, const resources::CpuSet& free,
                          const resources::CpuSet& reusable,
                          HintChoice choice = HintChoice::kAll) const;
  // The CPUs: those of `nodes` first, packed or distributed as the options say.
  // FAILED_PRECONDITION, with kubelet's words: too few, or (full-pcpus-only) no whole number of
  // cores; see IsSmtAlignmentError. Where nothing is reserved, the last free CPU is never
  // exclusive: without it SharedBeside would be empty.
  absl::StatusOr<resources::CpuSet> Allocate(int64_t count, std::optional<NodeMask> nodes,
                                             const resources::CpuSet& free,
                                             const resources::CpuSet& reusable) const;
  // `count` CPUs of a pod's own `pool` for one of its containers (KEP-2837).
  absl::StatusOr<resources::CpuSet> TakeFrom(const resources::CpuSet& pool, int64_t count) const;
  // True for kubelet's rejection reason SMTAlignmentError, false for UnexpectedAdmissionError.
  static bool IsSmtAlignmentError(const absl::Status& status);

 private:
  StaticCpuPolicy(std::shared_ptr<const CpuLayout> layout, const CpuOptions& options);

  absl::Status Reserve(const CpuReservation& reservation);
  absl::Status CheckSmtAlignment(int64_t count, const resources::CpuSet& free) const;
  // The CPUs of the nodes, or with align-by-socket of all sockets that they lie in.
  resources::CpuSet CpusOf(NodeMask nodes) const;

  std::shared_ptr<const CpuLayout> layout_;
  CpuOptions options_;
  resources::CpuSet all_;
  resources::CpuSet reserved_;
  resources::CpuSet reserved_cores_;  // all CPUs of the cores that have reserved ones
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CPU_MANAGER_STATIC_CPU_POLICY_H_
