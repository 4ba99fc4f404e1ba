#include "cli/pod_commands/log_mux.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace plimsoll::cli {
namespace {

constexpr absl::Duration kMuxInterval = absl::Milliseconds(20);
constexpr absl::Duration kShortPause = absl::Milliseconds(1);
constexpr std::array<const char*, 6> kColours = {"\x1b[36m", "\x1b[33m", "\x1b[32m",
                                                 "\x1b[35m", "\x1b[34m", "\x1b[31m"};

}  // namespace

LogMux::LogMux(FsRoot root, bool colour, Write write)
    : root_(std::move(root)), colour_(colour), out_(std::move(write)) {
  thread_ = std::thread([this] { Loop(); });
}

LogMux::~LogMux() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  thread_.join();
}

void LogMux::ReserveWidth(size_t width) {
  absl::MutexLock lock(&mutex_);
  width_ = std::max(width_, width);
}

int LogMux::Add(const std::string& name, const std::string& path) {
  absl::MutexLock lock(&mutex_);
  const size_t colour = colours_.emplace(name, colours_.size() % kColours.size()).first->second;
  width_ = std::max(width_, name.size());
  sources_[++last_handle_] =
      std::make_unique<Source>(Source{name, colour, pod::LogReader(root_, path)});
  return last_handle_;
}

void LogMux::Finish(int handle) {
  absl::MutexLock lock(&mutex_);
  const auto it = sources_.find(handle);
  if (it == sources_.end()) return;
  Source& source = *it->second;
  const auto write = [&](const pod::LogLine& line)
                         ABSL_NO_THREAD_SAFETY_ANALYSIS { WriteLine(source, line); };
  source.reader.ReadAll(write).IgnoreError();
  source.reader.Flush(write);
  out_.Flush();
  sources_.erase(it);
}

void LogMux::Say(absl::string_view line) {
  absl::MutexLock lock(&mutex_);
  out_.Add(absl::StrCat(line, "\n"), /*is_stderr=*/true);
  out_.Flush();
}

void LogMux::Loop() {
  absl::MutexLock lock(&mutex_);
  bool more = false;
  // A short pause, so that other threads get the lock.
  while (!mutex_.AwaitWithTimeout(absl::Condition(&ending_), more ? kShortPause : kMuxInterval)) {
    more = false;
    for (auto& [handle, source] : sources_) more |= Drain(*source);
    out_.Flush();
  }
}

bool LogMux::Drain(Source& source) {
  // A log that can't be read is no reason to end the pod: the next round tries again.
  return source.reader
      .Poll([&](const pod::LogLine& line)
                ABSL_NO_THREAD_SAFETY_ANALYSIS { WriteLine(source, line); })
      .value_or(false);
}

void LogMux::WriteLine(const Source& source, const pod::LogLine& line) {
  std::string prefix = source.name;
  prefix.append(width_ - std::min(width_, prefix.size()), ' ');
  if (colour_) prefix = absl::StrCat(kColours[source.colour], prefix, "\x1b[0m");
  out_.Add(absl::StrCat(prefix, " | ", line.text, "\n"), line.stream == pod::LogStream::kStderr);
}

}  // namespace plimsoll::cli
