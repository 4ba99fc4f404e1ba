#include "runtime/oci/program_features.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "runtime/oci/crun/crun.h"

namespace plimsoll::runtime {
namespace {

// The program's standard output; empty when its exit code isn't 0. UNAVAILABLE: it was killed.
absl::StatusOr<std::string> OutputOf(const std::string& program, const std::string& argument) {
  PLIMSOLL_ASSIGN_OR_RETURN(const RunResult result, AskProgram(program, argument));
  if (result.exit.signal != 0) {
    return absl::UnavailableError(
        absl::StrCat(program, " ", argument, ": ", result.exit.ToString()));
  }
  return result.exit.success() ? result.out : "";
}

}  // namespace

bool FeaturesHaveMountOption(absl::string_view json, absl::string_view option) {
  const auto features = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!features.is_object()) return false;
  const auto options = features.find("mountOptions");
  if (options == features.end() || !options->is_array()) return false;
  return absl::c_any_of(*options, [&](const nlohmann::json& known) {
    return known.is_string() && known.get_ref<const std::string&>() == option;
  });
}

absl::StatusOr<std::string> VersionOf(const std::string& program) {
  const absl::StatusOr<std::string> said = OutputOf(program, "--version");
  if (absl::IsUnavailable(said.status())) return said.status();
  return said.ok() ? VersionIn(*said) : "";
}

absl::StatusOr<bool> KnowsRecursiveReadOnly(const std::string& program) {
  const absl::StatusOr<std::string> features = OutputOf(program, "features");
  if (absl::IsUnavailable(features.status())) return features.status();
  if (!features.ok()) return false;
  if (!features->empty()) return FeaturesHaveMountOption(*features, "rro");
  int major = 0;
  int minor = 0;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string version, VersionOf(program));
  if (sscanf(version.c_str(), "crun %d.%d", &major, &minor) != 2) return false;
  return major > 1 || (major == 1 && minor >= 4);
}

}  // namespace plimsoll::runtime
