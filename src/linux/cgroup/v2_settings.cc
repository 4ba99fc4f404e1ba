// Limits of cgroup v2, converted from and to CgroupSettings' units of v1.
#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/v2.h"
#include "linux/cgroup/validate.h"

namespace plimsoll::linux {
namespace {

constexpr char kV2HugetlbSuffix[] = ".max";

}  // namespace

absl::Status CgroupV2::NeedFile(const std::string& group, absl::string_view file,
                                absl::string_view field) const {
  if (tree_->HasFile(group, file)) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, tree_->Exists(group));
  if (!exists) return absl::NotFoundError(absl::StrCat("no cgroup ", tree_->PathOf(group)));
  const auto here = tree_->Read(group, "cgroup.controllers");
  return absl::FailedPreconditionError(
      absl::StrCat(field, ": no ", tree_->PathOf(group, file), "; the group has the controllers ",
                   here.ok() ? absl::StrJoin(ParseWords(*here), ", ") : "(unknown)",
                   ", the machine ", absl::StrJoin(Controllers(), ", ")));
}

absl::StatusOr<std::optional<int64_t>> CgroupV2::ReadLimit(const std::string& group,
                                                           absl::string_view file) const {
  const absl::StatusOr<std::string> text = tree_->Read(group, file);
  if (absl::IsNotFound(text.status())) return std::nullopt;
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  auto limit = ParseLimit(*text);
  if (!limit.ok()) return Annotate(limit.status(), tree_->PathOf(group, file));
  return *limit;
}

// cpu.max takes quota and period in one write, so no order can be wrong; a child's rate may be
// above its parent's on v2.
absl::Status CgroupV2::PlanCpu(const std::string& group, const CgroupSettings& settings,
                               Writes& out) const {
  if (settings.cpu_shares.has_value()) {
    PLIMSOLL_RETURN_IF_ERROR(NeedFile(group, "cpu.weight", "cpu_shares"));
    out.push_back(
        {tree_.get(), group, "cpu.weight", absl::StrCat(CpuSharesToWeight(*settings.cpu_shares))});
  }
  if (!settings.cpu_quota_us.has_value() && !settings.cpu_period_us.has_value()) {
    return absl::OkStatus();
  }
  PLIMSOLL_RETURN_IF_ERROR(NeedFile(group, "cpu.max", "cpu_quota"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, tree_->Read(group, "cpu.max"));
  PLIMSOLL_ASSIGN_OR_RETURN(const CpuMax old, ParseCpuMax(text));
  out.push_back({tree_.get(), group, "cpu.max",
                 absl::StrCat(FormatLimit(settings.cpu_quota_us.value_or(old.quota_us)), " ",
                              settings.cpu_period_us.value_or(old.period_us))});
  return absl::OkStatus();
}

absl::StatusOr<std::optional<int64_t>> CgroupV2::SwapMax(const std::string& group, int64_t memory,
                                                         int64_t memory_and_swap) const {
  if (memory_and_swap != -1 && (memory == -1 || memory_and_swap < memory)) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory_swap_limit ", memory_and_swap, ": must be at least the memory limit (",
                     memory == -1 ? "none" : absl::StrCat(memory),
                     "), because it counts memory and swap together"));
  }
  const int64_t swap = memory_and_swap == -1 ? -1 : memory_and_swap - memory;
  if (tree_->HasFile(group, "memory.swap.max")) return swap;
  if (swap == 0 || swap == -1) return std::nullopt;
  return absl::FailedPreconditionError(absl::StrCat(
      "memory_swap_limit ", memory_and_swap, ": this machine's kernel does not account swap (no ",
      tree_->PathOf(group, "memory.swap.max"), "); only -1 or the memory limit is possible"));
}

