#include "runtime/oci/apparmor.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "linux/apparmor.h"

namespace plimsoll::runtime {
namespace {

constexpr char kDefaultName[] = "plimsoll-default";

// Namespaces confine most of a container's actions. The profile covers the rest: mounts, the
// machine's parameters in proc and sys, and processes that belong to no container.
constexpr char kDefaultProfile[] = R"(
profile plimsoll-default flags=(attach_disconnected, mediate_deleted) {
  capability,
  file,
  network,
  unix,
  umount,
  deny mount,

  ptrace (trace, read, tracedby, readby) peer=plimsoll-default,
  signal (send, receive) peer=plimsoll-default,
  signal (receive) peer=unconfined,

  deny /proc/{kcore,kmem,mem,sysrq-trigger} rwklx,
  deny /proc/sys/fs/** wklx,
  deny /proc/sys/kernel/{core_pattern,core_pipe_limit,hotplug,modprobe,panic,sysrq} wklx,
  deny /proc/sys/vm/** wklx,
  deny /sys/firmware/** rwklx,
  deny /sys/kernel/security/** rwklx,
  deny /sys/{block,bus,class,dev,devices,kernel,module,power}/** wklx,
}
)";

}  // namespace

absl::Status AppArmor::LoadDefault() {
  absl::MutexLock lock(&loading_);
  PLIMSOLL_ASSIGN_OR_RETURN(const bool loaded, linux::IsProfileLoaded(host_, kDefaultName));
  if (loaded) return absl::OkStatus();
  const absl::StatusOr<std::string> parser = FindProgram("apparmor_parser");
  if (!parser.ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "AppArmor's profile ", kDefaultName,
        " is not loaded and can't be: apparmor_parser is missing (Debian's package apparmor)"));
  }
  Command command;
  command.argv = {*parser, "--replace", "--skip-cache"};
  const absl::Status status =
      RunChecked(std::move(command), {.timeout = absl::Seconds(30), .input = kDefaultProfile})
          .status();
  return Annotate(status, absl::StrCat("load AppArmor's profile ", kDefaultName));
}

absl::StatusOr<std::string> AppArmor::Profile(const SecurityProfile& asked) {
  if (asked.type == SecurityProfile::Type::kUnconfined) return std::string();
  if (!enabled_) {
    return absl::FailedPreconditionError(
        "apparmor: this machine's kernel has no AppArmor, or it is switched off; only Unconfined "
        "can be had");
  }
  if (asked.type == SecurityProfile::Type::kRuntimeDefault) {
    PLIMSOLL_RETURN_IF_ERROR(LoadDefault());
    return std::string(kDefaultName);
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const bool loaded, linux::IsProfileLoaded(host_, asked.localhost_path));
  if (loaded) return asked.localhost_path;
  return absl::NotFoundError(absl::StrCat("apparmor: no profile \"", asked.localhost_path,
                                          "\" is loaded on this machine"));
}

}  // namespace plimsoll::runtime
