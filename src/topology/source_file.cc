#include "topology/source_file.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/regular_file.h"
#include "base/status.h"
#include "topology/machine/machine_file.h"
#include "topology/topology_file.h"

namespace plimsoll::topology {
namespace {

// Events that may change the file's content. A write alone doesn't count: it is complete when the
// file is closed.
constexpr uint32_t kEvents = IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                             IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// A text that changes with the file or its content.
std::string StampOf(const absl::StatusOr<struct stat>& file) {
  if (!file.ok()) return std::string(file.status().message());
  return absl::StrCat(file->st_dev, " ", file->st_ino, " ", file->st_size, " ",
                      file->st_mtim.tv_sec, ".", file->st_mtim.tv_nsec, " ", file->st_ctim.tv_sec,
                      ".", file->st_ctim.tv_nsec);
}

}  // namespace

absl::StatusOr<std::shared_ptr<TopologyFileSource>> TopologyFileSource::Open(const FsRoot& root,
                                                                             std::string path) {
  UniqueFd notify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!notify.valid()) return ErrnoStatus(errno, absl::StrCat("watch ", root.PathOf(path)));
  std::shared_ptr<TopologyFileSource> source(
      new TopologyFileSource(root, std::move(path), std::move(notify)));
  source->WatchDirectory();
  return source;
}

void TopologyFileSource::WatchDirectory() {
  const auto directory = root_.OpenFile(DirectoryOf(path_), O_PATH | O_DIRECTORY);
  if (!directory.ok()) return;
  // inotify needs a path; this one leads to the opened directory.
  watch_ = inotify_add_watch(notify_.get(),
                             absl::StrCat("/proc/self/fd/", directory->get()).c_str(), kEvents);
}

bool TopologyFileSource::Heard() {
  alignas(inotify_event) char buffer[4096];
  ssize_t n = 0;
  while ((n = read(notify_.get(), buffer, sizeof(buffer))) > 0) {
    for (ssize_t at = 0; at < n;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof(event));
      if ((event.mask & IN_IGNORED) != 0 && event.wd == watch_) watch_ = -1;
      // A moved directory no longer counts.
      if ((event.mask & IN_MOVE_SELF) != 0) inotify_rm_watch(notify_.get(), event.wd);
      at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
    heard_ = true;
  }
  return heard_;
}

absl::Status TopologyFileSource::Read() {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadRegularFile(root_, path_));
  PLIMSOLL_ASSIGN_OR_RETURN(topology_, ParseTopology(text, root_.PathOf(path_)));
  return absl::OkStatus();
}

SourceView TopologyFileSource::Look(const Machine& machine) {
  // First, so that nothing is missed between reading and watching.
  if (watch_ < 0) WatchDirectory();
  std::string stamp = StampOf(root_.Stat(path_));
  if (heard_ || stamp != stamp_ || IsPassing(read_)) {
    heard_ = false;
    stamp_ = std::move(stamp);
    read_ = Read();
  }
  SourceView view{.status = read_};
  if (read_.ok()) {
    view.status = Annotate(CheckAgainst(*topology_, machine), root_.PathOf(path_));
    view.topology = topology_;
  }
  return view;
}

}  // namespace plimsoll::topology
