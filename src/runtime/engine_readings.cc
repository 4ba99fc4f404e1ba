#include "runtime/engine_readings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "linux/namespaces/mounts.h"
#include "runtime/cgroups/effective_resources.h"
#include "runtime/objects/sandbox_place.h"
#include "runtime/objects/state_machine.h"

namespace plimsoll::runtime {
namespace {

// Limits for one container: a look at so many takes about 50 ms.
constexpr uint64_t kMostOpenFiles = 20000;
constexpr uint64_t kMostTasks = 5000;

// The device's name in /dev is the last part of the link's target: "../../devices/.../block/sda".
std::string DeviceName(const FsRoot& host, const linux::DeviceNumber& device) {
  const std::string number = linux::FormatDeviceNumber(device);
  const absl::StatusOr<std::string> target = host.ReadLink(absl::StrCat("sys/dev/block/", number));
  if (!target.ok()) return number;
  return absl::StrCat("/dev/", target->substr(target->rfind('/') + 1));
}

// The disk under the file system of `directory`, never a partition, since control groups count by
// disk. Without a disk, the number that the kernel gives the file system.
absl::StatusOr<linux::DeviceNumber> DiskOf(const FsRoot& host, const FsRoot& directory) {
  struct stat info = {};
  if (fstat(directory.fd(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("stat ", directory.path()));
  }
  const linux::DeviceNumber own = {.major = major(info.st_dev), .minor = minor(info.st_dev)};
  const std::string link = absl::StrCat("sys/dev/block/", linux::FormatDeviceNumber(own));
  const absl::StatusOr<std::string> target = host.ReadLink(link);
  absl::string_view device;
  if (target.ok()) device = *target;
  if (!absl::ConsumePrefix(&device, "../../")) return own;
  if (!host.Exists(absl::StrCat("sys/", device, "/partition"))) return own;
  const absl::string_view disk = device.substr(0, device.rfind('/'));
  const absl::StatusOr<std::string> number = host.Read(absl::StrCat("sys/", disk, "/dev"));
  if (!number.ok()) return own;
  return linux::ParseDeviceNumber(absl::StripAsciiWhitespace(*number));
}

std::vector<std::string> PageSizes(const linux::CgroupSettings& limits) {
  std::vector<std::string> sizes;
  for (const auto& [size, limit] : limits.hugetlb_limits) sizes.push_back(size);
  return sizes;
}

// Sets `value`, which stays absent if the machine can't tell it or the object is gone.
template <typename Value>
absl::Status IfTold(absl::StatusOr<Value> read, std::optional<Value>* value) {
  if (absl::IsNotFound(read.status()) || absl::IsFailedPrecondition(read.status())) {
    return absl::OkStatus();
  }
  PLIMSOLL_RETURN_IF_ERROR(read.status());
  *value = *std::move(read);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<linux::CgroupStats> EngineReadings::Stats(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, objects_->FindContainer(id));
  std::string group;
  {
    const absl::MutexLock lock(&container->mutex);
    PLIMSOLL_RETURN_IF_ERROR(CheckProcess(container->record, "reading its use of resources"));
    group = container->record.cgroup_path;
  }
  return options_.cgroups->Stats(group);
}

absl::StatusOr<linux::CgroupStats> EngineReadings::SandboxStats(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, objects_->FindSandbox(id));
  std::string group;
  {
    const absl::MutexLock lock(&sandbox->mutex);
    if (sandbox->record.state != SandboxState::kReady) {
      return absl::FailedPreconditionError(
          absl::StrCat("sandbox ", sandbox->record.id, " is ", StateName(sandbox->record.state),
                       "; reading its use of resources needs one that is Ready"));
    }
    group = sandbox->record.cgroup_path;
  }
  return options_.cgroups->Stats(group);
}

std::vector<Readings::Links> EngineReadings::SandboxLinks(
    const std::vector<std::string>& ids) const {
  std::vector<Links> links(ids.size(), Links(std::vector<linux::LinkCounters>()));
  std::vector<std::string> namespaces;
  std::vector<size_t> whose;  // the index in `ids` of each namespace's sandbox
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto sandbox = objects_->FindSandbox(ids[i]);
    if (!sandbox.ok()) {
      links[i] = sandbox.status();
      continue;
    }
    const SandboxRecord record = (*sandbox)->Snapshot();
    if (record.state != SandboxState::kReady) {
      links[i] = absl::FailedPreconditionError(
          absl::StrCat("sandbox ", record.id, " is ", StateName(record.state),
                       "; reading its network needs one that is Ready"));
      continue;
    }
    std::string its = NetworkNamespaceOf(record.id, record.spec);
    if (its.empty()) continue;
    namespaces.push_back(std::move(its));
    whose.push_back(i);
  }
  std::vector<Links> read = linux::ReadLinkCounters(options_.host, options_.run, namespaces);
  for (size_t i = 0; i < read.size(); ++i) links[whose[i]] = std::move(read[i]);
  return links;
}

absl::StatusOr<ContainerCounters> EngineReadings::Counters(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, objects_->FindContainer(id));
  const ContainerRecord record = container->Snapshot();
  PLIMSOLL_ASSIGN_OR_RETURN(const EffectiveResources resources,
                            ReadEffective(options_, *container));
  if (!resources.live) {
    PLIMSOLL_RETURN_IF_ERROR(CheckProcess(container->Snapshot(), "counting its use"));
    return absl::FailedPreconditionError(absl::StrCat("container ", record.id, " has just ended"));
  }
  const std::string& group = record.cgroup_path;
  const linux::CgroupManager& cgroups = *options_.cgroups;
  ContainerCounters counters;
  counters.limits = resources.cgroup;
  PLIMSOLL_ASSIGN_OR_RETURN(counters.stats, cgroups.Stats(group));
  PLIMSOLL_ASSIGN_OR_RETURN(counters.more,
                            linux::ReadCgroupCounters(cgroups, group, PageSizes(counters.limits)));
  // The kernel names no disk without traffic: adds the disk of the container's root, with none.
  if (counters.more.io.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const linux::DeviceNumber disk,
                              DiskOf(options_.host, options_.state));
    counters.more.io.push_back({.device = disk});
  }
  for (const linux::DeviceIo& io : counters.more.io) {
    counters.devices[io.device] = DeviceName(options_.host, io.device);
  }
  PLIMSOLL_RETURN_IF_ERROR(IfTold(cgroups.OomKills(group), &counters.oom_kills));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pid_t> processes,
                            cgroups.Processes(group, /*recursive=*/true));
  counters.processes = processes.size();
  PLIMSOLL_ASSIGN_OR_RETURN(counters.tasks,
                            linux::CountTaskStates(options_.host, processes, kMostTasks));
  PLIMSOLL_ASSIGN_OR_RETURN(counters.open_files,
                            linux::CountOpenFiles(options_.host, processes, kMostOpenFiles));
  PLIMSOLL_RETURN_IF_ERROR(
      IfTold(linux::ReadMaxOpenFiles(options_.host, record.init), &counters.max_open_files));
  return counters;
}

absl::StatusOr<FileSystem> EngineReadings::WritableLayersFileSystem() const {
  struct statvfs info = {};
  if (fstatvfs(options_.state.fd(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("statfs ", options_.state.path()));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd directory,
                            options_.state.OpenFile(".", O_PATH | O_DIRECTORY));
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::MountInfo mount, linux::MountOf(options_.host, directory));
  FileSystem file_system;
  file_system.device = absl::CHexEscape(mount.source);  // may be any bytes
  file_system.bytes = static_cast<uint64_t>(info.f_blocks) * info.f_frsize;
  file_system.inodes = info.f_files;
  file_system.inodes_free = info.f_ffree;
  return file_system;
}

}  // namespace plimsoll::runtime
