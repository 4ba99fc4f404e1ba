#include "agent/cpu_manager/static_cpu_policy.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/cpu_manager/cpu_hints.h"
#include "agent/cpu_manager/distributed_taker.h"
#include "agent/cpu_manager/packed_taker.h"
#include "base/status.h"

namespace plimsoll::agent {

using resources::CpuSet;

namespace {

// kubelet's words, and the mark of the reason SMTAlignmentError.
constexpr absl::string_view kSmtAlignmentError = "SMT Alignment Error: ";

absl::Status CheckAlignBySocket(const CpuLayout& layout, TopologyPolicy topology_policy) {
  if (topology_policy == TopologyPolicy::kSingleNumaNode) {
    return absl::FailedPreconditionError(
        "CPU manager policy option \"align-by-socket\" and topology manager policy "
        "\"single-numa-node\" exclude each other");
  }
  const size_t packages = layout.GroupCount(CpuLevel::kPackage);
  const size_t nodes = layout.GroupCount(CpuLevel::kNode);
  if (packages <= nodes) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "CPU manager policy option \"align-by-socket\" needs a NUMA node for each socket; the "
      "machine has ",
      packages, " sockets and ", nodes, " NUMA nodes with CPUs"));
}

}  // namespace

StaticCpuPolicy::StaticCpuPolicy(std::shared_ptr<const CpuLayout> layout, const CpuOptions& options)
    : layout_(std::move(layout)), options_(options), all_(layout_->cpus()) {}

absl::StatusOr<StaticCpuPolicy> StaticCpuPolicy::Make(
    std::shared_ptr<const topology::MachineMaps> maps, const CpuReservation& reservation,
    const CpuOptions& options, TopologyPolicy topology_policy) {
  PLIMSOLL_RETURN_IF_ERROR(topology::CheckCpuIds(*maps));
  StaticCpuPolicy policy(std::make_shared<const CpuLayout>(*maps), options);
  if (options.align_by_socket) {
    PLIMSOLL_RETURN_IF_ERROR(CheckAlignBySocket(*policy.layout_, topology_policy));
  }
  PLIMSOLL_RETURN_IF_ERROR(policy.Reserve(reservation));
  return policy;
}

absl::Status StaticCpuPolicy::Reserve(const CpuReservation& reservation) {
  if (reservation.cpus && !reservation.cpus->Empty()) {
    reserved_ = *reservation.cpus;
    const CpuSet lacking = reserved_.Difference(all_);
    if (!lacking.Empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("reserved CPUs ", reserved_.ToString(), ": the machine has no CPU ",
                       lacking.ToString(), "; it has ", all_.ToString()));
    }
  } else if (reservation.milli <= 0) {
    if (reservation.has_others) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "no CPU is reserved; the static CPU manager policy needs some for the system, by "
        "reservedSystemCPUs or cpu in systemReserved or kubeReserved, or by CPUs that the runtime "
        "keeps out of its topology (nodeResources.cpus)");
  } else {
    const int64_t count = reservation.milli / 1000 + (reservation.milli % 1000 != 0 ? 1 : 0);
    auto taken = TakeFrom(all_, count);
    if (!taken.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("can't reserve ", count, " CPUs: the machine has ", all_.Size()));
    }
    reserved_ = *std::move(taken);
  }
  if (options_.strict_cpu_reservation && reserved_ == all_) {
    return absl::FailedPreconditionError(
        absl::StrCat("CPU manager policy option \"strict-cpu-reservation\" leaves no CPU for pods: "
                     "all are reserved: ",
                     reserved_.ToString()));
  }
  for (const uint32_t number : reserved_.ToVector()) {
    const uint32_t core = layout_->GroupOf(CpuLevel::kCore, *layout_->IndexOf(number));
    for (const uint32_t cpu : layout_->Members(CpuLevel::kCore, core)) {
      reserved_cores_.Add(layout_->NumberOf(cpu));
    }
  }
  return absl::OkStatus();
}

CpuSet StaticCpuPolicy::SharedBeside(const CpuSet& taken) const {
  const CpuSet shared = all_.Difference(taken);
  if (!options_.strict_cpu_reservation || shared.IsSubsetOf(reserved_)) return shared;
  return shared.Difference(reserved_);
}

