#include "systemd/units.h"

#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "systemd/bus.h"
#include "systemd/sd_bus.h"

namespace plimsoll::systemd {
namespace {

constexpr char kBusSocket[] = "run/dbus/system_bus_socket";
constexpr char kBooted[] = "run/systemd/system";  // as sd_booted(3)
constexpr absl::Duration kPatience = absl::Seconds(30);

struct Appender {
  sd_bus_message* message;

  int operator()(bool value) const {
    return sd_bus_message_append(message, "v", "b", static_cast<int>(value));
  }
  int operator()(uint64_t value) const { return sd_bus_message_append(message, "v", "t", value); }
  int operator()(const std::string& value) const {
    return sd_bus_message_append(message, "v", "s", value.c_str());
  }
  int operator()(const std::vector<std::string>& value) const {
    int r = sd_bus_message_open_container(message, 'v', "as");
    if (r >= 0) r = sd_bus_message_open_container(message, 'a', "s");
    for (const std::string& one : value) {
      if (r >= 0) r = sd_bus_message_append(message, "s", one.c_str());
    }
    if (r >= 0) r = sd_bus_message_close_container(message);
    return r < 0 ? r : sd_bus_message_close_container(message);
  }
  int operator()(const std::vector<uint8_t>& value) const {
    return Array('y', "ay", value.data(), value.size());
  }
  int operator()(const std::vector<uint32_t>& value) const {
    return Array('u', "au", value.data(), value.size() * sizeof(uint32_t));
  }
  int operator()(const std::vector<DeviceValue>& value) const {
    int r = sd_bus_message_open_container(message, 'v', "a(st)");
    if (r >= 0) r = sd_bus_message_open_container(message, 'a', "(st)");
    for (const DeviceValue& one : value) {
      if (r >= 0) r = sd_bus_message_append(message, "(st)", one.device.c_str(), one.value);
    }
    if (r >= 0) r = sd_bus_message_close_container(message);
    return r < 0 ? r : sd_bus_message_close_container(message);
  }

 private:
  int Array(char type, const char* signature, const void* data, size_t bytes) const {
    int r = sd_bus_message_open_container(message, 'v', signature);
    if (r >= 0) r = sd_bus_message_append_array(message, type, data, bytes);
    return r < 0 ? r : sd_bus_message_close_container(message);
  }
};

int AppendProperties(sd_bus_message* message, const std::vector<Property>& properties) {
  int r = sd_bus_message_open_container(message, 'a', "(sv)");
  for (const Property& property : properties) {
    if (r >= 0) r = sd_bus_message_open_container(message, 'r', "sv");
    if (r >= 0) r = sd_bus_message_append(message, "s", property.name.c_str());
    if (r >= 0) r = std::visit(Appender{message}, property.value);
    if (r >= 0) r = sd_bus_message_close_container(message);
  }
  return r < 0 ? r : sd_bus_message_close_container(message);
}

// Parses "252.38-1~deb12u1", "v255", "256~rc1".
int ParseVersion(absl::string_view text) {
  if (!text.empty() && text[0] == 'v') text.remove_prefix(1);
  size_t digits = 0;
  while (digits < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[digits]))) {
    ++digits;
  }
  int version = 0;
  return absl::SimpleAtoi(text.substr(0, digits), &version) ? version : 0;
}

class BusUnits final : public Units {
 public:
  explicit BusUnits(std::unique_ptr<Bus> bus) : bus_(std::move(bus)) {}

