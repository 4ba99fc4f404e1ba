// The process that reads or writes a container's files for `plimsoll cp`: this program once more,
// without threads, so that it can enter the container's user namespace. It enters no other
// namespace and stays in this machine's root, so it loads and runs nothing of the container's: it
// holds the container's root directory by descriptor, by which the kernel goes the same mounts.
//
// Copying is the command line's own work. The CRI has no call for it, and a daemon that opens
// containers' files for others would be worth attacking, while the user of its socket is root in
// effect anyway. tar run in the container, kubectl's way, needs a tar there and believes it.
#ifndef PLIMSOLL_COPY_HELPER_H_
#define PLIMSOLL_COPY_HELPER_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"
#include "copy/container_root.h"

namespace plimsoll::copy {

// The first word of the command line with which a program starts itself as helper.
inline constexpr char kHelperWord[] = "__cp";

struct HelperPlan {
  bool gives = false;    // reads `path` into a tar stream; else writes one there
  std::string label;     // comes before paths in messages: "web:"
  std::string path;      // in the container
  std::string name;      // ReadOptions::name or WriteOptions::source_name
  bool archive = false;  // ReadOptions::attributes or WriteOptions::archive
  bool follow = false;   // as in ReadOptions
  bool content = false;  // as in WriteOptions
  bool bare = false;     // as in WriteOptions
};

// A started helper. Not thread-safe.
class Helper {
 public:
  // `program`: the path of this program, whose main calls HelperMain.
  static absl::StatusOr<Helper> Start(const std::string& program, const HelperPlan& plan,
                                      const ContainerRoot& container);

  // The end of the stream: for reading if the helper reads files, else for writing. Closing it
  // early ends the helper, which leaves nothing half-written.
  UniqueFd& stream() { return stream_; }
  struct Outcome {
    absl::Status status;  // OK also when it ended because nobody read its stream
    std::vector<std::string> notes;
  };
  // Closes the stream and waits for the end. Once `hurry` returns true, kills a helper that reads
  // at once. One that writes first gets some seconds to remove its unfinished file, but no more:
  // the container's file system may not answer.
  Outcome Await(const std::function<bool()>& hurry);

 private:
  Helper(bool gives, Child child, UniqueFd stream, UniqueFd report)
      : gives_(gives),
        child_(std::move(child)),
        stream_(std::move(stream)),
        report_(std::move(report)) {}

  bool gives_;
  Child child_;
  UniqueFd stream_;
  UniqueFd report_;  // memfd
};

// `words` follow kHelperWord. Returns the exit code.
int HelperMain(const std::vector<std::string>& words);

}  // namespace plimsoll::copy

#endif  // PLIMSOLL_COPY_HELPER_H_
