#include "topology/tracker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "topology/machine/discover.h"
#include "topology/make_zones.h"
#include "topology/normalise.h"
#include "topology/partition_left.h"
#include "topology/validate.h"
#include "topology/zones/zone_tree.h"

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
  std::unique_ptr<Tracker> tracker(
      new Tracker(std::move(options), publisher, std::move(on_partition)));
  absl::MutexLock lock(&tracker->look_mutex_);
  tracker->report_.SetDeaf(tracker->watch_.Listen());
  tracker->Look().IgnoreError();  // kept for Misfits
  tracker->Watch();
  tracker->TellOutcome();
  tracker->TellTroubles();
  return tracker;
}

Tracker::Tracker(TrackerOptions options, Publisher* publisher,
                 std::function<void(const TrackerNews&)> on_partition)
    : options_(std::move(options)),
      publisher_(publisher),
      on_partition_(std::move(on_partition)),
      config_(options_.partition),
      machine_(options_.host, options_.hwloc_program),
      source_(options_.source),
      watch_({.host = options_.host,
              .quiet = options_.quiet,
              .at_most = options_.at_most,
              .module_at_most = options_.module_at_most,
              .poll_interval = options_.poll_interval,
              .source = options_.source,
              .events = options_.events}) {}

void Tracker::Watch() {
  if (watch_.is_watching()) return;
  const absl::Status started = watch_.Start(NextLook(), [this] { return LookAndRest(); });
  if (!started.ok()) report_.SetDeaf(started);
}

absl::Status Tracker::Reload(PartitionConfig partition) {
  absl::MutexLock lock(&look_mutex_);
  if (!watch_.is_watching()) {
    report_.SetDeaf(watch_.Listen());
    Watch();
  }
  PLIMSOLL_RETURN_IF_ERROR(ReadMachine());
  std::swap(config_, partition);
  if (source_.HasNothing()) {
    last_.is_stale = true;  // the source may have something that is known
    MakeDo();
    return absl::OkStatus();
  }
  const absl::Status status = Apply();
  if (status.ok()) {
    report_.SetMisfit(status);
    // The source's last topology may have CPUs that are gone.
    if (!source_.status().ok()) TellWhatIsLeft();
    return status;
  }
  config_ = std::move(partition);
  const absl::Status before = Apply();  // the machine may have changed since the last look
  report_.SetMisfit(before);
  if (!before.ok()) MakeDo();
  return status;
}

// A blind look has not asked the source.
void Tracker::TellOutcome() {
  if (last_.blind_looks == 0) source_.TellOutcome(report_.Outcome(IsTold()));
}

void Tracker::TellTroubles() {
  std::vector<std::string> troubles = Troubles();
  for (const std::string& each : troubles) {
    const bool known =
        std::find(last_.troubles.begin(), last_.troubles.end(), each) != last_.troubles.end();
    if (!known && options_.on_trouble) options_.on_trouble(each);
  }
  last_.troubles = std::move(troubles);
}

absl::Time Tracker::LookAndRest() {
  absl::MutexLock lock(&look_mutex_);
  last_.cpus_moved |= watch_.TakeCpuEvents();
  const int64_t sent_before = last_.news_sent;
  // An error is kept for Troubles.
  Look().IgnoreError();
  if (last_.blind_looks == 0) {
    // Groups may have lost a CPU that has returned since.
    const bool is_told = last_.news_sent > sent_before;
    if (last_.cpus_moved && !is_told && sent_before > 0) TellNews(last_.news);
    last_.cpus_moved = false;
  }
  TellOutcome();
  TellTroubles();
  return NextLook();
}

absl::Time Tracker::NextLook() const {
  const absl::Duration rest = options_.poll_interval;
  if (last_.blind_looks > 0) {
    // A blind look doesn't ask the source, so its time may be long over.
    return absl::Now() + std::min(rest, kFirstRest * (1 << std::min(last_.blind_looks - 1, 16)));
  }
  return std::min(absl::Now() + rest, source_.again());
}

