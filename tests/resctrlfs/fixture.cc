#include "resctrlfs/fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/programs/own_program.h"
#include "base/status.h"

namespace plimsoll::resctrlfs {
namespace {

using Json = nlohmann::json;

// Timeout of one answer. Moving all threads of a group while others compute takes the longest.
constexpr int kPatienceMs = 60'000;

std::string MountInfoLine(const Layout& layout) {
  return absl::StrCat("30 23 0:26 / /sys/fs/resctrl rw,relatime shared:9 - resctrl resctrl rw",
                      ShowMountOptions(layout.options), "\n");
}

std::string MountsLine(const Layout& layout) {
  return absl::StrCat("resctrl /sys/fs/resctrl resctrl rw,relatime",
                      ShowMountOptions(layout.options), " 0 0\n");
}

}  // namespace

std::string ResctrlFsFixture::WhyNot() {
  if (geteuid() != 0) return "resctrlfs needs root";
  const UniqueFd fuse(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!fuse.valid()) return absl::StrCat("resctrlfs needs /dev/fuse: ", strerror(errno));
  const absl::StatusOr<FsRoot> host = FsRoot::Open("/");
  const auto types = host.ok() ? host->Read("proc/filesystems") : host.status();
  if (!types.ok()) return std::string(types.status().message());
  if (!absl::StrContains(*types, "\tcgroup\n")) return "resctrlfs needs cgroup v1 in the kernel";
  return "";
}

std::optional<FsRoot> ResctrlFsFixture::RealRoot() {
  absl::StatusOr<FsRoot> host = FsRoot::Open("/");
  const auto mounts = host.ok() ? host->Read("proc/self/mounts") : host.status();
  if (!mounts.ok() || !absl::StrContains(*mounts, " /sys/fs/resctrl resctrl ")) return std::nullopt;
  return *std::move(host);
}

ResctrlFsFixture::ResctrlFsFixture() = default;

absl::StatusOr<std::unique_ptr<ResctrlFsFixture>> ResctrlFsFixture::Start(const Layout& layout) {
  std::unique_ptr<ResctrlFsFixture> fixture(new ResctrlFsFixture());
  PLIMSOLL_RETURN_IF_ERROR(fixture->Prepare(layout));
  PLIMSOLL_RETURN_IF_ERROR(fixture->Launch());
  return fixture;
}

ResctrlFsFixture::~ResctrlFsFixture() {
  Stop().IgnoreError();
}

absl::Status ResctrlFsFixture::Prepare(const Layout& layout) {
  const FsRoot& dir = dir_.root();
  PLIMSOLL_RETURN_IF_ERROR(dir.ReplaceFile("layout.json", LayoutToJson(layout)));
  PLIMSOLL_RETURN_IF_ERROR(dir.MakeDirs("root/sys/fs/resctrl", 0755));
  PLIMSOLL_RETURN_IF_ERROR(dir.MakeDirs("root/proc/self", 0755));
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot root, dir.Sub("root"));
  root_ = std::make_unique<FsRoot>(std::move(root));
  const std::pair<const char*, std::string> files[] = {
      {"proc/mounts", MountsLine(layout)},
      {"proc/self/mounts", MountsLine(layout)},
      {"proc/self/mountinfo", MountInfoLine(layout)},
      {"proc/filesystems", "nodev\tresctrl\n"}};
  for (const auto& [name, text] : files) {
    PLIMSOLL_RETURN_IF_ERROR(root_->ReplaceFile(name, text, 0444));
  }
  return absl::OkStatus();
}

absl::Status ResctrlFsFixture::Launch() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  control_.Reset(ends[0]);
  UniqueFd theirs(ends[1]);
  PLIMSOLL_ASSIGN_OR_RETURN(
      const UniqueFd complaints,
      dir_.root().OpenFile("complaints", O_CREAT | O_WRONLY | O_APPEND, 0600));
  Command command;
  PLIMSOLL_ASSIGN_OR_RETURN(command.executable, FindOwnProgram("resctrlfs"));
  command.argv = {"resctrlfs", dir_.path() + "/layout.json", mount_point()};
  command.descriptors = {{theirs.get(), 0}, {theirs.get(), 1}, {complaints.get(), 2}};
  PLIMSOLL_ASSIGN_OR_RETURN(Child program, Spawn(command));
  program_ = std::make_unique<Child>(std::move(program));
  theirs.Reset();  // else the stream would not end with the program
  return ReadAnswer().status();
}

