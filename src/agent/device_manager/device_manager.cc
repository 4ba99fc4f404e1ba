#include "agent/device_manager/device_manager.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/counters/timed_work.h"
#include "agent/device_manager/call_set.h"
#include "agent/device_manager/device_counters.h"
#include "agent/device_manager/device_stream.h"
#include "agent/device_manager/device_table.h"
#include "agent/device_manager/grpc_plugin.h"
#include "agent/device_manager/manager_news.h"
#include "agent/device_manager/plugin_lines.h"
#include "agent/device_manager/registration_server.h"
#include "agent/device_manager/registry_watch.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "linux/quiet_watch.h"

namespace plimsoll::agent {
namespace {

// Registrations that wait for plugins at once; the next ones wait their turn.
constexpr int kThreads = 8;
constexpr size_t kMaxQueued = 512;
// How long changes are gathered before the hook is called.
constexpr absl::Duration kGather = absl::Milliseconds(20);
constexpr absl::Duration kLongestRest = absl::Minutes(1);
constexpr absl::Duration kGatherAtMost = absl::Milliseconds(200);

class GrpcDeviceManager final : public DeviceManager {
 public:
  GrpcDeviceManager(Options options, std::unique_ptr<ManagerNews> news)
      : options_(std::move(options)),
        table_(StockOf(options_.configured, options_.root), options_.expected, options_.now),
        lines_(options_.now),
        news_(std::move(news)),
        pool_(std::make_unique<WorkerPool>(kThreads, kMaxQueued)) {}

  ~GrpcDeviceManager() override {
    chores_.reset();
    calls_.EndAll();
    registry_.reset();
    server_.reset();
    pool_.reset();
    streams_.EndAll();
  }

  absl::Status Begin() {
    const auto enlist = [this](const std::string& resource, const std::string& path) {
      return Enlist(resource, path);
    };
    if (!options_.registry_directory.empty()) {
      PLIMSOLL_ASSIGN_OR_RETURN(registry_,
                                RegistryWatch::Start({.root = options_.root,
                                                      .directory = options_.registry_directory,
                                                      .enlist = enlist,
                                                      .calls = &calls_,
                                                      .pool = pool_.get(),
                                                      .news = news_.get()}));
    }
    if (!options_.directory.empty()) {
      PLIMSOLL_ASSIGN_OR_RETURN(
          server_, RegistrationServer::Start(
                       {.root = options_.root,
                        .directory = options_.directory,
                        .enlist =
                            [enlist](const std::string& resource, const std::string& path) {
                              return enlist(resource, path).status();
                            },
                        .pool = pool_.get(),
                        .news = news_.get(),
                        .counters = options_.counters}));
    }
    return StartChores();
  }

  void Stop() override { calls_.EndAll(); }

  DeviceStock Stock() const override { return table_.Stock(); }
  resources::ResourceList Capacity() const override { return table_.Capacity(); }
  resources::ResourceList Allocatable() const override { return table_.Allocatable(); }

  absl::StatusOr<std::vector<std::string>> Prefer(const std::string& resource,
                                                  const std::vector<std::string>& available,
                                                  const std::vector<std::string>& must_include,
                                                  int64_t count) const override {
    if (table_.IsConfigured(resource)) return std::vector<std::string>{};
    PLIMSOLL_ASSIGN_OR_RETURN(const auto plugin, PluginOf(resource));
    if (!plugin->has_preference()) return std::vector<std::string>{};
    return plugin->Prefer(available, must_include, count);
  }

  absl::StatusOr<pod::GivenDevices> Allocate(const std::string& resource,
                                             const std::vector<std::string>& ids) const override {
    if (table_.IsConfigured(resource)) return GivenOf(options_.configured, resource, ids);
    PLIMSOLL_ASSIGN_OR_RETURN(const auto plugin, PluginOf(resource));
    if (options_.counters == nullptr) return plugin->Allocate(ids);
    const TimedWork timed(*options_.counters, kPluginAllocations, {resource});
    return plugin->Allocate(ids);
  }

  absl::Status PreStart(const std::string& resource,
                        const std::vector<std::string>& ids) const override {
    if (table_.IsConfigured(resource)) return absl::OkStatus();
    PLIMSOLL_ASSIGN_OR_RETURN(const bool is_wanted, table_.WantsPreStart(resource));
    if (!is_wanted) return absl::OkStatus();
    PLIMSOLL_ASSIGN_OR_RETURN(const auto plugin, PluginOf(resource));
    return Annotate(plugin->PreStart(ids), "device plugin PreStartContainer rpc failed with err");
  }

 private:
  absl::Status StartChores() {
    std::vector<linux::QuietWatch::Watched> watched = {
        {.fd = news_->fd(), .events = POLLIN, .heard = [this](short) { return news_->Heard(); }}};
    if (registry_ != nullptr) {
      watched.push_back({.fd = registry_->fd(), .events = POLLIN, .heard = [this](short) {
                           return registry_->Heard();
                         }});
    }
    PLIMSOLL_ASSIGN_OR_RETURN(
        chores_,
        linux::QuietWatch::Start({.quiet = kGather, .at_most = kGatherAtMost, .first = absl::Now()},
                                 std::move(watched), [this] { return DoChores(); }));
    return absl::OkStatus();
  }