  absl::Status LookAtSystemd() {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string version, ReadProperty("Version"));
    version_ = ParseVersion(version);
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string root, ReadProperty("ControlGroup"));
    if (root.empty() || root == "/") return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("systemd manages the control groups below ", root, " and not all"));
  }

  int version() const override { return version_; }

  absl::Status StartTransient(const std::string& unit,
                              const std::vector<Property>& properties) override {
    return bus_->CallPatiently({.what = absl::StrCat("start ", unit),
                                .member = "StartTransientUnit",
                                .append =
                                    [&unit, &properties](sd_bus_message* message) {
                                      int r = sd_bus_message_append(message, "ss", unit.c_str(),
                                                                    "fail");
                                      if (r >= 0) r = AppendProperties(message, properties);
                                      if (r >= 0)
                                        r = sd_bus_message_open_container(message, 'a', "(sa(sv))");
                                      return r < 0 ? r : sd_bus_message_close_container(message);
                                    },
                                .awaits_job = true});
  }

  absl::Status Start(const std::string& unit) override { return Queue("StartUnit", "start", unit); }

  absl::Status Stop(const std::string& unit) override {
    const absl::Status status = Queue("StopUnit", "stop", unit);
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  }

  absl::Status SetProperties(const std::string& unit,
                             const std::vector<Property>& properties) override {
    return bus_->CallPatiently({.what = absl::StrCat("set properties of ", unit),
                                .member = "SetUnitProperties",
                                .append = [&unit, &properties](sd_bus_message* message) {
                                  const int r =
                                      sd_bus_message_append(message, "sb", unit.c_str(), 1);
                                  return r < 0 ? r : AppendProperties(message, properties);
                                }});
  }

  void Expect() override { bus_->Expect(); }
  void Listen(std::function<void()> rewritten) override { bus_->Listen(std::move(rewritten)); }

 private:
  absl::Status Queue(const char* method, const char* verb, const std::string& unit) {
    return bus_->CallPatiently({.what = absl::StrCat(verb, " ", unit),
                                .member = method,
                                .append =
                                    [&unit](sd_bus_message* message) {
                                      return sd_bus_message_append(message, "ss", unit.c_str(),
                                                                   "replace");
                                    },
                                .awaits_job = true});
  }

  // Reads a string property at once or fails: this decides whether there is a bus.
  absl::StatusOr<std::string> ReadProperty(const std::string& name) {
    const auto text = std::make_shared<std::string>();
    PLIMSOLL_RETURN_IF_ERROR(
        bus_->Call({.what = absl::StrCat("read property ", name),
                    .member = "Get",
                    .interface = "org.freedesktop.DBus.Properties",
                    .append =
                        [&name](sd_bus_message* message) {
                          return sd_bus_message_append(
                              message, "ss", "org.freedesktop.systemd1.Manager", name.c_str());
                        },
                    .read =
                        [text](sd_bus_message* message) {
                          const char* value = nullptr;
                          const int r = sd_bus_message_read(message, "v", "s", &value);
                          if (r >= 0) *text = value;
                          return r;
                        }}));
    return *text;
  }

  const std::unique_ptr<Bus> bus_;
  int version_ = 0;
};

}  // namespace

bool SystemdRuns(const FsRoot& host) {
  return host.Exists(kBooted);
}

bool SystemdIsThere(const FsRoot& host) {
  return SystemdRuns(host) && host.Exists(kBusSocket);
}

absl::StatusOr<std::unique_ptr<Units>> ConnectUnitsAt(const std::string& address,
                                                      absl::Duration patience) {
  PLIMSOLL_RETURN_IF_ERROR(LoadSdBus());
  auto units = std::make_unique<BusUnits>(Bus::Make(address, patience));
  PLIMSOLL_RETURN_IF_ERROR(units->LookAtSystemd());
  return std::unique_ptr<Units>(std::move(units));
}

absl::StatusOr<std::unique_ptr<Units>> ConnectUnits(const FsRoot& host) {
  if (!SystemdRuns(host)) {
    return absl::FailedPreconditionError(absl::StrCat("process 1 is not systemd: there is no ",
                                                      host.PathOf(kBooted), " (sd_booted(3))"));
  }
  if (!host.Exists(kBusSocket)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "systemd can't be reached: there is no system bus at ", host.PathOf(kBusSocket),
        "; install and start it (Debian: apt-get install "
        "dbus)"));
  }
  auto units = ConnectUnitsAt(absl::StrCat("unix:path=", host.PathOf(kBusSocket)), kPatience);
  if (units.ok()) return units;
  return absl::FailedPreconditionError(units.status().message());
}

}  // namespace plimsoll::systemd
