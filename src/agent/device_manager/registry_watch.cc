#include "agent/device_manager/registry_watch.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/device_manager/plugin_channel.h"
#include "agent/device_manager/registration_server.h"
#include "agent/device_manager/resource_name.h"
#include "base/status.h"
#include "base/text/quoted.h"
#include "kubelet/pluginregistration/v1/api.grpc.pb.h"

namespace plimsoll::agent {
namespace {

namespace wire = ::pluginregistration;

constexpr char kDevicePluginType[] = "DevicePlugin";
constexpr uint32_t kSocketChanges = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
                                    IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr absl::Duration kLookAnyway = absl::Minutes(1);
constexpr absl::Duration kLongestWait = absl::Minutes(2);  // kubelet's
constexpr absl::Duration kInfoLimit = absl::Seconds(5);
constexpr absl::Duration kVerdictLimit = absl::Seconds(5);

// The plugin may answer later.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

absl::Status CheckInfo(const wire::PluginInfo& info) {
  if (info.type() != kDevicePluginType) {
    return absl::UnimplementedError(
        absl::StrCat("no handler registered for plugin type: ", Quoted(info.type()),
                     "; plimsoll-agent has device plugins alone"));
  }
  const auto& versions = info.supported_versions();
  if (std::find(versions.begin(), versions.end(), kDevicePluginVersion) == versions.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("plugin validation failed with err: manager version, ", kDevicePluginVersion,
                     ", is not among plugin supported versions"));
  }
  if (!IsExtendedResourceName(info.name())) {
    return absl::InvalidArgumentError(
        absl::StrCat("plugin validation failed with err: invalid name of device plugin socket: the "
                     "ResourceName ",
                     Quoted(info.name()), " is invalid"));
  }
  if (!info.endpoint().empty() && !absl::StartsWith(info.endpoint(), "/")) {
    return absl::InvalidArgumentError(absl::StrCat("plugin validation failed with err: endpoint ",
                                                   Quoted(info.endpoint()),
                                                   " must be an absolute path"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RegistryWatch>> RegistryWatch::Start(Options options) {
  PLIMSOLL_RETURN_IF_ERROR(options.root.MakeDirs(options.directory, 0755));
  UniqueFd notify(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!notify.valid()) return ErrnoStatus(errno, "inotify_init1");
  return std::unique_ptr<RegistryWatch>(new RegistryWatch(std::move(options), std::move(notify)));
}

RegistryWatch::~RegistryWatch() {
  const absl::MutexLock lock(&mutex_);
  const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return under_way_ == 0; };
  mutex_.Await(absl::Condition(&none));
}

bool RegistryWatch::Heard() {
  alignas(inotify_event) char buffer[4096];
  bool heard = false;
  while (read(notify_.get(), buffer, sizeof(buffer)) > 0) heard = true;
  return heard;
}

std::map<std::string, RegistryWatch::Identity> RegistryWatch::List() const {
  std::map<std::string, Identity> sockets;
  const auto directory = options_.root.Sub(options_.directory);
  if (!directory.ok()) return sockets;
  const auto names = directory->List(".");
  if (!names.ok()) return sockets;
  for (const std::string& name : *names) {
    if (absl::StartsWith(name, ".") || sockets.size() == kMaxSockets) continue;
    const auto file = directory->OpenFile(name, O_PATH | O_NOFOLLOW);
    struct stat info = {};
    if (!file.ok() || fstat(file->get(), &info) != 0 || !S_ISSOCK(info.st_mode)) continue;
    sockets[name] = {info.st_dev, info.st_ino,
                     absl::ToUnixNanos(absl::TimeFromTimespec(info.st_ctim))};
  }
  return sockets;
}

absl::Time RegistryWatch::Look() {
  // Adding a watch again changes nothing. A change after this is heard, one before it is seen.
  inotify_add_watch(notify_.get(), options_.root.PathOf(options_.directory).c_str(),
                    kSocketChanges);
  const std::map<std::string, Identity> sockets = List();
  const absl::MutexLock lock(&mutex_);
  for (auto it = seen_.begin(); it != seen_.end();) {
    const auto now = sockets.find(it->first);
    if (now != sockets.end() && now->second == it->second.identity) {
      ++it;
      continue;
    }
    Forget(it->second);
    it = seen_.erase(it);
  }
  for (const auto& [name, identity] : sockets) {
    seen_.try_emplace(name, Seen{.identity = identity, .plugin = nullptr, .told = ""});
  }
  StartDueAttempts();
  return std::min(absl::Now() + kLookAnyway, NextAttempt());
}

void RegistryWatch::Forget(Seen& seen) {
  if (seen.plugin != nullptr) seen.plugin->Close();
}

void RegistryWatch::StartDueAttempts() {
  const absl::Time now = absl::Now();
  for (auto& [name, seen] : seen_) {
    if (seen.plugin != nullptr && seen.plugin->has_ended()) {
      seen.plugin.reset();  // its socket is still there: it may be back
      seen.next_attempt = now + seen.wait;
    }
    if (seen.is_asked || seen.is_settled || seen.plugin != nullptr || seen.next_attempt > now) {
      continue;
    }
    seen.is_asked = options_.pool->TrySchedule(
        [this, name = name, identity = seen.identity] { Attempt(name, identity); });
    under_way_ += seen.is_asked ? 1 : 0;
    seen.next_attempt = now + seen.wait;
    seen.wait = std::min(2 * seen.wait, kLongestWait);
  }
}

absl::Time RegistryWatch::NextAttempt() const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [name, seen] : seen_) {
    if (!seen.is_asked && !seen.is_settled && seen.plugin == nullptr) {
      next = std::min(next, seen.next_attempt);
    }
  }
  return next;
}

void RegistryWatch::Attempt(const std::string& name, const Identity& identity) {
  Settle(name, identity, Ask(name));
}

absl::StatusOr<std::shared_ptr<Plugin>> RegistryWatch::Ask(const std::string& name) {
  const std::string path = absl::StrCat(options_.directory, "/", name);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto channel, ConnectToPlugin(options_.root, path));
  const auto stub = wire::Registration::NewStub(channel);
  wire::PluginInfo info;
  PLIMSOLL_RETURN_IF_ERROR(options_.calls->Run(kInfoLimit, [&](grpc::ClientContext& context) {
    return stub->GetInfo(&context, {}, &info);
  }));
  const absl::Status wrong = CheckInfo(info);
  absl::StatusOr<std::shared_ptr<Plugin>> taken =
      wrong.ok() ? options_.enlist(info.name(), info.endpoint().empty() ? path : info.endpoint())
                 : wrong;
  wire::RegistrationStatus verdict;
  verdict.set_plugin_registered(taken.ok());
  verdict.set_error(std::string(taken.status().message()));
  wire::RegistrationStatusResponse response;
  const absl::Status heard = options_.calls->Run(kVerdictLimit, [&](grpc::ClientContext& context) {
    return stub->NotifyRegistrationStatus(&context, verdict, &response);
  });
  if (!taken.ok() || heard.ok()) return taken;
  (*taken)->Close();
  return Annotate(heard, "the plugin can't be told that it has registered");
}

void RegistryWatch::Settle(const std::string& name, const Identity& identity,
                           absl::StatusOr<std::shared_ptr<Plugin>> taken) {
  {
    const absl::MutexLock lock(&mutex_);
    const auto it = seen_.find(name);
    if (it == seen_.end() || it->second.identity != identity) {
      if (taken.ok()) (*taken)->Close();
    } else {
      Seen& seen = it->second;
      seen.is_asked = false;
      if (taken.ok()) {
        seen.plugin = *std::move(taken);
        seen.wait = absl::Milliseconds(500);
        seen.told.clear();
      } else {
        seen.is_settled = !MayPass(taken.status());
        std::string told = absl::StrCat("the plugin of ", options_.directory, "/", name,
                                        " is not served: ", taken.status().message());
        if (told != seen.told) options_.news->Tell("PluginNotServed", told);
        seen.told = std::move(told);
      }
    }
  }
  options_.news->Wake();  // before under_way_ lets this end
  const absl::MutexLock lock(&mutex_);
  --under_way_;
}

}  // namespace plimsoll::agent
