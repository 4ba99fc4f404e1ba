#include "nri/plugin_name.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/text/quoted.h"

namespace plimsoll::nri {
namespace {

constexpr size_t kLongestName = 128;

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '+' ||
         c == '-';
}

}  // namespace

absl::StatusOr<PluginName> MakePluginName(absl::string_view index, absl::string_view base) {
  if (index.size() != 2 ||
      !absl::c_all_of(index, [](unsigned char c) { return absl::ascii_isdigit(c); })) {
    return absl::InvalidArgumentError(
        absl::StrCat("plugin index ", Quoted(index), ": must be two digits"));
  }
  if (base.empty() || base.size() > kLongestName || !absl::c_all_of(base, IsNameCharacter)) {
    return absl::InvalidArgumentError(absl::StrCat("plugin name ", Quoted(base), ": must be 1 to ",
                                                   kLongestName,
                                                   " letters, digits or characters of \"_.+-\""));
  }
  return PluginName{std::string(index), std::string(base)};
}

absl::StatusOr<PluginName> ParsePluginName(absl::string_view full) {
  if (full.size() < 3 || full[2] != '-') {
    return absl::InvalidArgumentError(absl::StrCat(
        "plugin name ", Quoted(full), ": must be two digits, \"-\" and a name: \"10-logger\""));
  }
  return MakePluginName(full.substr(0, 2), full.substr(3));
}

PluginPolicy PolicyOf(const NriSettings& config, const PluginName& name) {
  for (const std::string& key : {name.Full(), name.base}) {
    if (auto found = config.policies.find(key); found != config.policies.end()) {
      return found->second.Over(config.default_policy);
    }
  }
  return config.default_policy;
}

bool IsNamed(const PluginName& name, absl::string_view wanted) {
  return wanted == name.base || wanted == name.Full();
}

}  // namespace plimsoll::nri
