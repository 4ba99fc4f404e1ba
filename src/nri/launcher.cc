#include "nri/launcher.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/programs/kill_timeout.h"
#include "base/status.h"
#include "nri/plugin_files.h"

namespace plimsoll::nri {
namespace {

constexpr int kPluginSocket = 3;
constexpr absl::Duration kExitPatience = absl::Milliseconds(100);

Command CommandFor(const PluginName& name, const std::string& path, int file, int socket) {
  Command command;
  command.argv = {path};
  // The file that was checked, even if another is at its path now. An interpreter opens it once
  // more, so the descriptor stays open in this process.
  command.executable = absl::StrCat("/proc/", getpid(), "/fd/", file);
  command.environment.push_back(absl::StrCat("NRI_PLUGIN_NAME=", name.base));
  command.environment.push_back(absl::StrCat("NRI_PLUGIN_IDX=", name.index));
  command.environment.push_back(absl::StrCat("NRI_PLUGIN_SOCKET=", kPluginSocket));
  command.descriptors = {{socket, kPluginSocket}};
  command.new_session = true;
  return command;
}

void Kill(Child* child) {
  if (child->Wait(absl::InfinitePast()).ok()) return;
  child->KillGroup(MonotonicNow() + kHelperKillTimeout).IgnoreError();
}

}  // namespace

void Launcher::Find() {
  const NriSettings& config = parts_->options.config;
  if (config.plugin_dir.empty()) return;
  const auto warn = [&](const std::string& file, const std::string& why) {
    parts_->Tell(/*is_warning=*/true, "", absl::StrCat(file, " is not started: ", why));
  };
  const absl::StatusOr<std::vector<PluginName>> names =
      FindPlugins(parts_->options.host, config.plugin_dir, warn);
  if (!names.ok()) return warn(config.plugin_dir, std::string(names.status().message()));
  for (const PluginName& name : *names) {
    parts_->roster.ExpectPreInstalled(name);
    programs_.push_back({name, RetryDelay(times_.restart), SteadyNow(), nullptr, std::nullopt,
                         UniqueFd(), SteadyTime(), false});
  }
}

void Launcher::StartDue() {
  for (Program& program : programs_) {
    if (program.due > SteadyNow()) continue;
    if (program.started_before) parts_->roster.CountRestart(program.name);
    program.started_before = true;
    const absl::Status started = Start(&program);
    if (started.ok()) continue;
    parts_->roster.CountsOf(program.name)->Failed(started.message());
    parts_->Tell(/*is_warning=*/true, program.name.Full(), std::string(started.message()));
    Plan(&program);
  }
}

SteadyTime Launcher::next_start() const {
  SteadyTime next = kNever;
  for (const Program& program : programs_) next = std::min(next, program.due);
  return next;
}

absl::Status Launcher::Start(Program* program) {
  const Options& options = parts_->options;
  const std::string path = absl::StrCat(options.config.plugin_dir, "/", program->name.Full());
  PLIMSOLL_ASSIGN_OR_RETURN(
      std::string configuration,
      ReadPluginConfig(options.host, options.config.config_dir, program->name));
  PLIMSOLL_ASSIGN_OR_RETURN(program->file,
                            OpenPlugin(options.host, options.config.plugin_dir, program->name));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, absl::StrCat("make a socket for plugin ", path));
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  absl::StatusOr<Child> child =
      Spawn(CommandFor(program->name, path, program->file.get(), theirs.get()));
  // The command's own path is that of a descriptor.
  if (!child.ok()) return Annotate(child.status(), absl::StrCat("start plugin ", path));
  program->child = *std::move(child);
  PluginSetup setup;
  setup.socket = std::move(ours);
  setup.pre_installed = program->name;
  setup.pid = program->child->pid();
  setup.configuration = std::move(configuration);
  setup.registration_timeout = absl::Milliseconds(options.config.registration_timeout_ms);
  setup.request_timeout = absl::Milliseconds(options.config.request_timeout_ms);
  setup.calls = calls_;
  setup.news = &parts_->news;
  absl::StatusOr<std::shared_ptr<PluginConnection>> plugin =
      PluginConnection::Start(std::move(setup));
  if (!plugin.ok()) {
    Kill(&*program->child);
    return plugin.status();
  }
  program->connection = plugin->get();
  program->due = kNever;
  program->started = SteadyNow();
  parts_->roster.Add(*std::move(plugin));
  return absl::OkStatus();
}

void Launcher::Plan(Program* program) {
  program->connection = nullptr;
  program->child.reset();
  program->file.Reset();
  program->due = SteadyAfter(program->delay.Next());
}

std::string Launcher::Ended(const PluginConnection& plugin) {
  std::string why(plugin.why_closed().message());
  for (Program& program : programs_) {
    if (program.connection != &plugin) continue;
    if (program.child.has_value()) {
      // A process's descriptors are closed a moment before its end.
      const absl::StatusOr<ExitStatus> exit = program.child->Wait(MonotonicNow() + kExitPatience);
      if (exit.ok()) absl::StrAppend(&why, "; its process has ended: ", exit->ToString());
      Kill(&*program.child);
    }
    // It need not have registered.
    parts_->roster.CountsOf(program.name)->Failed(why);
    const bool healthy = plugin.step() == Step::kReady &&
                         SteadyNow() - program.started > absl::ToChronoNanoseconds(times_.healthy);
    if (healthy) program.delay.Reset();
    Plan(&program);
  }
  return why;
}

void Launcher::Stop() {
  for (Program& program : programs_) {
    if (!program.child.has_value()) continue;
    program.child->Signal(SIGTERM, /*group=*/true).IgnoreError();
  }
  const absl::Time deadline = MonotonicNow() + times_.stop_grace;
  for (Program& program : programs_) {
    if (!program.child.has_value()) continue;
    program.child->Wait(deadline).status().IgnoreError();
    Kill(&*program.child);
  }
  programs_.clear();
}

}  // namespace plimsoll::nri
