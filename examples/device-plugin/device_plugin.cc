// A device plugin: offers what a file lists as an extended resource of the node, to kubelet or to
// plimsoll-agent.
//
//   device-plugin example.com/gpu gpus.conf
//   device-plugin example.com/gpu gpus.conf /var/lib/kubelet/device-plugins
//
// It prints a line for each thing that it is asked. The file is read again whenever it changes: a
// device that gets the word "unhealthy" there is given to no new pod. The plugin registers again
// when kubelet has been restarted. See device_list.h for the file, docs/devices.md for the rest.
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>

#include "device_list.h"
#include "kubelet/deviceplugin/v1beta1/api.grpc.pb.h"

namespace {

namespace fs = std::filesystem;

void Say(const std::string& text) {
  std::cout << text << std::endl;  // at once, also into a pipe
}

// "a,b". Ids is any list of texts.
template <typename Ids>
std::string Joined(const Ids& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ",") + id;
  return text;
}

class Plugin final : public v1beta1::DevicePlugin::Service {
 public:
  Plugin(std::string resource, DeviceList list)
      : resource_(std::move(resource)), list_(std::move(list)) {}

  void Change(DeviceList list) {
    const std::lock_guard<std::mutex> lock(mutex_);
    list_ = std::move(list);
    ++version_;
    changed_.notify_all();
  }
  // Streams end, so that a server can be shut down.
  void End() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
    changed_.notify_all();
  }

 private:
  grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                      v1beta1::DevicePluginOptions* options) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    *options = list_.options;
    return grpc::Status::OK;
  }

  // All devices at once, and again after each change. kubelet holds the devices for unhealthy as
  // soon as this ends.
  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
    std::unique_lock<std::mutex> lock(mutex_);
    for (uint64_t sent = 0; !ended_ && !context->IsCancelled();) {
      if (sent == version_) {
        changed_.wait_for(lock, std::chrono::seconds(1));
        continue;
      }
      sent = version_;
      v1beta1::ListAndWatchResponse response;
      for (const OwnDevice& each : list_.devices) *response.add_devices() = each.device;
      lock.unlock();
      if (!writer->Write(response)) return grpc::Status::OK;
      lock.lock();
    }
    return grpc::Status::OK;
  }

  // Devices that must be included, and then the last ones of the list.
  grpc::Status GetPreferredAllocation(grpc::ServerContext*,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override {
    for (const auto& container : request->container_requests()) {
      Say("prefer " + std::to_string(container.allocation_size()) + " of " +
          Joined(container.available_deviceids()) + " with " +
          Joined(container.must_include_deviceids()));
      std::vector<std::string> ids(container.must_include_deviceids().begin(),
                                   container.must_include_deviceids().end());
      std::vector<std::string> others(container.available_deviceids().begin(),
                                      container.available_deviceids().end());
      std::sort(others.rbegin(), others.rend());
      for (const std::string& id : others) {
        if (static_cast<int>(ids.size()) >= container.allocation_size()) break;
        if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
      }
      response->add_container_responses()->mutable_deviceids()->Assign(ids.begin(), ids.end());
    }
    return grpc::Status::OK;
  }

  // A plugin of real devices makes them ready here, and fails if it can't.
  grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& container : request->container_requests()) {
      Say("allocate " + Joined(container.devices_ids()));
      v1beta1::ContainerAllocateResponse* const answer = response->add_container_responses();
      *answer = list_.for_all;
      (*answer->mutable_envs())[VariableName()] = Joined(container.devices_ids());
      for (const std::string& id : container.devices_ids()) {
        const auto own =
            std::find_if(list_.devices.begin(), list_.devices.end(),
                         [&](const OwnDevice& each) { return each.device.id() == id; });
        if (own == list_.devices.end()) {
          return {grpc::StatusCode::NOT_FOUND, "there is no device " + id};
        }
        AddDevice(*own, answer);
      }
    }
    return grpc::Status::OK;
  }

  // A plugin of real devices resets them here: the container that had them before may have left
  // something in them.
  grpc::Status PreStartContainer(grpc::ServerContext*,
                                 const v1beta1::PreStartContainerRequest* request,
                                 v1beta1::PreStartContainerResponse*) override {
    Say("start " + Joined(request->devices_ids()));
    return grpc::Status::OK;
  }

  static void AddDevice(const OwnDevice& own, v1beta1::ContainerAllocateResponse* answer) {
    if (!own.cdi_name.empty()) answer->add_cdi_devices()->set_name(own.cdi_name);
    if (own.path.empty()) return;
    v1beta1::DeviceSpec* const node = answer->add_devices();
    node->set_host_path(own.path);
    node->set_container_path(own.path);
    node->set_permissions("rw");
  }

  // "example.com/gpu" -> "EXAMPLE_COM_GPU".
  std::string VariableName() const {
    std::string name = resource_;
    for (char& c : name) {
      c = std::isalnum(static_cast<unsigned char>(c)) != 0
              ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
              : '_';
    }
    return name;
  }

  const std::string resource_;
  std::mutex mutex_;
  std::condition_variable changed_;
  DeviceList list_;
  uint64_t version_ = 1;
  bool ended_ = false;
};

