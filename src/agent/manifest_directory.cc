#include "agent/manifest_directory.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/regular_file.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

constexpr uint32_t kChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                              IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

}  // namespace

absl::StatusOr<std::unique_ptr<ManifestDirectory>> ManifestDirectory::Start(Options options) {
  UniqueFd notify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!notify.valid()) return ErrnoStatus(errno, "inotify_init1");
  auto directory = std::unique_ptr<ManifestDirectory>(
      new ManifestDirectory(std::move(options), std::move(notify)));
  ManifestDirectory* const self = directory.get();
  PLIMSOLL_ASSIGN_OR_RETURN(
      directory->watch_,
      linux::QuietWatch::Start(
          {.quiet = self->options_.quiet, .at_most = absl::Seconds(2), .first = absl::Now()},
          {{.fd = self->notify_.get(),
            .events = POLLIN,
            .heard = [self](short) { return self->Hear(); }}},
          [self] {
            self->Look();
            return absl::Now() + self->options_.look_anyway;
          }));
  return directory;
}

ManifestDirectory::~ManifestDirectory() = default;

bool ManifestDirectory::Hear() {
  alignas(inotify_event) char buffer[4096];
  bool heard = false;
  while (read(notify_.get(), buffer, sizeof(buffer)) > 0) heard = true;
  return heard;
}

void ManifestDirectory::Fault(const std::string& path, const absl::Status& fault) {
  const auto it = faults_.find(path);
  if (fault.ok()) {
    if (it == faults_.end()) return;
    faults_.erase(it);
  } else {
    std::string& told = faults_[path];
    if (told == fault.message()) return;
    told = std::string(fault.message());
  }
  options_.fault(path, fault);
}

absl::StatusOr<ManifestDirectory::PodsOfFile> ManifestDirectory::Parse(
    const std::string& path, const std::string& text) const {
  const auto known = texts_.find(path);
  if (known != texts_.end() && known->second == text) return files_.at(path);
  return WantedPods(text, path);
}

void ManifestDirectory::KeepAsBefore(const std::string& path, Files& files,
                                     std::map<std::string, std::string>& texts) {
  const auto known = files_.find(path);
  if (known == files_.end()) {
    unread_.insert(path);
    return;
  }
  files[path] = known->second;
  texts[path] = texts_.at(path);
}

absl::StatusOr<ManifestDirectory::Files> ManifestDirectory::Read() {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, FsRoot::Open(options_.path));
  // Adding a watch again changes nothing; a directory put in the place of another gets its own.
  watched_ = inotify_add_watch(notify_.get(), options_.path.c_str(), kChanges);
  if (watched_ < 0) return ErrnoStatus(errno, absl::StrCat("watch ", options_.path));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List(""));
  Files files;
  std::map<std::string, std::string> texts;
  unread_.clear();
  for (const std::string& name : names) {
    if (absl::StartsWith(name, ".")) continue;
    const std::string path = directory.PathOf(name);
    if (files.size() >= kMaxFiles) {
      Fault(path, absl::ResourceExhaustedError(absl::StrCat("there are more than ", kMaxFiles,
                                                            " files; this one is not read")));
      KeepAsBefore(path, files, texts);
      continue;
    }
    absl::StatusOr<std::string> text = ReadRegularFile(directory, name, kMaxFileBytes);
    if (absl::IsNotFound(text.status())) {
      struct stat link = {};
      // It went meanwhile.
      if (fstatat(directory.fd(), name.c_str(), &link, AT_SYMLINK_NOFOLLOW) != 0) continue;
      text = absl::InvalidArgumentError(absl::StrCat(
          path, ": is a symbolic link to nothing in this directory; its pods stay as they are"));
    }
    absl::StatusOr<PodsOfFile> pods =
        text.ok() ? Parse(path, *text) : absl::StatusOr<PodsOfFile>(text.status());
    Fault(path, pods.status());
    if (pods.ok()) {
      files[path] = *std::move(pods);
      texts[path] = *std::move(text);
    } else {
      KeepAsBefore(path, files, texts);
    }
  }
  texts_ = std::move(texts);
  return files;
}

void ManifestDirectory::Look() {
  absl::StatusOr<Files> files = Read();
  Fault(options_.path, files.status());
  if (!files.ok()) return;
  std::erase_if(faults_, [&](const auto& fault) {
    return fault.first != options_.path &&
           faccessat(AT_FDCWD, fault.first.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0;
  });
  files_ = *std::move(files);
  options_.tell(files_, unread_);
}

}  // namespace plimsoll::agent
