#include "daemon/telemetry/node_health.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "base/text/human_bytes.h"
#include "base/unique_fd.h"

namespace plimsoll::daemon {
namespace {

// A call that has waited this long for a worker of the look or work lane will not be served.
constexpr absl::Duration kStuck = absl::Seconds(30);
// SQLite's log grows to 4 MiB before it starts over.
constexpr uint64_t kRoomForRecordsBytes = 4 << 20;
// More than a common pod's specifications, OCI state and files such as /etc/hosts take.
constexpr uint64_t kRoomForPodBytes = 1 << 20;

// FAILED_PRECONDITION "<Reason>: <message>".
absl::Status NotReadyFor(absl::string_view reason, const absl::Status& status) {
  return absl::FailedPreconditionError(absl::StrCat(reason, ": ", status.message()));
}

absl::Status CheckDirectory(const FsRoot& host, const char* what, const std::string& path) {
  const std::string relative = path.substr(path.find_first_not_of('/'));
  if (faccessat(host.fd(), relative.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) == 0) {
    return absl::OkStatus();
  }
  return NotReadyFor("DirectoryUnusable", ErrnoStatus(errno, absl::StrCat(what, " ", path)));
}

// Whether a failing disk has made its file system read-only. A file without a name is tried: the
// kernel refuses it as any write. A full disk is no such error (HasRoomToRecord).
absl::Status CheckWritable(const FsRoot& directory) {
  const UniqueFd probe(
      openat(directory.fd(), ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (probe.valid() || errno != EROFS) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "StateReadOnly: the file system of the state directory ", directory.path(),
      " is read-only: no pod can be started; those there run on and can be stopped. Look for the "
      "disk's errors in the kernel's log, mend it, and mount it writable again"));
}

// FAILED_PRECONDITION "DiskFull: ... has 0 B left, and <need>".
absl::Status CheckRoom(const FsRoot& directory, uint64_t bytes, absl::string_view need) {
  struct statvfs disk = {};
  if (fstatvfs(directory.fd(), &disk) != 0) {
    return NotReadyFor("DirectoryUnusable",
                       ErrnoStatus(errno, absl::StrCat("statvfs ", directory.path())));
  }
  if (disk.f_blocks == 0) return absl::OkStatus();  // a tmpfs without a limit
  // Root may use the reserved blocks too.
  const uint64_t room = uint64_t{disk.f_bfree} * disk.f_frsize;
  if (room >= bytes) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("DiskFull: the file system of ",
                                                    directory.path(), " has ", BytesInWords(room),
                                                    " left, and ", need));
}

}  // namespace

absl::Status CallsGetTheirTurn(const std::vector<cri::LaneState>& lanes) {
  for (const cri::LaneState& lane : lanes) {
    const bool waits_for_others = lane.lane != cri::Lane::kLook && lane.lane != cri::Lane::kWork;
    if (waits_for_others || lane.longest_wait < kStuck) continue;
    return absl::UnavailableError(
        absl::StrCat("all ", lane.workers, " workers for calls of kind '", cri::LaneName(lane.lane),
                     "' are taken, and ", lane.waiting, " calls wait, one of them for ",
                     absl::FormatDuration(absl::Floor(lane.longest_wait, absl::Seconds(1)))));
  }
  return absl::OkStatus();
}

absl::Status HasRoomToRecord(const FsRoot& state) {
  return CheckRoom(state, kRoomForRecordsBytes,
                   absl::StrCat("the database needs ", BytesInWords(kRoomForRecordsBytes),
                                "; remove images or containers, or make room otherwise"));
}

absl::Status HasRoomToRun(const FsRoot& run) {
  return CheckRoom(run, kRoomForPodBytes,
                   absl::StrCat("a new pod needs ", BytesInWords(kRoomForPodBytes),
                                "; make room there. Running pods are unaffected"));
}

NodeHealth::NodeHealth(Parts parts)
    : parts_(std::move(parts)),
      network_("network plugins have not answered", parts_.network, parts_.network_patience) {}

void NodeHealth::Recovered(const runtime::Engine* engine,
                           std::function<absl::Status()> node_resources) {
  node_resources_ = std::move(node_resources);
  engine_ = engine;
}

absl::Status NodeHealth::Alive() const {
  PLIMSOLL_RETURN_IF_ERROR(CallsGetTheirTurn(parts_.lanes()));
  if (const runtime::Engine* engine = engine_; engine != nullptr) {
    static_cast<void>(engine->ListSandboxes());
  }
  return absl::OkStatus();
}

absl::Status NodeHealth::RuntimeReady() const {
  if (const absl::Status status = parts_.runtime->Ready(); !status.ok()) {
    return NotReadyFor("RuntimeProgramMissing", status);
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckWritable(parts_.state));
  PLIMSOLL_RETURN_IF_ERROR(CheckDirectory(parts_.host, "state directory", parts_.state_directory));
  PLIMSOLL_RETURN_IF_ERROR(CheckDirectory(parts_.host, "run directory", parts_.run_directory));
  const absl::StatusOr<bool> cgroups = parts_.cgroups->Exists("/");
  if (!cgroups.ok()) return NotReadyFor("CgroupsUnusable", cgroups.status());
  if (!*cgroups) {
    return NotReadyFor("CgroupsUnusable", absl::NotFoundError("/sys/fs/cgroup is not mounted"));
  }
  return absl::OkStatus();
}

absl::Status NodeHealth::IsServing() const {
  switch (stage_.load()) {
    case Stage::kServing:
      return absl::OkStatus();
    case Stage::kStopping:
      return absl::UnavailableError("the daemon is stopping");
    case Stage::kStarting:
      break;
  }
  return absl::UnavailableError("the socket is not served yet");
}

std::vector<HealthCondition> NodeHealth::Required() const {
  const absl::Status recovered =
      engine_.load() != nullptr ? absl::OkStatus()
                                : absl::UnavailableError("earlier pods are still being recovered");
  return {{"Recovered", recovered},
          {"Serving", IsServing()},
          {"Alive", Alive()},
          {"RuntimeReady", RuntimeReady()},
          {"StoreWritable", HasRoomToRecord(parts_.state)},
          {"RunDirectoryWritable", HasRoomToRun(parts_.run)}};
}

std::vector<HealthCondition> NodeHealth::Conditions() {
  std::vector<HealthCondition> all = Required();
  all.push_back({"NetworkReady", network_.Ask(), /*is_required=*/false});
  if (engine_.load() != nullptr && node_resources_) {
    all.push_back({"NodeResourcesReady", node_resources_(), /*is_required=*/false});
  }
  return all;
}

std::vector<std::string> NodeHealth::NotReady() const {
  std::vector<std::string> missing;
  for (const HealthCondition& condition : Required()) {
    if (condition.status.ok()) continue;
    missing.push_back(absl::StrCat(condition.name, ": ", condition.status.message()));
  }
  return missing;
}

ReadinessPage DescribeReadiness(const std::vector<HealthCondition>& conditions) {
  ReadinessPage page{.is_ready = true};
  for (const HealthCondition& condition : conditions) {
    if (condition.status.ok()) {
      absl::StrAppend(&page.text, condition.name, ": yes\n");
      continue;
    }
    if (condition.is_required) page.is_ready = false;
    absl::StrAppend(&page.text, condition.name, ": no",
                    condition.is_required ? "" : " (not required)", ": ",
                    condition.status.message(), "\n");
  }
  page.text.insert(0, page.is_ready ? "ready\n" : "not ready\n");
  return page;
}

}  // namespace plimsoll::daemon
