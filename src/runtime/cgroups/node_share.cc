#include "runtime/cgroups/node_share.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "runtime/cgroups/confine.h"

namespace plimsoll::runtime {
namespace {

using resources::CpuSet;

// One of the two lists of a cpuset.
struct Kind {
  std::optional<std::string> linux::CgroupSettings::*member;
  const char* file;  // of cgroup v2, as in a client's raw files
  CpuSet NodeShare::*share;
  const char* field;
  const char* what;
};
constexpr Kind kKinds[] = {
    {&linux::CgroupSettings::cpuset_cpus, "cpuset.cpus", &NodeShare::cpus, "cpuset_cpus", "CPUs"},
    {&linux::CgroupSettings::cpuset_mems, "cpuset.mems", &NodeShare::memory_nodes, "cpuset_mems",
     "memory nodes"},
};

void AddLost(const Kind& kind, const CpuSet& lost, std::string* out) {
  if (lost.Empty()) return;
  absl::StrAppend(out, out->empty() ? "" : " and ", kind.what, " ", lost.ToString());
}

// The raw file's list if there is one, else the member's; null: neither is asked for.
std::string* Asked(const Kind& kind, linux::CgroupSettings& settings) {
  const auto raw = settings.unified.find(kind.file);
  if (raw != settings.unified.end()) return &raw->second;  // written after the member
  std::optional<std::string>& member = settings.*kind.member;
  return member.has_value() ? &*member : nullptr;
}

// Clips a list for a share that is the whole node: removes the CPUs or memory nodes that went.
absl::Status ClipWhatWent(const Kind& kind, const NodeShare& share, const NodeShare& told,
                          std::string* list, std::string* lost) {
  const absl::StatusOr<CpuSet> asked = CpuSet::Parse(*list);
  if (!asked.ok()) return Annotate(asked.status(), kind.field);
  const CpuSet& has = share.*kind.share;
  const CpuSet went = asked->Intersection((told.*kind.share).Difference(has));
  if (went.Empty()) return absl::OkStatus();
  const CpuSet left = asked->Difference(went);
  *list = (left.Empty() ? has : left).ToString();
  AddLost(kind, went, lost);
  return absl::OkStatus();
}

absl::Status ConfineList(const Kind& kind, const NodeShare& share, const NodeShare& told,
                         OutsideShare outside, std::string* list, std::string* lost) {
  const CpuSet& has = share.*kind.share;
  const absl::StatusOr<CpuSet> asked = CpuSet::Parse(*list);
  if (!asked.ok()) return Annotate(asked.status(), kind.field);
  if (asked->Empty()) {
    *list = has.ToString();
    return absl::OkStatus();
  }
  const CpuSet beyond = asked->Difference(has);
  if (beyond.Empty()) return absl::OkStatus();
  const CpuSet left = asked->Intersection(has);
  const CpuSet never = beyond.Difference(told.*kind.share);
  const bool is_stranger = asked->Intersection(told.*kind.share).Empty();
  if (outside == OutsideShare::kRefuse ? !never.Empty() : left.Empty() && is_stranger) {
    return absl::FailedPreconditionError(absl::StrCat(
        kind.field, " is \"", *list, "\", but ", kind.what, " ", never.ToString(),
        " are outside of this node's share for pods (nodeResources): ", has.ToString()));
  }
  *list = (left.Empty() ? has : left).ToString();
  AddLost(kind, beyond, lost);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Confined> Confine(const linux::CgroupSettings& asked, const NodeShare& share,
                                 const NodeShare& told, OutsideShare outside, bool is_new) {
  Confined confined{asked, ""};
  for (const Kind& kind : kKinds) {
    if ((share.*kind.share).Empty()) continue;
    std::optional<std::string>& member = confined.settings.*kind.member;
    if (is_new && !share.is_whole && Asked(kind, confined.settings) == nullptr) member = "";
    std::string* const list = Asked(kind, confined.settings);
    if (list == nullptr) continue;
    PLIMSOLL_RETURN_IF_ERROR(share.is_whole
                                 ? ClipWhatWent(kind, share, told, list, &confined.lost)
                                 : ConfineList(kind, share, told, outside, list, &confined.lost));
  }
  return confined;
}

Confined Follow(const linux::CgroupSettings& asked, const NodeShare& share) {
  Confined confined;
  linux::CgroupSettings settings = asked;
  for (const Kind& kind : kKinds) {
    const CpuSet& has = share.*kind.share;
    if (has.Empty()) continue;
    const std::string* const list = Asked(kind, settings);
    const CpuSet wanted = list == nullptr ? CpuSet() : CpuSet::Parse(*list).value_or(CpuSet());
    AddLost(kind, wanted.Difference(has), &confined.lost);
    const CpuSet left = wanted.Intersection(has);
    std::optional<std::string>& given = confined.settings.*kind.member;
    if (!left.Empty()) {
      given = left.ToString();
    } else {
      // A container without a list takes its parent's, which includes CPUs that come online later.
      given = share.is_whole && wanted.Empty() ? "" : has.ToString();
    }
  }
  return confined;
}

}  // namespace plimsoll::runtime
