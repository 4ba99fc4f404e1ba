#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <thread>
#include <utility>

#include "base/status.h"
#include "nri/plugin/plugin.h"

namespace plimsoll::nri {
namespace {

// Keeps SIGTERM and SIGINT from this thread and those that it starts, and makes them readable.
class StopSignals {
 public:
  StopSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
    fd_ = UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~StopSignals() {
    // One that is pending has been obeyed.
    signalfd_siginfo taken;
    while (read(fd_.get(), &taken, sizeof(taken)) > 0) continue;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  int fd() const { return fd_.get(); }

 private:
  sigset_t before_ = {};
  UniqueFd fd_;
};

}  // namespace

absl::Status RunPlugin(Plugin& plugin, PluginOptions options) {
  const StopSignals signals;
  const UniqueFd ended(eventfd(0, EFD_CLOEXEC));
  if (signals.fd() < 0 || !ended.valid()) return ErrnoStatus(errno, "signalfd and eventfd");
  PLIMSOLL_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                            Session::Start(plugin, std::move(options)));
  absl::Status end;
  std::thread waiter([&] {
    end = session->Wait();
    eventfd_write(ended.get(), 1);
  });
  pollfd polls[] = {{signals.fd(), POLLIN, 0}, {ended.get(), POLLIN, 0}};
  while (poll(polls, 2, -1) < 0 && errno == EINTR) continue;
  session->Close();
  waiter.join();
  return end;
}

}  // namespace plimsoll::nri
