#include "nri/plugin_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/regular_file.h"
#include "base/status.h"

namespace plimsoll::nri {
namespace {

constexpr size_t kLongestConfig = 1024 * 1024;

std::string In(const std::string& directory, const std::string& name) {
  return absl::StrCat(directory, "/", name);
}

}  // namespace

absl::StatusOr<std::vector<PluginName>> FindPlugins(
    const FsRoot& host, const std::string& directory,
    const std::function<void(const std::string& file, const std::string& why)>& warn) {
  const absl::StatusOr<std::vector<std::string>> files = host.List(directory);
  if (absl::IsNotFound(files.status())) return std::vector<PluginName>();
  PLIMSOLL_RETURN_IF_ERROR(files.status());
  std::vector<PluginName> names;
  for (const std::string& file : *files) {
    const absl::StatusOr<struct stat> info = host.Stat(In(directory, file));
    absl::StatusOr<PluginName> name = ParsePluginName(file);
    if (info.ok() && S_ISDIR(info->st_mode)) continue;
    const bool runs = info.ok() && (info->st_mode & 0111) != 0;
    if (runs && name.ok()) {
      names.push_back(*std::move(name));
    } else if (runs) {
      warn(In(directory, file), std::string(name.status().message()));
    } else if (name.ok()) {
      warn(In(directory, file),
           info.ok() ? "it is not executable (chmod +x)" : std::string(info.status().message()));
    }
  }
  return names;
}

absl::StatusOr<UniqueFd> OpenPlugin(const FsRoot& host, const std::string& directory,
                                    const PluginName& name) {
  const std::string path = In(directory, name.Full());
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd file, host.OpenFile(path, kOpenToLook));
  struct stat info;
  if (fstat(file.get(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path));
  const auto refused = [&](absl::string_view why) {
    return absl::PermissionDeniedError(absl::StrCat("plugin ", path, " is not started: ", why));
  };
  if (!S_ISREG(info.st_mode)) {
    return refused(absl::StrCat("it is ", KindOfFile(info.st_mode), ", not a regular file"));
  }
  if ((info.st_mode & 0111) == 0) return refused("it is not executable");
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    return refused(absl::StrCat("it belongs to user ", info.st_uid, "; root must own it"));
  }
  if ((info.st_mode & 0022) != 0) {
    return refused("others than its owner may write it: take that away (chmod go-w)");
  }
  return file;
}

absl::StatusOr<std::string> ReadPluginConfig(const FsRoot& host, const std::string& directory,
                                             const PluginName& name) {
  if (directory.empty()) return std::string();
  for (const std::string& base : {name.Full(), name.base}) {
    absl::StatusOr<std::string> text =
        ReadRegularFile(host, In(directory, base + ".conf"), kLongestConfig);
    if (text.ok() || !absl::IsNotFound(text.status())) return text;
  }
  return std::string();
}

}  // namespace plimsoll::nri
