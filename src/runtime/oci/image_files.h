// An image's files of users and groups, read once per image.
#ifndef PLIMSOLL_RUNTIME_OCI_IMAGE_FILES_H_
#define PLIMSOLL_RUNTIME_OCI_IMAGE_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::runtime {

struct UserFiles {
  std::string passwd;  // empty where the image has none
  std::string group;
};

// Thread-safe. Layers never change, so a stack of them is read once.
class ImageFiles {
 public:
  absl::StatusOr<std::shared_ptr<const UserFiles>> Read(
      const std::vector<std::string>& lower_directories);

 private:
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<const UserFiles>> files_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OCI_IMAGE_FILES_H_
