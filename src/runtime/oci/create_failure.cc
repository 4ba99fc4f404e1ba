#include "runtime/oci/create_failure.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

// "user u, type t"; empty: nothing was asked for.
std::string PartsOf(const linux::SelinuxOptions& options) {
  std::vector<std::string> parts;
  for (const auto& [name, value] :
       {std::pair("user", options.user), std::pair("role", options.role),
        std::pair("type", options.type), std::pair("level", options.level)}) {
    if (!value.empty()) parts.push_back(absl::StrCat(name, " ", value));
  }
  return absl::StrJoin(parts, ", ");
}

// Of a label that the kernel's policy does not know.
absl::Status UnknownLabel(absl::string_view name, const linux::SelinuxOptions& asked,
                          absl::string_view message) {
  const std::string parts = PartsOf(asked);
  if (!parts.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "the SELinux policy of this machine knows no such label as with ", parts,
                     "; user, role, type and level must be of the policy (", message, ")"));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      name,
      "the SELinux policy of this machine does not know the label that containers have by the "
      "machine's own lxc_contexts(5), which must be of the policy that is loaded (",
      message, ")"));
}

}  // namespace

absl::Status TranslateCreateFailure(const absl::Status& failure, const ContainerSpec& spec,
                                    const std::string& command,
                                    const std::optional<linux::SelinuxOptions>& label) {
  if (absl::IsDeadlineExceeded(failure)) {
    return Annotate(failure, absl::StrCat("container \"", spec.name, "\""));
  }
  if (!absl::IsInternal(failure)) return failure;
  const absl::string_view message = failure.message();
  const std::string name = absl::StrCat("container \"", spec.name, "\": ");
  const auto says = [&](absl::string_view text) { return absl::StrContains(message, text); };
  // Before what a path could say as well. The launcher's words (monitor/volumes.cc).
  if (says("something else has come, since it was looked at")) {
    return absl::FailedPreconditionError(absl::StrCat(
        name,
        "a volume was replaced while the container was being made (the create may be tried "
        "again, and finds what is there now; ",
        message, ")"));
  }
  if (says("not found in $PATH") ||
      (says("open executable") && says("No such file or directory"))) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "command \"", command,
                     "\" is not in the image: executable file not found (", message, ")"));
  }
  if (says("open executable")) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "command \"", command,
                     "\" can't be executed: permission denied or no program (", message, ")"));
  }
  if (says("chdir") || says("cwd")) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, "working directory \"", spec.working_directory,
                     "\" can't be entered; it must be a directory that the container's user may "
                     "enter (",
                     message, ")"));
  }
  if (says("cgroups in hybrid mode")) {
    return absl::FailedPreconditionError(absl::StrCat(
        name,
        "the OCI runtime refuses this machine's hybrid cgroups, and hiding them from it "
        "failed (",
        message, ")"));
  }
  if (says("map ids (")) {
    return absl::FailedPreconditionError(
        absl::StrCat(name,
                     "what it is to see with other owners can't be shown so: the kernel can't map "
                     "ids on that file system (",
                     message, ")"));
  }
  if (says("open the image's directory")) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, "image_sub_path of a mount is no directory of its image (", message, ")"));
  }
  // What the kernel says to a label that is none of its policy's (proc(5), /proc/pid/attr); crun's
  // words, and runc's. Of a process without one they are of something else: AppArmor's profiles
  // are written to the same file.
  if (label.has_value() && (says("/attr/exec") || says("/attr/keycreate")) &&
      (says("Invalid argument") || says("invalid argument"))) {
    return UnknownLabel(name, *label, message);
  }
  if (says("the monitor gave up")) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, "its monitor can't start (", message, ")"));
  }
  return absl::InternalError(absl::StrCat(name, message));
}

}  // namespace plimsoll::runtime
