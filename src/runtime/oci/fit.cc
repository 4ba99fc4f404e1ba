#include "runtime/oci/fit.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/human_bytes.h"

namespace plimsoll::runtime {
namespace {

// Removes values whose controller is missing. -1 and an empty list ask for nothing.
void FitControllers(const HostFeatures& machine, linux::CgroupSettings* settings,
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

void FitSwap(const HostFeatures& machine, linux::CgroupSettings* settings,
             std::vector<std::string>* warnings) {
  constexpr absl::string_view kWhy = " is not enforced: no swap accounting in the kernel";
  if (machine.swap_accounting) return;
  std::erase_if(settings->unified, [&](const auto& file) {
    if (!absl::StartsWith(file.first, "memory.swap.")) return false;
    const absl::string_view value = absl::StripAsciiWhitespace(file.second);
    if (value != "0" && value != "max") {
      warnings->push_back(absl::StrCat("unified \"", file.first, "\" of ", value, kWhy));
    }
    return true;
  });
  const std::optional<int64_t> both = settings->memory_swap_limit_bytes;
  if (!both.has_value()) return;
  settings->memory_swap_limit_bytes.reset();
  if (*both == -1 || *both == settings->memory_limit_bytes) return;
  warnings->push_back(absl::StrCat("the limit of ", BytesInWords(static_cast<uint64_t>(*both)),
                                   " of memory and swap", kWhy));
}

bool HasHugePages(const HostFeatures& machine, const std::string& size) {
  return !machine.huge_page_sizes.has_value() || machine.huge_page_sizes->contains(size);
}

void FitHugePages(const HostFeatures& machine, linux::CgroupSettings* settings,
                  std::vector<std::string>* warnings) {
  const bool has_controller = machine.HasController("hugetlb");
  std::erase_if(settings->hugetlb_limits, [&](const auto& limit) {
    const auto& [size, bytes] = limit;
    if (has_controller && HasHugePages(machine, size)) return false;
    if (bytes == 0) return true;  // nobody can have such pages
    warnings->push_back(absl::StrCat(
        "the limit of ", BytesInWords(bytes), " of ", size, " huge pages is not enforced: ",
        has_controller ? "the kernel has none of that size" : "no hugetlb controller"));
    return true;
  });
}

}  // namespace

linux::CgroupSettings FitSettings(const linux::CgroupSettings& asked, const HostFeatures* machine,
                                  std::vector<std::string>* warnings) {
  linux::CgroupSettings settings = asked;
  if (machine == nullptr) return settings;
  FitControllers(*machine, &settings, warnings);
  if (machine->layout != linux::CgroupLayout::kV2 && !settings.unified.empty()) {
    warnings->push_back(absl::StrCat("unified \"", settings.unified.begin()->first,
                                     "\" is not written: it is a file of cgroup v2, and this "
                                     "machine's limits are in cgroup v1"));
    settings.unified.clear();
  }
  FitSwap(*machine, &settings, warnings);
  FitHugePages(*machine, &settings, warnings);
  return settings;
}

absl::Status CheckSettings(const linux::CgroupSettings& asked, const HostFeatures* machine) {
  if (machine == nullptr) return absl::OkStatus();
  for (const auto& [size, bytes] : asked.hugetlb_limits) {
    if (bytes == 0 || HasHugePages(*machine, size)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the limit of ", BytesInWords(bytes), " of ", size,
        " huge pages: the kernel has none of that size; it has: ",
        machine->huge_page_sizes->empty() ? "no sizes"
                                          : absl::StrJoin(*machine->huge_page_sizes, ", ")));
  }
  return absl::OkStatus();
}

int FitOomScoreAdj(int wanted, const HostFeatures* machine, std::vector<std::string>* warnings) {
  if (machine == nullptr) return wanted;
  wanted = std::clamp(wanted, -1000, 1000);
  if (machine->lowers_oom_score_adj || wanted >= machine->oom_score_adj) return wanted;
  warnings->push_back(absl::StrCat("oom_score_adj is ", machine->oom_score_adj, " instead of ",
                                   wanted, ": the machine doesn't let it be lowered"));
  return machine->oom_score_adj;
}

}  // namespace plimsoll::runtime
