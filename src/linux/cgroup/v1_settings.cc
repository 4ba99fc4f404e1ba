// Limits of cgroup v1: the files, and the order in which the kernel takes them.
#include <algorithm>
#include <cerrno>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/v1.h"
#include "linux/cgroup/validate.h"

namespace plimsoll::linux {
namespace {

constexpr char kQuota[] = "cpu.cfs_quota_us";
constexpr char kPeriod[] = "cpu.cfs_period_us";
constexpr char kMemoryLimit[] = "memory.limit_in_bytes";
constexpr char kMemoryAndSwap[] = "memory.memsw.limit_in_bytes";
constexpr char kV1HugetlbSuffix[] = ".limit_in_bytes";

absl::StatusOr<int64_t> ReadLimit(const CgroupTree& tree, const std::string& group,
                                  absl::string_view file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, tree.Read(group, file));
  auto limit = ParseLimit(text);
  if (!limit.ok()) return Annotate(limit.status(), tree.PathOf(group, file));
  return limit;
}

// nullopt when the kernel has no such file.
absl::StatusOr<std::optional<int64_t>> ReadOptional(const CgroupTree& tree,
                                                    const std::string& group,
                                                    absl::string_view file) {
  const absl::StatusOr<int64_t> limit = ReadLimit(tree, group, file);
  if (absl::IsNotFound(limit.status())) return std::nullopt;
  PLIMSOLL_RETURN_IF_ERROR(limit.status());
  return *limit;
}

absl::Status NeedFile(const CgroupTree& tree, const std::string& group, absl::string_view file,
                      absl::string_view field) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, tree.Exists(group));
  if (!exists) return absl::NotFoundError(absl::StrCat("no cgroup ", tree.PathOf(group)));
  if (tree.HasFile(group, file)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(field, ": this machine's kernel has no ", tree.PathOf(group, file)));
}

// The CPU time per period, to compare: quota / period.
double Rate(int64_t quota, uint64_t period) {
  return quota < 0 ? std::numeric_limits<double>::infinity()
                   : static_cast<double>(quota) / static_cast<double>(period);
}

uint64_t OrUnlimited(int64_t limit) {
  return limit < 0 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(limit);
}

}  // namespace

// After each single write the kernel checks that a group's quota/period is no more than its
// parent's and no less than its children's. An intermediate rate between the old and the new is as
// legal as those. If neither order gives one, the quota is lifted first, which counts as the
// parent's rate.
absl::Status CgroupV1::PlanCpu(const std::string& group, const CgroupSettings& settings,
                               Writes& out) const {
  if (settings.cpu_shares.has_value()) {
    PLIMSOLL_ASSIGN_OR_RETURN(CgroupTree * tree, Need("cpu", "cpu_shares"));
    PLIMSOLL_RETURN_IF_ERROR(NeedFile(*tree, group, "cpu.shares", "cpu_shares"));
    out.push_back({tree, group, "cpu.shares", absl::StrCat(*settings.cpu_shares)});
  }
  if (!settings.cpu_quota_us.has_value() && !settings.cpu_period_us.has_value()) {
    return absl::OkStatus();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(CgroupTree * tree, Need("cpu", "cpu_quota"));
  PLIMSOLL_RETURN_IF_ERROR(NeedFile(*tree, group, kQuota, "cpu_quota"));
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t old_quota, ReadLimit(*tree, group, kQuota));
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t old_period, ReadLimit(*tree, group, kPeriod));
  const int64_t quota = settings.cpu_quota_us.value_or(old_quota);
  const uint64_t period = settings.cpu_period_us.value_or(static_cast<uint64_t>(old_period));

  const double before = Rate(old_quota, static_cast<uint64_t>(old_period));
  const double after = Rate(quota, period);
  const auto between = [&](double rate) {
    return rate >= std::min(before, after) && rate <= std::max(before, after);
  };
  const CgroupWrite set_quota = {tree, group, kQuota, absl::StrCat(quota)};
  const CgroupWrite set_period = {tree, group, kPeriod, absl::StrCat(period)};
  if (between(Rate(old_quota, period))) {
    out.insert(out.end(), {set_period, set_quota});
  } else if (between(Rate(quota, static_cast<uint64_t>(old_period)))) {
    out.insert(out.end(), {set_quota, set_period});
  } else {
    out.insert(out.end(), {{tree, group, kQuota, "-1"}, set_period, set_quota});
  }
  return absl::OkStatus();
}