// Like the member: where swap isn't accounted, "no swap" and "no limit of swap" need no write.
bool CgroupV2::SaysNothingOfSwap(const std::string& group, const std::string& file,
                                 absl::string_view value) const {
  if (file != "memory.swap.max" || tree_->HasFile(group, file)) return false;
  value = absl::StripAsciiWhitespace(value);
  return (value == "0" || value == "max") && tree_->HasFile(group, "memory.max");
}

absl::Status CgroupV2::CheckUse(const std::string& group, int64_t memory_max) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto usage, ReadLimit(group, "memory.current"));
  if (!usage.has_value()) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, tree_->Read(group, "memory.stat"));
  const uint64_t droppable = FindKey(text, "inactive_file").value_or(0) +
                             FindKey(text, "active_file").value_or(0) +
                             FindKey(text, "slab_reclaimable").value_or(0);
  return RefuseToStarve(group, memory_max, *usage, static_cast<int64_t>(droppable));
}

absl::Status CgroupV2::PlanMemory(const std::string& group, const CgroupSettings& settings,
                                  Writes& out) const {
  const auto& memory = settings.memory_limit_bytes;
  const auto& both = settings.memory_swap_limit_bytes;
  if (!memory.has_value() && !both.has_value()) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(NeedFile(group, "memory.max", "memory_limit"));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto old_memory, ReadLimit(group, "memory.max"));
  if (!old_memory.has_value()) {  // the file was removed since
    return absl::NotFoundError(absl::StrCat("no cgroup ", tree_->PathOf(group)));
  }
  std::optional<int64_t> swap;
  if (both.has_value()) {
    PLIMSOLL_ASSIGN_OR_RETURN(swap, SwapMax(group, memory.value_or(*old_memory), *both));
  }
  Writes writes;
  if (memory.has_value()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckUse(group, *memory));
    writes.push_back({tree_.get(), group, "memory.max", FormatLimit(*memory)});
  }
  if (swap.has_value()) {
    writes.push_back({tree_.get(), group, "memory.swap.max", FormatLimit(*swap)});
  }
  // The two are independent, so either order is legal. The raised one comes first, so that the
  // group is never squeezed in between.
  const bool lowers_memory =
      memory.has_value() && *memory != -1 && (*old_memory == -1 || *memory < *old_memory);
  if (lowers_memory) std::reverse(writes.begin(), writes.end());
  out.insert(out.end(), writes.begin(), writes.end());
  return absl::OkStatus();
}

absl::Status CgroupV2::PlanOthers(const std::string& group, const CgroupSettings& settings,
                                  Writes& out) const {
  if (settings.cpuset_cpus.has_value()) {
    PLIMSOLL_RETURN_IF_ERROR(NeedFile(group, "cpuset.cpus", "cpuset_cpus"));
    out.push_back({tree_.get(), group, "cpuset.cpus", *settings.cpuset_cpus});
  }
  if (settings.cpuset_mems.has_value()) {
    PLIMSOLL_RETURN_IF_ERROR(NeedFile(group, "cpuset.mems", "cpuset_mems"));
    out.push_back({tree_.get(), group, "cpuset.mems", *settings.cpuset_mems});
  }
  if (settings.pids_limit.has_value()) {
    PLIMSOLL_RETURN_IF_ERROR(NeedFile(group, "pids.max", "pids_limit"));
    out.push_back({tree_.get(), group, "pids.max", FormatLimit(*settings.pids_limit)});
  }
  for (const auto& [size, bytes] : settings.hugetlb_limits) {
    const std::string file = absl::StrCat("hugetlb.", size, kV2HugetlbSuffix);
    PLIMSOLL_RETURN_IF_ERROR(NeedFile(group, file, absl::StrCat("hugepage limit of size ", size)));
    out.push_back({tree_.get(), group, file, absl::StrCat(bytes)});
  }
  return absl::OkStatus();
}

