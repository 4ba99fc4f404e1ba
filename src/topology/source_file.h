// A topology from a file, watched: ResourceTopology as YAML (topology_file.h).
#ifndef PLIMSOLL_TOPOLOGY_SOURCE_FILE_H_
#define PLIMSOLL_TOPOLOGY_SOURCE_FILE_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "topology/source.h"

namespace plimsoll::topology {

// Sees a file that is written again, one that another is renamed to, and a link in its directory
// that leads elsewhere, as Kubernetes changes a ConfigMap. It sees changes in other directories
// (e.g. at a link's target) at the tracker's next poll.
//
// If the file can't be read or is no topology of this machine, Look's status names the file, and
// the place in it or the zone.
class TopologyFileSource : public Source {
 public:
  // `path` is below `root`. The file need not exist yet.
  static absl::StatusOr<std::shared_ptr<TopologyFileSource>> Open(const FsRoot& root,
                                                                  std::string path);

  int fd() const override { return notify_.get(); }
  bool Heard() override;
  SourceView Look(const Machine& machine) override;

 private:
  TopologyFileSource(FsRoot root, std::string path, UniqueFd notify)
      : root_(std::move(root)), path_(std::move(path)), notify_(std::move(notify)) {}
  void WatchDirectory();
  absl::Status Read();

  const FsRoot root_;
  const std::string path_;
  const UniqueFd notify_;  // inotify
  int watch_ = -1;         // of the directory; -1: it doesn't exist
  bool heard_ = true;      // since the file was read
  std::string stamp_;      // identity and times of the file that was read
  absl::Status read_;      // result of reading it
  std::optional<Topology> topology_;
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_SOURCE_FILE_H_
