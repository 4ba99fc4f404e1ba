#include "topology/machine_watch.h"

#include <fcntl.h>
#include <poll.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace plimsoll::topology {
namespace {

// None where the kernel has no swap.
UniqueFd OpenSwaps(const FsRoot& host) {
  auto swaps = host.OpenFile("proc/swaps", O_RDONLY);
  return swaps.ok() ? *std::move(swaps) : UniqueFd();
}

}  // namespace

MachineWatch::MachineWatch(Options options)
    : options_(std::move(options)), swaps_(OpenSwaps(options_.host)) {}

absl::Status MachineWatch::Listen() {
  events_ = options_.events;
  if (events_ != nullptr) return absl::OkStatus();
  auto events = linux::UeventSocket::Open({.subsystems = {"cpu", "memory", "node"}});
  if (events.ok()) {
    events_ = std::make_shared<linux::UeventSocket>(*std::move(events));
    return absl::OkStatus();
  }
  return Annotate(events.status(),
                  absl::StrCat("the kernel's events can't be received: changes of CPUs and "
                               "memory are noticed only at each check, every ",
                               absl::FormatDuration(options_.poll_interval)));
}

absl::Status MachineWatch::Start(absl::Time first, std::function<absl::Time()> look) {
  std::vector<linux::QuietWatch::Watched> watched = {
      {.fd = swaps_.get(), .events = POLLPRI, .heard = [](short found) {
         return (found & POLLPRI) != 0;
       }}};
  if (events_ != nullptr) {
    watched.push_back(
        {.fd = events_->fd(), .events = POLLIN, .heard = [this](short) { return ReadEvents(); }});
  }
  if (options_.source != nullptr) {
    watched.push_back({.fd = options_.source->fd(), .events = POLLIN, .heard = [this](short) {
                         return options_.source->Heard();
                       }});
  }
  auto watch = linux::QuietWatch::Start(
      {.quiet = options_.quiet,
       .at_most = options_.at_most,
       .first = first,
       .more_to_come = [this] { return memory_blocks_.AreMoving(options_.host); },
       .wait_at_most = options_.module_at_most},
      std::move(watched), [this, look = std::move(look)] {
        memory_blocks_.Forget();
        return look();
      });
  if (!watch.ok()) {
    return Annotate(watch.status(),
                    "the machine can't be watched: changes of it are not seen until the "
                    "configuration is loaded again");
  }
  watch_ = *std::move(watch);
  return absl::OkStatus();
}

bool MachineWatch::ReadEvents() {
  linux::UeventNews news;
  // The look finds what an error has lost.
  const bool failed = !events_->Read(&news).ok();
  if (failed) absl::SleepFor(options_.quiet);
  if (failed || news.overrun) has_cpu_events_ = true;
  for (const linux::Uevent& event : news.events) {
    if (event.subsystem == "cpu") has_cpu_events_ = true;
    memory_blocks_.Heard(event);
  }
  return failed || news.overrun || !news.events.empty();
}

}  // namespace plimsoll::topology
