// plimsoll top
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cli/command/command.h"
#include "cli/pod_commands/pod_commands.h"
#include "cli/pod_commands/screen.h"
#include "cli/pod_commands/top_report.h"
#include "cli/terminal/interrupts.h"
#include "cli/terminal/key_watch.h"
#include "cli/terminal/reader_watch.h"
#include "cli/terminal/text.h"

namespace plimsoll::cli {
namespace {

struct TopArguments {
  std::string interval;
  std::string sort = "cpu";
  bool once = false;
};

constexpr absl::Duration kUsualInterval = absl::Seconds(2);
constexpr absl::Duration kShortestInterval = absl::Milliseconds(100);
// The longest wait for the first figures.
constexpr absl::Duration kFirst = absl::Seconds(1);

// Parses "2", "0.5", "500ms", "1m".
absl::StatusOr<absl::Duration> ReadInterval(const std::string& text) {
  if (text.empty()) return kUsualInterval;
  double seconds = 0;
  absl::Duration interval;
  if (absl::SimpleAtod(text, &seconds)) {
    interval = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, &interval)) {
    interval = absl::ZeroDuration();
  }
  if (interval >= kShortestInterval && interval <= absl::Hours(24)) return interval;
  return UsageError(absl::InvalidArgumentError(
      absl::StrCat("--interval: \"", text,
                   "\" must be seconds (2, 0.5) or a duration (500ms, 1m) "
                   "from 100ms to 24h")));
}

TopOrder OrderOf(const std::string& name) {
  return name == "memory"      ? TopOrder::kMemory
         : name == "throttled" ? TopOrder::kThrottled
         : name == "pressure"  ? TopOrder::kPressure
         : name == "name"      ? TopOrder::kName
                               : TopOrder::kCpu;
}

class Top {
 public:
  Top(const CommandContext& context, const TopArguments& arguments, absl::Duration interval)
      : context_(context), arguments_(arguments), interval_(interval) {}

  // Until Ctrl-C or q; with --once until the first figures.
  absl::Status Run() {
    Interrupts interrupts;
    const ReaderWatch reader;
    PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context_.Connect());
    const auto end = [&] {
      if (!ending_.exchange(true)) stop_.Notify();
      client->Abandon();
    };
    interrupts.OnInterrupt([&end](int) { end(); });
    std::optional<KeyWatch> keys;
    if (DrawsOver()) {
      keys.emplace([&end](char key) {
        if (key == 'q' || key == 'Q') end();
      });
    }
    if (!arguments_.once) {
      client->SetPatience(
          {.wait = absl::Minutes(1),
           .lost = [] { PrintNote("plimsoll: the daemon has ended; waiting for the next...\n"); },
           .back = nullptr});
    }
    // An interrupt may have come meanwhile.
    const absl::Status status = interrupts.count() > 0 ? absl::OkStatus() : Watch(*client);
    keys.reset();
    interrupts.OnInterrupt(nullptr);
    return stop_.HasBeenNotified() ? absl::OkStatus() : status;
  }

 private:
  bool DrawsOver() const {
    return isatty(STDOUT_FILENO) != 0 && !context_.for_programs() && !arguments_.once;
  }

  absl::Status Watch(pod::Client& client) {
    PLIMSOLL_ASSIGN_OR_RETURN(node::ListUsageResponse before, client.own().ListUsage());
    absl::Time since = absl::Now();
    // The alternate screen begins with the first figures: an earlier error stays on the usual
    // screen.
    std::optional<Screen> screen;
    if (DrawsOver()) {
      screen.emplace();
      PLIMSOLL_RETURN_IF_ERROR(
          Show(TopRows(before, before, OrderOf(arguments_.sort)), absl::ZeroDuration(), &*screen));
    }
    absl::Duration wait = arguments_.interval.empty() ? std::min(interval_, kFirst) : interval_;
    while (!stop_.WaitForNotificationWithTimeout(wait)) {
      PLIMSOLL_ASSIGN_OR_RETURN(node::ListUsageResponse now, client.own().ListUsage());
      const absl::Duration elapsed = absl::Now() - since;
      since = absl::Now();
      PLIMSOLL_RETURN_IF_ERROR(Show(TopRows(before, now, OrderOf(arguments_.sort)), elapsed,
                                    screen.has_value() ? &*screen : nullptr));
      if (arguments_.once) return absl::OkStatus();
      before = std::move(now);
      wait = interval_;
    }
    return absl::OkStatus();
  }

  absl::Status Show(const std::vector<TopRow>& rows, absl::Duration elapsed, Screen* screen) {
    const bool is_first = std::exchange(first_, false);
    if (context_.for_programs()) {
      if (!is_first && context_.format() == OutputFormat::kYaml) Print("---\n");
      PLIMSOLL_RETURN_IF_ERROR(PrintJson(TopJson(rows, absl::Now(), elapsed), context_.format()));
      return PrintStatus();
    }
    const std::string table = TopTable(rows, context_.format() == OutputFormat::kWide);
    if (screen != nullptr) {
      screen->Show(absl::StrCat(absl::FormatTime("%H:%M:%S", absl::Now(), absl::LocalTimeZone()),
                                "  ", rows.size(), rows.size() == 1 ? " container" : " containers",
                                ", every ", absl::FormatDuration(interval_), "; q ends it\n\n",
                                table));
    } else {
      Print(absl::StrCat(is_first ? "" : "\n", table));
    }
    return PrintStatus();
  }

  const CommandContext& context_;
  const TopArguments& arguments_;
  const absl::Duration interval_;
  std::atomic<bool> ending_ = false;
  absl::Notification stop_;
  bool first_ = true;
};

absl::StatusOr<int> RunTop(const CommandContext& context, const TopArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const absl::Duration interval, ReadInterval(arguments.interval));
  PLIMSOLL_RETURN_IF_ERROR(Top(context, arguments, interval).Run());
  return kExitOk;
}

}  // namespace

void AddTopCommand(CLI::App& app, CommandContext& context) {
  CLI::App* top = app.add_subcommand(
      "top",
      "Show the resources that live containers asked for, have been given and use.\n\n"
      "For CPU and memory, ASKED is the request and limit in the pod, ALLOTTED the limit that "
      "the kernel enforces. THROTTLED is the share of the CPU quota's periods in which the "
      "container was throttled. Pressure is the share of the last ten seconds in which some of "
      "its tasks waited, if the kernel has PSI. On a terminal the table is drawn again in its "
      "place until q or Ctrl-C. Otherwise each table is printed below the last; with -o json "
      "each is a document of its own.");
  auto arguments = std::make_shared<TopArguments>();
  top->add_option("--interval", arguments->interval,
                  "Time between two tables, as in 2, 0.5 or 500ms; default: 2 seconds")
      ->type_name("TIME");
  top->add_flag("--once", arguments->once, "Print one table, after one second or --interval");
  top->add_option("--sort", arguments->sort,
                  "Order of the rows: most of this first, or by name; default: cpu")
      ->check(CLI::IsMember({"cpu", "memory", "throttled", "pressure", "name"}));
  context.Act(top, [&context, arguments] { return RunTop(context, *arguments); });
}

}  // namespace plimsoll::cli
