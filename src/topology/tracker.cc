#include "topology/tracker.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "topology/discover.h"
#include "topology/make_zones.h"
#include "topology/normalise.h"
#include "topology/partition_left.h"
#include "topology/zone_tree.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

// The rest after a failed look; doubled each time, up to the usual interval.
constexpr absl::Duration kFirstRest = absl::Milliseconds(100);

bool IsSame(const Partition& a, const Partition& b) {
  return a.cpus == b.cpus && a.memory_nodes == b.memory_nodes && a.is_whole == b.is_whole;
}

}  // namespace

std::unique_ptr<Tracker> Tracker::Start(TrackerOptions options, Publisher* publisher,
                                        std::function<void(const TrackerNews&)> on_partition) {
  // A kernel without swap has no such file.
  auto swaps = options.host.OpenFile("proc/swaps", O_RDONLY);
  std::unique_ptr<Tracker> tracker(new Tracker(std::move(options), publisher,
                                               std::move(on_partition),
                                               swaps.ok() ? *std::move(swaps) : UniqueFd()));
  absl::MutexLock lock(&tracker->look_mutex_);
  tracker->OpenEvents();          // before the first look, so that nothing is missed in between
  tracker->Look().IgnoreError();  // kept for Misfits
  tracker->Watch();
  tracker->TellTroubles();
  return tracker;
}

Tracker::Tracker(TrackerOptions options, Publisher* publisher,
                 std::function<void(const TrackerNews&)> on_partition, UniqueFd swaps)
    : options_(std::move(options)),
      publisher_(publisher),
      on_partition_(std::move(on_partition)),
      swaps_(std::move(swaps)),
      config_(options_.partition) {
  if (options_.source != nullptr) source_status_ = absl::UnavailableError("not looked at yet");
}

void Tracker::OpenEvents() {
  Note(&Tracker::deaf_, absl::OkStatus());
  events_ = options_.events;
  if (events_ != nullptr) return;
  auto events = linux::UeventSocket::Open({.subsystems = {"cpu", "memory", "node"}});
  if (events.ok()) {
    events_ = std::make_shared<linux::UeventSocket>(*std::move(events));
    return;
  }
  Note(&Tracker::deaf_,
       Annotate(events.status(),
                absl::StrCat("the kernel's events can't be heard: CPUs and memory that come and go "
                             "are seen when they are looked at, every ",
                             absl::FormatDuration(options_.poll_interval))));
}

void Tracker::Watch() {
  if (watch_ != nullptr) return;
  auto watch = StartWatch();
  if (watch.ok()) {
    watch_ = *std::move(watch);
    return;
  }
  Note(&Tracker::deaf_, Annotate(watch.status(),
                                 "the machine can't be watched: changes of it are not seen until "
                                 "the configuration is loaded again"));
}

absl::StatusOr<std::unique_ptr<linux::QuietWatch>> Tracker::StartWatch() {
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
  return linux::QuietWatch::Start(
      {.quiet = options_.quiet,
       .at_most = options_.at_most,
       .first = NextLook(),
       .more_to_come = [this] { return memory_blocks_.AreMoving(options_.host); },
       .wait_at_most = options_.module_at_most},
      std::move(watched), [this] { return LookAndRest(); });
}

bool Tracker::ReadEvents() {
  linux::UeventNews news;
  // The look finds whatever an error lost.
  const bool failed = !events_->Read(&news).ok();
  if (failed) absl::SleepFor(options_.quiet);
  for (const linux::Uevent& event : news.events) memory_blocks_.Heard(event);
  return failed || news.overrun || !news.events.empty();
}

absl::Status Tracker::Reload(PartitionConfig partition) {
  absl::MutexLock lock(&look_mutex_);
  if (watch_ == nullptr) {
    OpenEvents();
    Watch();
  }
  PLIMSOLL_RETURN_IF_ERROR(ReadMachine());
  std::swap(config_, partition);
  if (SourceHasNothing()) {
    is_stale_ = true;  // the source may have something known
    MakeDo();
    return absl::OkStatus();
  }
  const absl::Status status = Apply();
  if (status.ok()) {
    Note(&Tracker::misfit_, status);
    // The source's last topology may have CPUs that are gone.
    if (!source_status_.ok()) TellWhatIsLeft();
    return status;
  }
  config_ = std::move(partition);
  const absl::Status before = Apply();  // the machine may have changed since the last look
  Note(&Tracker::misfit_, before);
  if (!before.ok()) MakeDo();
  return status;
}

