// Pulls images from registries through the skopeo program.
#ifndef PLIMSOLL_IMAGE_TRANSPORT_SKOPEO_H_
#define PLIMSOLL_IMAGE_TRANSPORT_SKOPEO_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "base/programs/subprocess.h"
#include "image/blob_streams.h"
#include "image/image_service.h"
#include "image/manifest.h"
#include "image/names/reference.h"
#include "image/registry/registry_hosts.h"
#include "image/registry/registry_relay.h"

namespace plimsoll::image {

// A registry's image for a reference, for this machine.
struct RegistryImage {
  std::string digest;           // of the reference's target: an index or the manifest itself
  std::string manifest;         // text
  std::string manifest_digest;  // equals `digest` unless that is an index
};

// skopeo's parameters beside the reference.
struct TransportOptions {
  Credentials credentials;
  bool insecure = false;
  // Plain HTTP, to this machine's loopback only: neither a redirect nor a mirror leads skopeo to
  // another host.
  bool plain_on_loopback = false;
  absl::Duration stall_timeout = absl::Minutes(5);
  std::string registries_conf;      // containers-registries.conf(5); empty: skopeo's own, in /etc
  std::vector<MirrorRelay> relays;  // that the files in the home lead skopeo to
  std::function<bool()> cancelled;  // called in the calling thread; may be null
};

// One pull. Credentials are in a file of mode 0600 in `work` while it lives; they are never in an
// argument, the environment or an error. Call Resolve first, then ReadConfig and Copy, which may
// run in another thread, or Stream.
class SkopeoTransport {
 public:
  // The place of Copy's blobs, below `work`: each under the hex digits of its digest.
  static constexpr absl::string_view kBlobs = "blobs/sha256";

  // `host` has the machine's policy. `work` is an empty directory that the caller removes.
  // NOT_FOUND when skopeo isn't installed.
  static absl::StatusOr<std::unique_ptr<SkopeoTransport>> Open(const FsRoot& host,
                                                               const Reference& reference,
                                                               TransportOptions options,
                                                               const FsRoot& work);
  ~SkopeoTransport();

  // Asks the registry for the manifest only. Errors are those of TranslateSkopeoError and
  // ReadMachinePolicy, and CANCELLED; UNAVAILABLE when nothing comes for too long.
  absl::StatusOr<RegistryImage> Resolve();
  // The blobs of Resolve's image, read while they arrive. UNIMPLEMENTED when this skopeo can't
  // stream, or signatures must be checked. `told` and `stopped` are called in any thread. The
  // streams must not outlive the transport.
  absl::StatusOr<std::unique_ptr<BlobStreams>> Stream(const RegistryImage& image,
                                                      const std::function<bool()>& stopped,
                                                      BlobStreams::ToldFn told);
  // RESOURCE_EXHAUSTED when the disk lacks room for so many bytes.
  absl::Status CheckRoom(uint64_t bytes) const;
  // "registry.example/app:1"
  std::string name() const { return reference_.Canonical(); }
  // The config of Resolve's image, checked against its digest and size.
  absl::StatusOr<std::string> ReadConfig(const RegistryImage& image, const Descriptor& config);
  // Reads like the above, from the image's streams.
  absl::StatusOr<std::string> ReadConfig(const BlobStreams& streams, const Descriptor& config);
  // Copies the layers of Resolve's image into `work`/kBlobs. An existing blob is complete and
  // matches its digest, whatever happens to the others. Doesn't fetch those of `known`. `stopped`:
  // see TransportOptions::cancelled.
  absl::Status Copy(const RegistryImage& image, const absl::flat_hash_set<std::string>& known,
                    const std::function<bool()>& stopped, const ProgressFn& progress);

 private:
  SkopeoTransport(FsRoot host, const Reference& reference, TransportOptions options, FsRoot work,
                  std::string program)
      : host_(std::move(host)),
        reference_(reference),
        options_(std::move(options)),
        work_(std::move(work)),
        program_(std::move(program)) {}

  absl::Status WriteAuthFile() const;
  absl::StatusOr<RegistryImage> ResolveOnce();
  // After a refusal: OK if the registry can be asked again, by a relay. NOT_FOUND: nothing would be
  // different.
  absl::Status BeginRelay();
  // skopeo's words with the names of registries in place of their relays'.
  std::string OfTheRegistry(absl::string_view err) const;
  absl::StatusOr<std::vector<std::string>> Arguments(const char* subcommand,
                                                     const char* tls_option) const;
  absl::StatusOr<std::unique_ptr<SkopeoProxy>> StartProxy(
      const RegistryImage& image, const std::function<bool()>& stopped) const;
  absl::StatusOr<std::string> Inspect(const std::string& source, bool config);
  absl::StatusOr<std::string> CheckedConfig(
      const Descriptor& config, const std::function<absl::StatusOr<std::string>()>& read) const;
  // Functions that watch a run of skopeo; called several times a second.
  struct Watch {
    std::function<bool()> stopped;  // may be null
    // The number of bytes written so far, given skopeo's output. An error ends the run.
    std::function<absl::StatusOr<uint64_t>(absl::string_view out)> written;
  };
  class Streams;
  absl::StatusOr<std::string> Run(std::vector<std::string> argv, const Watch& watch);
  // Takes the program's streams to their end, then its exit. CANCELLED and UNAVAILABLE leave it
  // running.
  absl::StatusOr<ExitStatus> Await(Child& child, const Watch& watch, Streams& streams) const;
  // UNAVAILABLE when the registry asks for a longer pause than skopeo would make.
  absl::Status CheckRetryAfter(absl::string_view err) const;
  absl::Status Failure(absl::string_view err) const;
  absl::Status Ended(absl::string_view how, absl::string_view err) const;

  const FsRoot host_;
  const Reference reference_;
  const TransportOptions options_;
  const FsRoot work_;
  const std::string program_;
  std::unique_ptr<RegistryRelay> relay_;  // set by Resolve; null: none is needed
};

// Ends every skopeo that works in one of these directories of a former daemon's pulls. One that
// survives copies into a directory that will be gone, too. `host` has proc.
void EndStraySkopeos(const FsRoot& host, const std::vector<std::string>& works);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_TRANSPORT_SKOPEO_H_
