// The database: one SQLite file (WAL) for all state that must survive the daemon.
//
// Sandboxes and containers are written with synchronous=NORMAL (a power cut ends them anyway),
// images with FULL. Every call is one transaction: done whole or not at all.
#ifndef PLIMSOLL_RUNTIME_STORE_STORE_H_
#define PLIMSOLL_RUNTIME_STORE_STORE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "image/catalog.h"
#include "qos/owned_objects.h"
#include "runtime/store/records.h"

namespace plimsoll::runtime {

// Thread-safe. Errors: RESOURCE_EXHAUSTED when the disk is full, DATA_LOSS when the file is
// damaged, FAILED_PRECONDITION when it is read-only.
class Store : public image::Catalog, public qos::OwnedObjects {
 public:
  // Opens or makes <directory>/plimsoll.db. An older schema is migrated in one transaction after a
  // copy has been put beside it (plimsoll.db.v<N>). A newer schema: FAILED_PRECONDITION, nothing is
  // touched.
  //
  // `sandboxes_there`: number of sandboxes in the run directory that were made in this boot, whose
  // pods may run. If there are any, DATA_LOSS where SQLite would go on with less than was recorded:
  // the file is empty or has no schema, or its log is damaged (log_check.h). A missing file means
  // that somebody wants to start with an empty one.
  static absl::StatusOr<std::unique_ptr<Store>> Open(const FsRoot& directory,
                                                     size_t sandboxes_there = 0);

  // Load returns every row. One damaged row must not hide the others: its record has the readable
  // columns, and Damaged lists it.
  virtual absl::StatusOr<std::vector<SandboxRecord>> LoadSandboxes() = 0;
  virtual absl::Status PutSandbox(const SandboxRecord& sandbox) = 0;  // inserts or replaces
  // FAILED_PRECONDITION while it still has containers.
  virtual absl::Status RemoveSandbox(const std::string& id) = 0;

  virtual absl::StatusOr<std::vector<ContainerRecord>> LoadContainers() = 0;
  virtual absl::Status PutContainer(const ContainerRecord& container) = 0;
  virtual absl::Status RemoveContainer(const std::string& id) = 0;

  // Sandboxes and containers whose rows were damaged at the last load.
  virtual std::vector<DamagedRow> Damaged() const { return {}; }
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_STORE_STORE_H_
