#include "linux/io_priority.h"

#include <linux/ioprio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

constexpr std::pair<const char*, int> kIoClasses[] = {{"IOPRIO_CLASS_NONE", IOPRIO_CLASS_NONE},
                                                      {"IOPRIO_CLASS_RT", IOPRIO_CLASS_RT},
                                                      {"IOPRIO_CLASS_BE", IOPRIO_CLASS_BE},
                                                      {"IOPRIO_CLASS_IDLE", IOPRIO_CLASS_IDLE}};
constexpr int kLowestIoPriority = 7;

}  // namespace

absl::StatusOr<int> ParseIoPriority(absl::string_view io_class, int priority) {
  for (const auto& [name, number] : kIoClasses) {
    if (io_class != name) continue;
    // A number without a class is nothing to the kernel.
    const int lowest = number == IOPRIO_CLASS_NONE ? 0 : kLowestIoPriority;
    if (priority < 0 || priority > lowest) {
      return absl::InvalidArgumentError(
          absl::StrCat("priority ", priority, " of ", io_class, " must be 0 to ", lowest));
    }
    return (number << IOPRIO_CLASS_SHIFT) | priority;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("class \"", io_class,
                   "\" is none of IOPRIO_CLASS_NONE, IOPRIO_CLASS_RT, IOPRIO_CLASS_BE and "
                   "IOPRIO_CLASS_IDLE"));
}

absl::Status SetIoPriority(pid_t process, int value) {
  if (syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, process, value) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("set the I/O priority of process ", process));
}

}  // namespace plimsoll::linux
