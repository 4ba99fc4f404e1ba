#include "base/programs/own_program.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll {
namespace {

// The programs that the first directory with some of them lacks, in parentheses; empty: none has
// any.
std::string MissingIn(const std::vector<std::string>& names,
                      const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    std::vector<std::string> lacks;
    size_t there = 0;
    for (const std::string& name : names) {
      const std::string path = absl::StrCat(place, "/", name);
      if (access(path.c_str(), X_OK) == 0) {
        ++there;
      } else if (errno == ENOENT) {
        lacks.push_back(absl::StrCat(name, " is missing"));
      } else {
        lacks.emplace_back(ErrnoStatus(errno, absl::StrCat("execute ", name)).message());
        ++there;
      }
    }
    if (there > 0) return absl::StrCat(" (in ", place, ": ", absl::StrJoin(lacks, ", "), ")");
  }
  return "";
}

}  // namespace

std::vector<std::string> OwnProgramPlaces(absl::string_view path) {
  const absl::string_view directory = path.substr(0, path.rfind('/'));
  std::vector<std::string> places = {std::string(directory)};
  // A directory that is not for programs has no prefix above it: everybody may be able to write to
  // its parent, as to that of /tmp/x.
  for (const absl::string_view programs : {"/bin", "/sbin"}) {
    absl::string_view prefix = directory;
    if (absl::ConsumeSuffix(&prefix, programs)) {
      places.push_back(absl::StrCat(prefix, "/libexec/plimsoll"));
    }
  }
  for (const char* usual : {"/usr/libexec/plimsoll", "/usr/local/libexec/plimsoll"}) {
    if (std::find(places.begin(), places.end(), usual) == places.end()) places.push_back(usual);
  }
  return places;
}

absl::StatusOr<std::string> FindOwnPrograms(const std::vector<std::string>& names,
                                            std::vector<std::string> places) {
  if (places.empty()) {
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof(self));
    if (n < 0) {
      return ErrnoStatus(errno, absl::StrCat("look for ", absl::StrJoin(names, " and "),
                                             " beside this program: read /proc/self/exe"));
    }
    places = OwnProgramPlaces(absl::string_view(self, static_cast<size_t>(n)));
  }
  for (const std::string& place : places) {
    const bool has_all = std::all_of(names.begin(), names.end(), [&place](const std::string& name) {
      return access(absl::StrCat(place, "/", name).c_str(), X_OK) == 0;
    });
    if (has_all) return place;
  }
  return absl::NotFoundError(absl::StrCat(
      names.size() == 1 ? "the program " : "the programs ", absl::StrJoin(names, " and "),
      names.size() == 1 ? ", which is a part of Plimsoll, is missing; looked in "
                        : ", which are parts of Plimsoll, aren't all in one directory; looked in ",
      absl::StrJoin(places, ", "), MissingIn(names, places)));
}

absl::StatusOr<std::string> FindOwnProgram(absl::string_view name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string place, FindOwnPrograms({std::string(name)}));
  return absl::StrCat(place, "/", name);
}

}  // namespace plimsoll
