#include "kube/program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "kube/api_access.h"
#include "kube/driver/driver.h"
#include "kube/inherited_sockets.h"
#include "kube/link/runtime_link.h"
#include "kube/metrics.h"
#include "kube/publish/node_publisher.h"
#include "kube/report_fan.h"
#include "service/directory_lock.h"
#include "service/http_server.h"

namespace plimsoll::kube {
namespace {

// The program's place on the machine.
struct Ground {
  FsRoot root;   // "/"
  FsRoot state;  // KubeProgramConfig::state_directory
  DirectoryLock lock;
};

absl::StatusOr<Ground> TakeGround(const KubeProgramConfig& config) {
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot root, FsRoot::Open("/"));
  PLIMSOLL_ASSIGN_OR_RETURN(FsRoot state, FsRoot::OpenOrCreate(config.state_directory));
  PLIMSOLL_ASSIGN_OR_RETURN(DirectoryLock lock, DirectoryLock::Take(state, "state directory"));
  return Ground{std::move(root), std::move(state), std::move(lock)};
}

// Parts in the order of their start; the destructor ends them in reverse.
class ProgramImpl final : public Program {
 public:
  ProgramImpl(const KubeProgramConfig& config, Log* log, Ground ground,
              std::unique_ptr<ApiClient> api)
      : config_(config), log_(log), ground_(std::move(ground)), api_(std::move(api)) {}

  ~ProgramImpl() override {
    metrics_.reset();
    if (driver_ != nullptr) driver_->Drain();
    fan_.DetachAll();
    // Ends calls that the parts below wait for.
    api_->Stop();
    publisher_.reset();
  }

  absl::Status Start(std::map<std::string, UniqueFd> sockets) {
    link_ = RuntimeLink::Open(config_.runtime_socket,
                              [this](std::shared_ptr<const NodeReport> report) { Hear(report); });
    PLIMSOLL_RETURN_IF_ERROR(StartDriver(std::move(sockets)));
    StartPublisher();
    return StartMetrics();
  }

 private:
  void Hear(const std::shared_ptr<const NodeReport>& report) {
    if (report == nullptr) {
      log_->Write(LogLevel::kWarning,
                  absl::StrCat("plimsolld doesn't answer at ", config_.runtime_socket,
                               "; it is tried again until it does"));
    } else if (std::exchange(has_runtime_, true) == false) {
      log_->Write(LogLevel::kInfo, "plimsolld answers",
                  {{"version", report->runtime_version}, {"socket", config_.runtime_socket}});
    }
    if (report == nullptr) has_runtime_ = false;
    fan_.Hear(report);
  }

  absl::Status StartDriver(std::map<std::string, UniqueFd> sockets) {
    const std::string registration = RegistrationSocketOf(config_.kubelet_root);
    const std::string driver = DriverSocketOf(config_.kubelet_root);
    DriverOptions options{
        .node = config_.node_name,
        .state = ground_.state,
        .registration = {registration, TakeSocket(sockets, registration)},
        .driver = {driver, TakeSocket(sockets, driver)},
        .warn = [this](const std::string& text) { log_->Write(LogLevel::kWarning, text); },
        .note = [this](const std::string& text) { log_->Write(LogLevel::kInfo, text); }};
    for (const auto& [path, socket] : sockets) {
      log_->Write(LogLevel::kWarning,
                  absl::StrCat("the service manager passed on socket ", path,
                               ", which is none of this driver's: ", registration, ", ", driver));
    }
    PLIMSOLL_ASSIGN_OR_RETURN(driver_, ClassDriver::Start(*api_, *link_, std::move(options)));
    fan_.Attach(
        [this](std::shared_ptr<const NodeReport> report) { driver_->Report(std::move(report)); });
    return absl::OkStatus();
  }

  void StartPublisher() {
    RoundOptions options;
    options.publish = config_.publish;
    options.note = [this](const std::string& text) { log_->Write(LogLevel::kInfo, text); };
    options.warn = [this](const std::string& text) { log_->Write(LogLevel::kWarning, text); };
    publisher_ = std::make_unique<NodePublisher>(api_.get(), config_.node_name, std::move(options));
    fan_.Attach([this](std::shared_ptr<const NodeReport> report) {
      publisher_->Report(std::move(report));
    });
  }

  absl::Status StartMetrics() {
    if (config_.metrics_address.empty()) return absl::OkStatus();
    const auto answer = [this](absl::string_view path) -> HttpResponse {
      if (path == "/metrics") return {200, MetricsText(driver_->counts(), ground_.root)};
      if (path == "/healthz") return {200, "ok\n"};
      return {404, "there are /metrics and /healthz\n"};
    };
    auto server =
        HttpServer::Start(config_.metrics_address, answer, {}, [this](absl::string_view text) {
          log_->Write(LogLevel::kWarning, absl::StrCat("metrics: ", text));
        });
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(server.status(), absl::StrCat("metricsAddress ", config_.metrics_address)));
    metrics_ = *std::move(server);
    return absl::OkStatus();
  }

  const KubeProgramConfig config_;
  Log* const log_;
  const Ground ground_;
  const std::unique_ptr<ApiClient> api_;
  ReportFan fan_;
  bool has_runtime_ = false;  // of the link's thread
  std::unique_ptr<RuntimeLink> link_;
  std::unique_ptr<ClassDriver> driver_;
  std::unique_ptr<NodePublisher> publisher_;
  std::unique_ptr<HttpServer> metrics_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Program>> Program::Start(const KubeProgramConfig& config,
                                                        std::map<std::string, UniqueFd> sockets,
                                                        const Environment& environment, Log* log) {
  PLIMSOLL_ASSIGN_OR_RETURN(Ground ground, TakeGround(config));
  PLIMSOLL_ASSIGN_OR_RETURN(std::unique_ptr<ApiClient> api,
                            OpenApi(config, environment, [log](const std::string& text) {
                              log->Write(LogLevel::kWarning, text);
                            }));
  auto program = std::make_unique<ProgramImpl>(config, log, std::move(ground), std::move(api));
  PLIMSOLL_RETURN_IF_ERROR(program->Start(std::move(sockets)));
  return std::unique_ptr<Program>(std::move(program));
}

}  // namespace plimsoll::kube
