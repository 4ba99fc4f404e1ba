#include "runtime/oci/fit.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace plimsoll::runtime {
namespace {

// Takes out what needs a controller that isn't there. -1 and an empty list ask for nothing.
void FitControllers(const Machine& machine, linux::CgroupSettings* settings,
                    std::vector<std::string>* warnings) {
  bool lost = false;
  if (!machine.HasController("cpu")) {
    lost = settings->cpu_shares.has_value() || settings->cpu_quota_us.value_or(-1) != -1;
    settings->cpu_shares.reset();
    settings->cpu_quota_us.reset();
    settings->cpu_period_us.reset();
  }
  if (!machine.HasController("cpuset")) {
    lost |= !settings->cpuset_cpus.value_or("").empty();
    settings->cpuset_cpus.reset();
    settings->cpuset_mems.reset();
  }
  if (!machine.HasController("memory")) {
    lost |= settings->memory_limit_bytes.value_or(-1) != -1;
    settings->memory_limit_bytes.reset();
    settings->memory_swap_limit_bytes.reset();
  }
  if (!machine.HasController("pids")) {
    lost |= settings->pids_limit.value_or(-1) != -1;
    settings->pids_limit.reset();
  }
  if (lost) {
    warnings->push_back("some limits are not enforced: the machine lacks the controller");
  }
}

void FitSwap(const Machine& machine, linux::CgroupSettings* settings,
             std::vector<std::string>* warnings) {
  const std::optional<int64_t> both = settings->memory_swap_limit_bytes;
  if (machine.swap_accounting || !both.has_value()) return;
  settings->memory_swap_limit_bytes.reset();
  if (*both == -1 || *both == settings->memory_limit_bytes) return;
  warnings->push_back(absl::StrCat("the limit of ", *both,
                                   " bytes of memory and swap is not enforced: no swap accounting "
                                   "in the kernel"));
}

void FitHugePages(const Machine& machine, linux::CgroupSettings* settings,
                  std::vector<std::string>* warnings) {
  if (machine.HasController("hugetlb")) return;
  for (const auto& [size, bytes] : settings->hugetlb_limits) {
    if (bytes == 0) continue;  // none can be had there
    warnings->push_back(absl::StrCat("the limit of ", bytes, " bytes of ", size,
                                     " huge pages is not enforced: no hugetlb controller"));
  }
  settings->hugetlb_limits.clear();
}

}  // namespace

linux::CgroupSettings FitSettings(const linux::CgroupSettings& asked, const Machine& machine,
                                  std::vector<std::string>* warnings) {
  linux::CgroupSettings settings = asked;
  FitControllers(machine, &settings, warnings);
  FitSwap(machine, &settings, warnings);
  FitHugePages(machine, &settings, warnings);
  if (machine.layout != linux::CgroupLayout::kV2 && !settings.unified.empty()) {
    warnings->push_back(absl::StrCat("unified \"", settings.unified.begin()->first,
                                     "\" is not written: it is a file of cgroup v2, and this "
                                     "machine's limits are in cgroup v1"));
    settings.unified.clear();
  }
  return settings;
}

int FitOomScoreAdj(int wanted, const Machine& machine, std::vector<std::string>* warnings) {
  wanted = std::clamp(wanted, -1000, 1000);
  if (machine.lowers_oom_score_adj || wanted >= machine.oom_score_adj) return wanted;
  warnings->push_back(absl::StrCat("oom_score_adj is ", machine.oom_score_adj, " instead of ",
                                   wanted, ": the machine doesn't let it be lowered"));
  return machine.oom_score_adj;
}

linux::CgroupSettings FitSettings(const linux::CgroupSettings& asked,
                                  const ContainerRuntime& runtime,
                                  std::vector<std::string>* warnings) {
  const auto* knower = dynamic_cast<const MachineKnower*>(&runtime);
  return knower == nullptr ? asked : FitSettings(asked, knower->machine(), warnings);
}

int FitOomScoreAdj(int wanted, const ContainerRuntime& runtime,
                   std::vector<std::string>* warnings) {
  const auto* knower = dynamic_cast<const MachineKnower*>(&runtime);
  return knower == nullptr ? wanted : FitOomScoreAdj(wanted, knower->machine(), warnings);
}

}  // namespace plimsoll::runtime
