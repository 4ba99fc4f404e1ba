#include "linux/namespaces/namespaced_sysctls.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::linux {
namespace {

// Writes as `user`, a change for this thread alone.
absl::Status WriteAs(uint32_t user, const FsRoot& directory, const std::string& path,
                     const std::string& value) {
  if (syscall(SYS_setresuid, -1, user, -1) != 0) {
    return ErrnoStatus(errno, absl::StrCat("act as user ", user));
  }
  const absl::Status status = directory.Write(path, value);
  if (syscall(SYS_setresuid, -1, 0, -1) != 0) return ErrnoStatus(errno, "act as root again");
  return status;
}

// From Linux 6.9 on only the user that is root there may write parameters of an IPC namespace,
// before only the host's root.
absl::Status WriteSysctl(const FsRoot& proc_sys, const SysctlSetting& setting, uint32_t root) {
  absl::Status status = proc_sys.Write(setting.sysctl.path, setting.value);
  if (absl::IsPermissionDenied(status) && root != 0) {
    status = WriteAs(root, proc_sys, setting.sysctl.path, setting.value);
  }
  if (absl::IsNotFound(status)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "sysctl ", setting.name, ": this kernel has no namespaced sysctl of that name"));
  }
  if (ErrnoOf(status) == EIO) {  // a short write
    return absl::InvalidArgumentError(absl::StrCat("sysctl ", setting.name, ": of the value \"",
                                                   absl::CHexEscape(setting.value),
                                                   "\" the kernel takes a part only"));
  }
  return Annotate(status, absl::StrCat("sysctl ", setting.name));
}

// A kind of namespace and its file.
struct Kind {
  SysctlNamespace which;
  const std::string* file;
  const char* name;  // in /proc/<pid>/ns
  int flag;
};

// Opens the file. INVALID_ARGUMENT when it is the namespace of this thread.
absl::StatusOr<UniqueFd> OpenOther(const Kind& kind, const std::string& sysctl) {
  const auto refuse = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat("sysctl ", sysctl, " would become the host's: its namespace is shared"));
  };
  if (kind.file->empty()) return refuse();
  UniqueFd file(open(kind.file->c_str(), O_RDONLY | O_CLOEXEC));
  struct stat theirs = {};
  if (!file.valid() || fstat(file.get(), &theirs) != 0) {
    return ErrnoStatus(errno, absl::StrCat("open ", *kind.file));
  }
  const std::string own_path = absl::StrCat("/proc/thread-self/ns/", kind.name);
  struct stat own = {};
  if (stat(own_path.c_str(), &own) != 0) {
    return ErrnoStatus(errno, absl::StrCat("look at ", own_path));
  }
  if (own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino) return refuse();
  return file;
}

// Runs `act` in the namespaces that these parameters belong to.
absl::Status InNamespaces(const NamespaceFiles& files, const std::vector<SysctlSetting>& settings,
                          absl::FunctionRef<absl::Status()> act) {
  if (settings.empty()) return absl::OkStatus();
  const Kind kinds[] = {{SysctlNamespace::kNetwork, &files.network, "net", CLONE_NEWNET},
                        {SysctlNamespace::kIpc, &files.ipc, "ipc", CLONE_NEWIPC},
                        {SysctlNamespace::kUts, &files.uts, "uts", CLONE_NEWUTS}};
  std::vector<std::pair<UniqueFd, int>> entered;
  for (const Kind& kind : kinds) {
    const auto first = std::find_if(
        settings.begin(), settings.end(),
        [&](const SysctlSetting& setting) { return setting.sysctl.belongs_to == kind.which; });
    if (first == settings.end()) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd file, OpenOther(kind, first->name));
    entered.emplace_back(std::move(file), kind.flag);
  }
  absl::Status status;
  try {
    // A thread has its own namespaces, and this one's end with it.
    std::thread([&] {
      for (const auto& [file, flag] : entered) {
        if (setns(file.get(), flag) == 0) continue;
        status = ErrnoStatus(errno, "enter the namespaces of sysctls");
        return;
      }
      status = act();
    }).join();
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(
        absl::StrCat("start the thread for sysctls: ", error.what()));
  }
  return status;
}

}  // namespace

absl::StatusOr<std::vector<SysctlSetting>> ParseSysctls(const SysctlValues& values) {
  std::vector<SysctlSetting> settings;
  for (const auto& [name, value] : values) {
    PLIMSOLL_ASSIGN_OR_RETURN(Sysctl sysctl, ParseSysctlName(name));
    settings.push_back({name, std::move(sysctl), value});
  }
  return settings;
}

absl::Status WriteSysctls(const std::vector<SysctlSetting>& settings, uint32_t root) {
  if (settings.empty()) return absl::OkStatus();
  // proc/sys shows each thread the parameters of its namespaces at the time of opening.
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot proc_sys, FsRoot::Open("/proc/sys"));
  for (const SysctlSetting& setting : settings) {
    PLIMSOLL_RETURN_IF_ERROR(WriteSysctl(proc_sys, setting, root));
  }
  return absl::OkStatus();
}

absl::StatusOr<SysctlValues> ReadSysctls(const NamespaceFiles& files, const SysctlValues& like) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<SysctlSetting> settings, ParseSysctls(like));
  SysctlValues values;
  PLIMSOLL_RETURN_IF_ERROR(InNamespaces(files, settings, [&]() -> absl::Status {
    PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot proc_sys, FsRoot::Open("/proc/sys"));
    for (const SysctlSetting& setting : settings) {
      const absl::StatusOr<std::string> value = proc_sys.Read(setting.sysctl.path);
      if (!value.ok()) continue;
      values.emplace(setting.name, absl::StripTrailingAsciiWhitespace(*value));
    }
    return absl::OkStatus();
  }));
  return values;
}

absl::Status SetSysctls(const NamespaceFiles& files, const SysctlValues& values, uint32_t root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<SysctlSetting> settings, ParseSysctls(values));
  return InNamespaces(files, settings, [&] { return WriteSysctls(settings, root); });
}

}  // namespace plimsoll::linux
