#include "runtime/writable_usage.h"

#include <sys/stat.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

// <state>/containers/<id>/upper (runtime/oci/crun_runtime.h)
constexpr char kContainers[] = "containers";
constexpr char kImages[] = "images";

// The directory by which clients know the layers' file system: the images', unless that is another
// one. kubelet takes two names for two file systems (KEP-4191) and then evicts by each.
std::string NameOfFileSystem(const FsRoot& state) {
  struct stat containers = {};
  const absl::StatusOr<struct stat> found = state.Stat(kContainers);
  // Without containers so far their directory will be made in `state` itself.
  const bool is_known = found.ok() || fstat(state.fd(), &containers) == 0;
  if (found.ok()) containers = *found;
  const absl::StatusOr<struct stat> images = state.Stat(kImages);
  const bool is_one = is_known && images.ok() && images->st_dev == containers.st_dev;
  return state.PathOf(is_one ? kImages : kContainers);
}

// The disk's rest after a walk, in times of that walk's duration.
constexpr int kRest = 10;

}  // namespace

absl::StatusOr<std::shared_ptr<const WritableLayers>> WritableUsage::Read(absl::Duration max_age) {
  const absl::Time oldest = absl::Now() - max_age;
  {
    absl::MutexLock lock(&mutex_);
    while (true) {
      if (last_ != nullptr && last_->measured >= oldest) return last_;
      if (!is_walking_) break;
      const auto is_over = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !is_walking_; };
      mutex_.Await(absl::Condition(&is_over));
    }
    is_walking_ = true;
  }
  const auto began = std::chrono::steady_clock::now();
  auto layers = Walk();
  const auto ended = std::chrono::steady_clock::now();
  absl::MutexLock lock(&mutex_);
  is_walking_ = false;
  rests_until_ = ended + kRest * (ended - began);
  failed_ = layers.status();
  if (layers.ok()) last_ = *layers;
  return layers;
}

absl::StatusOr<std::shared_ptr<const WritableLayers>> WritableUsage::ReadLast(
    absl::Duration max_age) {
  {
    absl::MutexLock lock(&mutex_);
    if (last_ == nullptr && !failed_.ok() && Rests()) return failed_;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(auto last, Read(absl::InfiniteDuration()));
  if (last->measured < absl::Now() - max_age) WalkAside(max_age);
  return last;
}

void WritableUsage::WalkAside(absl::Duration max_age) {
  {
    absl::MutexLock lock(&mutex_);
    if (is_walking_ || walks_aside_ || Rests()) return;
    walks_aside_ = true;
  }
  const auto walk = [this, max_age] {
    // A caller of Read gets the error of a failing walk.
    if (!called_off_.stop_requested()) Read(max_age).IgnoreError();
    absl::MutexLock lock(&mutex_);
    walks_aside_ = false;
  };
  if (aside_.TrySchedule(walk)) return;
  absl::MutexLock lock(&mutex_);
  walks_aside_ = false;
}

absl::StatusOr<std::shared_ptr<const WritableLayers>> WritableUsage::Walk() const {
  const absl::Time now = absl::Now();
  auto layers = std::make_shared<WritableLayers>();
  layers->directory = NameOfFileSystem(state_);
  layers->measured = now;
  layers->unix_nanos = absl::ToUnixNanos(now);
  absl::StatusOr<std::vector<std::string>> ids = state_.List(kContainers);
  if (absl::IsNotFound(ids.status())) ids.emplace();  // there has been none
  PLIMSOLL_RETURN_IF_ERROR(ids.status());
  for (const std::string& id : *ids) {
    if (called_off_.stop_requested()) return absl::CancelledError("the daemon is ending");
    const absl::StatusOr<FsRoot> upper = state_.Sub(absl::StrCat(kContainers, "/", id, "/upper"));
    if (absl::IsNotFound(upper.status())) continue;  // gone, or not made yet
    PLIMSOLL_RETURN_IF_ERROR(upper.status());
    PLIMSOLL_ASSIGN_OR_RETURN(const DiskUsage usage, measure_(*upper, called_off_.get_token()));
    layers->total.bytes += usage.bytes;
    layers->total.inodes += usage.inodes;
    layers->by_container[id] = usage;
  }
  return layers;
}

}  // namespace plimsoll::runtime
