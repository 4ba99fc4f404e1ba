#include "copy/place.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "lookup/open_below.h"

namespace plimsoll::copy {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel's

// "a/b/" -> {"a/", "b"}; "b" -> {"", "b"}. The name is empty if the path's form makes it a
// directory: "/", "a/.", "a/..".
struct Parts {
  std::string parent;
  std::string name;
};

Parts Split(absl::string_view path) {
  const absl::string_view whole = path;
  while (absl::ConsumeSuffix(&path, "/")) {
  }
  const size_t slash = path.rfind('/');
  const size_t begin = slash == absl::string_view::npos ? 0 : slash + 1;
  const absl::string_view name = path.substr(begin);
  if (name.empty() || name == "." || name == "..") return {std::string(whole), ""};
  return {std::string(path.substr(0, begin)), std::string(name)};
}

}  // namespace

Place Place::Host() {
  return Place(nullptr, "");
}

Place Place::Container(UniqueFd root, std::string label) {
  return Place(std::make_shared<const UniqueFd>(std::move(root)), std::move(label));
}

std::string Place::NameOf(absl::string_view path) const {
  return Printable(absl::StrCat(label_, path));
}

absl::StatusOr<UniqueFd> Place::Open(const std::string& path, int flags) const {
  constexpr uint64_t kResolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const char* const name = path.empty() ? "." : path.c_str();
  UniqueFd fd(root_ != nullptr ? OpenBelow(root_->get(), name, flags, kResolve)
                               : open(name, flags | O_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, NameOf(path));
  return fd;
}

absl::StatusOr<Place::Spot> Place::Find(const std::string& path, bool follow) const {
  std::string at = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    const Parts parts = Split(at);
    Spot spot;
    spot.name = parts.name.empty() ? "." : parts.name;
    PLIMSOLL_ASSIGN_OR_RETURN(spot.parent, Open(parts.parent, O_PATH | O_DIRECTORY));
    struct stat info = {};
    if (fstatat(spot.parent.get(), spot.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
      spot.info = info;
    } else if (errno != ENOENT) {
      return ErrnoStatus(errno, NameOf(path));
    }
    if (!follow || !spot.info.has_value() || !S_ISLNK(info.st_mode)) return spot;
    char text[PATH_MAX];
    const ssize_t size = readlinkat(spot.parent.get(), spot.name.c_str(), text, sizeof(text));
    if (size < 0) return ErrnoStatus(errno, NameOf(path));
    const absl::string_view target(text, static_cast<size_t>(size));
    at = absl::StartsWith(target, "/") ? std::string(target) : absl::StrCat(parts.parent, target);
  }
  return ErrnoStatus(ELOOP, NameOf(path));
}

std::string LastName(absl::string_view path) {
  return Split(path).name;
}

bool MeansContent(absl::string_view path) {
  while (absl::ConsumeSuffix(&path, "/")) {
  }
  return path == "." || absl::EndsWith(path, "/.");
}

}  // namespace plimsoll::copy
