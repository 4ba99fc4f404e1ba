#include "container_entry/variables.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "container_entry/command.h"
#include "container_entry/report.h"
#include "monitor/byte_variables.h"

namespace plimsoll::entry {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecuted = 126;

// The file's text, and a NUL behind it; null on failure.
char* ReadWhole(int file, size_t* size) {
  struct stat info = {};
  if (fstat(file, &info) != 0) return nullptr;
  const auto whole = static_cast<size_t>(info.st_size);
  char* const text = static_cast<char*>(calloc(whole + 1, 1));
  if (text == nullptr) return nullptr;
  for (*size = 0; *size < whole;) {
    const ssize_t n = pread(file, text + *size, whole - *size, static_cast<off_t>(*size));
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) errno = EIO;  // the file became shorter
    if (n <= 0) return nullptr;
    *size += static_cast<size_t>(n);
  }
  return text;
}

}  // namespace

void ReplaceVariables(char* text, size_t size, char** environment) {
  for (char* at = text; at < text + size; at += strlen(at) + 1) {
    const size_t name = strcspn(at, "=") + 1;
    for (char** each = environment; *each != nullptr; ++each) {
      if (strncmp(*each, at, name) == 0) *each = at;
    }
  }
}

int ExecuteWithVariables(char** words) {
  size_t size = 0;
  char* const text = ReadWhole(monitor::kVariablesDescriptor, &size);
  if (text == nullptr) {
    dprintf(2, "plimsoll: read the variables: %s\n", strerror(errno));
    return kNotExecuted;
  }
  close(monitor::kVariablesDescriptor);
  close(monitor::kVariablesProgramDescriptor);
  ReplaceVariables(text, size, environ);
  const Step failed = Execute(words, environ);
  dprintf(2, "plimsoll: execute %s: %s\n", words[0], strerror(errno));
  return failed == Step::kNotFound ? kNotFound : kNotExecuted;
}

}  // namespace plimsoll::entry
