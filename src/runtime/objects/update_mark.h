// Marks of updates and removals under way, for a daemon that starts after a kill.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_UPDATE_MARK_H_
#define PLIMSOLL_RUNTIME_OBJECTS_UPDATE_MARK_H_

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

// The id of the mark that keeps a pod's memory limit to put back: the pod's own mark has other
// content.
inline std::string RoomMarkIdOf(absl::string_view sandbox_id) {
  return absl::StrCat(sandbox_id, ".room");
}

// The id of the mark that says which classes of a container are changed by its update.
inline std::string ClassesMarkIdOf(absl::string_view container_id) {
  return absl::StrCat(container_id, ".classes");
}

// The id of the mark that keeps what an update of a container changes, as it was before. For
// containers whose runtime handler sizes a machine by them.
inline std::string BeforeMarkIdOf(absl::string_view container_id) {
  return absl::StrCat(container_id, ".before");
}

// The id of the mark of a removal that a full disk kept out of the row.
inline std::string RemovalMarkIdOf(absl::string_view id) {
  return absl::StrCat(id, ".removal");
}

// A file that exists from Set to the object's end: meanwhile the kernel may have any part of the
// update's row. A pod's mark holds the settings to write, since its row also has members for
// information alone. A container's mark and a pod's second one (RoomMarkIdOf) hold the limit to put
// back while memory is reclaimed (runtime/updates/memory_shrink.h); if that fails, the mark stays
// for the next update or start.
class UpdateMark {
 public:
  UpdateMark(FsRoot run, const std::string& id) : run_(std::move(run)), path_(UpdateMarkOf(id)) {}
  // A kept mark is removed by the next update or start that puts the limit back, or with its
  // container or pod. A start also writes the row's values once more.
  ~UpdateMark() {
    if (!stays_) run_.RemoveFile(path_).IgnoreError();
  }
  UpdateMark(const UpdateMark&) = delete;
  UpdateMark& operator=(const UpdateMark&) = delete;

  absl::Status Set(absl::string_view content = "") const {
    return run_.ReplaceFile(path_, content, 0600);
  }
  // Makes the file outlive the object: its content is still to be written.
  void Keep() { stays_ = true; }

 private:
  const FsRoot run_;
  const std::string path_;
  bool stays_ = false;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_UPDATE_MARK_H_
