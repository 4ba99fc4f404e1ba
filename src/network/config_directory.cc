#include "network/config_directory.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "network/json.h"

namespace plimsoll::network {
namespace {

constexpr size_t kMaxFiles = 100;
constexpr size_t kMaxFaults = 5;  // in one message
constexpr uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB |
                             IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF |
                             IN_ONLYDIR;

// Hidden files are unfinished ones of editors and installers.
bool IsPluginFile(absl::string_view name) {
  return !absl::StartsWith(name, ".") && absl::EndsWith(name, ".conf");
}
bool IsConfigFile(absl::string_view name) {
  return IsPluginFile(name) ||
         (!absl::StartsWith(name, ".") &&
          (absl::EndsWith(name, ".conflist") || absl::EndsWith(name, ".json")));
}

// Reads the very file that was opened and checked, without waiting for a writer.
absl::StatusOr<std::string> ReadRegular(const FsRoot& host, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd file,
                            host.OpenFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "stat");
  if (!S_ISREG(info.st_mode)) return absl::InvalidArgumentError("is no regular file");
  std::string text;
  char buffer[16384];
  while (true) {
    const ssize_t n = read(file.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read");
    if (n == 0) return text;
    text.append(buffer, static_cast<size_t>(n));
    if (text.size() > kMaxConfigBytes) {
      return absl::InvalidArgumentError(absl::StrCat("larger than ", kMaxConfigBytes, " bytes"));
    }
  }
}

}  // namespace

ConfigDirectory::ConfigDirectory(FsRoot host, std::string path,
                                 std::function<void(const std::string&)> tell)
    : host_(std::move(host)),
      path_(std::move(path)),
      tell_(std::move(tell)),
      found_(absl::NotFoundError("network.config_dir is empty")) {}

absl::StatusOr<std::shared_ptr<const NetworkConfig>> ConfigDirectory::Current() {
  absl::MutexLock lock(&mutex_);
  if (!path_.empty()) Look();
  return found_;
}

void ConfigDirectory::Look() {
  const absl::StatusOr<FsRoot> directory = host_.Sub(path_);
  if (!directory.ok()) {
    watch_.Reset();
    return Take(absl::IsNotFound(directory.status())
                    ? Found(absl::NotFoundError(absl::StrCat(path_, " isn't there")))
                    : Found(absl::FailedPreconditionError(directory.status().message())));
  }
  if (HasChanged(*directory)) Take(Load(*directory));
}

bool ConfigDirectory::HasChanged(const FsRoot& directory) {
  struct stat info = {};
  if (fstat(directory.fd(), &info) != 0) return true;
  bool changed = !watch_.valid() || info.st_dev != device_ || info.st_ino != inode_;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  alignas(struct inotify_event) char buffer[16384];
  while (watch_.valid()) {
    const ssize_t n = read(watch_.get(), buffer, sizeof(buffer));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) break;
    changed = true;
    if (n <= 0) break;
  }
  // Afresh after each change: an inode number may be another directory's by now, and a list may
  // have another name.
  if (changed) Watch(directory);
  return changed;
}

// Where the machine gives no (more) watches, each call looks.
void ConfigDirectory::Watch(const FsRoot& directory) {
  watch_.Reset(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  AddWatch(directory);
}

void ConfigDirectory::AddWatch(const FsRoot& directory) {
  if (!watch_.valid()) return;
  const std::string path = absl::StrCat("/proc/self/fd/", directory.fd());
  if (inotify_add_watch(watch_.get(), path.c_str(), kEvents) < 0) watch_.Reset();
}

ConfigDirectory::Found ConfigDirectory::Load(const FsRoot& directory) {
  const absl::StatusOr<std::vector<std::string>> names = directory.List(".");
  if (!names.ok()) return absl::FailedPreconditionError(names.status().message());
  std::vector<std::string> faults;
  size_t files = 0;
  for (const std::string& name : *names) {
    if (!IsConfigFile(name)) continue;
    if (++files > kMaxFiles) break;
    absl::StatusOr<NetworkConfig> config = LoadFile(name);
    if (config.ok()) return std::make_shared<const NetworkConfig>(*std::move(config));
    if (faults.size() < kMaxFaults) {
      faults.push_back(absl::StrCat(OneLine(name), ": ", OneLine(config.status().message())));
    }
  }
  if (files == 0) {
    return absl::NotFoundError(
        absl::StrCat(path_, " has no file that ends in .conf, .conflist or .json"));
  }
  if (files > faults.size()) faults.push_back(absl::StrCat(files - faults.size(), " more"));
  return absl::FailedPreconditionError(
      absl::StrCat("no valid CNI configuration in ", path_, ": ", absl::StrJoin(faults, "; ")));
}

absl::StatusOr<NetworkConfig> ConfigDirectory::LoadFile(const std::string& name) {
  // By its whole path: a link may lead out of the directory.
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                            ReadRegular(host_, absl::StrCat(path_, "/", name)));
  const ConfigFormat format =
      absl::EndsWith(name, ".conflist") ? ConfigFormat::kList : ConfigFormat::kConf;
  const auto files_of = [this](const std::string& network)
                            ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return FilesOf(network); };
  PLIMSOLL_ASSIGN_OR_RETURN(NetworkConfig config, ParseConfig(text, format, files_of));
  config.file = absl::StrCat(path_, "/", OneLine(name));
  return config;
}

absl::StatusOr<std::vector<PluginFile>> ConfigDirectory::FilesOf(const std::string& network) {
  std::vector<PluginFile> files;
  const std::string path = absl::StrCat(path_, "/", network);
  const absl::StatusOr<struct stat> info = host_.Stat(path);
  if (absl::IsNotFound(info.status()) || (info.ok() && !S_ISDIR(info->st_mode))) return files;
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, host_.Sub(path));
  AddWatch(directory);  // before the look: a change in between is seen with the next call
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, directory.List("."));
  size_t bytes = 0;
  for (const std::string& name : names) {
    if (!IsPluginFile(name)) continue;
    const absl::StatusOr<struct stat> file = host_.Stat(absl::StrCat(path, "/", name));
    if (file.ok() && S_ISDIR(file->st_mode)) continue;
    absl::StatusOr<std::string> text = ReadRegular(host_, absl::StrCat(path, "/", name));
    if (!text.ok()) return Annotate(text.status(), absl::StrCat(network, "/", OneLine(name)));
    bytes += text->size();
    if (files.size() == kMaxFiles || bytes > kMaxConfigBytes) {
      return absl::InvalidArgumentError(absl::StrCat(network, "/: more than ", kMaxFiles,
                                                     " files or ", kMaxConfigBytes, " bytes"));
    }
    files.push_back({OneLine(name), *std::move(text)});
  }
  return files;
}

void ConfigDirectory::Take(Found found) {
  found_ = std::move(found);
  std::string told = found_.ok() ? absl::StrCat("network ", (*found_)->name, " of ",
                                                (*found_)->file, " is in force")
                                 : std::string(found_.status().message());
  if (told == told_) return;
  told_ = std::move(told);
  if (tell_) tell_(told_);
}

}  // namespace plimsoll::network
