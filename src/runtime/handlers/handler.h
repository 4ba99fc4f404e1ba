// Runtime handlers, named by a pod's RunPodSandboxRequest.runtime_handler and described by the
// configuration. A handler of kind `vm` runs a pod in a virtual machine, which has to know the
// pod's size before there is one (KEP-4112 "User Stories", 1).
#ifndef PLIMSOLL_RUNTIME_HANDLERS_HANDLER_H_
#define PLIMSOLL_RUNTIME_HANDLERS_HANDLER_H_

#include <map>
#include <string>
#include <vector>

#include "yaml/reader.h"

namespace plimsoll::runtime {

enum class Plug { kNone, kHot, kCold };
enum class PortKind { kNone, kRoot, kSwitch };
const char* PortKindName(PortKind kind);  // "root-port", as Kata spells it

struct Handler {
  // The OCI runtime that makes containers. Empty: the daemon's default one.
  std::string program;
  bool is_vm = false;
  bool is_fixed = false;  // the resources announced with the sandbox are final
  // The way PCI devices are plugged into a virtual machine, and the kind of port: that of the
  // longest prefix of the device's class ("0302"; "" is the default).
  Plug plug = Plug::kHot;
  std::map<std::string, PortKind> ports = {{"", PortKind::kRoot}};
  // By kind of information (AnnotationNames): the annotation that carries it; empty: none.
  std::map<std::string, std::string> annotations;
  // By resource: the annotation that carries its amount.
  std::map<std::string, std::string> resource_annotations;
  std::vector<std::string> update_command;  // empty: none
  int update_timeout_seconds = 10;

  // The annotation for one of AnnotationNames; empty: none.
  std::string AnnotationFor(const std::string& what) const;
  bool operator==(const Handler&) const = default;
};

using HandlerMap = std::map<std::string, Handler>;

// The kinds of information for a handler, with the annotations that containerd and Kata Containers
// have for them.
const std::map<std::string, std::string>& DefaultAnnotations();

// The configuration's `runtime_handlers`: a mapping of names. Errors go to the reader.
void ReadHandlers(YamlReader& reader, const YAML::Node& node, const std::string& path,
                  HandlerMap* handlers);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_HANDLERS_HANDLER_H_
