#include "linux/cgroup/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/fault_injection.h"
#include "base/status.h"
#include "linux/cgroup/files.h"

namespace plimsoll::linux {
namespace {

std::string Relative(absl::string_view group, absl::string_view file = "") {
  if (group == "/") return file.empty() ? "." : std::string(file);
  return absl::StrCat(group.substr(1), file.empty() ? "" : "/", file);
}

// A group that is removed while one of its files is open answers ENODEV. To everybody else the file
// doesn't exist.
absl::StatusOr<std::vector<std::string>> SubdirectoryNames(UniqueFd fd, const std::string& path) {
  DIR* dir = fdopendir(fd.get());
  if (dir == nullptr) return ErrnoStatus(errno, absl::StrCat("list ", path));
  fd.Release();  // closedir closes it
  const absl::Cleanup close_dir = [dir] { closedir(dir); };
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const struct dirent* entry = readdir(dir);
    if (entry == nullptr) break;
    const absl::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0 && errno != ENOENT) return ErrnoStatus(errno, absl::StrCat("list ", path));
  return names;
}

}  // namespace

absl::StatusOr<std::string> CgroupTree::Read(absl::string_view group,
                                             absl::string_view file) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, mount_.Read(Relative(group, file)));
  return std::string(absl::StripAsciiWhitespace(text));
}

absl::Status CgroupTree::Write(absl::string_view group, absl::string_view file,
                               absl::string_view value) {
  return mount_.Write(Relative(group, file), value.empty() ? "\n" : value);
}

absl::Status CgroupTree::MoveCaller(absl::string_view group, absl::string_view file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd tasks, mount_.OpenFile(Relative(group, file), O_WRONLY));
  const std::string self = absl::StrCat(gettid());
  if (write(tasks.get(), self.data(), self.size()) < 0) {
    return ErrnoStatus(errno, absl::StrCat("write thread ", self, " to ", PathOf(group, file)));
  }
  return absl::OkStatus();
}

absl::Status CgroupTree::Make(absl::string_view group) {
  PLIMSOLL_RETURN_IF_ERROR(InjectedFault("make", group));
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd parent,
                            mount_.OpenFile(Relative(ParentGroup(group)), O_PATH | O_DIRECTORY));
  const std::string name(group.substr(group.rfind('/') + 1));
  if (mkdirat(parent.get(), name.c_str(), 0755) != 0) {
    return ErrnoStatus(errno, absl::StrCat("make cgroup ", PathOf(group)));
  }
  return absl::OkStatus();
}

absl::Status CgroupTree::Remove(absl::string_view group) {
  return mount_.RemoveDir(Relative(group));
}

absl::StatusOr<bool> CgroupTree::Exists(absl::string_view group) const {
  return mount_.Has(Relative(group));
}

bool CgroupTree::HasFile(absl::string_view group, absl::string_view file) const {
  return mount_.Exists(Relative(group, file));
}

absl::StatusOr<std::vector<std::string>> CgroupTree::Subtree(absl::string_view group) const {
  absl::StatusOr<UniqueFd> fd = mount_.OpenFile(Relative(group), O_RDONLY | O_DIRECTORY);
  if (absl::IsNotFound(fd.status())) return std::vector<std::string>();
  PLIMSOLL_RETURN_IF_ERROR(fd.status());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto names, SubdirectoryNames(*std::move(fd), PathOf(group)));
  std::vector<std::string> groups;
  for (const std::string& name : names) {
    PLIMSOLL_ASSIGN_OR_RETURN(auto below,
                              Subtree(absl::StrCat(group == "/" ? "" : group, "/", name)));
    for (std::string& each : below) groups.push_back(std::move(each));
  }
  groups.emplace_back(group);
  return groups;
}

absl::StatusOr<std::vector<std::string>> CgroupTree::Files(absl::string_view group) const {
  return mount_.List(Relative(group));
}

std::string CgroupTree::PathOf(absl::string_view group, absl::string_view file) const {
  return mount_.PathOf(Relative(group, file));
}

absl::StatusOr<std::string> ReadOwnGroup(const FsRoot& host, absl::string_view controller) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, host.Read("proc/thread-self/cgroup"));
  return ParseOwnGroup(text, controller);
}

std::vector<std::string> GroupAndParents(absl::string_view group) {
  std::vector<std::string> groups = {"/"};
  if (group == "/") return groups;
  for (size_t slash = group.find('/', 1); slash != absl::string_view::npos;
       slash = group.find('/', slash + 1)) {
    groups.emplace_back(group.substr(0, slash));
  }
  groups.emplace_back(group);
  return groups;
}

std::string ParentGroup(absl::string_view group) {
  const size_t slash = group.rfind('/');
  return slash == 0 || slash == absl::string_view::npos ? "/" : std::string(group.substr(0, slash));
}

void ReadPressure(const CgroupTree& tree, const std::string& group, CgroupStats& stats) {
  const auto read = [&](absl::string_view file) -> std::optional<Pressure> {
    const absl::StatusOr<std::string> text = tree.Read(group, file);
    if (!text.ok()) return std::nullopt;
    const absl::StatusOr<Pressure> pressure = ParsePressure(*text);
    return pressure.ok() ? std::optional(*pressure) : std::nullopt;
  };
  stats.cpu_pressure = read("cpu.pressure");
  stats.memory_pressure = read("memory.pressure");
  stats.io_pressure = read("io.pressure");
}

}  // namespace plimsoll::linux
