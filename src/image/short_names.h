// Where an image without a registry in its name is looked for: the search list and the aliases of
// containers-registries.conf(5). skopeo knows full names only; for those it reads the same files
// itself (location, prefix, mirrors, insecure, blocked).
#ifndef PLIMSOLL_IMAGE_SHORT_NAMES_H_
#define PLIMSOLL_IMAGE_SHORT_NAMES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "image/reference.h"

namespace plimsoll::image {

// What one file or several of them say. Thread-compatible value.
struct ShortNameConfig {
  std::vector<std::string> search;             // unqualified-search-registries
  std::string mode;                            // short-name-mode; empty: permissive
  std::map<std::string, std::string> aliases;  // "fedora" -> "registry.example/fedora"
};

// Adds what the text of one file says to `config`, as a drop-in file is added to the main one.
// INVALID_ARGUMENT for text that is no TOML, or a member of a wrong type; then `config` is as
// before. `file` is for messages.
absl::Status AddShortNames(absl::string_view text, absl::string_view file, ShortNameConfig* config);

// The full names that `text`, a short name with or without a tag or digest, stands for, in the
// order in which they are to be tried: its alias alone, or one name in each registry of the search
// list. Without either it is Docker's. FAILED_PRECONDITION where the mode is "enforcing" and there
// are several, or what is configured gives no valid name; INVALID_ARGUMENT for a malformed name.
absl::StatusOr<std::vector<Reference>> ShortNameCandidates(const ShortNameConfig& config,
                                                           absl::string_view text);

// The machine's configuration, as last read. Thread-safe.
class ShortNames {
 public:
  // `file`: absolute path of registries.conf; empty: /etc/containers/registries.conf, which need
  // not be there. The files of /etc/containers/registries.conf.d are added to either, as skopeo
  // does.
  ShortNames(FsRoot host, std::string file) : host_(std::move(host)), file_(std::move(file)) {}

  // Reads the files again. After an error what was read before stays in force.
  absl::Status Read();
  // What `text` stands for: itself where it names a registry, else its candidates.
  absl::StatusOr<std::vector<Reference>> Resolve(absl::string_view text) const;

 private:
  const FsRoot host_;
  const std::string file_;
  mutable absl::Mutex mutex_;
  ShortNameConfig config_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_SHORT_NAMES_H_
