// Translates LinuxContainerSecurityContext to the runtime's types.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "cri/messages/translate_container.h"
#include "cri/messages/translate_sandbox.h"
#include "cri/messages/validate.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using runtime::SecurityProfile;

constexpr absl::string_view kPrefix = "config.linux.security_context.";

std::string Field(absl::string_view member) {
  return absl::StrCat(kPrefix, member);
}

absl::Status AddCapabilityNames(absl::string_view member,
                                const google::protobuf::RepeatedPtrField<std::string>& names,
                                std::vector<std::string>* out) {
  for (const std::string& name : names) {
    PLIMSOLL_RETURN_IF_ERROR(CheckCapability(Field(absl::StrCat("capabilities.", member)), name));
    out->push_back(absl::AsciiStrToUpper(name));
  }
  return absl::OkStatus();
}

absl::Status AddCapabilities(const v1::Capability& capabilities, runtime::Capabilities* out) {
  PLIMSOLL_RETURN_IF_ERROR(
      AddCapabilityNames("add_capabilities", capabilities.add_capabilities(), &out->add));
  PLIMSOLL_RETURN_IF_ERROR(
      AddCapabilityNames("drop_capabilities", capabilities.drop_capabilities(), &out->drop));
  return AddCapabilityNames("add_ambient_capabilities", capabilities.add_ambient_capabilities(),
                            &out->add_ambient);
}

absl::Status AddUser(const v1::LinuxContainerSecurityContext& security,
                     runtime::SecurityContext* out) {
  if (security.has_run_as_user() && !security.run_as_username().empty()) {
    return Invalid(Field("run_as_username"), security.run_as_username(),
                   "must be empty when run_as_user is set");
  }
  if (security.has_run_as_user()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckUserId(Field("run_as_user"), security.run_as_user().value()));
    out->run_as_user = security.run_as_user().value();
  }
  if (!security.run_as_username().empty()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckWord(Field("run_as_username"), security.run_as_username()));
    out->run_as_username = security.run_as_username();
  }
  if (security.has_run_as_group()) {
    const int64_t group = security.run_as_group().value();
    PLIMSOLL_RETURN_IF_ERROR(CheckUserId(Field("run_as_group"), group));
    if (!security.has_run_as_user() && security.run_as_username().empty()) {
      return Invalid(Field("run_as_group"), group, "needs run_as_user or run_as_username");
    }
    out->run_as_group = group;
  }
  for (const int64_t group : security.supplemental_groups()) {
    PLIMSOLL_RETURN_IF_ERROR(CheckUserId(Field("supplemental_groups"), group));
    out->supplemental_groups.push_back(group);
  }
  if (!v1::SupplementalGroupsPolicy_IsValid(security.supplemental_groups_policy())) {
    return Invalid(Field("supplemental_groups_policy"),
                   static_cast<int64_t>(security.supplemental_groups_policy()),
                   "must be Merge (0) or Strict (1)");
  }
  out->supplemental_groups_strict = security.supplemental_groups_policy() == v1::Strict;
  return absl::OkStatus();
}

absl::Status AddPaths(absl::string_view member,
                      const google::protobuf::RepeatedPtrField<std::string>& paths,
                      std::vector<std::string>* out) {
  for (const std::string& path : paths) {
    PLIMSOLL_RETURN_IF_ERROR(CheckAbsolutePath(Field(member), path));
    out->push_back(path);
  }
  return absl::OkStatus();
}

// The form of the deprecated fields: "runtime/default", "unconfined", "localhost/<profile>".
absl::StatusOr<SecurityProfile> ProfileFromText(absl::string_view member, const std::string& text) {
  SecurityProfile profile;
  absl::string_view rest = text;
  if (text.empty() || text == "unconfined") return profile;
  if (text == "runtime/default" || text == "docker/default") {
    profile.type = SecurityProfile::Type::kRuntimeDefault;
  } else if (absl::ConsumePrefix(&rest, "localhost/") && !rest.empty()) {
    profile.type = SecurityProfile::Type::kLocalhost;
    profile.localhost_path = std::string(rest);
  } else {
    return Invalid(Field(member), text,
                   "must be \"runtime/default\", \"unconfined\" or \"localhost/<profile>\"");
  }
  return profile;
}

absl::StatusOr<SecurityProfile> ProfileFrom(absl::string_view member,
                                            const v1::SecurityProfile& message) {
  SecurityProfile profile;
  switch (message.profile_type()) {
    case v1::SecurityProfile::RuntimeDefault:
      profile.type = SecurityProfile::Type::kRuntimeDefault;
      return profile;
    case v1::SecurityProfile::Unconfined:
      return profile;
    case v1::SecurityProfile::Localhost:
      if (message.localhost_ref().empty()) {
        return Invalid(Field(absl::StrCat(member, ".localhost_ref")), "",
                       "must name a profile when profile_type is Localhost");
      }
      profile.type = SecurityProfile::Type::kLocalhost;
      profile.localhost_path = message.localhost_ref();
      return profile;
    default:
      return Invalid(Field(absl::StrCat(member, ".profile_type")),
                     static_cast<int64_t>(message.profile_type()),
                     "must be RuntimeDefault (0), Unconfined (1) or Localhost (2)");
  }
}

