// Images: import, pull, look up, use as a root filesystem, remove.
//
// A content-addressed store below one directory:
//   blobs/sha256/<hex>     manifests and configs (layer blobs are dropped once unpacked)
//   layers/<chain id hex>/diff   unpacked layers, shared by every image that has the same chain
//   work/                  unfinished work; emptied at start
#ifndef PLIMSOLL_IMAGE_IMAGE_SERVICE_H_
#define PLIMSOLL_IMAGE_IMAGE_SERVICE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "image/catalog.h"

namespace plimsoll::image {

// The part of an image's config about running it (OCI image spec, config.md).
struct ImageConfig {
  std::vector<std::string> entrypoint;
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=value"
  std::string user;                      // "", "1000", "1000:1000", "name", "name:group"
  std::string working_directory;
  std::string stop_signal;  // "SIGTERM", "15", ""
  std::vector<std::string> volumes;
  std::map<std::string, std::string> labels;
  std::string architecture;
  std::string os;
};

struct Image {
  ImageRecord record;
  ImageConfig config;
};

// The name for an image that was requested as `asked`: its digest in that repository, else in any,
// else its id.
std::string RepoDigestFor(const ImageRecord& image, absl::string_view asked);

// The layers of a container's root filesystem. A reference: while one lives, the layers stay, even
// if the image is removed.
class LayerLease {
 public:
  virtual ~LayerLease() = default;
  virtual const std::vector<std::string>& lower_directories() const = 0;  // top first
  // Bottom first. A container that outlives the process stores them, and gets its lease again with
  // LeaseChain.
  virtual const std::vector<std::string>& chain_ids() const = 0;
};

struct Credentials {
  std::string username;
  std::string password;
  std::string identity_token;  // OAuth 2 refresh token
  // The registry that they belong to; they go to no other. Empty: the registry of the reference, or
  // of its short name; if that stands for several, only Docker's.
  std::string registry;
  bool empty() const { return username.empty() && identity_token.empty(); }
  bool operator==(const Credentials&) const = default;
};

struct Progress {
  std::string step;  // "copying", "unpacking layer 2 of 3"; without the image's name
  uint64_t done_bytes = 0;
  uint64_t total_bytes = 0;  // 0: unknown
};
using ProgressFn = std::function<void(const Progress&)>;

struct PullOptions {
  Credentials credentials;
  absl::Duration timeout = absl::InfiniteDuration();
  // A pull fails when a registry sends nothing for so long.
  absl::Duration stall_timeout = absl::Minutes(5);
  bool insecure_registry = false;  // plain HTTP, or an unchecked certificate
  // insecure_registry for one registry ("host:port"); may be null. Called in any thread.
  std::function<bool(absl::string_view registry)> is_insecure;
  std::function<bool()> cancelled;  // called in the caller's thread
};

// True when a pull failed because this machine's policy.json requires a signature and there is
// none.
bool IsSignatureRefusal(const absl::Status& status);

struct ImageUsage {
  uint64_t bytes = 0;
  uint64_t inodes = 0;
};

// An ended pull; several callers that waited for the same one count as one.
struct FinishedPull {
  absl::Status status;
  absl::Duration duration;
  uint64_t bytes = 0;  // received from the registry, of layers and config
};

struct ImageServiceOptions {
  FsRoot host;  // has etc/containers and proc
  // Absolute path of a containers-registries.conf(5); empty: /etc/containers/registries.conf, which
  // need not exist.
  std::string registries_conf;
  // True: a stored layer or image serves any registry that names it. False: it is fetched again,
  // and hashed, from each repository that it hasn't come from.
  bool share_layers = false;
  // Called for each pull from a registry, in its own thread; may be null. Must be quick.
  std::function<void()> on_pull_start;
  std::function<void(const FinishedPull&)> on_pull_end;
};

// Thread-safe. Long operations hold no lock. A pull runs in a thread of its own; callers of the
// same one share it, and it ends with the last of them.
class ImageService {
 public:
  virtual ~ImageService() = default;

  // Opens or makes the store. `catalog` must outlive it. Empties work/, removes nothing else (see
  // CollectGarbage). Leases may outlive the service; their layers then stay.
  static absl::StatusOr<std::unique_ptr<ImageService>> Open(const FsRoot& directory,
                                                            Catalog* catalog,
                                                            const ImageServiceOptions& options);

  // Imports an OCI layout or a plain root filesystem (directory or tar), or a docker-archive tar;
  // it recognizes the kind itself. `reference` names the image ("hello", "registry.local/a:1");
  // empty takes the archive's own names. All or nothing. CANCELLED soon after `cancelled` (may be
  // null; called in several threads at once) returns true. `progress` is called in several threads,
  // never at once. DATA_LOSS for a tar that was cut off between two files.
  virtual absl::StatusOr<Image> Import(const std::string& path, absl::string_view reference,
                                       const ProgressFn& progress,
                                       const std::function<bool()>& cancelled) = 0;
  absl::StatusOr<Image> Import(const std::string& path, absl::string_view reference,
                               const ProgressFn& progress) {
    return Import(path, reference, progress, nullptr);
  }
  // Pulls through skopeo. A short name ("busybox") is tried in the registries of registries.conf,
  // else in Docker's. INVALID_ARGUMENT for a malformed reference, NOT_FOUND when the registry has
  // no such image, PERMISSION_DENIED, FAILED_PRECONDITION (this machine's policy.json or
  // registries.conf forbids it), UNAVAILABLE (registry not reached, or it sends nothing), DATA_LOSS
  // (the content doesn't match its digest), CANCELLED, DEADLINE_EXCEEDED. After a failure nothing
  // is left.
  virtual absl::StatusOr<Image> Pull(absl::string_view reference, const PullOptions& options,
                                     const ProgressFn& progress) = 0;

  // Finds a tag, digest reference, id, or unambiguous id prefix. For a short name it tries the same
  // names as a pull, and takes the first in the store, else Docker's
  // ("docker.io/library/busybox:latest").
  virtual absl::StatusOr<Image> Find(absl::string_view reference) const = 0;
  virtual std::vector<Image> List() const = 0;
  // A tag or digest reference removes that name, and the image too if it was the last; an id
  // removes the image with all names. OK when there is none. Layers in use go when their lease
  // does.
  virtual absl::Status Remove(absl::string_view reference) = 0;

  virtual absl::StatusOr<std::shared_ptr<LayerLease>> Lease(absl::string_view image_id) = 0;
  // Lease by chain ids, bottom first: a container found after a restart keeps its layers, even if
  // its image is gone. NOT_FOUND names the missing layer.
  virtual absl::StatusOr<std::shared_ptr<LayerLease>> LeaseChain(
      const std::vector<std::string>& chain_ids) = 0;
  // Removes layers and blobs that no image, lease or running import uses. Open doesn't do it: call
  // it once, when every surviving container has its lease again. Until then the layers that Open
  // found stay, even if their image or last lease goes.
  virtual absl::Status CollectGarbage() = 0;
  // Disk usage of the unpacked layers, manifests and configs, in blocks. Measured when they arrive,
  // then remembered.
  virtual absl::StatusOr<ImageUsage> Usage() const = 0;
  virtual std::string directory() const = 0;
  // Images that Open found damaged and removed from the list, one sentence each.
  virtual std::vector<std::string> Damaged() const { return {}; }
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_IMAGE_SERVICE_H_
