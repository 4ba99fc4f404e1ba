// A container's last words: the file that it may write, or the end of its log (kubelet's
// pkg/kubelet/kuberuntime, "termination message").
//
//   <pod directory>/termination/<container>       of the newest run; mounted into the container
//   <pod directory>/termination/<container>.<n>   of the run before it, whose attempt is <n>
//
// The path of the mount stays the same for all runs, as a pod's announced mounts must.
#ifndef PLIMSOLL_POD_RUNNER_POD_FILES_TERMINATION_MESSAGE_H_
#define PLIMSOLL_POD_RUNNER_POD_FILES_TERMINATION_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {

// kubelet's limits: of a file's end, of a log's end, and of all containers of a pod together.
inline constexpr size_t kTerminationMessageBytes = 4096;
inline constexpr size_t kTerminationLogBytes = 2048;
inline constexpr uint64_t kTerminationLogLines = 80;
inline constexpr size_t kPodTerminationBytes = size_t{12} * 1024;

// An absolute path.
std::string TerminationLogPath(absl::string_view pod_directory, absl::string_view container);

// Makes a new, empty file that any user may write, for one start of the container. `last`: the
// attempt of the run before, whose file is kept; those of earlier runs go. A second call for the
// same start changes nothing for the run before. `root` is "/".
absl::Status MakeTerminationLog(const FsRoot& root, const std::string& pod_directory,
                                const std::string& container, std::optional<uint32_t> last);

// A run that has ended.
struct EndedRun {
  const ContainerManifest& container;
  uint32_t attempt = 0;
  int exit_code = 0;
  std::string log_path;  // absolute; empty: there is no log
};

// The run's last words: valid UTF-8, at most kTerminationMessageBytes. The container had the file
// in its hands, so only a regular file is read, no link is followed, and no more than its end is
// read. A file that can't be read gives a sentence that says so, as under kubelet. Empty: the run
// left none.
std::string TerminationMessage(const FsRoot& root, const std::string& pod_directory,
                               const EndedRun& run);

// The longest beginning of `text`, which is UTF-8, with at most `bytes` bytes and whole characters.
std::string ClipText(const std::string& text, size_t bytes);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_POD_FILES_TERMINATION_MESSAGE_H_