absl::Status CgroupV2::Apply(absl::string_view path, const CgroupSettings& settings) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  PLIMSOLL_RETURN_IF_ERROR(ValidateSettings(settings));
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, tree_->Exists(group));
  if (!exists) return absl::NotFoundError(absl::StrCat("no cgroup ", tree_->PathOf(group)));
  Writes writes;
  PLIMSOLL_RETURN_IF_ERROR(PlanCpu(group, settings, writes));
  PLIMSOLL_RETURN_IF_ERROR(PlanOthers(group, settings, writes));
  PLIMSOLL_RETURN_IF_ERROR(PlanMemory(group, settings, writes));
  std::set<std::string> files;
  for (const CgroupWrite& write : writes) files.insert(write.file);
  for (const auto& [file, value] : settings.unified) {
    if (SaysNothingOfSwap(group, file, value)) continue;
    PLIMSOLL_RETURN_IF_ERROR(NeedFile(group, file, "unified"));
    if (!files.insert(file).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("unified \"", file, "\" sets a value that another field sets too"));
    }
    writes.push_back({tree_.get(), group, file, std::string(absl::StripAsciiWhitespace(value))});
  }
  return WriteAllOrNothing(writes);
}

absl::Status CgroupV2::ReadMemorySettings(const std::string& group,
                                          CgroupSettings& settings) const {
  PLIMSOLL_ASSIGN_OR_RETURN(settings.memory_limit_bytes, ReadLimit(group, "memory.max"));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto swap, ReadLimit(group, "memory.swap.max"));
  if (!settings.memory_limit_bytes.has_value() || !swap.has_value()) return absl::OkStatus();
  const bool unlimited = *settings.memory_limit_bytes == -1 || *swap == -1;
  settings.memory_swap_limit_bytes = unlimited ? -1 : *settings.memory_limit_bytes + *swap;
  return absl::OkStatus();
}

// An empty cpuset file means "as the parent", so the group has no setting.
absl::Status CgroupV2::ReadOtherSettings(const std::string& group, CgroupSettings& settings) const {
  const std::pair<const char*, std::optional<std::string>*> lists[] = {
      {"cpuset.cpus", &settings.cpuset_cpus}, {"cpuset.mems", &settings.cpuset_mems}};
  for (const auto& [file, out] : lists) {
    absl::StatusOr<std::string> text = tree_->Read(group, file);
    if (absl::IsNotFound(text.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(text.status());
    if (!text->empty()) *out = *std::move(text);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(settings.pids_limit, ReadLimit(group, "pids.max"));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto files, tree_->Files(group));
  for (const std::string& file : files) {
    const auto size = HugetlbPageSize(file, kV2HugetlbSuffix);
    if (!size.has_value()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const auto limit, ReadLimit(group, file));
    if (limit.value_or(-1) >= 0) settings.hugetlb_limits[*size] = static_cast<uint64_t>(*limit);
  }
  return absl::OkStatus();
}

// Opens files without looking for them first: the kernel itself says which don't exist. Listing the
// group's files reports a missing group (ReadOtherSettings).
absl::StatusOr<CgroupSettings> CgroupV2::Read(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  CgroupSettings settings;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto weight, ReadLimit(group, "cpu.weight"));
  if (weight.has_value()) {
    settings.cpu_shares = CpuWeightToShares(static_cast<uint64_t>(std::max<int64_t>(*weight, 1)));
  }
  const absl::StatusOr<std::string> text = tree_->Read(group, "cpu.max");
  if (!absl::IsNotFound(text.status())) {
    PLIMSOLL_RETURN_IF_ERROR(text.status());
    PLIMSOLL_ASSIGN_OR_RETURN(const CpuMax max, ParseCpuMax(*text));
    settings.cpu_quota_us = max.quota_us;
    settings.cpu_period_us = max.period_us;
  }
  PLIMSOLL_RETURN_IF_ERROR(ReadMemorySettings(group, settings));
  PLIMSOLL_RETURN_IF_ERROR(ReadOtherSettings(group, settings));
  return settings;
}

}  // namespace plimsoll::linux
