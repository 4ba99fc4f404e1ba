#include "device_list.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace {

// "a=b=c" -> {"a", "b=c"}.
std::pair<std::string, std::string> Halves(const std::string& text, char by) {
  const size_t at = text.find(by);
  if (at == std::string::npos) return {text, ""};
  return {text.substr(0, at), text.substr(at + 1)};
}

OwnDevice DeviceOf(std::istringstream& words) {
  OwnDevice own;
  std::string word;
  words >> word;
  if (word.empty()) throw std::runtime_error("a device needs an id");
  own.device.set_id(word);
  own.device.set_health("Healthy");
  while (words >> word) {
    const auto [key, value] = Halves(word, '=');
    if (key == "unhealthy") {
      own.device.set_health("Unhealthy");
    } else if (key == "path") {
      own.path = value;
    } else if (key == "cdi") {
      own.cdi_name = value;
    } else if (key == "numa") {
      std::istringstream nodes(value);
      for (std::string node; std::getline(nodes, node, ',');) {
        own.device.mutable_topology()->add_nodes()->set_id(std::stoll(node));
      }
    } else {
      throw std::runtime_error("a device has no \"" + key + "\"");
    }
  }
  return own;
}

void AddMount(const std::string& text, v1beta1::ContainerAllocateResponse& for_all) {
  const auto [host_path, rest] = Halves(text, ':');
  const auto [container_path, mode] = Halves(rest, ':');
  v1beta1::Mount* const mount = for_all.add_mounts();
  mount->set_host_path(host_path);
  mount->set_container_path(container_path);
  mount->set_read_only(mode == "ro");
}

void AddLine(const std::string& line, DeviceList& list) {
  std::istringstream words(line);
  std::string kind, word;
  if (!(words >> kind) || kind[0] == '#') return;
  if (kind == "device") {
    list.devices.push_back(DeviceOf(words));
    return;
  }
  words >> word;
  const auto [key, value] = Halves(word, '=');
  if (kind == "env") {
    (*list.for_all.mutable_envs())[key] = value;
  } else if (kind == "annotation") {
    (*list.for_all.mutable_annotations())[key] = value;
  } else if (kind == "mount") {
    AddMount(word, list.for_all);
  } else if (kind == "prefer" && word == "last") {
    list.options.set_get_preferred_allocation_available(true);
  } else if (kind == "prestart") {
    list.options.set_pre_start_required(true);
  } else {
    throw std::runtime_error("there is no \"" + kind + " " + word + "\"");
  }
}

}  // namespace

DeviceList ReadDeviceList(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("can't read " + path);
  DeviceList list;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    try {
      AddLine(line, list);
    } catch (const std::exception& error) {
      throw std::runtime_error(path + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  return list;
}
