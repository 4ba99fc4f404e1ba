#include "bench/scratch.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/programs/subprocess.h"
#include "base/status.h"

namespace plimsoll::bench {

absl::StatusOr<std::unique_ptr<Scratch>> Scratch::Make(bool keep) {
  std::string path = "/tmp/plimsoll-bench-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return ErrnoStatus(errno, absl::StrCat("mkdtemp ", path));
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot directory, FsRoot::Open(path));
  return std::unique_ptr<Scratch>(new Scratch(path, std::move(directory), keep));
}

Scratch::~Scratch() {
  // crun removes a container's group but not its parents; the daemon removes the pod's group.
  if (const absl::StatusOr<FsRoot> cgroups = FsRoot::Open("/sys/fs/cgroup"); cgroups.ok()) {
    cgroups->RemoveDir(&kCgroupParent[1]).IgnoreError();
    for (const std::string& hierarchy : cgroups->List(".").value_or(std::vector<std::string>())) {
      cgroups->RemoveDir(absl::StrCat(hierarchy, kCgroupParent)).IgnoreError();
    }
  }
  if (keep_) return;
  const absl::Status removed = FsRoot::Open("/tmp")->RemoveTree(path_.substr(5));
  if (!removed.ok()) std::fprintf(stderr, "%s\n", removed.ToString().c_str());
}

absl::StatusOr<std::string> Scratch::ImageArchive() {
  const std::string archive = directory_.PathOf("busybox.tar");
  if (!directory_.Exists("busybox.tar")) {
    PLIMSOLL_RETURN_IF_ERROR(
        RunChecked({.argv = {PLIMSOLL_SOURCE_DIR "/tools/example_image.sh", archive}}).status());
  }
  return archive;
}

absl::StatusOr<std::string> BesideThisProgram(absl::string_view name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string self, root.ReadLink("proc/self/exe"));
  return absl::StrCat(self.substr(0, self.rfind('/') + 1), name);
}

}  // namespace plimsoll::bench
