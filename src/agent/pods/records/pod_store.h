// The agent's pods in a database, to be found again after a crash or a power cut.
#ifndef PLIMSOLL_AGENT_PODS_RECORDS_POD_STORE_H_
#define PLIMSOLL_AGENT_PODS_RECORDS_POD_STORE_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/pods/records/imported_grants.h"
#include "agent/pods/records/pod_record.h"
#include "agent/pods/records/unreadable_pod.h"
#include "base/fs_root.h"
#include "sqlite/database.h"
#include "sqlite/reserve_keeper.h"

namespace plimsoll::agent {

// Thread-safe. A change is on the disk when its call returns (SQLite's synchronous=FULL). A reserve
// of disk space beside the database lets pods end on a full disk, which makes room.
class PodStore {
 public:
  static constexpr char kFileName[] = "agent.db";

  // Opens or makes the database in the directory. FAILED_PRECONDITION: a newer agent made it, and
  // nothing was touched. Else errors of sqlite::Database.
  static absl::StatusOr<std::unique_ptr<PodStore>> Open(const FsRoot& directory);

  struct Loaded {
    std::vector<PodRecord> pods;  // oldest first
    std::vector<UnreadablePod> unreadable;
  };
  absl::StatusOr<Loaded> Load();
  absl::StatusOr<std::set<std::string>> Uids();
  // Inserts pods, or changes those whose uid is there; all or none. Uid, key, file and creation of
  // a pod stay. Imported grants of these pods are used up. FAILED_PRECONDITION: another pod has the
  // key. RESOURCE_EXHAUSTED: the disk is full, and not all of the pods are ending (being deleted,
  // or with a verdict and there already), or the reserve is used up too.
  absl::Status Put(const std::vector<PodRecord>& pods);
  // OK without such a row.
  absl::Status Remove(const std::string& uid);

  // The pod's grant under a kubelet, for its admission (see ImportedGrants::For). Put uses it up.
  absl::StatusOr<std::optional<PodGrant>> ImportedGrantFor(const std::string& uid,
                                                           const PodKey& key);
  // These take the place of all.
  absl::Status PutImportedGrants(const std::vector<ImportedGrant>& grants);
  absl::StatusOr<std::vector<ImportedGrant>> AllImportedGrants();

 private:
  PodStore(sqlite::DiskReserve reserve, std::unique_ptr<sqlite::Database> database,
           sqlite::Statement load, sqlite::Statement put, sqlite::Statement remove,
           sqlite::Statement has, ImportedGrants imported)
      : reserve_(std::move(reserve)),
        database_(std::move(database)),
        load_(std::move(load)),
        put_(std::move(put)),
        remove_(std::move(remove)),
        has_(std::move(has)),
        imported_(std::move(imported)) {}
  // The pod's new row ends it, which makes room. False for a new pod that was refused as it came.
  bool Ends(const PodRecord& pod) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PutAll(const std::vector<PodRecord>& pods) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  sqlite::ReserveKeeper reserve_;
  absl::Mutex mutex_;
  const std::unique_ptr<sqlite::Database> database_ ABSL_PT_GUARDED_BY(mutex_);
  sqlite::Statement load_ ABSL_GUARDED_BY(mutex_);
  sqlite::Statement put_ ABSL_GUARDED_BY(mutex_);
  sqlite::Statement remove_ ABSL_GUARDED_BY(mutex_);
  sqlite::Statement has_ ABSL_GUARDED_BY(mutex_);
  ImportedGrants imported_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RECORDS_POD_STORE_H_
