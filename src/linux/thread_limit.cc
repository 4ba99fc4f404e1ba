#include "linux/thread_limit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace plimsoll::linux {
namespace {

std::optional<int64_t> ReadNumber(const FsRoot& host, const std::string& file) {
  const auto text = host.Read(file);
  int64_t number = 0;
  if (!text.ok() || !absl::SimpleAtoi(absl::StripAsciiWhitespace(*text), &number)) {
    return std::nullopt;  // also "max"
  }
  return number;
}

// The first full group among this process's own and those above it. In a cgroup namespace a process
// sees its group as "/".
std::optional<std::string> FullGroup(const FsRoot& host) {
  const std::string memberships = host.Read("proc/self/cgroup").value_or("");
  for (const absl::string_view line : absl::StrSplit(memberships, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    const std::vector<absl::string_view> controllers = absl::StrSplit(fields[1], ',');
    const bool is_v2 = fields[1].empty();
    if (!is_v2 && !absl::c_linear_search(controllers, "pids")) continue;
    const std::string mount = is_v2 ? "sys/fs/cgroup" : "sys/fs/cgroup/pids";
    for (std::string group(absl::StripSuffix(fields[2], "/"));; group.resize(group.rfind('/'))) {
      const auto most = ReadNumber(host, absl::StrCat(mount, group, "/pids.max"));
      const auto now = ReadNumber(host, absl::StrCat(mount, group, "/pids.current"));
      if (most.has_value() && now.value_or(0) >= *most) {
        return absl::StrCat("pids.max of control group ", group.empty() ? "/" : group, " is ",
                            *most);
      }
      if (group.empty()) break;
    }
  }
  return std::nullopt;
}

// proc(5): the fourth field of loadavg is "running/all".
std::optional<int64_t> ThreadsOfAll(const FsRoot& host) {
  const std::string text = host.Read("proc/loadavg").value_or("");
  const std::vector<std::string> fields = absl::StrSplit(text, ' ');
  const std::vector<std::string> counts =
      absl::StrSplit(fields.size() > 3 ? fields[3] : std::string(), '/');
  int64_t all = 0;
  if (counts.size() != 2 || !absl::SimpleAtoi(counts[1], &all)) return std::nullopt;
  return all;
}

}  // namespace

std::string ThreadLimitReached(const FsRoot& host) {
  std::vector<std::string> reached;
  std::vector<std::string> others;
  if (const auto group = FullGroup(host)) reached.push_back(*group);
  if (const auto most = ReadNumber(host, "proc/sys/kernel/threads-max")) {
    const bool is_reached = ThreadsOfAll(host).value_or(0) >= *most;
    (is_reached ? reached : others).push_back(absl::StrCat("kernel.threads-max is ", *most));
  }
  rlimit limit = {};
  if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    // Root is exempt (fork(2)). Nothing shows how many processes another user has.
    (geteuid() != 0 ? reached : others).push_back(absl::StrCat("RLIMIT_NPROC is ", limit.rlim_cur));
  }
  if (!reached.empty()) return absl::StrJoin(reached, ", ");
  return absl::StrCat("no limit is seen to be reached",
                      others.empty() ? "" : absl::StrCat(" (", absl::StrJoin(others, ", "), ")"),
                      "; is memory short?");
}

}  // namespace plimsoll::linux
