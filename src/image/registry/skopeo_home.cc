#include "image/registry/skopeo_home.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/regular_file.h"
#include "base/status.h"

namespace plimsoll::image {
namespace {

constexpr size_t kMaxCertificateBytes = 1024 * 1024;
constexpr char kDropIns[] = ".config/containers/registries.conf.d";
constexpr char kCertificates[] = ".config/containers/certs.d";

dial::TlsTrust ReadDirectory(const FsRoot& root, const std::string& directory,
                             const std::vector<std::string>& names) {
  dial::TlsTrust trust;
  const auto read = [&](absl::string_view name) {
    return ReadRegularFile(root, absl::StrCat(directory, "/", name), kMaxCertificateBytes)
        .value_or("");
  };
  for (const std::string& name : names) {
    absl::string_view stem = name;
    if (absl::ConsumeSuffix(&stem, ".crt")) trust.authorities.push_back(read(name));
    if (absl::ConsumeSuffix(&stem, ".cert")) {
      trust.identities.push_back({read(name), read(absl::StrCat(stem, ".key"))});
    }
  }
  return trust;
}

}  // namespace

absl::Status WriteRegistries(const FsRoot& home, absl::string_view name, absl::string_view text) {
  PLIMSOLL_RETURN_IF_ERROR(home.MakeDirs(kDropIns));
  return home.ReplaceFile(absl::StrCat(kDropIns, "/", name, ".conf"), text, 0600);
}

absl::Status WriteTrust(const FsRoot& home, const std::string& host, const dial::TlsTrust& trust) {
  if (trust.authorities.empty() && trust.identities.empty()) return absl::OkStatus();
  const std::string directory = absl::StrCat(kCertificates, "/", host);
  PLIMSOLL_RETURN_IF_ERROR(home.MakeDirs(directory));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> there, home.List(directory));
  size_t number = there.size();
  const auto write = [&](const char* ending, const std::string& text) {
    return home.ReplaceFile(absl::StrCat(directory, "/", number, ending), text, 0600);
  };
  for (const std::string& authority : trust.authorities) {
    ++number;
    PLIMSOLL_RETURN_IF_ERROR(write(".crt", authority));
  }
  for (const dial::TlsIdentity& identity : trust.identities) {
    ++number;
    PLIMSOLL_RETURN_IF_ERROR(write(".cert", identity.certificate));
    PLIMSOLL_RETURN_IF_ERROR(write(".key", identity.key));
  }
  return absl::OkStatus();
}

dial::TlsTrust ReadTrust(const FsRoot& machine, const FsRoot& home, const std::string& host) {
  const std::pair<const FsRoot&, std::string> places[] = {
      {home, kCertificates}, {machine, "etc/containers/certs.d"}, {machine, "etc/docker/certs.d"}};
  for (const auto& [root, place] : places) {
    const std::string directory = absl::StrCat(place, "/", host);
    const absl::StatusOr<std::vector<std::string>> names = root.List(directory);
    if (names.ok()) return ReadDirectory(root, directory, *names);
  }
  return {};
}

}  // namespace plimsoll::image
