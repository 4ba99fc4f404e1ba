// The durable table of the classes that claims give to pods as a whole.
#ifndef PLIMSOLL_CLUSTER_SOCKET_CLAIM_TABLE_H_
#define PLIMSOLL_CLUSTER_SOCKET_CLAIM_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "qos/classes.h"
#include "sqlite/database.h"
#include "sqlite/reserve_keeper.h"

namespace plimsoll::cluster {

// The pod-level classes that a ResourceClaim grants to one pod.
struct Claim {
  std::string claim_uid;
  std::string pod_uid;
  qos::ClassNames classes;
  int64_t told_unix_seconds = 0;
  bool operator==(const Claim&) const = default;
};

// The whole content of the table.
struct StoredClaims {
  std::map<std::string, Claim> by_uid;  // of the claim
  bool scheduled = false;               // the cluster's scheduler gives out classes
};

// cluster.db in the state directory: a database of its own, so that an older plimsolld can still
// open the pods' one. Each write survives a power cut (synchronous=FULL): a class that is lost
// would start a pod without it. On a full disk a reserve beside the file lets claims end, and the
// scheduler's word through. Not thread-safe.
class ClaimTable {
 public:
  // The file's name.
  static constexpr char kFileName[] = "cluster.db";
  static constexpr char kReserveName[] = "cluster.reserve";

  // Reads the file. No file is an empty table; the first Put makes one. DATA_LOSS: it is damaged;
  // FAILED_PRECONDITION: a newer plimsolld wrote it, or it is no regular file. All name the file
  // and the remedy. Never NOT_FOUND: a link that leads nowhere is no missing file.
  static absl::StatusOr<std::unique_ptr<ClaimTable>> Open(const FsRoot& directory,
                                                          StoredClaims* content);

  // Inserts or replaces. RESOURCE_EXHAUSTED when the disk is full; then nothing has changed.
  absl::Status Put(const Claim& claim);
  // OK when there is none.
  absl::Status Remove(const std::string& claim_uid);
  absl::Status SetScheduled(bool scheduled);

 private:
  explicit ClaimTable(const FsRoot& directory) : directory_(directory) {}
  absl::StatusOr<bool> IsThere() const;
  absl::Status OpenFile();
  absl::Status OpenWithReserve();
  absl::Status Load(StoredClaims* content);
  // Opens the file if it isn't open yet; `make`: makes it if there is none.
  absl::StatusOr<bool> Have(bool make);

  const FsRoot directory_;
  // Null: there is no file yet.
  std::unique_ptr<sqlite::Database> database_;
  std::unique_ptr<sqlite::ReserveKeeper> reserve_;
};

}  // namespace plimsoll::cluster

#endif  // PLIMSOLL_CLUSTER_SOCKET_CLAIM_TABLE_H_
