#include "daemon/own_programs.h"

#include <cerrno>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/programs/own_program.h"
#include "base/programs/program_machine.h"
#include "base/programs/subprocess.h"
#include "base/status.h"

namespace plimsoll::daemon {
namespace {

// "1.2.3" of "1.2.3 (commit)" and "1.2.3+dirty": builds of one release fit each other.
absl::string_view ReleaseOf(absl::string_view version) {
  return version.substr(0, version.find_first_not_of("0123456789."));
}

absl::Status CheckOwnProgram(const std::string& directory, const std::string& name,
                             const std::string& version) {
  const std::string path = absl::StrCat(directory, "/", name);
  const absl::StatusOr<RunResult> said =
      RunProgram({.argv = {path, "--version"}}, {.timeout = absl::Seconds(10)});
  // A busy machine says nothing of the program.
  if (absl::IsDeadlineExceeded(said.status())) return absl::OkStatus();
  if (ErrnoOf(said.status()) == ENOEXEC) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is no program for this machine: ", WhyNoProgram(path)));
  }
  PLIMSOLL_RETURN_IF_ERROR(said.status());
  absl::string_view found = absl::StripAsciiWhitespace(said->out);
  if (said->exit.success() && absl::ConsumePrefix(&found, absl::StrCat(name, " version "))) {
    if (ReleaseOf(found) == ReleaseOf(version)) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is of version ", found, ", and plimsolld of version ", version));
  }
  return absl::FailedPreconditionError(
      absl::StrCat(path, " doesn't report its version, and plimsolld is of version ", version,
                   ": it is older or damaged"));
}

}  // namespace

absl::Status CheckOwnPrograms(const std::string& version, const std::string& directory) {
  const std::vector<std::string> names = {"plimsoll-monitor", "plimsoll-launch", "plimsoll-exec",
                                          "plimsoll-pause"};
  std::vector<std::string> places;
  if (!directory.empty()) places.push_back(directory);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string found, FindOwnPrograms(names, std::move(places)));
  for (const std::string& name : names) {
    PLIMSOLL_RETURN_IF_ERROR(CheckOwnProgram(found, name, version));
  }
  return absl::OkStatus();
}

absl::Status CheckInstalledWhole(const std::string& version) {
  return AlsoSay(CheckOwnPrograms(version),
                 "the package is half installed: install it again (Debian: apt-get install "
                 "--reinstall plimsoll). Running pods are unaffected");
}

}  // namespace plimsoll::daemon
