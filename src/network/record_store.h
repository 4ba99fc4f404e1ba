// The attachments' records on disk: one file each, and another for the result. They allow undoing
// an attachment after a kill, and after a reboot.
#ifndef PLIMSOLL_NETWORK_RECORD_STORE_H_
#define PLIMSOLL_NETWORK_RECORD_STORE_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "network/attachment.h"

namespace plimsoll::network {

// Different ids may be written at the same time.
class RecordStore {
 public:
  // Only records are in `directory`.
  explicit RecordStore(FsRoot directory) : directory_(std::move(directory)) {}

  // All records by id, with results; an unreadable one is its error. Removes the remains of writes
  // and removals that a kill cut short.
  absl::StatusOr<std::map<std::string, absl::StatusOr<Record>>> Load();
  // Writes the record without its result. It is on disk on return, so it outlives the plugins'
  // work.
  absl::Status Put(const Record& record);
  // Writes the result of an existing record. It outlives this process, but maybe not a power cut;
  // then DEL does without it.
  absl::Status PutResult(const std::string& id, const Result& result);
  absl::Status Remove(const std::string& id);

  // The last value of UpdateRuntimeConfig; empty: none.
  absl::StatusOr<std::string> LoadPodCidr();
  absl::Status PutPodCidr(const std::string& cidr);

 private:
  const FsRoot directory_;
};

// The ids of the attachments recorded below a daemon's state directory, which is only read; none
// without such a directory.
absl::StatusOr<std::vector<std::string>> ListRecords(const FsRoot& state);

// The records' place in the state directory.
inline constexpr char kRecordDirectory[] = "network";

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_RECORD_STORE_H_
