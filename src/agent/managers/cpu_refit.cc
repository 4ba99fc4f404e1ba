#include "agent/managers/cpu_refit.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/managers/nearest_cpus.h"
#include "agent/managers/pod_parts.h"

namespace plimsoll::agent {
namespace {

using resources::CpuSet;
using Role = resources::ContainerRequirements::Role;

CpuSet LowestOf(const CpuSet& cpus, size_t count) {
  CpuSet lowest;
  for (const uint32_t cpu : cpus.ToVector()) {
    if (lowest.Size() == count) break;
    lowest.Add(cpu);
  }
  return lowest;
}

// A record holds no more.
int64_t CountOf(const Demand& demand) {
  return std::min(demand.cpus, int64_t{CpuSet::kMaxCpus});
}

std::string CpusText(const CpuSet& cpus) {
  return absl::StrCat(cpus.Size() == 1 ? "CPU " : "CPUs ", cpus.ToString());
}

}  // namespace

void CpuRefit::Run() {
  if (managers_.cpus() == nullptr) {
    TakeAllAway();
    return;
  }
  MakeSlots();
  Keep();
  Fill();
  if (IsAnyShort()) {
    ForgetInits();
    Fill();
  }
  Store();
}

void CpuRefit::TakeAllAway() {
  for (RefitPod& pod : pods_) {
    std::vector<std::string> names = {""};
    for (const auto& [name, grant] : pod.grant.containers) names.push_back(name);
    for (const std::string& name : names) {
      ContainerGrant& own = pod.Own(name);
      if (own.cpus.Empty() && own.cpu_count == 0) continue;
      pod.faults.push_back(absl::StrCat(Subject(name), " has ", CpusText(own.cpus),
                                        " of its own, and cpuManagerPolicy is none"));
      pod.notes.push_back(absl::StrCat(Subject(name), " gave ", CpusText(own.cpus),
                                       " back: cpuManagerPolicy is none"));
      own.cpus = {};
      own.cpu_count = 0;
    }
  }
}

void CpuRefit::MakeSlots() {
  for (size_t i = 0; i < pods_.size(); ++i) {
    const PodDemand& demand = pods_[i].demand;
    if (pods_[i].is_whole) {
      slots_.push_back({.pod = i,
                        .container = "",
                        .role = Role::kContainer,
                        .count = static_cast<size_t>(CountOf(demand.pod)),
                        .cpus = {}});
      continue;
    }
    for (const ContainerDemand& container : demand.containers) {
      slots_.push_back({.pod = i,
                        .container = container.name,
                        .role = container.role,
                        .count = static_cast<size_t>(CountOf(container)),
                        .cpus = {}});
    }
  }
}

void CpuRefit::Keep() {
  CpuSet of_older;
  for (size_t i = 0; i < pods_.size(); ++i) {
    CpuSet of_pod;
    for (const bool init : {false, true}) {
      for (Slot& slot : slots_) {
        if (slot.pod != i || slot.IsOrdinaryInit() != init) continue;
        const CpuSet others = of_older.Union(OfCompanions(slot));
        Explain(slot, others);
        KeepOf(slot, others);
        of_pod = of_pod.Union(slot.cpus);
      }
    }
    of_older = of_older.Union(of_pod);
  }
}

void CpuRefit::KeepOf(Slot& slot, const CpuSet& others) {
  const CpuSet& had = RefitPod::In(pods_[slot.pod].before, slot.container).cpus;
  slot.cpus = had.Intersection(managers_.cpus()->exclusive()).Difference(others);
  if (slot.cpus.Size() > slot.count) slot.cpus = LowestOf(slot.cpus, slot.count);
}

void CpuRefit::Fill() {
  for (const bool init : {false, true}) {
    for (Slot& slot : slots_) {
      if (slot.IsOrdinaryInit() != init || !slot.IsShort()) continue;
      FillFrom(slot, Reusable(slot));
      FillFrom(slot, Free());
    }
  }
}

void CpuRefit::FillFrom(Slot& slot, const CpuSet& pool) {
  if (!slot.IsShort() || pool.Empty()) return;
  const RefitPod& pod = pods_[slot.pod];
  if (slot.cpus.Empty() && pool.Size() >= slot.count) {
    const ContainerGrant& own = RefitPod::In(pod.grant, slot.container);
    std::optional<NodeMask> nodes;
    if (!own.memory.empty()) nodes = own.memory.front().nodes;
    absl::StatusOr<CpuSet> cpus =
        managers_.cpus()->Allocate(static_cast<int64_t>(slot.count), nodes, pool, /*reusable=*/{});
    if (cpus.ok()) {
      slot.cpus = *std::move(cpus);
      return;
    }
  }
  const size_t missing = slot.count - slot.cpus.Size();
  slot.cpus = slot.cpus.Union(NearestCpus(managers_.maps(), slot.cpus, pool.Difference(slot.cpus),
                                          static_cast<int64_t>(missing)));
}

bool CpuRefit::IsAnyShort() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.IsShort(); });
}

