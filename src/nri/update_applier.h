// Makes the changes to containers that plugins ask for.
#ifndef PLIMSOLL_NRI_UPDATE_APPLIER_H_
#define PLIMSOLL_NRI_UPDATE_APPLIER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/worker_pool.h"
#include "nri/adjust/adjust.h"
#include "nri/parts.h"

namespace plimsoll::nri {

// Takes no turn: callers that need one have it. Thread-safe.
class UpdateApplier {
 public:
  explicit UpdateApplier(Parts* parts);
  // Waits for evictions under way, and makes no more. To be called once.
  void Stop();

  // Updates a container. One in the making gets the update once it is visible. Errors name the
  // plugin and the container.
  absl::Status Apply(const AskedUpdate& asked);
  // Makes all updates. The first error of an update that may not fail; others are told. An update
  // of a container that has ended, or is unknown, may fail.
  absl::Status ApplyAll(const std::vector<AskedUpdate>& asked);
  // ApplyAll for answers that can't fail anything any more.
  void ApplyOrTell(const std::vector<AskedUpdate>& asked);
  // Reports updates that can't be made.
  void TellIgnored(const std::vector<IgnoredUpdate>& ignored);
  // The updates that were kept for a container in the making.
  void ApplyKept(const std::string& id) { ApplyOrTell(parts_->makings.TakeKept(id)); }

  // Stops containers, in other threads. A failure is reported.
  void Evict(const std::vector<AskedEviction>& evictions);

 private:
  bool HasEnded(const std::string& id) const;
  void Evict(const AskedEviction& eviction);
  void TellFailure(const std::string& plugin, const absl::Status& status);
  void Count(const std::string& plugin, void (PluginCounts::*count)());

  Parts* const parts_;
  absl::Mutex mutex_;
  std::unique_ptr<WorkerPool> pool_ ABSL_GUARDED_BY(mutex_);  // null: stopped
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_UPDATE_APPLIER_H_
