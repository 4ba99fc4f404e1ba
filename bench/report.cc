#include "bench/report.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace plimsoll::bench {
namespace {

std::string Row(const Series& series) {
  if (series.milliseconds.empty()) return "";
  return absl::StrFormat("  %-26s %9.2f %9.2f %9.2f\n", series.name, series.Quantile(0.5),
                         series.Quantile(0.99), series.Least());
}

double Mebibytes(int64_t kib) {
  return static_cast<double>(kib) / 1024;
}

std::string RuntimeTable(const Figures& figures, const Workload& workload) {
  std::string text = absl::StrCat("\n", figures.name, "\n");
  for (const Series* call : figures.calls()) absl::StrAppend(&text, Row(*call));
  for (const Series* list : figures.lists()) absl::StrAppend(&text, Row(*list));
  absl::StrAppendFormat(&text, "  %d pods, %d at once: %.1f pods/s, %.1f ms CPU each (machine)\n",
                        workload.pods, workload.parallel, figures.pods_per_second,
                        figures.cpu_milliseconds_per_pod);
  const Memory& memory = figures.memory;
  if (memory.daemon_resident_kib == 0) return text;
  absl::StrAppendFormat(&text, "  daemon: %.1f MiB resident idle, %.1f MiB with %d pods\n",
                        Mebibytes(memory.daemon_idle_kib), Mebibytes(memory.daemon_resident_kib),
                        workload.resident);
  absl::StrAppendFormat(
      &text, "  %d monitors: %.2f MiB PSS each; available memory fell by %.0f MiB\n",
      memory.monitors, memory.monitors == 0 ? 0 : Mebibytes(memory.monitors_kib) / memory.monitors,
      Mebibytes(memory.available_fall_kib));
  return text;
}

nlohmann::json SeriesJson(const Series& series) {
  if (series.milliseconds.empty()) return nullptr;
  return {{"p50", series.Quantile(0.5)},
          {"p99", series.Quantile(0.99)},
          {"min", series.Least()},
          {"all", series.milliseconds}};
}

// Escapes attribute values and text of XML.
std::string Escape(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// Distinct also to people who confuse red and green.
constexpr const char* kColours[] = {"#0b6e99", "#e08e0b", "#8e5ea2", "#6b6b6b"};

}  // namespace

double Report::StartRatio() const {
  return runtimes.front().pod.Quantile(0.5) / bare_run.Quantile(0.5);
}

double Report::ExecRatio() const {
  return runtimes.front().exec.Quantile(0.5) / bare_exec.Quantile(0.5);
}

std::string ToTable(const Report& report) {
  std::string text = absl::StrFormat("  %-26s %9s %9s %9s   (ms)\n", "", "p50", "p99", "min");
  absl::StrAppend(&text, Row(report.bare_run), Row(report.bare_exec));
  for (const Figures& runtime : report.runtimes) {
    absl::StrAppend(&text, RuntimeTable(runtime, report.workload));
  }
  const Figures& own = report.runtimes.front();
  if (!own.list_long.milliseconds.empty()) {
    absl::StrAppendFormat(&text,
                          "\ngoals of lists (p99): %d containers %.2f ms, their pods %.2f ms, goal "
                          "5; statistics of %d pods %.2f ms, goal 10\n",
                          report.workload.listed, own.list_long.Quantile(0.99),
                          own.list_pods_long.Quantile(0.99), report.workload.resident,
                          own.list_stats.Quantile(0.99));
  }
  absl::StrAppendFormat(&text, "\nratios of p50s\n  start to bare crun run    %.2f\n",
                        report.StartRatio());
  absl::StrAppendFormat(&text, "  exec to bare crun exec    %.2f\n", report.ExecRatio());
  for (size_t i = 1; i < report.runtimes.size(); ++i) {
    const Figures& other = report.runtimes[i];
    absl::StrAppendFormat(&text, "  to %s: start %.2f, exec %.2f, pods/s %.1f times as many\n",
                          other.name, own.pod.Quantile(0.5) / other.pod.Quantile(0.5),
                          own.exec.Quantile(0.5) / other.exec.Quantile(0.5),
                          own.pods_per_second / other.pods_per_second);
  }
  return text;
}

std::string ToJson(const Report& report) {
  nlohmann::json json = {{"bare_run", SeriesJson(report.bare_run)},
                         {"bare_exec", SeriesJson(report.bare_exec)},
                         {"start_ratio", report.StartRatio()},
                         {"exec_ratio", report.ExecRatio()},
                         {"runtimes", nlohmann::json::array()}};
  for (const Figures& runtime : report.runtimes) {
    nlohmann::json calls;
    for (const Series* call : runtime.calls()) calls[call->name] = SeriesJson(*call);
    for (const Series* list : runtime.lists()) calls[list->name] = SeriesJson(*list);
    const Memory& memory = runtime.memory;
    json["runtimes"].push_back({{"name", runtime.name},
                                {"milliseconds", calls},
                                {"pods_per_second", runtime.pods_per_second},
                                {"cpu_milliseconds_per_pod", runtime.cpu_milliseconds_per_pod},
                                {"memory_kib",
                                 {{"daemon_idle", memory.daemon_idle_kib},
                                  {"daemon_resident", memory.daemon_resident_kib},
                                  {"monitors", memory.monitors_kib},
                                  {"monitor_count", memory.monitors},
                                  {"available_fall", memory.available_fall_kib}}}});
  }
  return json.dump(1) + "\n";
}

std::string ToSvg(const Report& report) {
  constexpr int kLeft = 190, kWidth = 420, kBar = 14, kGap = 12, kTop = 40;
  double longest = 0.001;
  for (const Figures& runtime : report.runtimes) {
    for (const Series* call : runtime.calls()) {
      if (!call->milliseconds.empty()) longest = std::max(longest, call->Quantile(0.5));
    }
  }
  std::string bars;
  int y = kTop;
  const size_t calls = report.runtimes.front().calls().size();
  for (size_t call = 0; call < calls; ++call) {
    absl::StrAppendFormat(&bars, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n",
                          kLeft - 8, y + 11, Escape(report.runtimes.front().calls()[call]->name));
    for (size_t i = 0; i < report.runtimes.size(); ++i) {
      const Series& series = *report.runtimes[i].calls()[call];
      if (series.milliseconds.empty()) continue;
      const double p50 = series.Quantile(0.5);
      const double width = std::max(1.0, p50 / longest * kWidth);
      absl::StrAppendFormat(&bars,
                            "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>"
                            "<text x=\"%.1f\" y=\"%d\">%.2f</text>\n",
                            kLeft, y, width, kBar - 2, kColours[i % std::size(kColours)],
                            kLeft + width + 5, y + 11, p50);
      y += kBar;
    }
    y += kGap;
  }
  std::string legend;
  int x = kLeft;
  for (size_t i = 0; i < report.runtimes.size(); ++i) {
    const std::string& name = report.runtimes[i].name;
    absl::StrAppendFormat(&legend,
                          "<rect x=\"%d\" y=\"12\" width=\"12\" height=\"12\" fill=\"%s\"/>"
                          "<text x=\"%d\" y=\"22\">%s</text>\n",
                          x, kColours[i % std::size(kColours)], x + 17, Escape(name));
    x += 40 + static_cast<int>(name.size()) * 7;
  }
  return absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n%s%s"
      "<text x=\"%d\" y=\"%d\" fill=\"#555\">p50, milliseconds; bare crun run %.2f, exec %.2f"
      "</text>\n</svg>\n",
      kLeft + kWidth + 70, y + 30, legend, bars, kLeft, y + 12, report.bare_run.Quantile(0.5),
      report.bare_exec.Quantile(0.5));
}

}  // namespace plimsoll::bench