Partition Tracker::partition() const {
  absl::MutexLock lock(&mutex_);
  return partition_;
}

std::vector<std::string> Tracker::Misfits() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> misfits;
  for (const std::string* trouble : {&blind_, &source_error_, &misfit_}) {
    if (trouble->empty()) continue;
    misfits.push_back(absl::StrCat(*trouble, "; ", WhatHolds()));
  }
  return misfits;
}

std::string Tracker::WhatHolds() const {
  switch (in_force_) {
    case InForce::kAll:
      return "what was in force before stays";
    case InForce::kPart:
      return absl::StrCat(IsTold() ? "" : "nothing is told to clients yet; ",
                          "pods have what is left, CPUs ", partition_.cpus.ToString());
    case InForce::kNothing:
      break;
  }
  return "nothing is told to clients yet, and no pod is confined to its part of the node";
}

InForce Tracker::in_force() const {
  absl::MutexLock lock(&mutex_);
  return in_force_;
}

std::vector<std::string> Tracker::Troubles() const {
  std::vector<std::string> misfits = Misfits();
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> troubles = missing_;
  std::move(misfits.begin(), misfits.end(), std::back_inserter(troubles));
  for (const std::string* each : {&source_trouble_, &deaf_}) {
    if (!each->empty()) troubles.push_back(*each);
  }
  return troubles;
}

void Tracker::TellTroubles() {
  std::vector<std::string> troubles = Troubles();
  for (const std::string& each : troubles) {
    const bool known =
        std::find(told_troubles_.begin(), told_troubles_.end(), each) != told_troubles_.end();
    if (!known && options_.on_trouble) options_.on_trouble(each);
  }
  told_troubles_ = std::move(troubles);
}

void Tracker::Note(std::string Tracker::*trouble, const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  this->*trouble = std::string(status.message());
}

absl::Time Tracker::LookAndRest() {
  memory_blocks_.Forget();
  absl::MutexLock lock(&look_mutex_);
  // An error is kept for Troubles.
  Look().IgnoreError();
  TellTroubles();
  return NextLook();
}

absl::Time Tracker::NextLook() const {
  const absl::Duration rest = options_.poll_interval;
  if (blind_looks_ > 0) {
    // A blind look doesn't ask the source, so its time may be long over.
    return absl::Now() + std::min(rest, kFirstRest * (1 << std::min(blind_looks_ - 1, 16)));
  }
  return std::min(absl::Now() + rest, source_again_);
}

absl::Status Tracker::Look() {
  PLIMSOLL_RETURN_IF_ERROR(ReadMachine());
  absl::Status status = ReadSource();
  if (status.ok() && is_stale_) {
    status = Apply();
    Note(&Tracker::misfit_, status);
  }
  if (status.ok()) return status;
  // The topology kept from an earlier daemon is not in force: the kernel's is better.
  if (options_.source != nullptr && in_force() != InForce::kAll && options_.source->ForgetKept()) {
    is_stale_ = true;
    return Look();
  }
  MakeDo();
  return status;
}

absl::Status Tracker::ReadSource() {
  if (options_.source == nullptr) return absl::OkStatus();
  SourceView view = options_.source->Look(*machine_);
  source_again_ = view.again;
  source_status_ = view.status;
  {
    absl::MutexLock lock(&mutex_);
    source_error_ = std::string(view.status.message());
    source_trouble_ = std::move(view.trouble);
  }
  if (view.status.ok() && view.topology != told_) {
    told_ = std::move(view.topology);
    is_stale_ = true;
  }
  return view.status;
}

