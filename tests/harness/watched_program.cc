#include "harness/watched_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "harness/kernel.h"

namespace plimsoll::testing {

Ends OpenPipe() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Ends OpenTerminal(uint16_t columns) {
  UniqueFd here(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  EXPECT_TRUE(here.valid());
  EXPECT_EQ(grantpt(here.get()), 0);
  EXPECT_EQ(unlockpt(here.get()), 0);
  UniqueFd there(open(ptsname(here.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  const winsize size = {.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  EXPECT_EQ(ioctl(there.get(), TIOCSWINSZ, &size), 0);
  return {std::move(here), std::move(there)};
}

WatchedProgram::WatchedProgram(std::vector<std::string> argv, Ends ends)
    : here_(std::move(ends.here)) {
  Command command;
  command.argv = std::move(argv);
  command.descriptors = {{ends.there.get(), 1}, {ends.there.get(), 2}};
  if (isatty(ends.there.get()) != 0) command.descriptors.emplace_back(ends.there.get(), 0);
  command.new_session = true;
  auto child = Spawn(command);
  EXPECT_TRUE(child.ok()) << child.status();
  if (child.ok()) child_ = *std::move(child);
}

WatchedProgram::~WatchedProgram() {
  if (child_.has_value()) child_->Signal(SIGKILL).IgnoreError();
}

bool WatchedProgram::Await(const std::function<bool(const std::string&)>& enough) {
  return Eventually([&] {
    Read();
    return enough(printed_);
  });
}

void WatchedProgram::Type(absl::string_view keys) {
  EXPECT_EQ(write(here_.get(), keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

int WatchedProgram::Interrupt() {
  EXPECT_TRUE(child_->Signal(SIGINT).ok());
  return AwaitEnd();
}

void WatchedProgram::Kill() {
  EXPECT_TRUE(child_->Signal(SIGKILL).ok());
  AwaitEnd();
}

int WatchedProgram::AwaitEnd() {
  absl::StatusOr<ExitStatus> exit;
  // Reads meanwhile: a terminal holds only some lines.
  const bool ended = Eventually([&] {
    Read();
    exit = child_->Wait(absl::Now());
    return exit.ok();
  });
  Read();
  EXPECT_TRUE(ended) << exit.status();
  return ended ? exit->code : -1;
}

void WatchedProgram::Read() {
  std::array<char, 4096> buffer;
  pollfd ready = {here_.get(), POLLIN, 0};
  while (poll(&ready, 1, /*timeout=*/0) > 0 && (ready.revents & POLLIN) != 0) {
    const ssize_t count = read(here_.get(), buffer.data(), buffer.size());
    if (count <= 0) return;
    printed_.append(buffer.data(), static_cast<size_t>(count));
  }
}

}  // namespace plimsoll::testing
