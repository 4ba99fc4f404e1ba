// A container of an OCI runtime other than crun, such as runc. Its records are its own affair, so
// it is asked by the commands that every runtime has (OCI runtime specification, runtime.md,
// "Operations").
#ifndef PLIMSOLL_RUNTIME_OCI_CRUN_OTHER_PROGRAM_H_
#define PLIMSOLL_RUNTIME_OCI_CRUN_OTHER_PROGRAM_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"

namespace plimsoll::runtime {

// The answer of `state`.
struct ProgramState {
  std::string status;  // "created", "running", "stopped"
  pid_t pid = 0;       // of init; 0: it has ended
};

// Thread-safe.
class OtherProgram {
 public:
  // Notes in a container's bundle that `program` makes it.
  static absl::Status Note(const FsRoot& bundle, const std::string& program);
  // The program noted in the bundle; nullopt: crun makes the container. `state`: the directory
  // that the program gets as --root.
  static absl::StatusOr<std::optional<OtherProgram>> Of(const FsRoot& bundle, const FsRoot& state);

  const std::string& path() const { return program_; }
  const FsRoot& bundle() const { return bundle_; }
  // `<program> --root=<state> ARGUMENTS`.
  Command MakeCommand(const std::vector<std::string>& arguments) const;
  // nullopt: the program has no container of this id. An error: it is unknown.
  absl::StatusOr<std::optional<ProgramState>> State(absl::string_view id) const;
  // Lets the container's process run, and runs its poststart hooks. FAILED_PRECONDITION has the
  // program's reason.
  absl::Status Start(absl::string_view id) const;
  // The time of its start, Unix nanoseconds; nullopt: it has not been started.
  absl::StatusOr<std::optional<int64_t>> StartedAt(absl::string_view id) const;
  // Ends the container and removes the program's record of it, its poststop hooks run. OK when
  // there is none.
  absl::Status Delete(absl::string_view id) const;
  // The control group of the specification in the bundle; empty: unknown.
  std::string CgroupPath() const;

 private:
  OtherProgram(std::string program, FsRoot bundle, FsRoot state)
      : program_(std::move(program)), bundle_(std::move(bundle)), state_(std::move(state)) {}

  std::string program_;
  FsRoot bundle_;
  FsRoot state_;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_CRUN_OTHER_PROGRAM_H_
