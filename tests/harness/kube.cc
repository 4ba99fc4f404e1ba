#include "harness/kube.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/programs/pipe.h"
#include "base/status.h"
#include "harness/kernel.h"
#include "harness/node.h"

namespace plimsoll::testing {
namespace {

constexpr absl::Duration kStartLimit = absl::Seconds(20);
constexpr absl::Duration kStopLimit = absl::Seconds(30);

}  // namespace

UniqueFd ListenAsSystemd(const std::string& path) {
  UniqueFd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(listen(listener.get(), SOMAXCONN), 0);
  return listener;
}

KubeProcess::KubeProcess(KubePlaces places, const std::string& extra_config)
    : places_(std::move(places)) {
  const std::string text = absl::StrCat(
      "nodeName: n1\nkubeconfig: ", places_.kubeconfig, "\nruntimeSocket: ", places_.runtime_socket,
      "\nkubeletRoot: ", places_.kubelet_root, "\nstateDirectory: ", places_.directory,
      "/kube-state\nlogging: {level: debug}\n", extra_config);
  EXPECT_TRUE(Host().ReplaceFile(config(), text).ok());
}

KubeProcess::~KubeProcess() {
  if (process_.has_value()) Kill();
}

Command KubeProcess::CommandLine(int ready) const {
  Command command;
  command.argv = started_by_;
  // Descriptors of systemd's begin at 3.
  int next = 3;
  for (const UniqueFd& each : sockets_) command.descriptors.push_back({each.get(), next++});
  command.descriptors.push_back({ready, next});
  if (!sockets_.empty()) {
    const std::string script =
        absl::StrCat("LISTEN_PID=$$ LISTEN_FDS=", sockets_.size(),
                     " exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"");
    command.argv.insert(command.argv.end(), {"/bin/sh", "-c", script, "sh"});
  }
  for (const std::string& word : {ProgramPath("plimsoll-kube"), std::string("--config"), config(),
                                  std::string("--ready-fd"), absl::StrCat(next)}) {
    command.argv.push_back(word);
  }
  return command;
}

absl::Status KubeProcess::Start() {
  const std::string log = places_.directory + "/plimsoll-kube.log";
  const UniqueFd log_fd(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe ready, MakePipe());
  Command command = CommandLine(ready.writer.get());
  command.descriptors.push_back({log_fd.get(), 1});
  command.descriptors.push_back({log_fd.get(), 2});
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  process_ = std::move(child);
  ready.writer.Reset();
  char byte = 0;
  pollfd poller = {ready.reader.get(), POLLIN, 0};
  const int patience = static_cast<int>(absl::ToInt64Milliseconds(Patience(kStartLimit)));
  if (poll(&poller, 1, patience) == 1 && read(ready.reader.get(), &byte, 1) == 1) {
    return absl::OkStatus();
  }
  Kill();
  return absl::InternalError(absl::StrCat("plimsoll-kube did not start: ", Log()));
}

absl::StatusOr<ExitStatus> KubeProcess::Stop() {
  PLIMSOLL_RETURN_IF_ERROR(process_->Signal(SIGTERM));
  absl::StatusOr<ExitStatus> exit = process_->Wait(absl::Now() + Patience(kStopLimit));
  if (exit.ok()) process_.reset();
  return exit;
}

void KubeProcess::Kill() {
  process_->Signal(SIGKILL).IgnoreError();
  process_->Wait(absl::Now() + Patience(kStopLimit)).IgnoreError();
  process_.reset();
}

absl::StatusOr<RunResult> KubeProcess::Run(const std::vector<std::string>& arguments) const {
  Command command;
  command.argv = {ProgramPath("plimsoll-kube"), "--config", config()};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  return RunProgram(command, {.timeout = Patience(kStopLimit)});
}

std::string KubeProcess::Log() const {
  return Host().Read(places_.directory + "/plimsoll-kube.log").value_or("");
}

}  // namespace plimsoll::testing
