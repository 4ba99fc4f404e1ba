#include "runtime/group_settings.h"

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
