// The records of attachments on disk, one file each, and another for its result: what undoes them
// after a kill, and after a reboot.
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
  // `directory` is the records' alone.
  explicit RecordStore(FsRoot directory) : directory_(std::move(directory)) {}

  // By id, with results. A record that can't be read is there as its error. Removes what a kill in
  // the midst of writing or removing has left.
  absl::StatusOr<std::map<std::string, absl::StatusOr<Record>>> Load();
  // Without its result. On disk when it returns: a record outlives what plugins do for it.
  absl::Status Put(const Record& record);
  // Of a record that is there. It outlives this process, but perhaps not a power cut, after which
  // it is as none: then a DEL does without it.
  absl::Status PutResult(const std::string& id, const Result& result);
  absl::Status Remove(const std::string& id);

  // What UpdateRuntimeConfig said last; empty: nothing.
  absl::StatusOr<std::string> LoadPodCidr();
  absl::Status PutPodCidr(const std::string& cidr);

 private:
  const FsRoot directory_;
};

// The ids of the attachments that are on record below a daemon's state directory, which is only
// looked at; none where there is no such directory.
absl::StatusOr<std::vector<std::string>> ListRecords(const FsRoot& state);

// Of the records, in the state directory.
inline constexpr char kRecordDirectory[] = "network";

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_RECORD_STORE_H_