std::vector<Hint> StaticCpuPolicy::Hints(int64_t count, const CpuSet& free, const CpuSet& reusable,
                                         HintChoice choice) const {
  return CpuHints(*layout_, count, free.Difference(reserved_), reusable, options_.align_by_socket,
                  choice);
}

absl::StatusOr<CpuSet> StaticCpuPolicy::Allocate(int64_t count, std::optional<NodeMask> nodes,
                                                 const CpuSet& free, const CpuSet& reusable) const {
  const CpuSet unreserved = free.Intersection(all_).Difference(reserved_);
  PLIMSOLL_RETURN_IF_ERROR(CheckSmtAlignment(count, unreserved));
  const CpuSet usable = unreserved.Union(reusable.Intersection(all_));
  CpuSet aligned;
  if (nodes) {
    const CpuSet near = usable.Intersection(CpusOf(*nodes));
    const auto most = static_cast<int64_t>(near.Size());
    PLIMSOLL_ASSIGN_OR_RETURN(aligned, TakeFrom(near, std::min(count, most)));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      const CpuSet others,
      TakeFrom(usable.Difference(aligned), count - static_cast<int64_t>(aligned.Size())));
  CpuSet chosen = aligned.Union(others);
  if (reserved_.Empty() && !unreserved.Empty() && unreserved.IsSubsetOf(chosen)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "not enough cpus available to satisfy request: requested=", count, ", available=",
        usable.Size() - 1, ": the last one stays for containers without CPUs of their own"));
  }
  return chosen;
}

absl::StatusOr<CpuSet> StaticCpuPolicy::TakeFrom(const CpuSet& pool, int64_t count) const {
  if (options_.distribute_cpus_across_numa) {
    const size_t group = options_.full_pcpus_only ? layout_->CpusPer(CpuLevel::kCore) : 1;
    return TakeDistributed(*layout_, pool, count, static_cast<int64_t>(group));
  }
  return TakePacked(*layout_, pool, count,
                    {.spread_over_cores = options_.distribute_cpus_across_cores,
                     .align_to_caches = options_.prefer_align_cpus_by_uncorecache});
}

absl::Status StaticCpuPolicy::CheckSmtAlignment(int64_t count, const CpuSet& free) const {
  if (!options_.full_pcpus_only) return absl::OkStatus();
  const auto per_core = static_cast<int64_t>(layout_->CpusPer(CpuLevel::kCore));
  if (count % per_core != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        kSmtAlignmentError, "requested ", count, " cpus not multiple cpus per core = ", per_core));
  }
  // Cores with a reserved CPU would give single threads. kubelet doesn't count reusable CPUs here.
  const auto available = static_cast<int64_t>(free.Difference(reserved_cores_).Size());
  if (count <= available) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      kSmtAlignmentError, "not enough free physical CPUs: available physical CPUs = ", available,
      ", requested CPUs = ", count, ", CPUs per core = ", per_core));
}

CpuSet StaticCpuPolicy::CpusOf(NodeMask nodes) const {
  CpuSet in_nodes;
  std::set<uint32_t> packages;
  for (uint32_t node = 0; node < layout_->GroupCount(CpuLevel::kNode); ++node) {
    if (!nodes.Contains(layout_->NodeNumber(node))) continue;
    for (const uint32_t cpu : layout_->Members(CpuLevel::kNode, node)) {
      in_nodes.Add(layout_->NumberOf(cpu));
      packages.insert(layout_->GroupOf(CpuLevel::kPackage, cpu));
    }
  }
  if (!options_.align_by_socket) return in_nodes;
  CpuSet in_packages;
  for (const uint32_t package : packages) {
    for (const uint32_t cpu : layout_->Members(CpuLevel::kPackage, package)) {
      in_packages.Add(layout_->NumberOf(cpu));
    }
  }
  return in_packages;
}

bool StaticCpuPolicy::IsSmtAlignmentError(const absl::Status& status) {
  return !status.ok() && absl::StartsWith(status.message(), kSmtAlignmentError);
}

}  // namespace plimsoll::agent
