#include "runtime/oci/create_failure.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::runtime {

absl::Status TranslateCreateFailure(const absl::Status& failure, const ContainerSpec& spec,
                                    const std::string& command) {
  if (absl::IsDeadlineExceeded(failure)) {
    return Annotate(failure, absl::StrCat("container \"", spec.name, "\""));
  }
  if (!absl::IsInternal(failure)) return failure;
  const absl::string_view message = failure.message();
  const std::string name = absl::StrCat("container \"", spec.name, "\": ");
  const auto says = [&](absl::string_view text) { return absl::StrContains(message, text); };
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
  if (says("the monitor gave up")) {
    return absl::FailedPreconditionError(
        absl::StrCat(name, "its monitor can't start (", message, ")"));
  }
  return absl::InternalError(absl::StrCat(name, message));
}

}  // namespace plimsoll::runtime