absl::Status CgroupV1::PlanCpuset(const std::string& group, const CgroupSettings& settings,
                                  Writes& out) const {
  const std::pair<const char*, const std::optional<std::string>*> files[] = {
      {"cpuset.cpus", &settings.cpuset_cpus}, {"cpuset.mems", &settings.cpuset_mems}};
  for (const auto& [file, value] : files) {
    if (!value->has_value()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(CgroupTree * tree, Need("cpuset", file));
    PLIMSOLL_RETURN_IF_ERROR(NeedFile(*tree, group, file, file));
    std::string list = **value;
    if (list.empty()) {  // "no restriction of its own": v1 can only copy the parent's list
      PLIMSOLL_ASSIGN_OR_RETURN(list, tree->Read(ParentGroup(group), file));
    }
    PLIMSOLL_RETURN_IF_ERROR(PlanList(tree, group, file, list, out));
  }
  return absl::OkStatus();
}

// A v1 group may have no CPU that its parent lacks, so groups below with the same list get the new
// one too: first all get both lists, from the outside in, then the new one from the inside out.
// Groups below with other lists keep them, and the kernel refuses a new list that doesn't hold
// them.
absl::Status CgroupV1::PlanList(CgroupTree* tree, const std::string& group, const char* file,
                                const std::string& list, Writes& out) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> below, tree->Subtree(group));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string before, tree->Read(group, file));
  std::vector<std::string> alike;  // innermost first; the last is the group itself
  for (const std::string& each : below) {
    const absl::StatusOr<std::string> has = tree->Read(each, file);
    if (has.ok() && *has == before) alike.push_back(each);
  }
  if (alike.size() > 1 && !before.empty() && before != list) {
    const std::string both = absl::StrCat(before, ",", list);
    for (auto each = alike.rbegin(); each != alike.rend(); ++each) {
      out.push_back({tree, *each, file, both});
    }
  } else {
    alike = {group};
  }
  for (const std::string& each : alike) out.push_back({tree, each, file, list});
  return absl::OkStatus();
}

absl::Status CgroupV1::CheckUse(CgroupTree& tree, const std::string& group, int64_t limit) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto usage, ReadOptional(tree, group, "memory.usage_in_bytes"));
  if (!usage.has_value() || !tree.HasFile(group, "memory.stat")) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, tree.Read(group, "memory.stat"));
  // The kernel doesn't tell how much of its own memory for the group is reclaimable: it may try
  // all.
  PLIMSOLL_ASSIGN_OR_RETURN(const auto kernel,
                            ReadOptional(tree, group, "memory.kmem.usage_in_bytes"));
  const uint64_t files = FindKey(text, "total_inactive_file").value_or(0) +
                         FindKey(text, "total_active_file").value_or(0);
  return RefuseToStarve(group, limit, *usage, static_cast<int64_t>(files) + kernel.value_or(0));
}

