#include "linux/task_states.h"

#include <cerrno>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

struct Task {
  char state = 'X';  // ended
  uint64_t threads = 0;
};

bool HasEnded(const absl::Status& status) {
  return absl::IsNotFound(status) || ErrnoOf(status) == ESRCH;
}

// Reads a file "stat" of /proc. The name of a process, before the last bracket, may hold anything.
absl::StatusOr<Task> ReadTask(const FsRoot& host, const std::string& file) {
  const absl::StatusOr<std::string> text = host.Read(file);
  if (HasEnded(text.status())) return Task();
  PLIMSOLL_RETURN_IF_ERROR(text.status());
  const size_t bracket = text->rfind(')');
  if (bracket != std::string::npos) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(absl::string_view(*text).substr(bracket + 1), ' ', absl::SkipWhitespace());
    Task task;
    // Field 3 is the first after the name; field 20, num_threads, the 18th.
    if (fields.size() >= 18 && fields[0].size() == 1 &&
        absl::SimpleAtoi(fields[17], &task.threads)) {
      task.state = fields[0][0];
      return task;
    }
  }
  return absl::InternalError(absl::StrCat(host.PathOf(file), ": not understood"));
}

void Add(char state, TaskStates* states) {
  if (state == 'R') ++states->running;
  if (state == 'S') ++states->sleeping;
  if (state == 'D') ++states->uninterruptible;
  if (state == 'T' || state == 't') ++states->stopped;
}

// Adds each thread of a process that has several.
absl::Status AddThreads(const FsRoot& host, const std::string& process, TaskStates* states) {
  const absl::StatusOr<std::vector<std::string>> threads =
      host.List(absl::StrCat(process, "/task"));
  if (HasEnded(threads.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(threads.status());
  for (const std::string& thread : *threads) {
    PLIMSOLL_ASSIGN_OR_RETURN(const Task task,
                              ReadTask(host, absl::StrCat(process, "/task/", thread, "/stat")));
    Add(task.state, states);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::optional<TaskStates>> CountTaskStates(const FsRoot& host,
                                                          const std::vector<pid_t>& processes,
                                                          uint64_t most) {
  TaskStates states;
  if (processes.size() > most) return std::nullopt;
  uint64_t threads = 0;
  for (const pid_t pid : processes) {
    const std::string process = absl::StrCat("proc/", pid);
    PLIMSOLL_ASSIGN_OR_RETURN(const Task first, ReadTask(host, absl::StrCat(process, "/stat")));
    threads += first.threads;
    if (threads > most) return std::nullopt;
    // Most processes have one thread: the text just read is that thread's.
    if (first.threads <= 1) {
      Add(first.state, &states);
    } else {
      PLIMSOLL_RETURN_IF_ERROR(AddThreads(host, process, &states));
    }
  }
  return states;
}

}  // namespace plimsoll::linux
