#include "daemon/config/plugin_policies.h"

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "nri/plugin_name.h"

namespace plimsoll::daemon {
namespace {

constexpr int64_t kMostStrikes = 1000;

}  // namespace

absl::Status CheckPluginName(const std::string& name) {
  if (nri::ParsePluginName(name).ok() || nri::MakePluginName("00", name).ok()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "expected a plugin's name, as in 10-pinner, or pinner for any index, found '", name, "'"));
}

void ReadPluginPolicies(YamlReader& reader, const YAML::Node& node, const std::string& path,
                        std::map<std::string, nri::PolicyChange>* policies) {
  reader.Entries(node, path,
                 [&](const std::string& name, const YAML::Node& value, const std::string& at) {
                   if (const absl::Status fits = CheckPluginName(name); !fits.ok()) {
                     reader.Fail(value, at, fits.message());
                     return;
                   }
                   nri::PolicyChange policy;
                   YamlMapping mapping(reader, value, at);
                   mapping.OptionalBool("required", policy.required);
                   std::optional<int64_t> strikes;
                   mapping.Int("strikes", strikes, 0, kMostStrikes);
                   if (strikes.has_value()) policy.strikes = static_cast<int>(*strikes);
                   mapping.Finish();
                   (*policies)[name] = policy;
                 });
}

}  // namespace plimsoll::daemon
