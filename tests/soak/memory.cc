#include "soak/memory.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "harness/kernel.h"

namespace plimsoll::testing {
namespace {

// The number of a line "Name:   123 kB".
absl::StatusOr<int64_t> NumberOf(absl::string_view text, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, name)) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    int64_t number = 0;
    if (words.size() > 1 && absl::SimpleAtoi(words[1], &number)) return number;
  }
  return absl::NotFoundError(absl::StrCat("the kernel reports no ", name));
}

}  // namespace

absl::StatusOr<MemorySample> SampleMemory(pid_t pid) {
  const std::string process = absl::StrCat("proc/", pid, "/");
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string memory, Host().Read(process + "smaps_rollup"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string status, Host().Read(process + "status"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> fds, Host().List(process + "fd"));
  MemorySample sample;
  PLIMSOLL_ASSIGN_OR_RETURN(sample.resident_kib, NumberOf(memory, "Rss:"));
  PLIMSOLL_ASSIGN_OR_RETURN(sample.pss_kib, NumberOf(memory, "Pss:"));
  PLIMSOLL_ASSIGN_OR_RETURN(sample.private_kib, NumberOf(memory, "Private_Clean:"));
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t dirty, NumberOf(memory, "Private_Dirty:"));
  sample.private_kib += dirty;
  PLIMSOLL_ASSIGN_OR_RETURN(sample.threads, NumberOf(status, "Threads:"));
  sample.descriptors = static_cast<int64_t>(fds.size());
  return sample;
}

}  // namespace plimsoll::testing
