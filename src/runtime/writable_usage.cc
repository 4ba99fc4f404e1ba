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
  absl::MutexLock lock(&mutex_);
  const absl::Time now = absl::Now();
  if (last_ != nullptr && now - last_->measured <= max_age) return last_;
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
    PLIMSOLL_ASSIGN_OR_RETURN(const DiskUsage usage, MeasureTree(*upper));
    layers->total.bytes += usage.bytes;
    layers->total.inodes += usage.inodes;
    layers->by_container[id] = usage;
  }
  last_ = std::move(layers);
  return last_;
}

}  // namespace plimsoll::runtime
