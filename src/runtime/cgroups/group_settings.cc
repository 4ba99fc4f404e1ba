#include "runtime/cgroups/group_settings.h"

#include <utility>

#include "base/status.h"

namespace plimsoll::runtime {

std::map<std::string, std::string> ReadRawFiles(const linux::CgroupManager& cgroups,
                                                const std::string& group,
                                                const linux::CgroupSettings& asked) {
  std::map<std::string, std::string> texts;
  if (cgroups.layout() != linux::CgroupLayout::kV2) return texts;
  for (const auto& [file, unused] : asked.unified) {
    absl::StatusOr<std::string> text = cgroups.ReadFile(group, "", file);
    if (text.ok() && !text->empty()) texts[file] = *std::move(text);
  }
  return texts;
}

linux::CgroupSettings WithWeight(const linux::CgroupManager& cgroups,
                                 const ContainerRuntime& runtime, absl::string_view id,
                                 linux::CgroupSettings settings) {
  if (cgroups.layout() == linux::CgroupLayout::kV2 && settings.cpu_shares.has_value()) {
    settings.cpu_shares = linux::SharesToApply(*settings.cpu_shares, runtime.WeightFormula(id));
  }
  return settings;
}

uint64_t ReportedShares(const ContainerRuntime& runtime, absl::string_view id,
                        std::optional<uint64_t> asked, uint64_t read) {
  const uint64_t weight = linux::CpuSharesToWeight(read);
  if (asked.has_value() && linux::IsCpuWeightOf(weight, *asked)) return *asked;
  return linux::CpuWeightToShares(weight, runtime.WeightFormula(id));
}

absl::StatusOr<linux::CgroupSettings> ReadGroup(const linux::CgroupManager& cgroups,
                                                const std::string& group,
                                                const linux::CgroupSettings& asked) {
  // Read first: a group that exists when the rest is read existed for all of it.
  std::map<std::string, std::string> raw = ReadRawFiles(cgroups, group, asked);
  PLIMSOLL_ASSIGN_OR_RETURN(linux::CgroupSettings settings, cgroups.Read(group));
  settings.unified = std::move(raw);
  return settings;
}

}  // namespace plimsoll::runtime
