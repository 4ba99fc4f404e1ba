#include "topology/tracker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "topology/discover.h"
#include "topology/make_zones.h"
#include "topology/zone_tree.h"

namespace plimsoll::topology {

absl::StatusOr<std::unique_ptr<Tracker>> Tracker::Start(
    TrackerOptions options, Publisher* publisher,
    std::function<void(const TrackerNews&)> on_partition) {
  // Before the first look, so that nothing is missed in between.
  PLIMSOLL_ASSIGN_OR_RETURN(linux::UeventSocket events,
                            linux::UeventSocket::Open({.subsystems = {"cpu", "memory", "node"}}));
  UniqueFd stop(eventfd(0, EFD_CLOEXEC));
  if (!stop.valid()) return ErrnoStatus(errno, "eventfd");
  // A kernel without swap has no such file.
  auto swaps = options.host.OpenFile("proc/swaps", O_RDONLY);
  std::unique_ptr<Tracker> tracker(
      new Tracker(std::move(options), publisher, std::move(on_partition), std::move(events),
                  swaps.ok() ? *std::move(swaps) : UniqueFd(), std::move(stop)));
  {
    absl::MutexLock lock(&tracker->mutex_);
    PLIMSOLL_RETURN_IF_ERROR(tracker->Look(true));
  }
  tracker->thread_ = std::thread([raw = tracker.get()] { raw->Run(); });
  return tracker;
}

Tracker::Tracker(TrackerOptions options, Publisher* publisher,
                 std::function<void(const TrackerNews&)> on_partition, linux::UeventSocket events,
                 UniqueFd swaps, UniqueFd stop)
    : options_(std::move(options)),
      publisher_(publisher),
      on_partition_(std::move(on_partition)),
      events_(std::move(events)),
      swaps_(std::move(swaps)),
      stop_(std::move(stop)),
      config_(options_.partition) {}

Tracker::~Tracker() {
  const uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  if (thread_.joinable()) thread_.join();
}

absl::Status Tracker::Reload(PartitionConfig partition) {
  absl::MutexLock lock(&mutex_);
  std::swap(config_, partition);
  const absl::Status status = Look(true);
  if (status.ok()) return status;
  config_ = std::move(partition);
  Look(true).IgnoreError();  // the machine may be another than at the last look
  return status;
}

Partition Tracker::partition() const {
  absl::MutexLock lock(&mutex_);
  return partition_;
}

std::vector<std::string> Tracker::Troubles() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> troubles;
  if (machine_) troubles = machine_->missing;
  if (!misfit_.empty()) {
    troubles.push_back(absl::StrCat(misfit_, "; what was in force before stays"));
  }
  return troubles;
}

absl::Status Tracker::Look(bool even_if_unchanged) {
  // Before the machine is read: what changes meanwhile is seen as a change by the next look.
  std::string signature = Signature(options_.host);
  if (!even_if_unchanged && signature == signature_) return absl::OkStatus();
  absl::StatusOr<Machine> machine = Discover(options_.host, options_.hwloc_program);
  absl::Status status = machine.status();
  if (machine.ok()) {
    signature_ = std::move(signature);
    status = Apply(*machine);
    machine_ = *std::move(machine);
  }
  misfit_ = std::string(status.message());
  return status;
}

absl::Status Tracker::Apply(const Machine& machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ZoneTree tree, ZoneTree::Build(MakeZones(machine)));
  PLIMSOLL_ASSIGN_OR_RETURN(Partition partition, MakePartition(config_, tree));
  const bool changed = partition.cpus != partition_.cpus ||
                       partition.memory_nodes != partition_.memory_nodes ||
                       partition.is_whole != partition_.is_whole;
  publisher_->Publish(partition.shown);
  partition_ = std::move(partition);
  if (on_partition_) on_partition_({partition_, changed});
  return absl::OkStatus();
}

bool Tracker::Stopping() const {
  pollfd stop = {.fd = stop_.get(), .events = POLLIN, .revents = 0};
  return poll(&stop, 1, 0) > 0;
}

bool Tracker::AwaitEvent(absl::Time until) {
  while (true) {
    pollfd fds[] = {{.fd = events_.fd(), .events = POLLIN, .revents = 0},
                    {.fd = stop_.get(), .events = POLLIN, .revents = 0},
                    {.fd = swaps_.get(), .events = POLLPRI, .revents = 0}};
    const absl::Duration left = std::max(until - absl::Now(), absl::ZeroDuration());
    const auto timeout =
        static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))));
    if (poll(fds, 3, timeout) <= 0 || fds[1].revents != 0) return false;
    linux::UeventNews news;
    if (fds[0].revents != 0) events_.Read(&news).IgnoreError();  // what was lost, the look finds
    if (!news.events.empty() || news.overrun || (fds[2].revents & POLLPRI) != 0) return true;
    // Of another kind of device: none of ours.
    if (absl::Now() >= until) return false;
  }
}

void Tracker::Run() {
  while (!Stopping()) {
    if (AwaitEvent(absl::Now() + options_.poll_interval)) {
      const absl::Time end = absl::Now() + options_.at_most;
      for (absl::Time until = absl::Now() + options_.quiet;
           absl::Now() < end && AwaitEvent(until);) {
        until = absl::Now() + options_.quiet;
      }
    }
    if (Stopping()) return;
    absl::MutexLock lock(&mutex_);
    // An error is kept for Troubles; the next change is another chance.
    Look(false).IgnoreError();
  }
}

}  // namespace plimsoll::topology