absl::Status Tracker::ReadMachine() {
  // Reads the signature first: the next look sees later changes.
  absl::StatusOr<MachineSignature> signature = Signature(options_.host);
  const bool changed = signature.ok() && (!machine_ || *signature != signature_);
  const absl::Status status = changed ? ReadAnew(*std::move(signature)) : signature.status();
  Note(&Tracker::blind_, status);
  blind_looks_ = status.ok() ? 0 : blind_looks_ + 1;
  return status;
}

absl::Status Tracker::ReadAnew(MachineSignature signature) {
  std::optional<Machine> processors = processors_;
  if (!processors || signature.processors != signature_.processors) {
    PLIMSOLL_ASSIGN_OR_RETURN(processors,
                              DiscoverProcessors(options_.host, options_.hwloc_program));
  }
  Machine machine = *processors;
  PLIMSOLL_RETURN_IF_ERROR(AddMemory(options_.host, machine));
  signature_ = std::move(signature);
  processors_ = std::move(processors);
  machine_ = std::move(machine);
  is_stale_ = true;
  absl::MutexLock lock(&mutex_);
  missing_ = machine_->missing;
  return absl::OkStatus();
}

absl::Status Tracker::Apply() {
  // A partition that doesn't fit is tried again only after a change.
  is_stale_ = false;
  PLIMSOLL_ASSIGN_OR_RETURN(const ZoneTree tree, Tree());
  PLIMSOLL_ASSIGN_OR_RETURN(Partition partition, MakePartition(config_, tree));
  if (told_) partition = FitToMachine(std::move(partition), tree, *machine_);
  Take(std::move(partition), InForce::kAll, /*is_told=*/true);
  return absl::OkStatus();
}

absl::StatusOr<ZoneTree> Tracker::Tree() const {
  const bool theirs = told_.has_value() && options_.ids_of_source;
  PLIMSOLL_ASSIGN_OR_RETURN(Topology topology, Normalise(told_ ? *told_ : MakeZones(*machine_),
                                                         theirs ? nullptr : &machine_->attributes));
  return ZoneTree::Build(std::move(topology));
}

void Tracker::Take(Partition partition, InForce in_force, bool is_told) {
  {
    absl::MutexLock lock(&mutex_);
    partition_ = partition;
    in_force_ = in_force;
  }
  if (is_told) publisher_->Publish(partition.shown);
  TellNews(std::move(partition));
}

void Tracker::MakeDo() {
  // A tree that no longer fits the machine isn't cut again: some of its CPUs are gone.
  const bool is_old = told_.has_value() && !source_status_.ok();
  if (in_force() == InForce::kAll || is_old) return TellWhatIsLeft();
  const absl::StatusOr<ZoneTree> tree = Tree();
  if (!tree.ok()) return TellWhatIsLeft();
  absl::StatusOr<Partition> left = MakePartitionOfWhatIsLeft(config_, *tree);
  if (!left.ok()) return TellWhatIsLeft();
  if (told_) left = FitToMachine(*std::move(left), *tree, *machine_);
  const bool is_known = SourceHasNothing() && in_force() == InForce::kPart && IsSame(*left, news_);
  if (is_known) return;  // a failing source is looked at again and again
  Take(*std::move(left), InForce::kPart, /*is_told=*/!SourceHasNothing());
}

void Tracker::TellNews(Partition partition) {
  const bool changed = !IsSame(partition, news_);
  news_ = std::move(partition);
  const bool is_stand_in = options_.source != nullptr && !told_;
  if (on_partition_) {
    on_partition_({.partition = news_, .changed = changed, .is_stand_in = is_stand_in});
  }
}

void Tracker::TellWhatIsLeft() {
  CpuSet nodes;
  for (const NumaNode& node : machine_->nodes) nodes.Add(node.id);
  Partition left = partition();
  left.cpus = left.cpus.Intersection(machine_->cpus);
  left.memory_nodes = left.memory_nodes.Intersection(nodes);
  if (!left.cpus.Empty() && !IsSame(left, news_)) TellNews(std::move(left));
}

}  // namespace plimsoll::topology
