// Images from registries, through the skopeo program.
#ifndef PLIMSOLL_IMAGE_TRANSPORT_SKOPEO_H_
#define PLIMSOLL_IMAGE_TRANSPORT_SKOPEO_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "image/image_service.h"
#include "image/reference.h"

namespace plimsoll::image {

// What a registry has under a reference, for this machine.
struct RegistryImage {
  std::string digest;           // of what the reference leads to: an index or the manifest itself
  std::string manifest;         // text
  std::string manifest_digest;  // the same as `digest` unless that is an index
};

// One pull. Credentials are in a file of mode 0600 in `work` while it lives; they are never in an
// argument, the environment or an error. Not thread-safe.
class SkopeoTransport {
 public:
  // `work` is an empty directory that the caller removes. NOT_FOUND when there is no skopeo.
  static absl::StatusOr<std::unique_ptr<SkopeoTransport>> Open(const Reference& reference,
                                                               const PullOptions& options,
                                                               const FsRoot& work);
  ~SkopeoTransport();

  // Asks the registry for the manifest only. The errors are those of ImageService::Pull, and
  // CANCELLED.
  absl::StatusOr<RegistryImage> Resolve();
  // Copies what Resolve found into the directory `work`/image: the file manifest.json, and each
  // blob under the hex digits of its digest (skopeo's "dir" format, which keeps a manifest byte for
  // byte, and so its digest; its "oci" format would rewrite Docker's).
  absl::Status Copy(const RegistryImage& image, const ProgressFn& progress);

 private:
  SkopeoTransport(const Reference& reference, const PullOptions& options, FsRoot work,
                  std::string program)
      : reference_(reference),
        options_(options),
        work_(std::move(work)),
        program_(std::move(program)),
        deadline_(absl::Now() + options.timeout) {}

  absl::Status WriteAuthFile() const;
  std::vector<std::string> Arguments(const char* subcommand, const char* tls_option) const;
  absl::StatusOr<std::string> InspectRaw(const std::string& source);
  absl::StatusOr<std::string> Run(std::vector<std::string> argv,
                                  const std::function<void(absl::string_view out)>& on_tick);
  absl::Status Failure(absl::string_view err) const;

  const Reference reference_;
  const PullOptions options_;
  const FsRoot work_;
  const std::string program_;
  const absl::Time deadline_;
};

// Ends every skopeo that works in one of these directories of pulls, for a daemon that is gone. One
// that can't be ended copies into a directory that will be gone, too.
void EndStraySkopeos(const std::vector<std::string>& works);

// The registry's answer in skopeo's words as an error: NOT_FOUND, PERMISSION_DENIED, UNAVAILABLE,
// DATA_LOSS (not the content of its digest), RESOURCE_EXHAUSTED (disk full) or INTERNAL. `secrets`
// are cut out of the message, whatever they are encoded as there. Exposed for its test.
absl::Status TranslateSkopeoError(absl::string_view stderr_text, absl::string_view reference,
                                  const Credentials& secrets);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_TRANSPORT_SKOPEO_H_
