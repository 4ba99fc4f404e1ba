#include "bench/log_speed.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/programs/subprocess.h"
#include "base/status.h"

namespace plimsoll::bench {
namespace {

constexpr absl::Duration kToStart = absl::Seconds(20);
constexpr absl::Duration kToWrite = absl::Minutes(5);
constexpr int64_t kLineBytes = 100;
constexpr int64_t kChunkLines = 167772;  // 16 MiB, less part of a line

int Chunks(int mebibytes) {
  return std::max(1, mebibytes / 16);
}

// The lines are made before the first entry, so that only writing them is timed.
std::vector<std::string> Command(int mebibytes) {
  return {
      "/bin/sh", "-c",
      absl::StrCat("yes $(head -c ", kLineBytes - 1, " /dev/zero | tr '\\0' x) | head -c ",
                   kLineBytes * kChunkLines, " > /tmp/lines; echo begin; n=0; ", "while [ $n -lt ",
                   Chunks(mebibytes), " ]; do cat /tmp/lines; n=$((n+1)); done; echo end")};
}

absl::StatusOr<absl::Time> TimeOf(absl::string_view entry, absl::string_view text) {
  const std::vector<absl::string_view> fields = absl::StrSplit(entry, absl::MaxSplits(' ', 3));
  absl::Time time;
  if (fields.size() != 4 || fields[3] != text ||
      !absl::ParseTime(absl::RFC3339_full, fields[0], &time, nullptr)) {
    return absl::DataLossError(
        absl::StrCat("an entry of the log is \"", entry.substr(0, 200), "\" instead of ", text));
  }
  return time;
}

// Whether an entry ends a line: conmon splits one that its buffer cuts ("TIME stdout P ...").
bool EndsALine(absl::string_view entry) {
  const size_t stream = entry.find(' ');
  const size_t tag = entry.find(' ', stream + 1);
  return tag != absl::string_view::npos && absl::StartsWith(entry.substr(tag), " F ");
}

absl::StatusOr<LogSpeed> ReadLog(const std::string& path, int mebibytes) {
  std::ifstream log(path);
  if (!log) return ErrnoStatus(errno, "read " + path);
  std::string first, last;  // entries
  int64_t lines = 0;
  for (std::string entry; std::getline(log, entry); last = std::move(entry)) {
    if (first.empty()) first = entry;
    if (EndsALine(entry)) ++lines;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const absl::Time begin, TimeOf(first, "begin"));
  PLIMSOLL_ASSIGN_OR_RETURN(const absl::Time end, TimeOf(last, "end"));
  const int64_t written = Chunks(mebibytes) * kChunkLines;
  if (lines != written + 2) {
    return absl::DataLossError(
        absl::StrCat(path, " has ", lines, " lines instead of ", written + 2));
  }
  const double bytes = static_cast<double>(written * kLineBytes);
  return LogSpeed{bytes / (1 << 20) / absl::ToDoubleSeconds(end - begin), written};
}

template <typename Condition>
absl::Status Await(const std::string& what, absl::Duration within, Condition condition) {
  const absl::Time deadline = absl::Now() + within;
  while (!condition()) {
    if (absl::Now() > deadline) return absl::DeadlineExceededError(what + " does not come");
    absl::SleepFor(absl::Milliseconds(20));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LogSpeed> MeasureLog(CriClient& client, const std::string& name, int mebibytes) {
  absl::Duration ignored;
  PLIMSOLL_ASSIGN_OR_RETURN(const Sandbox pod, client.RunSandbox(name, &ignored));
  const auto measure = [&]() -> absl::StatusOr<LogSpeed> {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string container,
                              client.Create(pod, "writer", Command(mebibytes),
                                            cri::SecurityProfile::Unconfined, &ignored));
    PLIMSOLL_RETURN_IF_ERROR(client.Start(container, &ignored));
    absl::StatusOr<cri::ContainerStatus> status;
    PLIMSOLL_RETURN_IF_ERROR(Await("the end of the container that writes", kToWrite, [&] {
      status = client.Status(container);
      return !status.ok() || status->state() == cri::CONTAINER_EXITED;
    }));
    PLIMSOLL_RETURN_IF_ERROR(status.status());
    return ReadLog(status->log_path(), mebibytes);
  };
  absl::StatusOr<LogSpeed> speed = measure();
  const absl::Status removed = client.RemoveSandbox(pod.id, &ignored);
  if (!speed.ok() || removed.ok()) return speed;
  return removed;
}

absl::StatusOr<LogSpeed> MeasureConmonLog(BareRunner& runner, const FsRoot& directory,
                                          int mebibytes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string conmon, FindProgram("conmon"));
  constexpr char kName[] = "plimsoll-bench-conmon";
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs("conmon/exits", 0755));
  PLIMSOLL_RETURN_IF_ERROR(runner.SetCommand(Command(mebibytes)));
  const std::string own = directory.PathOf("conmon");
  const std::string state = absl::StrCat("--root=", runner.state());
  // conmon goes on in the background once it has begun to make the container.
  PLIMSOLL_RETURN_IF_ERROR(
      runner
          .Time({conmon,        "--cid",         kName,
                 "--cuuid",     kName,           "--runtime",
                 runner.crun(), "--runtime-arg", state,
                 "--bundle",    runner.bundle(), "--container-pidfile",
                 own + "/pid",  "--log-path",    absl::StrCat("k8s-file:", own, "/log"),
                 "--exit-dir",  own + "/exits",  "--socket-dir-path",
                 own,           "--log-level",   "error"})
          .status());
  const auto run = [&]() -> absl::Status {
    PLIMSOLL_RETURN_IF_ERROR(
        Await("conmon's container", kToStart, [&] { return directory.Exists("conmon/pid"); }));
    PLIMSOLL_RETURN_IF_ERROR(runner.Time({runner.crun(), state, "start", kName}).status());
    return Await("the end of conmon's container", kToWrite,
                 [&] { return directory.Exists(absl::StrCat("conmon/exits/", kName)); });
  };
  const absl::Status ran = run();
  const absl::Status removed =
      runner.Time({runner.crun(), state, "delete", "--force", kName}).status();
  PLIMSOLL_RETURN_IF_ERROR(FirstError(ran, removed));
  return ReadLog(own + "/log", mebibytes);
}

}  // namespace plimsoll::bench
