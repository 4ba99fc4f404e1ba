// A plimsolld of the benchmark's own, on private directories.
#ifndef PLIMSOLL_BENCH_OWN_DAEMON_H_
#define PLIMSOLL_BENCH_OWN_DAEMON_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"

namespace plimsoll::bench {

class OwnDaemon {
 public:
  // Listens at <directory>/plimsoll.sock and logs to <directory>/plimsolld.log. An error has its
  // output. `flags` are added to its own.
  static absl::StatusOr<std::unique_ptr<OwnDaemon>> Start(
      const std::string& program, const FsRoot& directory,
      const std::vector<std::string>& flags = {});
  ~OwnDaemon();  // ends it and waits for that

  std::shared_ptr<grpc::Channel> channel() const { return channel_; }
  // The directory of crun's state.
  std::string runtime_state() const { return runtime_state_; }
  pid_t pid() const { return child_->pid(); }

  // Imports the archive's image as `reference`.
  absl::Status ImportImage(const std::string& archive, const std::string& reference);

 private:
  OwnDaemon() = default;
  UniqueFd clients_;
  std::optional<Child> child_;
  std::shared_ptr<grpc::Channel> channel_;
  std::string runtime_state_;
};

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_OWN_DAEMON_H_
