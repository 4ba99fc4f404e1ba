#include "container_entry/command.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "container_entry/report.h"
#include "container_entry/terminal.h"

namespace plimsoll::entry {
namespace {

constexpr mode_t kUmask = 0022;  // the OCI runtime's

const char* Variable(char** environment, const char* name) {
  const size_t length = strlen(name);
  for (; *environment != nullptr; ++environment) {
    if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
      return *environment + length + 1;
    }
  }
  return nullptr;
}

// Searches like execvp(3): a directory without the program, or where it can't be executed, is
// skipped. Returns when no directory is left; errno says why.
void ExecuteFrom(const char* directories, char** words, char** environment) {
  const char* program = words[0];
  int error = ENOENT;
  while (true) {
    const char* end = strchrnul(directories, ':');
    const int length = static_cast<int>(end - directories);
    char path[PATH_MAX];
    const int needed = snprintf(path, sizeof(path), "%.*s/%s", length == 0 ? 1 : length,
                                length == 0 ? "." : directories, program);
    if (needed > 0 && needed < PATH_MAX) {
      execve(path, words, environment);
      if (errno == EACCES) error = EACCES;
      if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) return;
    }
    if (*end == '\0') break;
    directories = end + 1;
  }
  errno = error;
}

// ENOENT may also be about the program's interpreter.
bool IsThere(const char* path) {
  const bool there = access(path, F_OK) == 0;
  errno = ENOENT;
  return there;
}

}  // namespace

Step Execute(char** words, char** environment) {
  const char* program = words[0];
  if (strchr(program, '/') != nullptr) {
    execve(program, words, environment);
    return errno == ENOENT && !IsThere(program) ? Step::kNotFound : Step::kExecute;
  }
  const char* directories = Variable(environment, "PATH");
  if (directories == nullptr || *program == '\0') {
    errno = ENOENT;
    return Step::kNotFound;
  }
  ExecuteFrom(directories, words, environment);
  return errno == ENOENT ? Step::kNotFound : Step::kExecute;
}

void Become(const Plan& plan, const Filter& filter, int terminal, int report) {
  if (terminal >= 0 && !UseTerminal(terminal)) Fail(report, Step::kControlTerminal);
  umask(kUmask);
  if (plan.no_new_privileges) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Fail(report, Step::kNoNewPrivileges);
    if (!LoadFilter(filter)) Fail(report, Step::kFilter);
  }
  Fail(report, Execute(plan.arguments, plan.environment));
}

}  // namespace plimsoll::entry
