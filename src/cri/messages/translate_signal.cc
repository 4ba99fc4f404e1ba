// Signals by name, since their numbers differ between architectures.
#include <csignal>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "cri/messages/translate_container.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

constexpr std::pair<int, v1::Signal> kNumbers[] = {
    {SIGABRT, v1::SIGNAL_SIGABRT},     {SIGALRM, v1::SIGNAL_SIGALRM},
    {SIGBUS, v1::SIGNAL_SIGBUS},       {SIGCHLD, v1::SIGNAL_SIGCHLD},
    {SIGCONT, v1::SIGNAL_SIGCONT},     {SIGFPE, v1::SIGNAL_SIGFPE},
    {SIGHUP, v1::SIGNAL_SIGHUP},       {SIGILL, v1::SIGNAL_SIGILL},
    {SIGINT, v1::SIGNAL_SIGINT},       {SIGIO, v1::SIGNAL_SIGIO},
    {SIGKILL, v1::SIGNAL_SIGKILL},     {SIGPIPE, v1::SIGNAL_SIGPIPE},
    {SIGPROF, v1::SIGNAL_SIGPROF},     {SIGPWR, v1::SIGNAL_SIGPWR},
    {SIGQUIT, v1::SIGNAL_SIGQUIT},     {SIGSEGV, v1::SIGNAL_SIGSEGV},
    {SIGSTKFLT, v1::SIGNAL_SIGSTKFLT}, {SIGSTOP, v1::SIGNAL_SIGSTOP},
    {SIGSYS, v1::SIGNAL_SIGSYS},       {SIGTERM, v1::SIGNAL_SIGTERM},
    {SIGTRAP, v1::SIGNAL_SIGTRAP},     {SIGTSTP, v1::SIGNAL_SIGTSTP},
    {SIGTTIN, v1::SIGNAL_SIGTTIN},     {SIGTTOU, v1::SIGNAL_SIGTTOU},
    {SIGURG, v1::SIGNAL_SIGURG},       {SIGUSR1, v1::SIGNAL_SIGUSR1},
    {SIGUSR2, v1::SIGNAL_SIGUSR2},     {SIGVTALRM, v1::SIGNAL_SIGVTALRM},
    {SIGWINCH, v1::SIGNAL_SIGWINCH},   {SIGXCPU, v1::SIGNAL_SIGXCPU},
    {SIGXFSZ, v1::SIGNAL_SIGXFSZ},
};

// The C library keeps the kernel's first two real-time signals to itself.
constexpr int kRtMin = 34;
constexpr int kRtMax = 64;
constexpr int kRtMiddle = 49;  // SIGRTMIN+15; the CRI counts from SIGRTMAX-14 after it

}  // namespace

std::string SignalName(v1::Signal signal) {
  if (signal == v1::SIGNAL_RUNTIME_DEFAULT) return "";
  const std::string full = v1::Signal_Name(signal);
  absl::string_view name = full;
  absl::ConsumePrefix(&name, "SIGNAL_");
  absl::string_view rest = name;
  if (absl::ConsumePrefix(&rest, "SIGRTMINPLUS")) return absl::StrCat("SIGRTMIN+", rest);
  if (absl::ConsumePrefix(&rest, "SIGRTMAXMINUS")) return absl::StrCat("SIGRTMAX-", rest);
  return std::string(name);
}

v1::Signal SignalFromNumber(int number) {
  if (number >= kRtMin && number <= kRtMiddle) {
    return static_cast<v1::Signal>(v1::SIGNAL_SIGRTMIN + (number - kRtMin));
  }
  if (number > kRtMiddle && number <= kRtMax) {
    return static_cast<v1::Signal>(v1::SIGNAL_SIGRTMAX - (kRtMax - number));
  }
  for (const auto& [value, signal] : kNumbers) {
    if (value == number) return signal;
  }
  return v1::SIGNAL_RUNTIME_DEFAULT;
}

}  // namespace plimsoll::cri