// memory <= memory and swap must hold after each single write.
absl::Status CgroupV1::PlanMemory(const std::string& group, const CgroupSettings& settings,
                                  Writes& out) const {
  const auto& wanted_memory = settings.memory_limit_bytes;
  const auto& wanted_both = settings.memory_swap_limit_bytes;
  if (!wanted_memory.has_value() && !wanted_both.has_value()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(CgroupTree * tree, Need("memory", "memory_limit"));
  PLIMSOLL_RETURN_IF_ERROR(NeedFile(*tree, group, kMemoryLimit, "memory_limit"));
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t old_memory, ReadLimit(*tree, group, kMemoryLimit));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto old_both, ReadOptional(*tree, group, kMemoryAndSwap));
  const int64_t memory = wanted_memory.value_or(old_memory);
  if (wanted_memory.has_value()) PLIMSOLL_RETURN_IF_ERROR(CheckUse(*tree, group, memory));
  const CgroupWrite set_memory = {tree, group, kMemoryLimit, absl::StrCat(memory)};

  if (!old_both.has_value()) {
    if (wanted_both.has_value() && *wanted_both != -1 && *wanted_both != memory) {
      return absl::FailedPreconditionError(absl::StrCat(
          "memory_swap_limit ", *wanted_both, ": this machine's kernel does not account swap (no ",
          tree->PathOf(group, kMemoryAndSwap), "); only -1 or the memory limit is possible"));
    }
    if (wanted_memory.has_value()) out.push_back(set_memory);
    return absl::OkStatus();
  }

  int64_t both = wanted_both.value_or(*old_both);
  if (OrUnlimited(both) < OrUnlimited(memory)) {
    if (wanted_both.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("memory_swap_limit ", both, ": must be at least the memory limit (", memory,
                       "), because it counts memory and swap together"));
    }
    // Raised past the old sum: the swap part stays the same, as on v2.
    both = memory < 0 ? -1 : memory + (*old_both - old_memory);
  }
  const CgroupWrite set_both = {tree, group, kMemoryAndSwap, absl::StrCat(both)};
  if (OrUnlimited(memory) > OrUnlimited(*old_both)) {
    out.insert(out.end(), {set_both, set_memory});
  } else {
    out.insert(out.end(), {set_memory, set_both});
  }
  return absl::OkStatus();
}

absl::Status CgroupV1::PlanPids(const std::string& group, const CgroupSettings& settings,
                                Writes& out) const {
  if (!settings.pids_limit.has_value()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(CgroupTree * tree, Need("pids", "pids_limit"));
  PLIMSOLL_RETURN_IF_ERROR(NeedFile(*tree, group, "pids.max", "pids_limit"));
  out.push_back({tree, group, "pids.max", FormatLimit(*settings.pids_limit)});
  return absl::OkStatus();
}

absl::Status CgroupV1::PlanHugetlb(const std::string& group, const CgroupSettings& settings,
                                   Writes& out) const {
  for (const auto& [size, bytes] : settings.hugetlb_limits) {
    const std::string field = absl::StrCat("hugepage limit of size ", size);
    PLIMSOLL_ASSIGN_OR_RETURN(CgroupTree * tree, Need("hugetlb", field));
    const std::string file = absl::StrCat("hugetlb.", size, kV1HugetlbSuffix);
    PLIMSOLL_RETURN_IF_ERROR(NeedFile(*tree, group, file, field));
    out.push_back({tree, group, file, absl::StrCat(bytes)});
  }
  return absl::OkStatus();
}

absl::Status CgroupV1::Apply(absl::string_view path, const CgroupSettings& settings) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  PLIMSOLL_RETURN_IF_ERROR(ValidateSettings(settings));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, Exists(group));
  if (!exists) return absl::NotFoundError(absl::StrCat("no cgroup ", group));
  if (!settings.unified.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("unified \"", settings.unified.begin()->first,
                     "\": is a file of cgroup v2, and this machine's limits are in cgroup v1"));
  }
  Writes writes;
  PLIMSOLL_RETURN_IF_ERROR(PlanCpu(group, settings, writes));
  PLIMSOLL_RETURN_IF_ERROR(PlanCpuset(group, settings, writes));
  PLIMSOLL_RETURN_IF_ERROR(PlanPids(group, settings, writes));
  PLIMSOLL_RETURN_IF_ERROR(PlanHugetlb(group, settings, writes));
  PLIMSOLL_RETURN_IF_ERROR(PlanMemory(group, settings, writes));
  const absl::Status status = WriteAllOrNothing(writes);
  if (ErrnoOf(status) != EBUSY) return status;
  // On v1 a group needs every CPU and node that the groups below it have.
  if (absl::StrContains(status.message(), "/cpuset.")) {
    return Annotate(status, absl::StrCat("cgroup ", group,
                                         " has groups below it with CPUs or memory nodes that the "
                                         "new list leaves out"));
  }
  // A memory file: the kernel could not reclaim down to the new limit.
  CgroupTree* memory = Find("memory");
  const auto usage = memory->Read(group, "memory.usage_in_bytes");
  return Annotate(
      status,
      absl::StrCat("cgroup ", group, " uses ", usage.ok() ? *usage : "more than the new limit's",
                   " bytes of memory, and the kernel can't reclaim them down to it"));
}

