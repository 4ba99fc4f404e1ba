// Processes on their way into a container.
#ifndef PLIMSOLL_RUNTIME_OCI_EXEC_ENTRY_H_
#define PLIMSOLL_RUNTIME_OCI_EXEC_ENTRY_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "base/fs_root.h"
#include "base/programs/pipe.h"
#include "base/steady_time.h"
#include "linux/process.h"

namespace plimsoll::runtime {

// Processes of Execs under way that the daemon started, outside the containers: crun, or
// plimsoll-exec's supervisor. Thread-safe.
class EnteringProcesses {
 public:
  explicit EnteringProcesses(FsRoot host) : host_(std::move(host)) {}

  // The living ones.
  std::vector<pid_t> Of(absl::string_view container_id) const;

  // Registers a process as one of them, until this ends.
  class Entry {
   public:
    Entry(EnteringProcesses* all, absl::string_view container_id, pid_t pid);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    EnteringProcesses& all_;
    std::multimap<std::string, linux::ProcessId>::iterator at_;
  };

 private:
  const FsRoot host_;
  mutable absl::Mutex mutex_;
  std::multimap<std::string, linux::ProcessId> processes_ ABSL_GUARDED_BY(mutex_);  // by container
};

// A signal that plimsoll-launch has become the OCI runtime, and so has entered everything in its
// plan.
class LaunchSignal {
 public:
  absl::Status Open();
  // The launcher's descriptor for the plan's "entered".
  int writer() const { return pipe_.writer.get(); }
  // Call it in the parent, once the launcher has its copy. True when the launcher has become the
  // OCI runtime (or plimsoll-exec's command is executed), or has ended. False when one of
  // `cancel_fds` is readable, at the deadline, or after a second: somebody has frozen the group
  // that it entered. Then it can be called again.
  bool Await(absl::Span<const int> cancel_fds, SteadyTime deadline);

 private:
  Pipe pipe_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_EXEC_ENTRY_H_
