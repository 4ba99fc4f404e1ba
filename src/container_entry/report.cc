#include "container_entry/report.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "container_entry/protocol.h"

namespace plimsoll::entry {
namespace {

const char* Name(Step step) {
  switch (step) {
    case Step::kClass:
      return "enter a class's group";
    case Step::kOomScore:
      return "set oom_score_adj";
    case Step::kDescriptorLimit:
      return "set RLIMIT_NOFILE";
    case Step::kResourceLimit:
      return "set a resource limit";
    case Step::kLabel:
      return "set the security label";
    case Step::kReadFilter:
      return "read the seccomp filter";
    case Step::kConsole:
      return "reach the socket for the terminal";
    case Step::kGroup:
      return "enter the control group";
    case Step::kDescriptors:
      return "close the descriptors";
    case Step::kNamespaces:
      return "enter the namespaces";
    case Step::kSession:
      return "make a session";
    case Step::kTerminal:
      return "open a terminal";
    case Step::kStreams:
      return "give the streams to the user";
    case Step::kSupplementalGroups:
      return "set the supplemental groups";
    case Step::kBounding:
      return "drop from the bounding set";
    case Step::kIds:
      return "become the user";
    case Step::kEarlyFilter:
      return "load the seccomp filter";
    case Step::kCapabilities:
      return "set the capabilities";
    case Step::kFork:
      return "fork";
    case Step::kControlTerminal:
      return "take the terminal";
    case Step::kNoNewPrivileges:
      return "set no_new_privs";
    case Step::kFilter:
      return "load the seccomp filter";
    default:
      return "enter the container";
  }
}

// Whether the cause will be the same the next time; others (a full pids.max, a lack of memory) may
// pass.
bool IsLasting(int error) {
  return error == ENOSYS || error == EINVAL || error == EPERM || error == EBUSY ||
         error == EOPNOTSUPP || error == EACCES || error == ENOTTY;
}

// Failures with which the OCI runtime can't help, or must not be asked to.
bool IsFinal(const Failure& failure) {
  if (failure.step > Step::kFork) return true;
  if (failure.step == Step::kNamespaces) return failure.error == ESRCH;
  return failure.step == Step::kDirectory || failure.step == Step::kBeyondRoot;
}

const char* BeginningOf(const Failure& failure) {
  if (IsFinal(failure)) return "";
  return IsLasting(failure.error) ? kUnsupported : kNotNow;
}

}  // namespace

bool Decode(const void* bytes, size_t size, Failure* failure) {
  Failure read_failure;
  if (size != sizeof(read_failure)) return false;
  memcpy(&read_failure, bytes, size);
  if (read_failure.step <= Step::kNone || read_failure.step >= Step::kCount) return false;
  *failure = read_failure;
  return true;
}

void Fail(int report, Step step) {
  const Failure failure = {step, errno};
  if (write(report, &failure, sizeof(failure)) < 0) _exit(1);
  _exit(1);
}

void Tell(const Plan& plan, const Failure& failure) {
  const char* why = strerror(failure.error);
  switch (failure.step) {
    case Step::kNotFound:
      dprintf(plan.log, "executable file `%s` not found in $PATH: %s", plan.arguments[0], why);
      return;
    case Step::kExecute:
      dprintf(plan.log, "exec: %s", why);
      return;
    case Step::kDirectory:
      dprintf(plan.log, "chdir `%s`: %s", plan.text.Get("cwd"), why);
      return;
    case Step::kBeyondRoot:
      dprintf(plan.log, "chdir `%s`: it leads out of the container", plan.text.Get("cwd"));
      return;
    default:
      if (failure.step == Step::kNamespaces && failure.error == ESRCH) {
        dprintf(plan.log, "the container is not running");
        return;
      }
      dprintf(plan.log, "%s%s: %s", BeginningOf(failure), Name(failure.step), why);
  }
}

}  // namespace plimsoll::entry
