#include "runtime/writable_usage.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"

namespace plimsoll::runtime {
namespace {

// <state>/containers/<id>/upper (runtime/oci/crun_runtime.h)
constexpr char kContainers[] = "containers";

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
  auto layers = Walk();
  absl::MutexLock lock(&mutex_);
  is_walking_ = false;
  if (layers.ok()) last_ = *layers;
  return layers;
}

absl::StatusOr<std::shared_ptr<const WritableLayers>> WritableUsage::Walk() const {
  const absl::Time now = absl::Now();
  auto layers = std::make_shared<WritableLayers>();
  layers->directory = state_.PathOf(kContainers);
  layers->measured = now;
  layers->unix_nanos = absl::ToUnixNanos(now);
  absl::StatusOr<std::vector<std::string>> ids = state_.List(kContainers);
  if (absl::IsNotFound(ids.status())) ids.emplace();  // there has been none
  PLIMSOLL_RETURN_IF_ERROR(ids.status());
  for (const std::string& id : *ids) {
    const absl::StatusOr<FsRoot> upper = state_.Sub(absl::StrCat(kContainers, "/", id, "/upper"));
    if (absl::IsNotFound(upper.status())) continue;  // gone, or not made yet
    PLIMSOLL_RETURN_IF_ERROR(upper.status());
    PLIMSOLL_ASSIGN_OR_RETURN(const DiskUsage usage, measure_(*upper));
    layers->total.bytes += usage.bytes;
    layers->total.inodes += usage.inodes;
    layers->by_container[id] = usage;
  }
  return layers;
}

}  // namespace plimsoll::runtime
