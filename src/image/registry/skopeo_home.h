// Files of skopeo's user, which it reads below its HOME beside the machine's: a pull's own.
#ifndef PLIMSOLL_IMAGE_REGISTRY_SKOPEO_HOME_H_
#define PLIMSOLL_IMAGE_REGISTRY_SKOPEO_HOME_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "dial/tls_stream.h"

namespace plimsoll::image {

// A drop-in file of containers-registries.conf(5). An entry of it replaces the machine's with the
// same prefix.
absl::Status WriteRegistries(const FsRoot& home, absl::string_view name, absl::string_view text);

// Certificates for a host, "quay.io:443" (containers-certs.d(5)), beside those already written.
// With any, skopeo reads none of the machine's for the host.
absl::Status WriteTrust(const FsRoot& home, const std::string& host, const dial::TlsTrust& trust);

// The certificates that skopeo with this home uses for a host, beside the machine's authorities. A
// file that can't be read is empty.
dial::TlsTrust ReadTrust(const FsRoot& machine, const FsRoot& home, const std::string& host);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_REGISTRY_SKOPEO_HOME_H_
