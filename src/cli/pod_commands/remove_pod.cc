#include "cli/pod_commands/remove_pod.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "cli/terminal/errors.h"
#include "cli/terminal/text.h"
#include "pod_runner/pod_files/dir.h"

namespace plimsoll::cli {

std::vector<std::string> NamesOf(const std::vector<cri::PodSandbox>& pods) {
  std::vector<std::string> names;
  std::map<std::string, int> times;
  for (const cri::PodSandbox& pod : pods) {
    names.push_back(absl::StrCat(pod.metadata().namespace_(), "/", pod.metadata().name()));
    ++times[names.back()];
  }
  for (size_t i = 0; i < pods.size(); ++i) {
    if (times[names[i]] > 1) names[i] = pods[i].id();
  }
  return names;
}

absl::Status RemovePod(pod::Client& client, const pod::Inventory& inventory,
                       const cri::PodSandbox& pod, bool force, const std::string& state_directory) {
  const std::string& name = pod.metadata().name();
  if (!force && pod::IsRunning(inventory, pod)) {
    const std::string quoted = ShellQuote(name);
    return WithHint(
        absl::FailedPreconditionError(absl::StrCat("pod ", name, " is running")),
        absl::StrCat("plimsoll stop ", quoted, "  first, or  plimsoll rm --force ", quoted));
  }
  PLIMSOLL_RETURN_IF_ERROR(pod::RemovePod(client, pod));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open("/"));
  const std::string& uid = pod.metadata().uid();
  // INVALID_ARGUMENT: the pod is another client's, whose uids have any form. It has no directory.
  const absl::Status removed = pod::RemovePodDir(root, state_directory, uid);
  if (removed.ok() || absl::IsInvalidArgument(removed)) return absl::OkStatus();
  // The pod is gone, so a further `plimsoll rm` doesn't find its name.
  const std::string directory = pod::PodDirPath(state_directory, uid);
  return WithHint(
      Annotate(removed, absl::StrCat("pod ", name, " is removed, but its logs and volumes in ",
                                     directory, " are not")),
      absl::StrCat("The next `plimsoll run` tries again. By hand: rm -r ", ShellQuote(directory)));
}

}  // namespace plimsoll::cli
