// Path resolution for one side of a copy: this machine's paths, or a container's.
#ifndef PLIMSOLL_COPY_PLACE_H_
#define PLIMSOLL_COPY_PLACE_H_

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"

namespace plimsoll::copy {

// Copies share the open root. Errors name a path as the user did: "web:/etc/hosts".
class Place {
 public:
  // Paths as this process sees them.
  static Place Host();
  // A container's paths: no link and no ".." leads out of `root` (openat2(2), RESOLVE_IN_ROOT),
  // even if names are swapped meanwhile. `label` comes before each path in messages: "web:".
  static Place Container(UniqueFd root, std::string label);

  // `flags` of open(2); O_CLOEXEC is added. Follows links.
  absl::StatusOr<UniqueFd> Open(const std::string& path, int flags) const;

  struct Spot {
    UniqueFd parent;                  // O_PATH
    std::string name;                 // in `parent`; "." for itself
    std::optional<struct stat> info;  // of the present file, not followed if it is a link
  };
  // The directory and name that `path` means. The name need not exist; its directory must, else
  // NOT_FOUND. `follow`: follows links there, repeatedly.
  absl::StatusOr<Spot> Find(const std::string& path, bool follow) const;

  std::string NameOf(absl::string_view path) const;

 private:
  Place(std::shared_ptr<const UniqueFd> root, std::string label)
      : root_(std::move(root)), label_(std::move(label)) {}

  std::shared_ptr<const UniqueFd> root_;  // null: the machine's
  std::string label_;
};

// The last component of a path, without slashes; empty if it is no name ("/", ".", "..").
std::string LastName(absl::string_view path);
// True when the path means a directory's content, not the directory: "dir/.", ".".
bool MeansContent(absl::string_view path);

}  // namespace plimsoll::copy

#endif  // PLIMSOLL_COPY_PLACE_H_
