#include "dial/connect.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "base/text/printable.h"

namespace plimsoll::dial {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(50);

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

absl::Status Failed(const std::string& what, int error) {
  return absl::UnavailableError(absl::StrCat(what, ": ", strerror(error)));
}

absl::StatusOr<Addresses> LookUp(const std::string& host, uint16_t port) {
  addrinfo wanted = {};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  // A numeric address asks no resolver.
  wanted.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &wanted, &found);
  if (error == 0) return Addresses(found, &freeaddrinfo);
  const std::string what =
      absl::StrCat("look up host \"", Printable(host), "\": ", gai_strerror(error));
  return error == EAI_AGAIN ? absl::UnavailableError(what) : absl::InvalidArgumentError(what);
}

absl::StatusOr<UniqueFd> ConnectTo(const addrinfo& address, const std::string& what,
                                   const Until& until) {
  UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Without IPv6 in the kernel, the next address may be one of IPv4.
  if (!fd.valid()) return Failed(what, errno);
  if (connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return Failed(what, errno);
  PLIMSOLL_RETURN_IF_ERROR(Annotate(AwaitSocket(fd.get(), POLLOUT, until), what));
  int error = 0;
  socklen_t size = sizeof(error);
  if (getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) return Failed(what, error);
  return fd;
}

}  // namespace

std::string HostAndPort(const std::string& host, uint16_t port) {
  const bool is_v6 = absl::StrContains(host, ":");
  return is_v6 ? absl::StrCat("[", host, "]:", port) : absl::StrCat(host, ":", port);
}

absl::Status AwaitSocket(int fd, short events, const Until& until) {
  while (true) {
    if (until.given_up && until.given_up()) return absl::CancelledError("given up");
    const absl::Duration left = TimeUntil(until.deadline);
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("no answer in time");
    const absl::Duration wait = until.given_up ? std::min(left, kLook) : left;
    const bool is_endless = wait == absl::InfiniteDuration();
    // Rounded up, so that the last wait doesn't end before the deadline, again and again.
    const int64_t milliseconds = absl::ToInt64Milliseconds(wait + absl::Microseconds(999));
    pollfd look = {fd, events, 0};
    const int count = poll(
        &look, 1, is_endless ? -1 : static_cast<int>(std::min<int64_t>(milliseconds, 1'000'000)));
    if (count > 0) return absl::OkStatus();
    if (count < 0 && errno != EINTR) return Failed("poll", errno);
  }
}

absl::StatusOr<UniqueFd> Connect(const std::string& host, uint16_t port, const Until& until) {
  PLIMSOLL_ASSIGN_OR_RETURN(const Addresses addresses, LookUp(host, port));
  const std::string what = absl::StrCat("connect to ", HostAndPort(host, port));
  absl::Status first;
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    absl::StatusOr<UniqueFd> fd = ConnectTo(*each, what, until);
    if (fd.ok() || !absl::IsUnavailable(fd.status())) return fd;
    first = FirstError(std::move(first), fd.status());
  }
  return first;
}

}  // namespace plimsoll::dial