// Opens files without looking for them first: the kernel itself says which groups and files don't
// exist, and a pod's status reads this for each of its containers.
absl::StatusOr<CgroupSettings> CgroupV1::Read(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  CgroupSettings settings;
  bool found = false;
  const auto limit = [&](absl::string_view controller, absl::string_view file,
                         auto& out) -> absl::Status {
    const CgroupTree* tree = Find(controller);
    if (tree == nullptr) return absl::OkStatus();
    PLIMSOLL_ASSIGN_OR_RETURN(const auto value, ReadOptional(*tree, group, file));
    if (value.has_value()) out = *value;
    found |= value.has_value();
    return absl::OkStatus();
  };
  PLIMSOLL_RETURN_IF_ERROR(limit("cpu", "cpu.shares", settings.cpu_shares));
  PLIMSOLL_RETURN_IF_ERROR(limit("cpu", kQuota, settings.cpu_quota_us));
  PLIMSOLL_RETURN_IF_ERROR(limit("cpu", kPeriod, settings.cpu_period_us));
  PLIMSOLL_RETURN_IF_ERROR(limit("memory", kMemoryLimit, settings.memory_limit_bytes));
  PLIMSOLL_RETURN_IF_ERROR(limit("memory", kMemoryAndSwap, settings.memory_swap_limit_bytes));
  PLIMSOLL_RETURN_IF_ERROR(limit("pids", "pids.max", settings.pids_limit));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool has_cpuset, ReadCpuset(group, settings));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool has_hugetlb, ReadHugetlb(group, settings));
  if (found || has_cpuset || has_hugetlb) return settings;
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, Exists(group));
  if (!exists) return absl::NotFoundError(absl::StrCat("no cgroup ", group));
  return settings;
}

absl::StatusOr<bool> CgroupV1::ReadCpuset(const std::string& group,
                                          CgroupSettings& settings) const {
  const CgroupTree* tree = Find("cpuset");
  if (tree == nullptr) return false;
  absl::StatusOr<std::string> cpus = tree->Read(group, "cpuset.cpus");
  if (absl::IsNotFound(cpus.status())) return false;
  PLIMSOLL_RETURN_IF_ERROR(cpus.status());
  PLIMSOLL_ASSIGN_OR_RETURN(settings.cpuset_mems, tree->Read(group, "cpuset.mems"));
  settings.cpuset_cpus = *std::move(cpus);
  return true;
}

absl::StatusOr<bool> CgroupV1::ReadHugetlb(const std::string& group,
                                           CgroupSettings& settings) const {
  const CgroupTree* tree = Find("hugetlb");
  if (tree == nullptr) return false;
  const absl::StatusOr<std::vector<std::string>> files = tree->Files(group);
  if (absl::IsNotFound(files.status())) return false;
  PLIMSOLL_RETURN_IF_ERROR(files.status());
  for (const std::string& file : *files) {
    const auto size = HugetlbPageSize(file, kV1HugetlbSuffix);
    if (!size.has_value()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const int64_t limit, ReadLimit(*tree, group, file));
    if (limit >= 0) settings.hugetlb_limits[*size] = static_cast<uint64_t>(limit);
  }
  return true;
}

}  // namespace plimsoll::linux
