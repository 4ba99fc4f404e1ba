#include "kube/apiserver/credentials.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/regular_file.h"
#include "base/status.h"

namespace plimsoll::kube {
namespace {

constexpr size_t kMostFileBytes = 1024 * 1024;
// A header's line; the server's own limit for all of them is 1 MiB.
constexpr size_t kMostTokenBytes = 32 * 1024;

absl::StatusOr<std::string> TextOf(const FsRoot& host, const FileOrText& source) {
  if (source.file.empty()) return source.text;
  absl::StatusOr<std::string> text = ReadRegularFile(host, source.file, kMostFileBytes);
  // Without named authorities, those of the machine would be trusted.
  if (text.ok() && absl::StripAsciiWhitespace(*text).empty()) {
    return absl::UnauthenticatedError(absl::StrCat("credentials: ", source.file, " is empty"));
  }
  if (text.ok()) return text;
  // Not NOT_FOUND: that would be the object that is asked for.
  return absl::UnauthenticatedError(absl::StrCat("credentials: ", text.status().message()));
}

absl::Status CheckToken(absl::string_view token, const FileOrText& source) {
  const std::string name =
      source.file.empty() ? "credentials: the token" : absl::StrCat("credentials: ", source.file);
  if (token.empty()) return absl::UnauthenticatedError(absl::StrCat(name, " is empty"));
  if (token.size() > kMostTokenBytes) {
    return absl::UnauthenticatedError(
        absl::StrCat(name, " is longer than a token: ", token.size(), " bytes"));
  }
  for (const char each : token) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(each))) {
      return absl::UnauthenticatedError(
          absl::StrCat(name, " is no token: it has spaces, line breaks or other characters"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ApiCredentials> LoadCredentials(const ApiServerAddress& address) {
  ApiCredentials loaded;
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot host, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(loaded.authorities, TextOf(host, address.authorities));
  PLIMSOLL_ASSIGN_OR_RETURN(loaded.certificate, TextOf(host, address.certificate));
  PLIMSOLL_ASSIGN_OR_RETURN(loaded.key, TextOf(host, address.key));
  if (address.token.empty()) return loaded;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string token, TextOf(host, address.token));
  loaded.token = std::string(absl::StripAsciiWhitespace(token));
  PLIMSOLL_RETURN_IF_ERROR(CheckToken(loaded.token, address.token));
  return loaded;
}

}  // namespace plimsoll::kube
