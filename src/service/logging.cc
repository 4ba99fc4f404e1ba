#include "service/logging.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "service/log_output.h"

namespace plimsoll {
namespace {

constexpr const char* kLevelNames[] = {"debug", "info", "warning", "error"};

// With quotes and every control character escaped.
std::string Quoted(absl::string_view text) {
  return nlohmann::json(std::string(text))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Without quotes if it is one plain word; empty text is "".
std::string Word(absl::string_view text) {
  const auto is_plain = [](unsigned char c) {
    return c > ' ' && c < 0x7f && c != '"' && c != '\\';
  };
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), is_plain);
  return plain ? std::string(text) : Quoted(text);
}

// A message is for people: quotes and spaces stay, characters that would break the line don't.
std::string Line(absl::string_view text) {
  const std::string quoted = Quoted(text);
  if (quoted.find('\\') == std::string::npos) return quoted.substr(1, quoted.size() - 2);
  std::string line;
  for (size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] == '\\' && (quoted[i + 1] == '"' || quoted[i + 1] == '\\')) ++i;
    line += quoted[i];
  }
  return line;
}

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

LogLevel LevelOf(spdlog::level::level_enum level) {
  if (level >= spdlog::level::err) return LogLevel::kError;
  if (level == spdlog::level::warn) return LogLevel::kWarning;
  return level == spdlog::level::info ? LogLevel::kInfo : LogLevel::kDebug;
}

class FunctionSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FunctionSink(Log::Sink function) : function_(std::move(function)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    function_(LevelOf(message.level), std::string(message.payload.data(), message.payload.size()));
  }
  void flush_() override {}

  const Log::Sink function_;
};

}  // namespace

LogLevel ParseLogLevel(absl::string_view name) {
  for (LogLevel level : {LogLevel::kDebug, LogLevel::kWarning, LogLevel::kError}) {
    if (name == kLevelNames[static_cast<int>(level)]) return level;
  }
  return LogLevel::kInfo;
}

LogFormat ParseLogFormat(absl::string_view name) {
  return name == "json" ? LogFormat::kJson : LogFormat::kText;
}

std::string FormatLogEntry(LogFormat format, absl::Time time, LogLevel level,
                           absl::string_view message, const std::vector<LogField>& fields) {
  const std::string when = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone());
  const char* name = kLevelNames[static_cast<int>(level)];
  if (format == LogFormat::kText) {
    std::string line = absl::StrFormat("%s %-7s %s", when, name, Line(message));
    for (const LogField& field : fields) {
      absl::StrAppend(&line, " ", field.key, "=", Word(field.value));
    }
    return line;
  }
  std::string line = absl::StrCat("{\"time\":\"", when, "\",\"level\":\"", name,
                                  "\",\"message\":", Quoted(message));
  for (const LogField& field : fields) {
    absl::StrAppend(&line, ",", Quoted(field.key), ":", Quoted(field.value));
  }
  return line + "}";
}

RateLimit::Decision RateLimit::Ask() {
  const absl::Time now = clock_->Now();
  absl::MutexLock lock(&mutex_);
  if (last_ != absl::InfinitePast()) {
    const double seconds = std::max(0.0, absl::ToDoubleSeconds(now - last_));
    tokens_ = std::min(burst_, tokens_ + seconds * per_second_);
  }
  last_ = now;
  if (tokens_ < 1) {
    ++held_back_;
    return {};
  }
  tokens_ -= 1;
  return {.pass = true, .held_back = std::exchange(held_back_, 0)};
}

struct Log::Backend {
  explicit Backend(spdlog::sink_ptr sink) : logger("plimsolld", std::move(sink)) {
    logger.set_pattern("%v");
    logger.flush_on(spdlog::level::debug);
  }
  spdlog::logger logger;
};

Log::Log(LogFormat format, LogLevel level)
    : Log(format, level,
          [output = std::make_shared<LogOutput>(STDERR_FILENO, [format](uint64_t count) {
             return FormatLogEntry(format, absl::Now(), LogLevel::kWarning,
                                   "log entries lost, standard error did not take them",
                                   {{"count", absl::StrCat(count)}});
           })](LogLevel, const std::string& line) { output->Write(line); }) {}

Log::Log(LogFormat format, LogLevel level, Sink sink, Clock* clock)
    : format_(format),
      clock_(clock),
      limit_(50, 200, clock),
      backend_(std::make_unique<Backend>(std::make_shared<FunctionSink>(std::move(sink)))) {
  set_level(level);
}

Log::~Log() = default;

void Log::Write(LogLevel level, absl::string_view message, const std::vector<LogField>& fields) {
  if (!backend_->logger.should_log(SpdlogLevel(level))) return;
  const std::string line = FormatLogEntry(format_, clock_->Now(), level, message, fields);
  backend_->logger.log(SpdlogLevel(level), spdlog::string_view_t(line));
}

void Log::WriteLimited(LogLevel level, absl::string_view message,
                       const std::vector<LogField>& fields) {
  if (!backend_->logger.should_log(SpdlogLevel(level))) return;
  const RateLimit::Decision decision = limit_.Ask();
  if (!decision.pass) return;
  if (decision.held_back > 0) {
    Write(LogLevel::kWarning, "log entries left out, there were too many",
          {{"count", absl::StrCat(decision.held_back)}});
  }
  Write(level, message, fields);
}

void Log::set_level(LogLevel level) {
  backend_->logger.set_level(SpdlogLevel(level));
}

LogLevel Log::level() const {
  return LevelOf(backend_->logger.level());
}

}  // namespace plimsoll
