#include "cli/node_commands/packaged_image.h"

#include <sys/stat.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace plimsoll::cli {
namespace {

// A part of an image's name: it names no other directory.
bool IsNamePart(absl::string_view part) {
  return !part.empty() && part[0] != '.' && std::all_of(part.begin(), part.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  });
}

}  // namespace

std::string PackagedImagesOf(absl::string_view path) {
  path = path.substr(0, std::min(path.rfind('/'), path.size()));
  if (!absl::ConsumeSuffix(&path, "/bin")) return "";
  return absl::StrCat(path, "/share/plimsoll/images");
}

std::string PackagedImageFile(const std::string& directory, absl::string_view reference) {
  if (directory.empty()) return "";
  absl::ConsumeSuffix(&reference, ":latest");
  for (const absl::string_view part : absl::StrSplit(reference, '/')) {
    if (!IsNamePart(part)) return "";
  }
  std::string file = absl::StrCat(directory, "/", reference, ".tar");
  struct stat info = {};
  return stat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? file : "";
}

}  // namespace plimsoll::cli
