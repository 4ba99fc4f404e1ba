// The text of `plimsoll top`, from the kernel's counters at two moments.
#ifndef PLIMSOLL_CLI_POD_COMMANDS_TOP_REPORT_H_
#define PLIMSOLL_CLI_POD_COMMANDS_TOP_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/terminal/api.h"

namespace plimsoll::cli {

// One container.
struct TopRow {
  node::ContainerUsage usage;
  std::string name;  // "pod/container"
  // Between the two moments; absent for a container that is new at the second.
  std::optional<double> cpu_millis;         // thousandths of a CPU
  std::optional<double> throttled_percent;  // of its periods; absent without a quota
  // The worst "some tasks wait", in percent of the last ten seconds; absent without PSI.
  std::optional<double> pressure_percent;
};

enum class TopOrder { kCpu, kMemory, kThrottled, kPressure, kName };
// Sorted, largest first; equal rows by name.
std::vector<TopRow> TopRows(const node::ListUsageResponse& before,
                            const node::ListUsageResponse& now, TopOrder order);

// `wide`: adds shares, CPU set, swap and processes.
std::string TopTable(const std::vector<TopRow>& rows, bool wide);
// An object of "time", "interval_seconds" and "containers".
std::string TopJson(const std::vector<TopRow>& rows, absl::Time time, absl::Duration interval);

// The first `height` lines of `text`, cut to `width` characters. Where lines are left out, the last
// line has their number.
std::string FitToScreen(const std::string& text, size_t width, size_t height);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_COMMANDS_TOP_REPORT_H_
