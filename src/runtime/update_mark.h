// Which updates are under way, for a daemon that is started after a kill.
#ifndef PLIMSOLL_RUNTIME_UPDATE_MARK_H_
#define PLIMSOLL_RUNTIME_UPDATE_MARK_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::runtime {

inline constexpr char kUpdates[] = "updates";  // below the run directory; made by recovery

inline std::string UpdateMarkOf(absl::string_view id) {
  return absl::StrCat(kUpdates, "/", id);
}

// The id of the mark by which a pod's memory limit is put back: its own says other things.
inline std::string RoomMarkIdOf(absl::string_view sandbox_id) {
  return absl::StrCat(sandbox_id, ".room");
}

// The id of the mark that says which classes of a container are changed by its update.
inline std::string ClassesMarkIdOf(absl::string_view container_id) {
  return absl::StrCat(container_id, ".classes");
}

// A file that is there while the object lives: what of the update's row is in the kernel by then is
// not known. A pod's says what was to be written: its row also holds what is only for information.
// A container's says which limit is to be put back, if memory is being taken out (memory_shrink.h);
// where that could not be, it stays for the next update or start.
class UpdateMark {
 public:
  UpdateMark(FsRoot run, const std::string& id) : run_(std::move(run)), path_(UpdateMarkOf(id)) {}
  // One that stays goes with its container or pod; a start before writes once more what holds.
  ~UpdateMark() {
    if (!stays_) run_.RemoveFile(path_).IgnoreError();
  }
  UpdateMark(const UpdateMark&) = delete;
  UpdateMark& operator=(const UpdateMark&) = delete;

  absl::Status Set(absl::string_view content = "") const {
    return run_.ReplaceFile(path_, content, 0600);
  }
  // The file outlives the object: what it says is still to be done.
  void Keep() { stays_ = true; }

 private:
  const FsRoot run_;
  const std::string path_;
  bool stays_ = false;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_UPDATE_MARK_H_
