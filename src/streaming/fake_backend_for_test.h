// A backend whose commands run on this machine, outside of any container.
#ifndef PLIMSOLL_STREAMING_FAKE_BACKEND_FOR_TEST_H_
#define PLIMSOLL_STREAMING_FAKE_BACKEND_FOR_TEST_H_

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "base/programs/pipe.h"
#include "base/programs/subprocess.h"
#include "base/status.h"
#include "streaming/backend.h"

namespace plimsoll::streaming {

// Sets both buffers of a socket; a listener's connections inherit them.
inline void SizeBuffers(int socket, int bytes) {
  for (const int buffer : {SO_RCVBUF, SO_SNDBUF}) {
    setsockopt(socket, SOL_SOCKET, buffer, &bytes, sizeof(bytes));
  }
}

class FakeCommand final : public runtime::RunningCommand {
 public:
  FakeCommand(Child child, runtime::CommandStreams streams, std::atomic<int>* running,
              std::atomic<int>* ended, std::atomic<int>* killed)
      : child_(std::move(child)),
        streams_(std::move(streams)),
        running_(running),
        ended_(ended),
        killed_(killed) {
    ++*running_;
  }
  ~FakeCommand() override {
    KillAll();
    --*running_;
  }
  runtime::CommandStreams& streams() override { return streams_; }
  int ended_fd() const override { return child_.pidfd(); }
  absl::StatusOr<runtime::CommandEnd> Finish() override {
    PLIMSOLL_ASSIGN_OR_RETURN(const ExitStatus exit, child_.Wait());
    ++*ended_;
    runtime::CommandEnd end;
    end.exit_code = exit.code;
    if (exit.code == 127) end.message = "exec: not found\n";
    return end;
  }
  absl::Status Kill() override {
    ++*killed_;
    KillAll();
    return child_.Wait().status();
  }

 private:
  // Kills its children too: it leads a session of its own.
  void KillAll() { child_.Signal(SIGKILL, /*group=*/true).IgnoreError(); }

  Child child_;
  runtime::CommandStreams streams_;
  std::atomic<int>* const running_;
  std::atomic<int>* const ended_;
  std::atomic<int>* const killed_;
};

class FakeBackend : public Backend {
 public:
  static constexpr int kPipeBytes = 64 * 1024;

  absl::StatusOr<std::unique_ptr<runtime::RunningCommand>> Exec(
      const StreamRequest& request) override {
    if (request.id == "gone") return absl::NotFoundError("no container gone");
    Command command;
    command.argv = request.argv;
    command.new_session = true;
    runtime::CommandStreams streams;
    std::vector<UniqueFd> theirs;
    if (request.terminal) {
      streams.terminal.Reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
      char name[64];
      if (grantpt(streams.terminal.get()) != 0 || unlockpt(streams.terminal.get()) != 0 ||
          ptsname_r(streams.terminal.get(), name, sizeof(name)) != 0) {
        return ErrnoStatus(errno, "make a terminal");
      }
      theirs.emplace_back(open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
      for (const int to : {0, 1, 2}) command.descriptors.emplace_back(theirs.back().get(), to);
    } else {
      for (const auto& [wanted, to, ours] : {std::tuple(request.input, 0, &streams.input),
                                             {request.output, 1, &streams.output},
                                             {request.errors, 2, &streams.errors}}) {
        if (!wanted) continue;
        PLIMSOLL_ASSIGN_OR_RETURN(Pipe pipe, MakePipe());
        *ours = std::move(to == 0 ? pipe.writer : pipe.reader);
        theirs.push_back(std::move(to == 0 ? pipe.reader : pipe.writer));
        // A fixed size for tests; the default depends on the machine's pages.
        if (fcntl(theirs.back().get(), F_SETPIPE_SZ, kPipeBytes) < 0)
          return ErrnoStatus(errno, "size a pipe");
        command.descriptors.emplace_back(theirs.back().get(), to);
      }
    }
    PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
    if (output_that_nobody_can_wait_for.valid()) {
      streams.output = std::move(output_that_nobody_can_wait_for);
    }
    return std::make_unique<FakeCommand>(std::move(child), std::move(streams), &running, &ended,
                                         &killed);
  }

  // The test is the monitor: see `monitor`.
  absl::StatusOr<runtime::AttachedContainer> Attach(const StreamRequest& request) override {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      return ErrnoStatus(errno, "socketpair");
    }
    absl::MutexLock lock(&mutex);
    monitor.Reset(ends[0]);
    ++attached;
    if (monitor_that_nobody_can_wait_for.valid()) {
      close(ends[1]);
      return runtime::AttachedContainer{std::move(monitor_that_nobody_can_wait_for),
                                        request.terminal};
    }
    return runtime::AttachedContainer{UniqueFd(ends[1]), request.terminal};
  }

  absl::StatusOr<UniqueFd> PodSocket(const std::string& /*sandbox_id*/, int family) override {
    UniqueFd made(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!made.valid()) return ErrnoStatus(errno, "socket");
    if (pod_buffer_bytes > 0) SizeBuffers(made.get(), pod_buffer_bytes);
    return made;
  }

  // The monitor's end for the latest client, once `count` have attached.
  int AwaitMonitor(int count = 1) {
    const auto there = [this, count] { return attached >= count; };
    absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(&there));
    return monitor.get();
  }

  std::atomic<int> running = 0;  // running commands
  std::atomic<int> ended = 0;    // ended by themselves
  std::atomic<int> killed = 0;
  std::atomic<int> pod_buffer_bytes = 0;     // for the next PodSocket; 0: the default
  UniqueFd output_that_nobody_can_wait_for;  // for the next command
  absl::Mutex mutex;
  UniqueFd monitor;
  int attached = 0;                           // so far
  UniqueFd monitor_that_nobody_can_wait_for;  // for the next Attach
};

}  // namespace plimsoll::streaming

#endif  // PLIMSOLL_STREAMING_FAKE_BACKEND_FOR_TEST_H_
