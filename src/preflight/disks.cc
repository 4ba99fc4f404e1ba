#include <string>

#include "absl/strings/str_cat.h"
#include "base/text/human_bytes.h"
#include "preflight/report.h"

namespace plimsoll::preflight {
namespace {

// kubelet's default evictionHard for the file systems of images and of the node: below these it
// takes the node out of the scheduler's choice (DiskPressure) and evicts pods.
constexpr uint64_t kImagesPercent = 15;
constexpr uint64_t kNodesPercent = 10;
constexpr uint64_t kInodesPercent = 5;
constexpr uint64_t kLeastRunBytes = 16 << 20;

struct Disk {
  const char* what;
  std::string directory;
  uint64_t percent;
};

// The nearest directory at or above `directory` that exists.
absl::StatusOr<DiskRoom> RoomAtOrAbove(const HostQueries& machine, std::string directory) {
  absl::StatusOr<DiskRoom> room = machine.room(directory);
  while (absl::IsNotFound(room.status()) && directory.size() > 1) {
    const size_t slash = directory.rfind('/');
    directory = slash == 0 || slash == std::string::npos ? "/" : directory.substr(0, slash);
    room = machine.room(directory);
  }
  return room;
}

void CheckDisk(const Disk& disk, const DiskRoom& room, Report& report) {
  const std::string where = absl::StrCat("the file system of ", disk.directory, ", ", disk.what);
  const std::string remedy =
      "make room (plimsoll prune), or lower evictionHard in kubelet's configuration";
  // Divided instead of multiplied: 100 times a size may not fit.
  if (room.bytes > 0 && room.free_bytes / disk.percent < room.bytes / 100) {
    report.Error(absl::StrCat(where, ", has ", BytesInWords(room.free_bytes), " of ",
                              BytesInWords(room.bytes), " left: below ", disk.percent,
                              "% kubelet reports DiskPressure and evicts pods"),
                 remedy);
  }
  if (room.inodes > 0 && room.free_inodes / kInodesPercent < room.inodes / 100) {
    report.Error(
        absl::StrCat(where, ", has ", room.free_inodes, " of ", room.inodes, " inodes left: below ",
                     kInodesPercent, "% kubelet reports DiskPressure and evicts pods"),
        remedy);
  }
}

}  // namespace

void CheckDisks(const Subject& subject, Report report) {
  const Input& input = subject.input;
  for (const Disk& disk : {Disk{"images and containers", input.state_directory, kImagesPercent},
                           Disk{"kubelet's directory", input.kubelet_root, kNodesPercent}}) {
    const absl::StatusOr<DiskRoom> room = RoomAtOrAbove(input.machine, disk.directory);
    if (room.ok()) {
      CheckDisk(disk, *room, report);
    } else {
      report.Error(absl::StrCat(disk.directory, " can't be looked at: ", room.status().message()),
                   "look for the disk's errors in the kernel's log");
    }
  }
  const absl::StatusOr<DiskRoom> state = RoomAtOrAbove(input.machine, input.state_directory);
  if (state.ok() && state->is_overlayfs) {
    report.Error(absl::StrCat("the state directory ", input.state_directory,
                              " is on overlayfs: no container can have its root file system there"),
                 "mount a volume on it, or set state_dir in the configuration");
  }
  const absl::StatusOr<DiskRoom> run = RoomAtOrAbove(input.machine, input.run_directory);
  if (run.ok() && run->bytes > 0 && run->free_bytes < kLeastRunBytes) {
    report.Error(absl::StrCat("the file system of the run directory ", input.run_directory, " has ",
                              BytesInWords(run->free_bytes),
                              " left: pods need some for their /etc "
                              "files, sockets and exit codes"),
                 "make room; du -x /run names what takes it");
  }
}

}  // namespace plimsoll::preflight
