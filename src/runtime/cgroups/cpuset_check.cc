#include "runtime/cgroups/cpuset_check.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "resources/cpu_set.h"

namespace plimsoll::runtime {
namespace {

absl::Status CheckList(const FsRoot& host, const std::optional<std::string>& list,
                       const resources::CpuSet& told, const char* field, const char* file,
                       const char* what) {
  if (!list.has_value() || list->empty()) return absl::OkStatus();
  const absl::StatusOr<resources::CpuSet> wanted = resources::CpuSet::Parse(*list);
  if (!wanted.ok()) return Annotate(wanted.status(), field);
  const absl::StatusOr<std::string> text = host.Read(file);
  if (!text.ok()) return absl::OkStatus();
  const absl::StatusOr<resources::CpuSet> online = resources::CpuSet::Parse(*text);
  if (!online.ok()) return absl::OkStatus();
  const resources::CpuSet unknown = wanted->Difference(*online).Difference(told);
  if (unknown.Empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is \"", *list, "\", but this machine has no ", what, " ",
                   unknown.ToString(), "; it has ", online->ToString()));
}

}  // namespace

absl::Status CheckCpuset(const FsRoot& host, const linux::CgroupSettings& settings,
                         const NodeShare& told) {
  PLIMSOLL_RETURN_IF_ERROR(CheckList(host, settings.cpuset_cpus, told.cpus, "cpuset_cpus",
                                     "sys/devices/system/cpu/online", "CPU"));
  return CheckList(host, settings.cpuset_mems, told.memory_nodes, "cpuset_mems",
                   "sys/devices/system/node/online", "memory node");
}

}  // namespace plimsoll::runtime
