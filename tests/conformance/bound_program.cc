#include "conformance/bound_program.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace plimsoll::conformance {
namespace {

constexpr char kWord[] = "__bound-to";

}  // namespace

std::vector<std::string> BoundToThisProcess() {
  return {"/proc/self/exe", kWord, absl::StrCat(getpid())};
}

void BecomeBoundProgram(int argc, char** argv) {
  if (argc < 4 || std::strcmp(argv[1], kWord) != 0) return;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    std::perror("PR_SET_PDEATHSIG");
    _exit(127);
  }
  // The parent may have died already: then there is another parent, and no signal comes.
  if (absl::StrCat(getppid()) != argv[2]) _exit(127);
  execv(argv[3], argv + 3);
  std::perror(argv[3]);
  _exit(127);
}

}  // namespace plimsoll::conformance
