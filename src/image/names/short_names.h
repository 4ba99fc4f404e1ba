// The registries of an image without one in its name: the search list and the aliases of
// containers-registries.conf(5). skopeo knows full names only; for those it reads the same files
// itself (location, prefix, mirrors, insecure, blocked).
#ifndef PLIMSOLL_IMAGE_NAMES_SHORT_NAMES_H_
#define PLIMSOLL_IMAGE_NAMES_SHORT_NAMES_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "image/names/reference.h"

namespace plimsoll::image {

// The part of a [[registry]] that Plimsoll needs; skopeo reads all of it.
struct RegistryEntry {
  std::string prefix;    // the images that it is for: "quay.io/team", "*.quay.io"
  std::string location;  // stands for the prefix in the address; empty: the prefix itself
  bool insecure = false;
};

// The content of one file or of several. Thread-compatible value.
struct ShortNameConfig {
  std::vector<std::string> search;             // unqualified-search-registries
  std::string mode;                            // short-name-mode; empty: permissive
  std::map<std::string, std::string> aliases;  // "fedora" -> "registry.example/fedora"
  std::vector<RegistryEntry> registries;
};

// Adds the content of one file to `config`, like a drop-in file to the main one. INVALID_ARGUMENT
// for text that is no TOML, or a member of a wrong type; then `config` stays unchanged. `file` is
// for messages.
absl::Status AddShortNames(absl::string_view text, absl::string_view file, ShortNameConfig* config);

// The full names for `text`, a short name with or without a tag or digest, in the order to try
// them: its alias alone, or one name in each registry of the search list. Without either it is
// Docker's, where podman refuses it; podman's recorded aliases in /var/cache are not read.
// FAILED_PRECONDITION if the mode is "enforcing" and there are several, or the
// configuration gives no valid name; INVALID_ARGUMENT for a malformed name.
absl::StatusOr<std::vector<Reference>> ShortNameCandidates(const ShortNameConfig& config,
                                                           absl::string_view text);

// The entry for the image: that of the longest prefix; of several with it the last one.
std::optional<RegistryEntry> FindRegistryEntry(const ShortNameConfig& config,
                                               const Reference& reference);

// The machine's configuration at the last Read. Thread-safe.
class ShortNames {
 public:
  // `file`: absolute path of registries.conf; empty: /etc/containers/registries.conf, which need
  // not exist. The files of /etc/containers/registries.conf.d are added to either, as in skopeo.
  ShortNames(FsRoot host, std::string file) : host_(std::move(host)), file_(std::move(file)) {}

  // Reads the files again. After an error the previous content stays in force.
  absl::Status Read();
  // A name with a registry is itself; a short name is its candidates.
  absl::StatusOr<std::vector<Reference>> Resolve(absl::string_view text) const;
  // See FindRegistryEntry.
  std::optional<RegistryEntry> EntryFor(const Reference& reference) const;

 private:
  const FsRoot host_;
  const std::string file_;
  mutable absl::Mutex mutex_;
  ShortNameConfig config_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_NAMES_SHORT_NAMES_H_