std::string ResctrlFsFixture::Complaint() const {
  return dir_.root().Read("complaints").value_or("(unreadable)");
}

std::string ResctrlFsFixture::LastCommandStatus() const {
  const absl::StatusOr<std::string> text = root_->Read("sys/fs/resctrl/info/last_cmd_status");
  return text.ok() ? *text : text.status().ToString();
}

absl::Status ResctrlFsFixture::Stop() {
  if (program_ == nullptr) return absl::OkStatus();
  control_.Reset();
  absl::StatusOr<ExitStatus> exit = program_->Wait(absl::Now() + absl::Seconds(60));
  if (!exit.ok()) {
    program_->Signal(SIGKILL).IgnoreError();
    return exit.status();
  }
  program_ = nullptr;
  if (exit->success()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("resctrlfs: ", exit->ToString(), ": ", Complaint()));
}

void ResctrlFsFixture::Kill() {
  program_->Signal(SIGKILL).IgnoreError();
  program_->Wait(absl::Now() + absl::Seconds(60)).status().IgnoreError();
  program_ = nullptr;
  control_.Reset();
}

absl::StatusOr<std::string> ResctrlFsFixture::ReadAnswer() {
  size_t end;
  while ((end = received_.find('\n')) == std::string::npos) {
    pollfd polled = {.fd = control_.get(), .events = POLLIN};
    const int ready = poll(&polled, 1, kPatienceMs);
    if (ready == 0) return absl::DeadlineExceededError("resctrlfs does not answer");
    char bytes[4096];
    const ssize_t count = read(control_.get(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return absl::UnavailableError(absl::StrCat("resctrlfs ended: ", Complaint()));
    received_.append(bytes, static_cast<size_t>(count));
  }
  std::string answer = received_.substr(0, end);
  received_.erase(0, end + 1);
  const Json json = Json::parse(answer, nullptr, false);
  if (json.is_object() && json.contains("error")) {
    return absl::InvalidArgumentError(absl::StrCat("resctrlfs: ", json["error"].dump()));
  }
  return answer;
}

absl::StatusOr<std::string> ResctrlFsFixture::Ask(const std::string& command) {
  const std::string line = command + "\n";
  if (send(control_.get(), line.data(), line.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(line.size())) {
    return absl::UnavailableError(absl::StrCat("resctrlfs is gone: ", Complaint()));
  }
  return ReadAnswer();
}

absl::Status ResctrlFsFixture::SetCounter(const std::string& group, int cache,
                                          const std::string& event, uint64_t value) {
  const Json command = {{"do", "set_counter"},
                        {"group", group},
                        {"cache", cache},
                        {"event", event},
                        {"value", value}};
  return Ask(command.dump()).status();
}

absl::Status ResctrlFsFixture::SetCounter(const std::string& group, int cache,
                                          const std::string& event, const std::string& word) {
  const Json command = {
      {"do", "set_counter"}, {"group", group}, {"cache", cache}, {"event", event}, {"value", word}};
  return Ask(command.dump()).status();
}

absl::Status ResctrlFsFixture::HideNewThreads() {
  return Ask(R"({"do": "hide_new"})").status();
}

absl::Status ResctrlFsFixture::HideThreadsFor(absl::Duration age) {
  const Json command = {{"do", "hide_for"}, {"ms", absl::ToInt64Milliseconds(age)}};
  return Ask(command.dump()).status();
}

absl::Status ResctrlFsFixture::ShowAllThreads() {
  return Ask(R"({"do": "show_all"})").status();
}

absl::StatusOr<std::vector<pid_t>> ResctrlFsFixture::Members(const std::string& group) {
  const Json command = {{"do", "members"}, {"group", group}};
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string answer, Ask(command.dump()));
  return Json::parse(answer).at("threads").get<std::vector<pid_t>>();
}

absl::Status ResctrlFsFixture::LetRmidsLinger(bool on) {
  const Json command = {{"do", "linger"}, {"on", on}};
  return Ask(command.dump()).status();
}

absl::Status ResctrlFsFixture::RefuseNext(const std::string& verb, const std::string& path,
                                          int error, int skip) {
  const Json command = {
      {"do", "refuse_next"}, {"verb", verb}, {"path", path}, {"errno", error}, {"skip", skip}};
  return Ask(command.dump()).status();
}

absl::StatusOr<std::vector<std::string>> ResctrlFsFixture::TakeJournal() {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string answer, Ask(R"({"do": "journal"})"));
  return Json::parse(answer).at("lines").get<std::vector<std::string>>();
}

}  // namespace plimsoll::resctrlfs