// Upstream deprecated these two; clients older than `seccomp` and `apparmor` send only them.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
const std::string& OldSeccomp(const v1::LinuxContainerSecurityContext& security) {
  return security.seccomp_profile_path();
}
const std::string& OldApparmor(const v1::LinuxContainerSecurityContext& security) {
  return security.apparmor_profile();
}
#pragma GCC diagnostic pop

absl::Status AddProfiles(const v1::LinuxContainerSecurityContext& security,
                         runtime::SecurityContext* out) {
  if (security.has_seccomp()) {
    PLIMSOLL_ASSIGN_OR_RETURN(out->seccomp, ProfileFrom("seccomp", security.seccomp()));
  } else {
    PLIMSOLL_ASSIGN_OR_RETURN(out->seccomp,
                              ProfileFromText("seccomp_profile_path", OldSeccomp(security)));
  }
  if (out->seccomp.type == SecurityProfile::Type::kLocalhost) {
    PLIMSOLL_RETURN_IF_ERROR(
        CheckAbsolutePath(Field("seccomp.localhost_ref"), out->seccomp.localhost_path));
  }
  if (security.has_apparmor()) {
    PLIMSOLL_ASSIGN_OR_RETURN(out->apparmor, ProfileFrom("apparmor", security.apparmor()));
  } else {
    PLIMSOLL_ASSIGN_OR_RETURN(out->apparmor,
                              ProfileFromText("apparmor_profile", OldApparmor(security)));
  }
  return absl::OkStatus();
}

// A container has its pod's user namespace; repeating it is allowed, another isn't.
absl::Status CheckUserNamespace(const runtime::NamespaceOptions& own,
                                const runtime::SandboxSpec& sandbox) {
  if (own.uid_mappings == sandbox.namespaces.uid_mappings &&
      own.gid_mappings == sandbox.namespaces.gid_mappings) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Field("namespace_options.userns_options"), " differs from that of the pod ",
                   sandbox.pod_namespace, "/", sandbox.name,
                   ": all containers of a pod share its user namespace"));
}

}  // namespace

absl::StatusOr<runtime::SecurityContext> SecurityContextFrom(
    const v1::LinuxContainerSecurityContext& security, const runtime::SandboxSpec& sandbox) {
  runtime::SecurityContext result;
  PLIMSOLL_RETURN_IF_ERROR(AddCapabilities(security.capabilities(), &result.capabilities));
  if (security.privileged() && !sandbox.privileged) {
    return absl::InvalidArgumentError(absl::StrCat(
        kPrefix, "privileged is true, but the pod ", sandbox.pod_namespace, "/", sandbox.name,
        " was not made privileged: only a privileged pod may hold privileged containers"));
  }
  result.privileged = security.privileged();
  // Network and IPC are always the pod's; so is the PID mode if the container's message has none.
  result.namespaces = sandbox.namespaces;
  if (security.has_namespace_options()) {
    PLIMSOLL_ASSIGN_OR_RETURN(
        runtime::NamespaceOptions own,
        NamespaceOptionsFrom(true, security.namespace_options(), Field("namespace_options")));
    if (security.namespace_options().has_userns_options()) {
      PLIMSOLL_RETURN_IF_ERROR(CheckUserNamespace(own, sandbox));
    }
    if (sandbox.namespaces.has_user_namespace() && own.pid == runtime::NamespaceMode::kNode) {
      return Invalid(Field("namespace_options.pid"), "NODE",
                     "must be another: the pod has a user namespace of its own");
    }
    result.namespaces.pid = own.pid;
    result.namespaces.target_container_id = std::move(own.target_container_id);
  }
  PLIMSOLL_RETURN_IF_ERROR(AddUser(security, &result));
  result.readonly_rootfs = security.readonly_rootfs();
  result.no_new_privs = security.no_new_privs();
  PLIMSOLL_RETURN_IF_ERROR(AddPaths("masked_paths", security.masked_paths(), &result.masked_paths));
  PLIMSOLL_RETURN_IF_ERROR(
      AddPaths("readonly_paths", security.readonly_paths(), &result.readonly_paths));
  PLIMSOLL_RETURN_IF_ERROR(AddProfiles(security, &result));
  result.selinux = SelinuxOptionsFrom(security.selinux_options());
  return result;
}

}  // namespace plimsoll::cri
