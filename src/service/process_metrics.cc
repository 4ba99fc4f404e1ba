#include "service/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace plimsoll {
namespace {

using enum prometheus::MetricType;

// Fields of /proc/<pid>/stat after the program's name, which may contain blanks and parentheses:
// the first is field 3 of proc(5).
class StatFields {
 public:
  explicit StatFields(absl::string_view stat) {
    const size_t end = stat.rfind(") ");
    if (end != absl::string_view::npos) fields_ = absl::StrSplit(stat.substr(end + 2), ' ');
  }
  std::optional<double> Get(size_t field) const {
    uint64_t value = 0;
    if (field - 3 >= fields_.size() || !absl::SimpleAtoi(fields_[field - 3], &value)) {
      return std::nullopt;
    }
    return static_cast<double>(value);
  }

 private:
  std::vector<absl::string_view> fields_;
};

// The machine's boot time in seconds of the Unix epoch, from /proc/stat.
std::optional<double> BootTime(const FsRoot& host) {
  const absl::StatusOr<std::string> text = host.Read("proc/stat");
  if (!text.ok()) return std::nullopt;
  for (absl::string_view line : absl::StrSplit(*text, '\n')) {
    int64_t seconds = 0;
    if (!absl::ConsumePrefix(&line, "btime ")) continue;
    if (absl::SimpleAtoi(line, &seconds)) return static_cast<double>(seconds);
  }
  return std::nullopt;
}

void AddTimes(const FsRoot& host, const StatFields& stat, MetricFamilies* families) {
  const auto ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  const std::optional<double> user = stat.Get(14);
  const std::optional<double> system = stat.Get(15);
  if (user.has_value() && system.has_value()) {
    families->push_back(OneValue("process_cpu_seconds_total",
                                 "Processor time that the process has used, in seconds", Counter,
                                 (*user + *system) / ticks_per_second));
  }
  const std::optional<double> started = stat.Get(22);
  const std::optional<double> boot = BootTime(host);
  if (started.has_value() && boot.has_value()) {
    families->push_back(OneValue("process_start_time_seconds",
                                 "Start time of the process, in seconds since the Unix epoch",
                                 Gauge, *boot + *started / ticks_per_second));
  }
}

void AddDescriptors(const FsRoot& host, const std::string& proc, MetricFamilies* families) {
  if (const auto open = host.List(absl::StrCat(proc, "/fd")); open.ok()) {
    families->push_back(OneValue("process_open_fds", "Open descriptors of the process", Gauge,
                                 static_cast<double>(open->size())));
  }
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    families->push_back(OneValue("process_max_fds", "Descriptors that the process may have open",
                                 Gauge, static_cast<double>(limit.rlim_cur)));
  }
}

}  // namespace

MetricFamilies ProcessMetrics(const FsRoot& host) {
  MetricFamilies families;
  const std::string proc = absl::StrCat("proc/", getpid());
  const std::string text = host.Read(absl::StrCat(proc, "/stat")).value_or("");
  const StatFields stat(text);
  AddTimes(host, stat, &families);
  if (const auto threads = stat.Get(20); threads.has_value()) {
    families.push_back(OneValue("plimsoll_threads", "Threads of the process", Gauge, *threads));
  }
  if (const auto bytes = stat.Get(23); bytes.has_value()) {
    families.push_back(OneValue("process_virtual_memory_bytes",
                                "Size of the process's address space, in bytes", Gauge, *bytes));
  }
  if (const auto pages = stat.Get(24); pages.has_value()) {
    families.push_back(OneValue("process_resident_memory_bytes",
                                "Resident memory of the process, in bytes", Gauge,
                                *pages * static_cast<double>(sysconf(_SC_PAGESIZE))));
  }
  AddDescriptors(host, proc, &families);
  return families;
}

}  // namespace plimsoll
