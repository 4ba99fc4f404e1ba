#include "soak/report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace plimsoll::testing {
namespace {

double Mebibytes(int64_t kib) {
  return static_cast<double>(kib) / 1024;
}

}  // namespace

double SoakReport::Growth() const {
  if (memory_base + 1 >= memory.size()) return 0;
  const auto base = static_cast<double>(memory[memory_base].resident_kib);
  return (static_cast<double>(memory.back().resident_kib) - base) / base;
}

std::string ToTable(const SoakReport& report) {
  std::string text = absl::StrFormat("seed %d: %d pods asked for, %d at once, %s, %.1f s\n",
                                     report.seed, report.pods_asked, report.at_once,
                                     report.has_network ? "networks of their own" : "host network",
                                     report.seconds);
  absl::StrAppendFormat(&text, "\n  %-28s %8s %8s %9s %9s %9s\n", "call", "count", "refused", "p50",
                        "p99", "most (ms)");
  for (const CallFigures& call : report.calls) {
    absl::StrAppendFormat(&text, "  %-28s %8d %8d %9.2f %9.2f %9.2f\n", call.name, call.count,
                          call.refused, call.p50_ms, call.p99_ms, call.max_ms);
  }
  absl::StrAppend(&text, "\n");
  for (const auto& [what, count] : report.counts) {
    absl::StrAppendFormat(&text, "  %-28s %8d\n", what, count);
  }
  absl::StrAppendFormat(&text, "\n  %-28s %8s %8s %9s %9s %9s\n", "the daemon at rest (MiB) after",
                        "resident", "PSS", "private", "threads", "files");
  for (const MemorySample& sample : report.memory) {
    absl::StrAppendFormat(&text, "  %-30s %8.1f %8.1f %9.1f %9d %9d\n",
                          absl::StrCat(sample.pods, " pods"), Mebibytes(sample.resident_kib),
                          Mebibytes(sample.pss_kib), Mebibytes(sample.private_kib), sample.threads,
                          sample.descriptors);
  }
  if (report.memory_base + 1 < report.memory.size()) {
    absl::StrAppendFormat(&text, "  from %d pods to the end: %+.1f%% resident\n",
                          report.memory[report.memory_base].pods, 100 * report.Growth());
  }
  absl::StrAppendFormat(
      &text, "\n%s\n",
      report.faults == 0 ? "nothing lost, nothing left" : absl::StrCat("FAULTS: ", report.faults));
  return text;
}

std::string ToJson(const SoakReport& report) {
  nlohmann::json json = {{"seed", report.seed},       {"pods_asked", report.pods_asked},
                         {"at_once", report.at_once}, {"network", report.has_network},
                         {"seconds", report.seconds}, {"faults", report.faults},
                         {"counts", report.counts},   {"resident_growth", report.Growth()}};
  json["calls"] = nlohmann::json::object();
  for (const CallFigures& call : report.calls) {
    json["calls"][call.name] = {{"count", call.count},
                                {"refused", call.refused},
                                {"p50_ms", call.p50_ms},
                                {"p99_ms", call.p99_ms},
                                {"max_ms", call.max_ms}};
  }
  json["daemon"] = nlohmann::json::array();
  for (const MemorySample& sample : report.memory) {
    json["daemon"].push_back({{"pods", sample.pods},
                              {"resident_kib", sample.resident_kib},
                              {"pss_kib", sample.pss_kib},
                              {"private_kib", sample.private_kib},
                              {"threads", sample.threads},
                              {"descriptors", sample.descriptors}});
  }
  return json.dump(1) + "\n";
}

}  // namespace plimsoll::testing
