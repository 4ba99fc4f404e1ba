// The program crun and its records of containers.
#ifndef PLIMSOLL_RUNTIME_OCI_CRUN_CRUN_H_
#define PLIMSOLL_RUNTIME_OCI_CRUN_CRUN_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "linux/process.h"

namespace plimsoll::runtime {

// "runc 1.1.5", of the first line of `<program> --version`. Empty if the line isn't "NAME version
// VERSION".
std::string VersionIn(absl::string_view text);

// Whether a version is crun's: such a program keeps crun's records and obeys annotations run.oci.*.
bool IsCrun(absl::string_view version);

// Runs `program argument`, a question about itself, for at most `patience`. Asks again, three times
// in all, where a signal kills it (the OOM killer's, say): that says nothing of the program.
absl::StatusOr<RunResult> AskProgram(const std::string& program, const std::string& argument,
                                     absl::Duration patience = absl::Seconds(3));

// FAILED_PRECONDITION if the program doesn't run or is no OCI runtime by its --version, NOT_FOUND
// if there is none at `path` (empty: from PATH). OK if it doesn't answer within `patience`.
absl::Status CheckOciRuntime(const std::string& path, absl::Duration patience = absl::Seconds(10));

// The contents of crun's status file.
struct CrunStatus {
  pid_t pid = 0;
  uint64_t start_time_ticks = 0;
  std::string cgroup_path;
};

// Thread-safe.
class Crun {
 public:
  // Copies the program at `path` (empty: from PATH) into a sealed memfd. Otherwise crun makes such
  // a copy of itself at each start, so that a container can't overwrite it through /proc/self/exe
  // (CVE-2019-5736), which is a third of its run time. `state` is for its files. NOT_FOUND when
  // there is no such program, FAILED_PRECONDITION when it doesn't run or is no OCI runtime. A
  // program that doesn't tell its version within `patience` is taken all the same: the machine may
  // be slow.
  static absl::StatusOr<std::unique_ptr<Crun>> Load(const std::string& path, FsRoot state,
                                                    absl::Duration patience = absl::Minutes(1));

  const std::string& version() const { return version_; }  // "crun 1.8.1"
  // False: crun was killed each time that it was asked, or didn't answer. IsAtLeast is false then.
  bool knows_version() const { return knows_version_; }
  bool IsAtLeast(int major, int minor) const;  // false for other programs than crun
  // The program, if it isn't crun or may not be: OtherProgram serves its containers. Empty: crun.
  const std::string& other() const { return other_; }
  // Path of the copy: /proc/<this process>/fd/<n>. Valid as long as this object.
  const std::string& executable() const;
  const FsRoot& state() const { return state_; }
  // `crun --root=<state> ARGUMENTS`.
  Command MakeCommand(const std::vector<std::string>& arguments) const;

  // Lets the created container's process run. The process sleeps in a read of the FIFO exec.fifo in
  // crun's state; the steps of `crun start` are done here, without another process. If the FIFO
  // isn't as expected, `crun start` is run and reports the reason. FAILED_PRECONDITION when the
  // container isn't in state created.
  absl::Status Start(absl::string_view id) const;

  // The time when the container's process was let run, Unix nanoseconds; nullopt: it still sleeps,
  // or crun doesn't know the container. `host` holds proc/. An error: it is unknown.
  absl::StatusOr<std::optional<int64_t>> StartedAt(const FsRoot& host, absl::string_view id,
                                                   const linux::ProcessId& init) const;
  // Completes a Start that was cut off after the process ran.
  absl::Status FinishStart(absl::string_view id) const;

  // nullopt when crun doesn't know the container, or when its status file is damaged. An error: the
  // file could not be read.
  absl::StatusOr<std::optional<CrunStatus>> Status(absl::string_view id) const;
  absl::StatusOr<std::vector<std::string>> List() const;
  // Removes crun's record, and nothing else. OK when there is none.
  absl::Status Forget(absl::string_view id) const;

 private:
  Crun(std::string version, bool knows_version, std::string other, UniqueFd program, FsRoot state);

  const std::string version_;
  const bool knows_version_;
  const std::string other_;
  const UniqueFd program_;
  const std::string executable_;
  const FsRoot state_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CRUN_CRUN_H_
