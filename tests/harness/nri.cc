#include "harness/nri.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "harness/kernel.h"

namespace plimsoll::testing {
namespace {

absl::StatusOr<UniqueFd> ConnectTo(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("connect to ", path));
  }
  return socket;
}

}  // namespace

void TestPlugin::Adjust(const napi::ContainerAdjustment& adjustment) {
  On(&TestPlugin::create, [adjustment](const napi::CreateContainerRequest&) {
    napi::CreateContainerResponse response;
    *response.mutable_adjust() = adjustment;
    return response;
  });
}

absl::Status TestPlugin::Connect(const std::string& socket) {
  Close();
  absl::StatusOr<UniqueFd> connected = ConnectTo(socket);
  if (!connected.ok()) return connected.status();
  socket_ = UniqueFd(dup(connected->get()));
  absl::StatusOr<std::unique_ptr<nri::Session>> session = nri::Session::Start(
      *this, {.name = name_, .index = index_, .connected = *std::move(connected)});
  if (!session.ok()) return session.status();
  session_ = *std::move(session);
  return absl::OkStatus();
}

void TestPlugin::Close() {
  session_.reset();
  socket_ = UniqueFd();
}

void TestPlugin::Cut() {
  shutdown(socket_.get(), SHUT_RDWR);
}

std::vector<SeenCall> TestPlugin::Seen() const {
  absl::MutexLock lock(&mutex_);
  return seen_;
}

std::vector<std::string> TestPlugin::Calls() const {
  std::vector<std::string> calls;
  for (const SeenCall& call : Seen()) {
    const std::string& name =
        call.container.name().empty() ? call.pod.name() : call.container.name();
    calls.push_back(name.empty() ? call.name : absl::StrCat(call.name, " ", name));
  }
  return calls;
}

std::vector<std::string> TestPlugin::CallsAbout(const std::string& pod_id) const {
  std::vector<std::string> calls;
  for (const SeenCall& call : Seen()) {
    if (call.pod.id() != pod_id) continue;
    calls.push_back(call.container.name().empty()
                        ? call.name
                        : absl::StrCat(call.name, " ", call.container.name()));
  }
  return calls;
}

int TestPlugin::Count(const std::string& call) const {
  const std::vector<SeenCall> seen = Seen();
  return static_cast<int>(std::count_if(seen.begin(), seen.end(),
                                        [&](const SeenCall& each) { return each.name == call; }));
}

SeenCall TestPlugin::Last(const std::string& call) const {
  const std::vector<SeenCall> seen = Seen();
  for (auto each = seen.rbegin(); each != seen.rend(); ++each) {
    if (each->name == call) return *each;
  }
  ADD_FAILURE() << full_name() << " has seen no " << call;
  return {};
}

bool TestPlugin::Await(const std::string& call, int count) const {
  return Eventually([&] { return Count(call) >= count; });
}

void TestPlugin::Forget() {
  absl::MutexLock lock(&mutex_);
  seen_.clear();
}

std::vector<napi::PodSandbox> TestPlugin::pods() const {
  absl::MutexLock lock(&mutex_);
  return pods_;
}

std::vector<napi::Container> TestPlugin::containers() const {
  absl::MutexLock lock(&mutex_);
  return containers_;
}

napi::ConfigureRequest TestPlugin::configuration() const {
  absl::MutexLock lock(&mutex_);
  return configuration_;
}

std::vector<napi::Event> TestPlugin::Events() const {
  if (!events_.empty()) return events_;
  std::vector<napi::Event> events;
  for (int event = napi::UNKNOWN + 1; event < napi::LAST; ++event) {
    events.push_back(static_cast<napi::Event>(event));
  }
  absl::MutexLock lock(&mutex_);
  if (!validate) std::erase(events, napi::VALIDATE_CONTAINER_ADJUSTMENT);
  return events;
}

absl::Status TestPlugin::Configure(const napi::ConfigureRequest& request) {
  absl::MutexLock lock(&mutex_);
  configuration_ = request;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<napi::ContainerUpdate>> TestPlugin::Synchronize(
    const std::vector<napi::PodSandbox>& pods, const std::vector<napi::Container>& containers) {
  decltype(synchronize) handler;
  {
    absl::MutexLock lock(&mutex_);
    pods_ = pods;
    containers_ = containers;
    seen_.push_back({"Synchronize", {}, {}, ""});
    handler = synchronize;
  }
  if (handler) return handler(pods, containers);
  return std::vector<napi::ContainerUpdate>();
}

std::string NriDirectories::NriConfig(const std::string& more) const {
  return absl::StrCat("nri:\n  plugin_dir: ", nri_files_.path(),
                      "/plugins\n  config_dir: ", nri_files_.path(), "/conf.d\n", more);
}

void NriDirectories::Install(const std::string& name, const std::string& program) const {
  ASSERT_TRUE(nri_files_.root().MakeDirs("plugins", 0755).ok());
  const std::string file = absl::StrCat(nri_files_.path(), "/plugins/", name);
  std::error_code error;
  std::filesystem::copy_file(program, file, error);  // with its mode
  ASSERT_FALSE(error) << program << ": " << error.message();
}

void NriDirectories::Configure(const std::string& name, const std::string& text) const {
  ASSERT_TRUE(nri_files_.root().MakeDirs("conf.d", 0755).ok());
  ASSERT_TRUE(nri_files_.root().ReplaceFile(absl::StrCat("conf.d/", name, ".conf"), text).ok());
}

void NriTest::Join(TestPlugin& plugin) {
  const int before = plugin.Count("Synchronize");
  const absl::Status connected = plugin.Connect(NriSocket());
  ASSERT_TRUE(connected.ok()) << connected << "\n" << node_.Log();
  ASSERT_TRUE(plugin.Await("Synchronize", before + 1)) << node_.Log();
}

std::string NriTest::PluginsJson() {
  cri::StatusRequest request;
  request.set_verbose(true);
  cri::StatusResponse response;
  grpc::ClientContext context;
  const grpc::Status status = node_.runtime().Status(&context, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  const auto found = response.info().find("nri");
  return found == response.info().end() ? "" : found->second;
}

grpc::Status NriTest::UpdateShares(const std::string& container, int64_t shares) {
  cri::LinuxContainerResources linux;
  linux.set_cpu_shares(shares);
  return TryUpdate(container, linux);
}

napi::ContainerUpdate SharesUpdate(const std::string& container, uint64_t shares) {
  napi::ContainerUpdate update;
  update.set_container_id(container);
  update.mutable_linux()->mutable_resources()->mutable_cpu()->mutable_shares()->set_value(shares);
  return update;
}

}  // namespace plimsoll::testing
