#include "nri/adjust/validator.h"

#include <yaml-cpp/yaml.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/text/go_bool.h"
#include "base/text/printable.h"
#include "base/text/quoted.h"
#include "yaml/documents.h"
#include "yaml/reader.h"

namespace plimsoll::nri {
namespace {

using Request = api::ValidateContainerAdjustmentRequest;

constexpr size_t kMaxAnnotation = 16 * 1024;
constexpr size_t kMaxRequired = 100;

absl::Status Denied(absl::string_view plugin, absl::string_view what, absl::string_view setting) {
  return absl::PermissionDeniedError(absl::StrCat("plugin ", absl::StripPrefix(plugin, "-"),
                                                  " changes ", what, ", which nri.validator.",
                                                  setting, " forbids"));
}

api::FieldOwners OwnersOf(const Request& request) {
  const auto found = request.owners().owners().find(request.container().id());
  return found == request.owners().owners().end() ? api::FieldOwners() : found->second;
}

std::string SimpleOwner(const api::FieldOwners& owners, api::Field field) {
  const auto found = owners.simple().find(field);
  return found == owners.simple().end() ? "" : found->second;
}

// By key, sorted: a refusal names the first.
std::map<std::string, std::string> KeyOwners(const api::FieldOwners& owners, api::Field field) {
  const auto found = owners.compound().find(field);
  if (found == owners.compound().end()) return {};
  return {found->second.owners().begin(), found->second.owners().end()};
}

absl::Status CheckKeys(const api::FieldOwners& owners, api::Field field, absl::string_view what,
                       absl::string_view setting) {
  for (const auto& [key, plugin] : KeyOwners(owners, field)) {
    return Denied(plugin, absl::StrCat(what, " ", Quoted(key)), setting);
  }
  return absl::OkStatus();
}

absl::Status CheckSeccomp(const ValidatorConfig& config, const Request& request,
                          const api::FieldOwners& owners) {
  const std::string plugin = SimpleOwner(owners, api::SeccompPolicy);
  if (plugin.empty()) return absl::OkStatus();
  const api::LinuxContainer& linux = request.container().linux();
  const auto type = linux.has_seccomp_profile() ? linux.seccomp_profile().profile_type()
                                                : api::SecurityProfile::UNCONFINED;
  const auto deny = [&](absl::string_view profile, absl::string_view setting) {
    return Denied(plugin,
                  absl::StrCat("linux.seccomp_policy of a container with the profile ", profile),
                  setting);
  };
  if (type == api::SecurityProfile::RUNTIME_DEFAULT && config.reject_runtime_default_seccomp) {
    return deny("RuntimeDefault", "reject_runtime_default_seccomp");
  }
  if (type == api::SecurityProfile::UNCONFINED && config.reject_unconfined_seccomp) {
    return deny("Unconfined", "reject_unconfined_seccomp");
  }
  if (type == api::SecurityProfile::LOCALHOST && config.reject_custom_seccomp) {
    return deny("Localhost", "reject_custom_seccomp");
  }
  return absl::OkStatus();
}

struct Annotation {
  std::string key;
  std::string value;
};

// The container's own precedes the pod's.
std::optional<Annotation> FindAnnotation(const Request& request, const std::string& name) {
  const auto& annotations = request.pod().annotations();
  for (const std::string& key : {absl::StrCat(name, "/container.", request.container().name()),
                                 absl::StrCat(name, "/pod"), name}) {
    const auto found = annotations.find(key);
    if (found != annotations.end()) return Annotation{key, found->second};
  }
  return std::nullopt;
}

absl::Status BadAnnotation(const Annotation& annotation, absl::string_view rule) {
  return absl::InvalidArgumentError(
      absl::StrCat("annotation ", Printable(Shorten(annotation.key)), " of the pod is \"",
                   Printable(Shorten(annotation.value)), "\": ", rule));
}

absl::StatusOr<bool> AsBool(const Annotation& annotation) {
  if (const std::optional<bool> value = GoBool(annotation.value)) return *value;
  return BadAnnotation(annotation, "true or false is right");
}

absl::StatusOr<std::vector<std::string>> AsNames(const Annotation& annotation) {
  constexpr absl::string_view kRule =
      "a YAML list of at most 100 names of plugins is right, as [\"10-first\", \"second\"]";
  if (annotation.value.size() > kMaxAnnotation) return BadAnnotation(annotation, kRule);
  std::vector<std::string> names;
  try {
    bool more = false;
    const YAML::Node list = LoadFirstYamlDocument(annotation.value, &more);
    YamlReader reader(annotation.key);
    if (!list.IsNull()) reader.Strings(list, "", names);
    if (more || !reader.status().ok() || names.size() > kMaxRequired) {
      return BadAnnotation(annotation, kRule);
    }
  } catch (const YAML::Exception&) {
    return BadAnnotation(annotation, kRule);
  }
  return names;
}

absl::StatusOr<bool> ToleratesMissing(const ValidatorConfig& config, const Request& request) {
  if (config.tolerate_missing_annotation.empty()) return false;
  const auto annotation = FindAnnotation(request, config.tolerate_missing_annotation);
  if (!annotation) return false;
  return AsBool(*annotation);
}

absl::Status CheckPresent(const std::string& name, absl::string_view required_by,
                          const Request& request) {
  for (const api::PluginInstance& plugin : request.plugins()) {
    if (name == plugin.name() || name == absl::StrCat(plugin.index(), "-", plugin.name())) {
      return absl::OkStatus();
    }
  }
  return absl::PermissionDeniedError(absl::StrCat("plugin ", Printable(Shorten(name)),
                                                  " has not seen the container, and ", required_by,
                                                  " requires it"));
}

absl::Status CheckRequired(const ValidatorConfig& config, const Request& request) {
  PLIMSOLL_ASSIGN_OR_RETURN(const bool tolerates, ToleratesMissing(config, request));
  if (tolerates) return absl::OkStatus();
  for (const std::string& name : config.required_plugins) {
    PLIMSOLL_RETURN_IF_ERROR(CheckPresent(name, "nri.validator.required_plugins", request));
  }
  const auto annotation = FindAnnotation(request, kRequiredPluginsAnnotation);
  if (!annotation) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, AsNames(*annotation));
  for (const std::string& name : names) {
    PLIMSOLL_RETURN_IF_ERROR(CheckPresent(
        name, absl::StrCat("the pod's annotation ", Printable(Shorten(annotation->key))), request));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Validate(const ValidatorConfig& config, const Request& request) {
  const api::FieldOwners owners = OwnersOf(request);
  if (const std::string plugins = SimpleOwner(owners, api::OciHooks);
      config.reject_oci_hooks && !plugins.empty()) {
    return Denied(plugins, "hooks", "reject_oci_hooks");
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckSeccomp(config, request, owners));
  if (config.reject_namespaces) {
    PLIMSOLL_RETURN_IF_ERROR(
        CheckKeys(owners, api::Namespace, "linux.namespaces", "reject_namespaces"));
  }
  if (config.reject_sysctls) {
    PLIMSOLL_RETURN_IF_ERROR(CheckKeys(owners, api::Sysctl, "linux.sysctl", "reject_sysctls"));
  }
  return CheckRequired(config, request);
}

}  // namespace plimsoll::nri