// The plugin's socket, beside kubelet's. A name of its own, so that plugins don't meet.
std::string SocketName(const std::string& resource) {
  std::string name = resource + ".sock";
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::unique_ptr<grpc::Server> Serve(Plugin& plugin, const fs::path& socket) {
  if (!fs::is_directory(socket.parent_path())) {
    throw std::runtime_error("there is no directory " + socket.parent_path().string() +
                             ", which kubelet makes at its start");
  }
  fs::remove(socket);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket.string(), grpc::InsecureServerCredentials());
  builder.RegisterService(&plugin);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) throw std::runtime_error("can't serve at " + socket.string());
  return server;
}

// kubelet calls back before it answers, so the plugin has to serve by now.
bool Register(const std::string& resource, const fs::path& directory) {
  // A channel of its own each time: an old one would wait before it connects to a new kubelet.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto stub = v1beta1::Registration::NewStub(
      grpc::CreateCustomChannel("unix:" + (directory / "kubelet.sock").string(),
                                grpc::InsecureChannelCredentials(), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1beta1::RegisterRequest request;
  request.set_version("v1beta1");
  request.set_endpoint(SocketName(resource));
  request.set_resource_name(resource);
  v1beta1::Empty response;
  const grpc::Status status = stub->Register(&context, request, &response);
  Say(status.ok() ? "registered" : "not registered: " + status.error_message());
  return status.ok();
}

volatile std::sig_atomic_t is_over = 0;  // by a signal

int Run(const std::string& resource, const fs::path& file, const fs::path& directory) {
  // Watches come first: what changes from now on is heard.
  const int notify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  const fs::path own = directory / SocketName(resource);
  inotify_add_watch(notify, directory.c_str(), IN_CREATE | IN_MOVED_TO | IN_DELETE);
  inotify_add_watch(notify, fs::absolute(file).parent_path().c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
  Plugin plugin(resource, ReadDeviceList(file));
  std::unique_ptr<grpc::Server> server = Serve(plugin, own);
  bool is_registered = Register(resource, directory);
  fs::file_time_type read = fs::last_write_time(file);
  while (is_over == 0) {
    pollfd waits = {notify, POLLIN, 0};
    // Without kubelet the plugin waits for its socket; a kubelet that has refused is asked again.
    poll(&waits, 1, is_registered ? -1 : 5000);
    alignas(inotify_event) char events[4096];
    while (::read(notify, events, sizeof(events)) > 0) {
    }
    std::error_code ignored;
    if (const auto now = fs::last_write_time(file, ignored); !ignored && now != read) {
      read = now;
      try {
        plugin.Change(ReadDeviceList(file));
      } catch (const std::exception& error) {
        Say(error.what());  // the list of before counts
      }
    }
    // A kubelet that starts removes the sockets of all plugins, and then makes its own.
    if (!fs::exists(own, ignored)) {
      is_registered = false;
      server->Shutdown(std::chrono::system_clock::now());
      server = Serve(plugin, own);
    }
    if (!is_registered && fs::exists(directory / "kubelet.sock", ignored)) {
      is_registered = Register(resource, directory);
    }
  }
  plugin.End();
  server->Shutdown(std::chrono::system_clock::now());
  fs::remove(own);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::cerr << "usage: device-plugin RESOURCE FILE [DIRECTORY OF kubelet.sock]\n";
    return 2;
  }
  struct sigaction action = {};
  action.sa_handler = [](int) { is_over = 1; };
  sigaction(SIGTERM, &action, nullptr);  // without SA_RESTART: it ends poll(2)
  sigaction(SIGINT, &action, nullptr);
  try {
    return Run(argv[1], argv[2], argc > 3 ? argv[3] : "/var/lib/kubelet/device-plugins");
  } catch (const std::exception& error) {
    std::cerr << "device-plugin: " << error.what() << "\n";
    return 1;
  }
}