  absl::Time DoChores() {
    streams_.Reap();
    const bool dropped = table_.DropExpired();
    const ManagerNews::News news = news_->Take();
    if ((news.changed || dropped) && options_.hooks.on_change) options_.hooks.on_change();
    for (const ManagerNews::Event& event : news.events) {
      if (options_.hooks.on_event) options_.hooks.on_event(event.reason, event.message);
    }
    for (const std::string& line : news.lines) {
      if (options_.hooks.on_line) options_.hooks.on_line(line);
    }
    absl::Time next = absl::Now() + kLongestRest;
    if (registry_ != nullptr) next = std::min(next, registry_->Look());
    const SteadyTime expiry = table_.NextExpiry();
    if (expiry != kNever) {
      const absl::Duration left = absl::FromChrono(expiry - options_.now());
      next = std::min(next, absl::Now() + std::max(left, absl::ZeroDuration()));
    }
    return next;
  }

  // Not null.
  absl::StatusOr<std::shared_ptr<Plugin>> PluginOf(const std::string& resource) const {
    PLIMSOLL_ASSIGN_OR_RETURN(auto plugin, table_.Find(resource));
    if (plugin != nullptr) return plugin;
    return absl::UnavailableError(absl::StrCat("the device plugin of ", resource,
                                               " has not registered since the agent's start"));
  }

  // Waits for the plugin.
  absl::StatusOr<std::shared_ptr<Plugin>> Enlist(const std::string& resource,
                                                 const std::string& path) {
    PLIMSOLL_RETURN_IF_ERROR(table_.CheckPut(resource));
    PLIMSOLL_ASSIGN_OR_RETURN(const std::shared_ptr<GrpcPlugin> plugin,
                              GrpcPlugin::Connect(options_.root, path, options_.limits, calls_));
    PLIMSOLL_ASSIGN_OR_RETURN(const auto earlier, table_.Put(resource, plugin));
    if (earlier != nullptr) earlier->Close();
    plugin->Watch(streams_,
                  {.on_list =
                       [this, resource, path, plugin, told = Told()](ListedDevices list) mutable {
                         TellOfFirst(resource, path, list, told);
                         OnList(resource, *plugin, std::move(list), told);
                       },
                   .on_end = [this, resource,
                              plugin](const absl::Status& why) { OnEnd(resource, *plugin, why); }});
    news_->Change();
    return std::shared_ptr<Plugin>(plugin);
  }

  // The last report about a plugin.
  struct Told {
    bool registration = false;
    std::string fault;
  };

  void TellOfFirst(const std::string& resource, const std::string& path, const ListedDevices& list,
                   Told& told) {
    if (std::exchange(told.registration, true)) return;
    auto line = lines_.Registered(resource, options_.root.PathOf(path), list.devices);
    if (line.has_value()) news_->Note(*std::move(line));
  }

  void OnList(const std::string& resource, const Plugin& plugin, ListedDevices list, Told& told) {
    if (table_.SetDevices(resource, &plugin, std::move(list.devices))) news_->Change();
    if (list.fault == told.fault) return;
    told.fault = list.fault;
    if (told.fault.empty()) return;
    news_->Tell("DevicePluginFault",
                absl::StrCat("the device plugin of ", resource, ": ", told.fault));
  }

  void OnEnd(const std::string& resource, const Plugin& plugin, const absl::Status& why) {
    news_->Wake();  // the stream is to be reaped
    if (!table_.SetGone(resource, &plugin)) return;
    news_->Change();
    news_->Tell(
        "DevicePluginGone",
        absl::StrCat("the device plugin of ", resource, " has ended",
                     why.ok() ? "" : absl::StrCat(" (", why.message(), ")"),
                     "; its devices are unhealthy, and leave the node in ",
                     absl::FormatDuration(DeviceTable::kStay), " unless it registers again"));
  }

  const Options options_;
  DeviceTable table_;
  PluginLines lines_;
  CallSet calls_;
  DeviceStreams streams_;
  const std::unique_ptr<ManagerNews> news_;
  std::unique_ptr<WorkerPool> pool_;
  std::unique_ptr<RegistrationServer> server_;
  std::unique_ptr<RegistryWatch> registry_;
  std::unique_ptr<linux::QuietWatch> chores_;  // last: its thread uses all of the above
};

}  // namespace

absl::StatusOr<std::unique_ptr<DeviceManager>> DeviceManager::Start(Options options) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto news, ManagerNews::Make());
  auto manager = std::make_unique<GrpcDeviceManager>(std::move(options), std::move(news));
  PLIMSOLL_RETURN_IF_ERROR(manager->Begin());
  return std::unique_ptr<DeviceManager>(std::move(manager));
}

}  // namespace plimsoll::agent
