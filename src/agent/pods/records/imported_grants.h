// Grants of pods under a kubelet (plimsoll-agent import-kubelet-state), until they come to the
// agent.
#ifndef PLIMSOLL_AGENT_PODS_RECORDS_IMPORTED_GRANTS_H_
#define PLIMSOLL_AGENT_PODS_RECORDS_IMPORTED_GRANTS_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/managers/pod_grant.h"
#include "agent/pods/records/pod_key.h"
#include "sqlite/database.h"

namespace plimsoll::agent {

struct ImportedGrant {
  std::string uid;  // kubelet's
  PodKey key;
  PodGrant grant;
};

// metadata.uid of a v1 Pod as written, which a pod that came from kubelet may have; else empty.
std::string UidIn(const nlohmann::json& object);

// The table of them (`wishes` on the disk). Used by one thread at a time.
class ImportedGrants {
 public:
  // The statement that makes it.
  static const char kSchema[];

  // `database` has the table, and outlives this.
  static absl::StatusOr<ImportedGrants> Open(sqlite::Database& database);

  // In a transaction of the caller's: these take the place of all.
  absl::Status Replace(const std::vector<ImportedGrant>& grants);
  absl::StatusOr<std::vector<ImportedGrant>> All();
  // That of a pod of this uid, else of one of this name; one that can't be read is none.
  absl::StatusOr<std::optional<PodGrant>> For(const std::string& uid, const PodKey& key);
  // In a transaction of the caller's: the pod is there now. Costs nothing where none is
  // left.
  absl::Status Use(const std::string& uid, const PodKey& key);

 private:
  ImportedGrants(bool has_any, sqlite::Statement clear, sqlite::Statement put,
                 sqlite::Statement load, sqlite::Statement find, sqlite::Statement use)
      : has_any_(has_any),
        clear_(std::move(clear)),
        put_(std::move(put)),
        load_(std::move(load)),
        find_(std::move(find)),
        use_(std::move(use)) {}

  bool has_any_;  // false: the table is empty
  sqlite::Statement clear_, put_, load_, find_, use_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RECORDS_IMPORTED_GRANTS_H_
