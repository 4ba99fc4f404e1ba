#include "bench/own_daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "bench/cri_client.h"
#include "plimsoll/v1/node.grpc.pb.h"

namespace plimsoll::bench {

absl::StatusOr<std::unique_ptr<OwnDaemon>> OwnDaemon::Start(const std::string& program,
                                                            const FsRoot& directory,
                                                            const std::vector<std::string>& flags) {
  std::unique_ptr<OwnDaemon> daemon(new OwnDaemon());
  const std::string socket = directory.PathOf("plimsoll.sock");
  PLIMSOLL_ASSIGN_OR_RETURN(
      const UniqueFd log, directory.OpenFile("plimsolld.log", O_WRONLY | O_CREAT | O_TRUNC, 0600));
  // Standalone: once the lock is released, it ends and removes its run directory.
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot run, FsRoot::OpenOrCreate(directory.PathOf("run"), 0755));
  PLIMSOLL_ASSIGN_OR_RETURN(daemon->clients_, run.OpenFile("clients.lock", O_RDWR | O_CREAT, 0600));
  if (flock(daemon->clients_.get(), LOCK_SH) != 0) return ErrnoStatus(errno, "flock clients.lock");
  daemon->runtime_state_ = run.PathOf("oci/crun");
  Command command;
  command.argv = {program,       "--standalone",
                  "--address",   "unix://" + socket,
                  "--state-dir", directory.PathOf("state"),
                  "--run-dir",   directory.PathOf("run")};
  command.argv.insert(command.argv.end(), flags.begin(), flags.end());
  command.descriptors = {{log.get(), 1}, {log.get(), 2}};
  PLIMSOLL_ASSIGN_OR_RETURN(daemon->child_, Spawn(command));
  daemon->channel_ = grpc::CreateChannel("unix://" + socket, grpc::InsecureChannelCredentials());

  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (!daemon->channel_->WaitForConnected(absl::ToChronoTime(absl::Now() + absl::Seconds(1)))) {
    if (daemon->child_->Wait(absl::Now()).ok() || absl::Now() > deadline) {
      return absl::UnavailableError(absl::StrCat("plimsolld does not listen on ", socket,
                                                 "; it said:\n",
                                                 directory.Read("plimsolld.log").value_or("")));
    }
  }
  return daemon;
}

OwnDaemon::~OwnDaemon() {
  if (!child_.has_value()) return;
  clients_.Reset();
  if (child_->Wait(absl::Now() + absl::Seconds(20)).ok()) return;
  std::fprintf(stderr, "plimsolld does not end; killed\n");
  child_->Signal(SIGKILL).IgnoreError();
  child_->Wait(absl::Now() + absl::Seconds(5)).IgnoreError();
}

absl::Status OwnDaemon::ImportImage(const std::string& archive, const std::string& reference) {
  const auto stub = ::plimsoll::v1::NodeService::NewStub(channel_);
  grpc::ClientContext context;
  ::plimsoll::v1::ImportImageRequest request;
  request.set_path(archive);
  request.set_reference(reference);
  ::plimsoll::v1::ImageProgress progress;
  const auto stream = stub->ImportImage(&context, request);
  while (stream->Read(&progress)) {
  }
  return ToStatus(stream->Finish(), "import the image");
}

}  // namespace plimsoll::bench
