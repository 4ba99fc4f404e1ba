#include "nri/adjust/to_spec.h"

#include <linux/limits.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "nri/adjust/spec_parts.h"

namespace plimsoll::nri {

std::string SpecTarget::Message(absl::string_view path, absl::string_view key,
                                absl::string_view why) const {
  std::string plugin = owners_.PluginOf(path, key);
  if (plugin.empty()) plugin = owners_.PluginsBelow(path);
  return absl::StrCat("plugin ", plugin, ": ", FieldText(path, key), " ", why);
}

absl::Status SpecTarget::Wrong(absl::string_view path, absl::string_view key,
                               absl::string_view why) const {
  return absl::InvalidArgumentError(Message(path, key, why));
}

absl::Status SpecTarget::Impossible(absl::string_view path, absl::string_view key,
                                    absl::string_view why) const {
  return absl::FailedPreconditionError(Message(path, key, why));
}

absl::Status SpecTarget::Unsupported(absl::string_view path, absl::string_view key,
                                     absl::string_view why) const {
  return absl::UnimplementedError(Message(path, key, why));
}

bool TakeRemovalMark(absl::string_view* text) {
  return absl::ConsumePrefix(text, "-");
}

bool IsAbsolutePath(absl::string_view text) {
  return absl::StartsWith(text, "/") && text.size() < PATH_MAX;
}

absl::Status ApplyToSpec(const api::ContainerAdjustment& adjustment, const Owners& owners,
                         runtime::ContainerSpec* spec) {
  const SpecTarget target(&owners, spec);
  PLIMSOLL_RETURN_IF_ERROR(ApplyProcess(adjustment, target));
  PLIMSOLL_RETURN_IF_ERROR(ApplyFiles(adjustment, target));
  PLIMSOLL_RETURN_IF_ERROR(ApplyScheduling(adjustment.linux(), target));
  PLIMSOLL_RETURN_IF_ERROR(ApplyNamespaces(adjustment.linux(), target));
  PLIMSOLL_RETURN_IF_ERROR(ApplyResources(adjustment.linux(), target));
  if (!adjustment.linux().has_seccomp_policy()) return absl::OkStatus();
  return ApplySeccomp(adjustment.linux().seccomp_policy(), target);
}

}  // namespace plimsoll::nri