void CpuRefit::ForgetInits() {
  for (Slot& slot : slots_) {
    // A pod that can't be read has what it had: its containers may be others.
    if (slot.IsOrdinaryInit() && pods_[slot.pod].has_manifest) slot.cpus = {};
  }
}

void CpuRefit::Store() {
  for (const Slot& slot : slots_) {
    ContainerGrant& own = pods_[slot.pod].Own(slot.container);
    own.cpus = slot.cpus;
    own.cpu_count = static_cast<int64_t>(slot.count);
  }
  for (RefitPod& pod : pods_) {
    if (pod.is_whole) Divide(pod);
    for (const auto& [name, grant] : pod.grant.containers) Note(pod, name);
    if (pod.is_whole) Note(pod, "");
  }
}

void CpuRefit::Divide(RefitPod& pod) {
  if (pod.demand.pod.cpus == 0) {
    for (auto& [name, own] : pod.grant.containers) {
      own.cpus = {};
      own.cpu_count = 0;
    }
    return;
  }
  if (!pod.has_manifest && pod.grant.pod.cpus == pod.before.pod.cpus) return;
  const PodGrant before = pod.grant;
  CpuSet kept_by_all;  // of containers that stay
  for (const ContainerDemand& container : pod.demand.containers) {
    if (container.IsOrdinaryInit() || container.cpus == 0) continue;
    kept_by_all = kept_by_all.Union(RefitPod::In(before, container.name).cpus);
  }
  const absl::Status divided = DivideCpus(
      pod.demand,
      [&](const ContainerDemand& container, const CpuSet& pool) -> absl::StatusOr<CpuSet> {
        const size_t count = static_cast<size_t>(container.cpus);
        CpuSet cpus = LowestOf(RefitPod::In(before, container.name).cpus.Intersection(pool), count);
        // CPUs that a remaining container has kept go to no other one beside it.
        const CpuSet from = container.IsOrdinaryInit() ? pool : pool.Difference(kept_by_all);
        cpus = cpus.Union(NearestCpus(managers_.maps(), cpus, from.Difference(cpus),
                                      static_cast<int64_t>(count - cpus.Size())));
        return cpus;
      },
      pod.grant);
  if (!divided.ok()) pod.notes.push_back(std::string(divided.message()));
}

CpuSet CpuRefit::Free() const {
  CpuSet free = managers_.cpus()->exclusive();
  for (const Slot& slot : slots_) free = free.Difference(slot.cpus);
  return free;
}

CpuSet CpuRefit::Reusable(const Slot& slot) const {
  CpuSet reusable;
  for (const Slot& other : slots_) {
    if (&other == &slot || other.pod != slot.pod) continue;
    if (slot.IsOrdinaryInit() || other.IsOrdinaryInit()) reusable = reusable.Union(other.cpus);
  }
  return reusable.Difference(OfCompanions(slot)).Difference(slot.cpus);
}

