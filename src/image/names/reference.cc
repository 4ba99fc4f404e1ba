#include "image/names/reference.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "image/names/digest.h"

namespace plimsoll::image {
namespace {

constexpr absl::string_view kDefaultRegistry = "docker.io";
constexpr absl::string_view kDefaultTag = "latest";
constexpr size_t kMaxNameBytes = 255;
constexpr size_t kMaxTagBytes = 128;
constexpr size_t kMaxReferenceBytes = 1024;

absl::Status Malformed(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "image reference \"", absl::CEscape(text.substr(0, 300)), "\" is malformed: ", why));
}

bool IsLowerAlnum(char c) {
  return absl::ascii_islower(c) || absl::ascii_isdigit(c);
}

// Lower-case letters and digits with single '.', one or two '_' or any number of '-' between.
bool IsPathComponent(absl::string_view part) {
  if (part.empty() || !IsLowerAlnum(part.front()) || !IsLowerAlnum(part.back())) return false;
  for (size_t i = 0; i < part.size();) {
    if (IsLowerAlnum(part[i])) {
      ++i;
      continue;
    }
    const char separator = part[i];
    size_t run = 0;
    while (i < part.size() && !IsLowerAlnum(part[i])) {
      if (part[i] != separator) return false;
      ++i, ++run;
    }
    const bool legal =
        separator == '-' || (separator == '.' && run == 1) || (separator == '_' && run <= 2);
    if (!legal) return false;
  }
  return true;
}

bool IsHostLabel(absl::string_view label) {
  if (label.empty() || !absl::ascii_isalnum(label.front()) || !absl::ascii_isalnum(label.back())) {
    return false;
  }
  for (char c : label) {
    if (!absl::ascii_isalnum(c) && c != '-') return false;
  }
  return true;
}

bool IsPort(absl::string_view port) {
  int number = 0;
  return !port.empty() && port.size() <= 5 &&
         port.find_first_not_of("0123456789") == absl::string_view::npos &&
         absl::SimpleAtoi(port, &number) && number > 0 && number <= 65535;
}

// host, host:port, [ipv6]:port
bool IsRegistry(absl::string_view text) {
  if (absl::StartsWith(text, "[")) {
    const size_t end = text.find(']');
    if (end == absl::string_view::npos || end < 3) return false;
    const absl::string_view address = text.substr(1, end - 1);
    if (address.find_first_not_of("0123456789abcdefABCDEF:.") != absl::string_view::npos) {
      return false;
    }
    const absl::string_view rest = text.substr(end + 1);
    return rest.empty() || (rest.front() == ':' && IsPort(rest.substr(1)));
  }
  const size_t colon = text.find(':');
  if (colon != absl::string_view::npos && !IsPort(text.substr(colon + 1))) return false;
  for (absl::string_view label : absl::StrSplit(text.substr(0, colon), '.')) {
    if (!IsHostLabel(label)) return false;
  }
  return true;
}

bool IsTag(absl::string_view tag) {
  if (tag.empty() || tag.size() > kMaxTagBytes) return false;
  if (!absl::ascii_isalnum(tag.front()) && tag.front() != '_') return false;
  for (char c : tag) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.' && c != '-') return false;
  }
  return true;
}

bool LooksLikeRegistry(absl::string_view first) {
  return first == "localhost" || first.find_first_of(".:[") != absl::string_view::npos;
}

