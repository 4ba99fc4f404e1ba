// A benchmark's files and cgroups on the machine, and their removal.
#ifndef PLIMSOLL_BENCH_SCRATCH_H_
#define PLIMSOLL_BENCH_SCRATCH_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::bench {

constexpr char kCgroupParent[] = "/plimsoll-bench";
constexpr char kImage[] = "plimsoll.dev/bench/busybox:latest";

// A directory below /tmp and the cgroups below kCgroupParent.
class Scratch {
 public:
  // `keep`: leaves the directory, for the daemon's log.
  static absl::StatusOr<std::unique_ptr<Scratch>> Make(bool keep);
  ~Scratch();

  const FsRoot& directory() const { return directory_; }
  // A tar of Debian's static busybox, made at the first call.
  absl::StatusOr<std::string> ImageArchive();

 private:
  Scratch(std::string path, FsRoot directory, bool keep)
      : path_(std::move(path)), directory_(std::move(directory)), keep_(keep) {}

  const std::string path_;
  const FsRoot directory_;
  const bool keep_;
};

// Path of another program of the same build.
absl::StatusOr<std::string> BesideThisProgram(absl::string_view name);

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_SCRATCH_H_
