#include "linux/process_signals.h"

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

// include/linux/sched.h: forked without an exec since. Shown in field 9 of /proc/<pid>/stat.
constexpr uint64_t kForkedOnly = 0x40;
// Field 26 (proc(5): startcode), counted from the state.
constexpr size_t kStartCode = 23;

absl::StatusOr<std::string> ReadFile(const FsRoot& root, const ProcessId& id, const char* name) {
  absl::StatusOr<std::string> text = root.Read(absl::StrCat("proc/", id.pid, "/", name));
  // Checked after reading: if the pid is still this process's, so was the text.
  PLIMSOLL_ASSIGN_OR_RETURN(const ProcessId now, IdentifyProcess(root, id.pid));
  if (now != id) return absl::NotFoundError(absl::StrCat("no process ", id.pid));
  return text;
}

absl::Status NotUnderstood(const FsRoot& root, const ProcessId& id, const char* name) {
  return absl::InternalError(
      absl::StrCat(root.PathOf(absl::StrCat("proc/", id.pid, "/", name)), ": not understood"));
}

}  // namespace

absl::StatusOr<ProcessSignals> ReadSignals(const FsRoot& root, const ProcessId& id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadFile(root, id, "status"));
  ProcessSignals signals;
  int found = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::ConsumePrefix(&line, "SigCgt:")) {
      found += absl::SimpleHexAtoi(line, &signals.caught) ? 1 : 0;
    } else if (absl::ConsumePrefix(&line, "SigBlk:")) {
      found += absl::SimpleHexAtoi(line, &signals.blocked) ? 1 : 0;
    } else if (absl::ConsumePrefix(&line, "NSpid:")) {
      // Outermost namespace first. A kernel without PID namespaces has no such line.
      const std::vector<absl::string_view> pids =
          absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
      signals.is_namespace_init = pids.size() > 1 && pids.back() == "1";
    }
  }
  if (found != 2) return NotUnderstood(root, id, "status");
  return signals;
}

absl::StatusOr<bool> HasExecuted(const FsRoot& root, const ProcessId& id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, ReadFile(root, id, "stat"));
  // "pid (comm) state ppid pgrp session tty tpgid flags ..."; the name may hold anything.
  const size_t bracket = text.rfind(')');
  if (bracket == std::string::npos) return NotUnderstood(root, id, "stat");
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(text).substr(bracket + 1), ' ', absl::SkipWhitespace());
  uint64_t flags = 0;
  if (fields.size() < 7 || !absl::SimpleAtoi(fields[6], &flags)) {
    return NotUnderstood(root, id, "stat");
  }
  if ((flags & kForkedOnly) != 0) return false;
  // The kernel drops the flag before the old program's handlers (begin_new_exec). The new code's
  // start is set after both: 0 until then, 1 for a reader without the right to know, and 0 again
  // for a zombie, which has no memory.
  const bool is_dead = fields[0] == "Z" || fields[0] == "X";
  return is_dead || fields.size() <= kStartCode || fields[kStartCode] != "0";
}

}  // namespace plimsoll::linux