absl::Status Tracker::Look() {
  PLIMSOLL_RETURN_IF_ERROR(ReadMachine());
  absl::Status status = ReadSource();
  if (status.ok() && last_.is_stale) {
    status = Apply();
    report_.SetMisfit(status);
  }
  if (status.ok()) return status;
  // The topology kept from an earlier daemon is not in force: the kernel's is better.
  if (in_force() != InForce::kAll && source_.ForgetKept()) {
    last_.is_stale = true;
    return Look();
  }
  MakeDo();
  return status;
}

absl::Status Tracker::ReadSource() {
  FollowedSource::Look look = source_.LookAt(*machine_);
  report_.SetSource(look.status, std::move(look.trouble));
  if (look.changed) last_.is_stale = true;
  return look.status;
}

absl::Status Tracker::ReadMachine() {
  const absl::StatusOr<bool> changed = machine_.Read();
  report_.SetBlind(changed.status());
  last_.blind_looks = changed.ok() ? 0 : last_.blind_looks + 1;
  if (changed.value_or(false)) {
    last_.is_stale = true;
    report_.SetMissing(machine_->missing);
  }
  return changed.status();
}

absl::Status Tracker::Apply() {
  // A partition that doesn't fit is tried again only after a change.
  last_.is_stale = false;
  PLIMSOLL_ASSIGN_OR_RETURN(const ZoneTree tree, Tree());
  PLIMSOLL_ASSIGN_OR_RETURN(Partition partition, MakePartition(config_, tree));
  if (source_.told()) partition = FitToMachine(std::move(partition), tree, *machine_);
  Take(std::move(partition), InForce::kAll, /*is_told=*/true);
  return absl::OkStatus();
}

absl::StatusOr<ZoneTree> Tracker::Tree() const {
  const bool theirs = source_.told().has_value() && options_.ids_of_source;
  PLIMSOLL_ASSIGN_OR_RETURN(Topology topology,
                            Normalise(source_.told() ? *source_.told() : MakeZones(*machine_),
                                      theirs ? nullptr : &machine_->attributes));
  return ZoneTree::Build(std::move(topology));
}

void Tracker::Take(Partition partition, InForce in_force, bool is_told) {
  report_.SetInForce(partition, in_force);
  if (is_told) {
    const absl::StatusOr<MachineMaps> maps = ReadMaps(partition.shown);
    report_.SetUnfit(maps.ok() ? CheckAmounts(*maps) : maps.status());
    publisher_->Publish(partition.shown);
  }
  TellNews(std::move(partition));
}

void Tracker::MakeDo() {
  // A tree that no longer fits the machine isn't cut again: some of its CPUs are gone.
  const bool is_old = source_.told().has_value() && !source_.status().ok();
  if (in_force() == InForce::kAll || is_old) return TellWhatIsLeft();
  const absl::StatusOr<ZoneTree> tree = Tree();
  if (!tree.ok()) return TellWhatIsLeft();
  absl::StatusOr<Partition> left = MakePartitionOfWhatIsLeft(config_, *tree);
  if (!left.ok()) return TellWhatIsLeft();
  if (source_.told()) left = FitToMachine(*std::move(left), *tree, *machine_);
  const bool is_known =
      source_.HasNothing() && in_force() == InForce::kPart && IsSame(*left, last_.news);
  if (is_known) return;  // a failing source is looked at again and again
  Take(*std::move(left), InForce::kPart, /*is_told=*/!source_.HasNothing());
}

void Tracker::TellNews(Partition partition) {
  const bool changed = !IsSame(partition, last_.news);
  last_.news = std::move(partition);
  ++last_.news_sent;
  const bool is_stand_in = source_.is_configured() && !source_.told();
  if (on_partition_) {
    on_partition_({.partition = last_.news, .changed = changed, .is_stand_in = is_stand_in});
  }
}

void Tracker::TellWhatIsLeft() {
  CpuSet nodes;
  for (const NumaNode& node : machine_->nodes) nodes.Add(node.id);
  Partition left = partition();
  left.cpus = left.cpus.Intersection(machine_->cpus);
  left.memory_nodes = left.memory_nodes.Intersection(nodes);
  if (!left.cpus.Empty() && !IsSame(left, last_.news)) TellNews(std::move(left));
}

}  // namespace plimsoll::topology
