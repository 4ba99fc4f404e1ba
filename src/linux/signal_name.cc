#include <signal.h>
#include <string.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"
#include "linux/process.h"

namespace plimsoll::linux {
namespace {

// Second names of signals, signal(7).
constexpr std::pair<absl::string_view, int> kAliases[] = {
    {"IOT", SIGIOT}, {"CLD", SIGCLD}, {"POLL", SIGPOLL}, {"IO", SIGIO}};

std::optional<int> RealTime(absl::string_view name) {
  // glibc keeps the kernel's first two for itself, so SIGRTMIN is 34 and not 32, as in systemd and
  // kill(1).
  int base = 0;
  int sign = 0;
  if (absl::ConsumePrefix(&name, "RTMIN")) {
    base = SIGRTMIN;
    sign = 1;
  } else if (absl::ConsumePrefix(&name, "RTMAX")) {
    base = SIGRTMAX;
    sign = -1;
  } else {
    return std::nullopt;
  }
  if (name.empty()) return base;
  int offset = 0;
  if (!absl::ConsumePrefix(&name, sign > 0 ? "+" : "-") || name.empty() ||
      !absl::ascii_isdigit(static_cast<unsigned char>(name[0])) ||
      !absl::SimpleAtoi(name, &offset) || offset > SIGRTMAX - SIGRTMIN) {
    return std::nullopt;
  }
  return base + sign * offset;
}

}  // namespace

std::optional<int> ParseSignal(absl::string_view text) {
  int number = 0;
  if (absl::SimpleAtoi(text, &number)) {
    return number >= 1 && number <= SIGRTMAX ? std::optional<int>(number) : std::nullopt;
  }
  const std::string upper = absl::AsciiStrToUpper(text);
  absl::string_view name = upper;
  absl::ConsumePrefix(&name, "SIG");
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    const char* known = sigabbrev_np(signal);
    if (known != nullptr && name == known) return signal;
  }
  for (const auto& [alias, signal] : kAliases) {
    if (name == alias) return signal;
  }
  return RealTime(name);
}

}  // namespace plimsoll::linux