// Splits "host/a/b" without tag and digest into registry and repository.
absl::Status ParseName(absl::string_view name, absl::string_view text, Reference* reference) {
  const size_t slash = name.find('/');
  if (slash != absl::string_view::npos && LooksLikeRegistry(name.substr(0, slash))) {
    reference->registry = std::string(name.substr(0, slash));
    reference->repository = std::string(name.substr(slash + 1));
  } else {
    reference->registry = std::string(kDefaultRegistry);
    reference->repository = std::string(name);
  }
  if (reference->registry == "index.docker.io") reference->registry = std::string(kDefaultRegistry);
  if (!IsRegistry(reference->registry)) {
    return Malformed(text, absl::StrCat("\"", absl::CEscape(reference->registry),
                                        "\" is no registry; valid is host or host:port"));
  }
  if (reference->registry == kDefaultRegistry && !absl::StrContains(reference->repository, '/')) {
    reference->repository = absl::StrCat("library/", reference->repository);
  }
  for (absl::string_view part : absl::StrSplit(reference->repository, '/')) {
    if (IsPathComponent(part)) continue;
    return Malformed(text, absl::StrCat("\"", absl::CEscape(part),
                                        "\" is no part of a name; valid are lower-case letters and "
                                        "digits, with . _ __ or - between them"));
  }
  if (reference->Name().size() > kMaxNameBytes) {
    return Malformed(text, absl::StrCat("the name is longer than ", kMaxNameBytes, " bytes"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string Reference::Name() const {
  return absl::StrCat(registry, "/", repository);
}

std::string Reference::Tagged() const {
  return tag.empty() ? std::string() : absl::StrCat(Name(), ":", tag);
}

std::string Reference::Digested() const {
  return digest.empty() ? std::string() : absl::StrCat(Name(), "@", digest);
}

std::string Reference::Canonical() const {
  return digest.empty() ? Tagged() : Digested();
}

bool IsShortName(absl::string_view text) {
  const size_t slash = text.find('/');
  return slash == absl::string_view::npos || !LooksLikeRegistry(text.substr(0, slash));
}

bool IsOnLoopback(absl::string_view registry) {
  const bool is_v6 = absl::ConsumePrefix(&registry, "[");
  const std::string host(registry.substr(0, registry.find(is_v6 ? ']' : ':')));
  struct in6_addr v6;
  if (is_v6) return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
  struct in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
  return absl::EqualsIgnoreCase(host, "localhost");
}

bool IsImageId(absl::string_view text) {
  return IsDigest(text) || IsDigest(absl::StrCat("sha256:", text));
}

absl::StatusOr<Reference> ParseReference(absl::string_view text) {
  if (text.empty()) return Malformed(text, "it is empty; valid is name, name:tag or name@digest");
  if (text.size() > kMaxReferenceBytes) {
    return Malformed(text, absl::StrCat("it is longer than ", kMaxReferenceBytes, " bytes"));
  }
  if (IsImageId(text)) return Malformed(text, "it is an image id, not a name");
  Reference reference;
  absl::string_view name = text;
  if (const size_t at = name.find('@'); at != absl::string_view::npos) {
    const absl::string_view digest = name.substr(at + 1);
    if (absl::StartsWith(digest, "sha512:")) {
      return Malformed(text,
                       "sha512 digests are not supported; name the image by its tag, or by its "
                       "sha256 digest");
    }
    if (!IsDigest(digest)) {
      return Malformed(text, "after @ comes a digest: sha256: and 64 lower-case hex digits");
    }
    reference.digest = std::string(digest);
    name = name.substr(0, at);
  }
  // A colon before the last slash belongs to the registry's port.
  const size_t slash = name.rfind('/');
  const size_t colon = name.rfind(':');
  if (colon != absl::string_view::npos && (slash == absl::string_view::npos || colon > slash)) {
    const absl::string_view tag = name.substr(colon + 1);
    if (!IsTag(tag)) {
      return Malformed(text, absl::StrCat("\"", absl::CEscape(tag.substr(0, 140)),
                                          "\" is no tag; valid are up to ", kMaxTagBytes,
                                          " letters, digits, _ . and -, not first . or -"));
    }
    reference.tag = std::string(tag);
    name = name.substr(0, colon);
  }
  PLIMSOLL_RETURN_IF_ERROR(ParseName(name, text, &reference));
  if (reference.tag.empty() && reference.digest.empty()) reference.tag = std::string(kDefaultTag);
  return reference;
}

}  // namespace plimsoll::image
