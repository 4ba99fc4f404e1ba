// Prepared claims in a database, to be found again after a crash or a power cut.
#ifndef PLIMSOLL_KUBE_DRIVER_CLAIM_STORE_H_
#define PLIMSOLL_KUBE_DRIVER_CLAIM_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "kube/driver/claim_allocation.h"
#include "qos/class_devices.h"
#include "sqlite/database.h"
#include "sqlite/reserve_keeper.h"

namespace plimsoll::kube {

struct PreparedDevice {
  AllocatedDevice allocated;
  qos::ClassId id;
  bool operator==(const PreparedDevice&) const = default;
};

struct PreparedClaim {
  ClaimRef claim;
  std::vector<PreparedDevice> devices;
  // The pod to which plimsolld was told the claim's pod-level classes, or was about to be told.
  // Empty: the claim has none.
  std::string pod_uid;
  bool operator==(const PreparedClaim&) const = default;
};

// Thread-safe. A change is on the disk when its call returns (SQLite's synchronous=FULL). A reserve
// of disk space beside the database lets claims be forgotten on a full disk.
class ClaimStore {
 public:
  static constexpr char kFileName[] = "claims.db";

  // Opens or makes the database in the directory, a file of mode 0600. FAILED_PRECONDITION: a newer
  // plimsoll-kube made it, or it is no regular file, and nothing was touched. DATA_LOSS: it has no
  // table. Else errors of sqlite::Database.
  static absl::StatusOr<std::unique_ptr<ClaimStore>> Open(const FsRoot& directory);
  // Moves a damaged database to "claims.db.damaged", in place of an earlier one there, for Open to
  // make a new one.
  static absl::Status SetAside(const FsRoot& directory);

  // A claim whose row is damaged has no devices.
  absl::StatusOr<std::optional<PreparedClaim>> Find(const std::string& uid);
  absl::Status Put(const PreparedClaim& claim);
  // OK without such a row.
  absl::Status Remove(const std::string& uid);
  absl::StatusOr<int64_t> Count();
  // The claims with a pod, sorted by uid.
  absl::StatusOr<std::vector<PreparedClaim>> ListOfPods();

 private:
  ClaimStore(sqlite::DiskReserve reserve, std::unique_ptr<sqlite::Database> database,
             sqlite::Statement find, sqlite::Statement put, sqlite::Statement remove)
      : reserve_(std::move(reserve)),
        database_(std::move(database)),
        find_(std::move(find)),
        put_(std::move(put)),
        remove_(std::move(remove)) {}

  sqlite::ReserveKeeper reserve_;
  absl::Mutex mutex_;
  const std::unique_ptr<sqlite::Database> database_ ABSL_PT_GUARDED_BY(mutex_);
  sqlite::Statement find_ ABSL_GUARDED_BY(mutex_);
  sqlite::Statement put_ ABSL_GUARDED_BY(mutex_);
  sqlite::Statement remove_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_CLAIM_STORE_H_
