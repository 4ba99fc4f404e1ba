// What `plimsoll top` shows, from what the kernel had counted at two moments.
#ifndef PLIMSOLL_CLI_TOP_REPORT_H_
#define PLIMSOLL_CLI_TOP_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/api.h"

namespace plimsoll::cli {

// One container.
struct TopRow {
  node::ContainerUsage usage;
  std::string name;  // "pod/container"
  // Of the time between the two moments; absent of one that was not there at the first.
  std::optional<double> cpu_millis;         // thousandths of a CPU
  std::optional<double> throttled_percent;  // of the periods it ran in; absent without a quota
  // The worst of "some tasks wait", percent of the last ten seconds; absent without PSI.
  std::optional<double> pressure_percent;
};

enum class TopOrder { kCpu, kMemory, kThrottled, kPressure, kName };
// Largest first, equal ones by name.
std::vector<TopRow> TopRows(const node::ListUsageResponse& before,
                            const node::ListUsageResponse& now, TopOrder order);

// `wide`: also shares, CPU set, swap and processes.
std::string TopTable(const std::vector<TopRow>& rows, bool wide);
// One object: "time", "interval_seconds" and "containers".
std::string TopJson(const std::vector<TopRow>& rows, absl::Time time, absl::Duration interval);

// The first `height` lines of `text`, each no wider than `width` characters; where lines are left
// out, the last one says how many. What a terminal gets.
std::string FitToScreen(const std::string& text, size_t width, size_t height);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_TOP_REPORT_H_