CpuSet CpuRefit::OfCompanions(const Slot& slot) const {
  CpuSet cpus;
  bool is_earlier = true;
  for (const Slot& other : slots_) {
    if (&other == &slot) {
      is_earlier = false;
      continue;
    }
    if (other.pod != slot.pod) continue;
    const bool both_stay = !slot.IsOrdinaryInit() && !other.IsOrdinaryInit();
    // A sidecar runs beside the init containers after it.
    const Slot& first = is_earlier ? other : slot;
    const Slot& second = is_earlier ? slot : other;
    const bool sidecar_beside_init = first.role == Role::kSidecar && second.IsOrdinaryInit();
    if (both_stay || sidecar_beside_init) cpus = cpus.Union(other.cpus);
  }
  return cpus;
}

std::string CpuRefit::HolderOf(uint32_t cpu, size_t besides) const {
  for (const Slot& slot : slots_) {
    if (slot.pod != besides && slot.cpus.Contains(cpu)) return pods_[slot.pod].name;
  }
  return pods_[besides].name;
}

void CpuRefit::Explain(const Slot& slot, const CpuSet& others) {
  RefitPod& pod = pods_[slot.pod];
  const ContainerGrant& had = RefitPod::In(pod.before, slot.container);
  const StaticCpuPolicy& policy = *managers_.cpus();
  const std::string start = absl::StrCat(Subject(slot.container), " has ");
  const CpuSet gone = had.cpus.Difference(policy.all());
  if (!gone.Empty()) {
    pod.faults.push_back(absl::StrCat(start, CpusText(gone), ", which the node lacks"));
  }
  const CpuSet reserved = had.cpus.Intersection(policy.reserved());
  if (!reserved.Empty()) {
    pod.faults.push_back(absl::StrCat(start, CpusText(reserved), " of the reserved ones"));
  }
  const CpuSet shared = had.cpus.Intersection(others);
  if (!shared.Empty()) {
    pod.faults.push_back(absl::StrCat(start, CpusText(shared), ", as has pod ",
                                      HolderOf(shared.ToVector().front(), slot.pod)));
  }
  const int64_t count = static_cast<int64_t>(slot.count);
  if (had.cpu_count == count && had.cpus.Size() < slot.count) {
    pod.faults.push_back(
        absl::StrCat(start, had.cpus.Size(), " of the ", count, " CPUs that it is to have"));
  } else if (had.cpu_count != count || had.cpus.Size() != slot.count) {
    pod.faults.push_back(
        absl::StrCat(start, had.cpus.Size(), " CPUs of its own, and is to have ", count));
  }
}

void CpuRefit::Note(RefitPod& pod, const std::string& container) {
  const ContainerGrant& had = RefitPod::In(pod.before, container);
  const ContainerGrant& has = RefitPod::In(pod.grant, container);
  if (had.cpus == has.cpus) return;
  const CpuSet lost = had.cpus.Difference(has.cpus);
  const CpuSet got = has.cpus.Difference(had.cpus);
  std::string note = Subject(container);
  if (!lost.Empty()) absl::StrAppend(&note, " lost ", CpusText(lost));
  if (!got.Empty()) absl::StrAppend(&note, lost.Empty() ? " got " : " and got ", CpusText(got));
  const int64_t missing = has.cpu_count - static_cast<int64_t>(has.cpus.Size());
  if (has.cpus.Empty()) {
    absl::StrAppend(&note, "; it runs on the shared CPUs");
  } else {
    absl::StrAppend(&note, "; it has ", CpusText(has.cpus));
  }
  if (missing > 0) absl::StrAppend(&note, ", ", missing, " fewer than it asked for");
  pod.notes.push_back(std::move(note));
}

}  // namespace plimsoll::agent
